"""`./pitwall explain FILE`: a pasted launch command as one JSON object."""

from __future__ import annotations

import argparse
import json

from cli.exit_status import DONE, REFUSED
from cli.foreign_file import read_given

MOST_BYTES = 1 << 20


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall explain` and its argument to the parser."""
    words = "read a pasted launch command and print the configuration that it says as JSON"
    command = commands.add_parser("explain", help=words, description=words)
    command.add_argument("file", metavar="FILE", help="a file with the paste, or - for standard input")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """REFUSED when no server command is in the paste; raises OSError, PitwallError for a file that is not read."""
    from commands.explain import explain

    explanation = explain(read_paste(arguments.file))
    print(json.dumps(explanation.as_json(), ensure_ascii=False, indent=2))
    return REFUSED if explanation.refused else DONE


def read_paste(file: str) -> str:
    """The paste as text; bytes that are no UTF-8 become replacement characters."""
    return read_given(file, MOST_BYTES).decode("utf-8", errors="replace")
