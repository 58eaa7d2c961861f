"""`./pitwall COMMAND`: finds and runs the command, and turns an exception into one sentence and an exit status."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from cli import doctor, explain, mcp, parse, proposal, serve, token
from cli.data import imports, lake, store
from cli.exit_status import CANNOT_READ, REFUSED, STATUSES
from cli.loads import drive, load, record, task
from cli.machines import agent, hardware, host, notify, peer, shim
from cli.results import claims, compare, delete, note, report, sessions, study
from errors import PitwallError
from machine.regular_file import NotRegularError
from storage.without_pandas import leave_pandas_out

GROUPS = (
    serve,
    parse,
    explain,
    imports,
    note,
    delete,
    load,
    drive,
    task,
    record,
    agent,
    compare,
    report,
    study,
    sessions,
    claims,
    store,
    token,
    peer,
    host,
    notify,
    shim,
    lake,
    hardware,
    doctor,
    mcp,
    proposal,
)
INTERRUPTED = 130  # shells report SIGINT so


def parser() -> argparse.ArgumentParser:
    """Return the parser for all commands, without heavy imports."""
    top = argparse.ArgumentParser(
        prog="./pitwall",
        description="Launch, watch and compare LLM inference servers. PITWALL_DATA names the data folder.",
        epilog=STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for group in GROUPS:
        group.add_to(commands)
    return top


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit status."""
    arguments = parser().parse_args(argv)
    if arguments.command != "run":
        leave_pandas_out()
    try:
        status: int = arguments.run(arguments)
    except NotRegularError as error:
        return _say(f"{error}.", CANNOT_READ)
    except PitwallError as error:
        return _say(str(error), REFUSED)
    except BrokenPipeError:
        sys.stderr.close()  # the reader, such as head(1), has closed the pipe
        return REFUSED
    except OSError as error:
        return _say(f"{error.filename or arguments.command}: {error.strerror or error}.", CANNOT_READ)
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def _say(sentence: str, status: int) -> int:
    print(sentence, file=sys.stderr)
    return status
