"""`./pitwall parse FILE`: prints the parsed content of a server log as one JSON object."""

from __future__ import annotations

import argparse
import gc
import sys
from pathlib import Path

from cli.exit_status import DONE


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall parse` and its flags to the parser."""
    help_text = "read a server log and print its content as JSON"
    command = commands.add_parser("parse", help=help_text, description=help_text)
    command.add_argument("file", type=Path, metavar="FILE", help="plain text")
    command.add_argument("--engine", metavar="NAME", help="the engine that wrote it; default: recognised from the text")
    command.set_defaults(run=run, refuse=command.error)


def run(arguments: argparse.Namespace) -> int:
    """Print the parsed log; raises OSError if the file cannot be read."""
    from engines import ENGINES
    from engines.parse import parse_file

    engines = [engine for engine in ENGINES if arguments.engine in (None, engine.name)]
    if not engines:
        names = ", ".join(sorted(engine.name for engine in ENGINES))
        arguments.refuse(f"There is no engine {arguments.engine}: use one of {names}.")
    gc.disable()  # reading creates no cycles, and collection takes a twentieth of the time
    parse_file(arguments.file, engines, sys.stdout)
    return DONE
