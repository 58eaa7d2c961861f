"""Writes the engine table of README.md and the release tables of docs/log-formats.md from engines/*/coverage.toml.

`.venv/bin/python -m scripts.write_engine_docs`; `make format` runs it, and a test fails if the files are stale.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engines import ENGINES

ROOT = Path(__file__).resolve().parents[1]
README, LOG_FORMATS = ROOT / "README.md", ROOT / "docs" / "log-formats.md"


def coverage_of(engine_name: str) -> dict[str, Any]:
    """Return the parsed coverage.toml of an engine."""
    return tomllib.loads((ROOT / "engines" / engine_name / "coverage.toml").read_text())


def readme(text: str) -> str:
    """Return the text of README.md with a fresh engine table."""
    rows = [["engine, versions read", "counters (`/metrics`)", "log"]]
    for engine in ENGINES:
        coverage = coverage_of(engine.name)
        name = f"**{engine.title}** {coverage['versions']}"
        rows.append([name, coverage["counters"]["reads"], coverage["log"]["reads"]])
    return _between(text, "engines", _table(rows))


def log_formats(text: str) -> str:
    """Return docs/log-formats.md with fresh tables of releases, and lists of unread content."""
    for engine in ENGINES:
        coverage = coverage_of(engine.name)
        log = coverage["log"]
        not_read = _not_read(coverage)
        text = _between(text, engine.name, f"{_table([log['columns'], *log['releases']])}\n\nNot read:\n{not_read}")
    return text


def _not_read(coverage: Mapping[str, Any]) -> str:
    sections = ("log", "counters", "command_line")
    entries = [entry for section in sections for entry in coverage[section]["not_read"]]
    return "\n".join(f"- {title}: {why}." for title, why in entries)


def _table(rows: Sequence[Sequence[str]]) -> str:
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def _between(text: str, name: str, content: str) -> str:
    """Return the text with this content between the marks `<!-- name -->` and `<!-- /name -->`."""
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    replaced, count = marks.subn(lambda match: f"{match[1]}{content}\n{match[2]}", text)
    if count != 1:
        raise ValueError(f"The marks of {name} are not there exactly once.")
    return replaced


def main() -> None:
    for path, write in ((README, readme), (LOG_FORMATS, log_formats)):
        path.write_text(write(path.read_text()))


if __name__ == "__main__":
    main()
