"""`python -m launcher explain -`: reads a pasted launch command from standard input and prints one JSON object."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m launcher", description="Launch commands and what they say.")
    commands = parser.add_subparsers(dest="command", required=True)
    explain = commands.add_parser("explain", help="read a pasted launch command")
    explain.add_argument("file", help="a file with the paste, or - for standard input")
    return parser.parse_args(argv)


def read_paste(file: str) -> str:
    """The paste as text; bytes that are no UTF-8 become replacement characters."""
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    return data.decode("utf-8", errors="replace")


def main(argv: Sequence[str] | None = None) -> int:
    """0 when the paste was read, 1 when it was refused, 2 when the file could not be read."""
    arguments = parse_arguments(argv)
    from commands.explain import explain

    try:
        paste = read_paste(arguments.file)
    except OSError as error:
        print(f"{arguments.file} cannot be read: {error.strerror}.", file=sys.stderr)
        return 2
    explanation = explain(paste)
    print(json.dumps(explanation.as_json(), ensure_ascii=False, indent=2))
    return 1 if explanation.refused else 0


if __name__ == "__main__":
    sys.exit(main())
