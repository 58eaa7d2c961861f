"""`./pitwall explain FILE`: a pasted launch command as one JSON object."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from cli.exit_status import DONE, REFUSED


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall explain` and its argument to the parser."""
    words = "read a pasted launch command and print the configuration that it says as JSON"
    command = commands.add_parser("explain", help=words, description=words)
    command.add_argument("file", metavar="FILE", help="a file with the paste, or - for standard input")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """REFUSED when no server command is in the paste; raises OSError."""
    from commands.explain import explain

    explanation = explain(read_paste(arguments.file))
    print(json.dumps(explanation.as_json(), ensure_ascii=False, indent=2))
    return REFUSED if explanation.refused else DONE


def read_paste(file: str) -> str:
    """The paste as text; bytes that are no UTF-8 become replacement characters."""
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    return data.decode("utf-8", errors="replace")
