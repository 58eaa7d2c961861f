"""Macros that combine the engine-specific parts of the shared views under engine-neutral names.

An engine's file in `views/engines/` defines a part as `<engine>_<part>` or omits it; the shared views read
`engine_<part>`. Adding an engine means adding a file there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

ROWS = {  # part -> parameters; a union of the rows of all engines
    "intervals": "interval_rows",
    "crosscheck": "run_ids",
}
VALUES = {  # part -> parameters; the value of the run's engine, null from all others
    "line_activity": "kind, kind_before, broken, tokens",
    "line_tokens_per_step": "definition, kind, mean_length, speculates",
    "line_has_window": "definition, generation_tps",
    "stated_window_s": "config",
    "kv_tokens_definition": "engine, version",
    "speculative_method": "engine, model",
}


def engine_views_sql(folder: Path) -> str:
    """The macros `engine_<part>` over the parts defined by the files of a folder."""
    texts = {path.stem: path.read_text() for path in sorted(folder.glob("*.sql"))}
    return "".join([_rows(texts, *part) for part in ROWS.items()] + [_value(texts, *part) for part in VALUES.items()])


def _rows(texts: Mapping[str, str], part: str, parameters: str) -> str:
    union = " UNION ALL BY NAME ".join(f"FROM {call}" for call in _calls(texts, part, parameters))
    return f"CREATE OR REPLACE MACRO engine_{part}({parameters}) AS TABLE {union};\n"


def _value(texts: Mapping[str, str], part: str, parameters: str) -> str:
    calls = ", ".join(_calls(texts, part, parameters))
    return f"CREATE OR REPLACE MACRO engine_{part}({parameters}) AS coalesce({calls});\n"


def _calls(texts: Mapping[str, str], part: str, parameters: str) -> list[str]:
    return [f"{engine}_{part}({parameters})" for engine, text in texts.items() if f"MACRO {engine}_{part}(" in text]
