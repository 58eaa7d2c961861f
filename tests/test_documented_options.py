"""Every option that somebody can set is documented: variables, flags, scopes of tokens, kinds of notifications."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from cli.main import parser
from service.notifications.notification import NotificationKind
from settings import Settings
from tests.test_architecture import LAYERS
from web.access.tokens import Scope

ROOT = Path(__file__).resolve().parents[1]
DOCS = {path.name: path.read_text() for path in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]}
VARIABLE = re.compile(r"\bPITWALL_[A-Z]+(?:_[A-Z]+)*\b")
# What Pitwall gives its own processes: nobody sets them.
INTERNAL = {"PITWALL_SHIM_OF"}


def variables_in_code() -> set[str]:
    names = {f"PITWALL_{name.upper()}" for name in Settings.model_fields if name != "data_dir"} | {"PITWALL_DATA"}
    for room in sorted(set().union(*LAYERS)):
        files = (ROOT / room).rglob("*.py") if (ROOT / room).is_dir() else [ROOT / f"{room}.py"]
        for file in files:
            names |= set(VARIABLE.findall(file.read_text()))
    return names - INTERNAL


def options_by_command(command: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield each command with each of its flags, of inner commands too."""
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner_name, inner in action.choices.items():
                yield from options_by_command(inner, f"{name} {inner_name}".strip())
        else:
            yield from ((name, flag) for flag in action.option_strings if flag not in ("-h", "--help"))


def rows_of(name: str) -> list[str]:
    """Return the rows of the document's tables that begin with this command."""
    return [line for line in DOCS["command-line.md"].splitlines() if re.match(rf"\| `{re.escape(name)}[ `]", line)]


def test_every_environment_variable_is_documented() -> None:
    missing = [name for name in sorted(variables_in_code()) if not any(has_word(text, name) for text in DOCS.values())]
    assert missing == []


def test_every_flag_stands_beside_its_command() -> None:
    missing = [(name, flag) for name, flag in sorted(set(options_by_command(parser()))) if not is_told(name, flag)]
    assert missing == []


def is_told(name: str, flag: str) -> bool:
    """Whether a row of the command names the flag; of --json, which has a column, whether that cell is filled."""
    rows = rows_of(name) or rows_of(name.split()[0] if name else "")
    if flag == "--json":
        return any(row.rstrip("| ").count("|") >= 3 for row in rows)
    return any(has_word(row, flag) for row in rows)


def test_every_scope_of_a_token_is_documented() -> None:
    texts = [
        text for name, text in DOCS.items() if name in ("security.md", "http-sql.md", "command-line.md", "teams.md")
    ]
    assert [scope for scope in Scope if not any(f"`{scope}`" in text for text in texts)] == []


def test_every_kind_of_notification_is_documented() -> None:
    assert [kind for kind in NotificationKind if f"`{kind}`" not in DOCS["notifications.md"]] == []


def has_word(text: str, word: str) -> bool:
    return bool(re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text))
