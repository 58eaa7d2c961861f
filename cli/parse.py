"""`./pitwall parse FILE`: the parsed content of a server log, as one JSON object."""

from __future__ import annotations

import argparse
import gc
import sys
from pathlib import Path

from cli.exit_status import DONE


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall parse` and its flags to the parser."""
    words = "read a server log and print what it says as JSON"
    command = commands.add_parser("parse", help=words, description=words)
    command.add_argument("file", type=Path, metavar="FILE", help="plain text")
    command.add_argument("--engine", metavar="NAME", help="whose log it is; default: recognised from the text")
    command.set_defaults(run=run, refuse=command.error)


def run(arguments: argparse.Namespace) -> int:
    """Raises OSError when the file cannot be read."""
    from engines import ENGINES
    from engines.parse import parse_file

    engines = [one for one in ENGINES if arguments.engine in (None, one.name)]
    if not engines:
        known = ", ".join(sorted(one.name for one in ENGINES))
        arguments.refuse(f"There is no engine {arguments.engine}: it is one of {known}.")
    gc.disable()  # reading makes no cycles, and looking for them takes a twentieth of the time
    parse_file(arguments.file, engines, sys.stdout)
    return DONE
