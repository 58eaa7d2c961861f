"""`./pitwall explain FILE`: prints a pasted launch command as one JSON object."""

from __future__ import annotations

import argparse
import json

from cli.exit_status import DONE, REFUSED
from cli.foreign_file import read_bounded_file

MOST_BYTES = 1 << 20


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall explain` and its argument to the parser."""
    help_text = "read a pasted launch command and print its configuration as JSON"
    command = commands.add_parser("explain", help=help_text, description=help_text)
    command.add_argument("file", metavar="FILE", help="file with the pasted command, or - for standard input")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Return REFUSED if the paste has no server command; raises OSError, PitwallError for an unreadable file."""
    from commands.explain import explain

    explanation = explain(read_paste(arguments.file))
    print(json.dumps(explanation.as_json(), ensure_ascii=False, indent=2))
    return REFUSED if explanation.refused else DONE


def read_paste(file: str) -> str:
    """Return the paste as text; invalid UTF-8 becomes replacement characters."""
    return read_bounded_file(file, MOST_BYTES).decode("utf-8", errors="replace")
