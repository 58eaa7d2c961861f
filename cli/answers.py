"""Commands that end with one answer: text for a person, or with `--json` one object for a program."""

from __future__ import annotations

import argparse
import getpass
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cli.exit_status import DONE


class Answer(NamedTuple):
    """A command's output and its exit status."""

    text: str
    fields: Mapping[str, Any]
    exit_status: int = DONE


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    answer: Callable[[argparse.Namespace], Answer],
    help_text: str,
) -> argparse.ArgumentParser:
    """Add a command that prints the result of `answer`; its exceptions reach the caller."""
    command = commands.add_parser(name, help=help_text, description=help_text)
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=_print, answer=answer)
    return command


def audit_user() -> str:
    """Return the current user, for the audit."""
    return f"{getpass.getuser()}, in a shell"


def _print(arguments: argparse.Namespace) -> int:
    answer: Answer = arguments.answer(arguments)
    print(json.dumps(answer.fields, default=str) if arguments.json else answer.text)
    return answer.exit_status
