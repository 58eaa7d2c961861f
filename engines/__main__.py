"""`python -m engines parse [--engine NAME] FILE`: what a log says, as one JSON object on standard output."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from pathlib import Path

from engines import BY_NAME, ENGINES
from engines.parse import parse_file


def main(argv: Sequence[str]) -> int:
    """Exit status 0, or 2 with one sentence on standard error when the file cannot be read."""
    arguments = _arguments().parse_args(argv)
    engines = (BY_NAME[arguments.engine],) if arguments.engine else ENGINES
    gc.disable()  # reading makes no cycles, and looking for them takes a twentieth of the time
    try:
        parse_file(arguments.file, engines, sys.stdout)
    except BrokenPipeError:
        return 1  # the reader has gone, head(1) for one
    except OSError as error:
        print(f"Cannot read {arguments.file}: {error.strerror}.", file=sys.stderr)
        return 2
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engines", description="What Pitwall understands of an engine.")
    parse = parser.add_subparsers(required=True).add_parser("parse", help="read a server log, print it as JSON")
    parse.add_argument("--engine", choices=sorted(BY_NAME), help="whose log it is; default: recognised from the text")
    parse.add_argument("file", type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
