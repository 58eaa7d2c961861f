"""`./pitwall shim -|list|stop RUN`: manages the servers that other Pitwalls started on this machine over ssh."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from cli.exit_status import DONE, REFUSED

if TYPE_CHECKING:
    from launcher.remote.remote_shim import RemoteShim

GRACE_S = 30.0


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall shim` to the parser."""
    help_text = "servers that other Pitwalls started here over ssh: execute an order from standard input, list, stop"
    shim = commands.add_parser("shim", help=help_text, description=help_text)
    shim.add_argument("action", choices=("-", "list", "stop"), help="'-': one order on standard input, as JSON")
    shim.add_argument("run_id", nargs="?", metavar="RUN", help="for 'stop': a run id from 'list'")
    shim.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Execute the action; raises PitwallError, OSError."""
    remote_shim = _remote_shim()
    match arguments.action:
        case "list":
            print("\n".join(remote_shim.run_ids()) or "No server of another Pitwall is running here.")
        case "stop":
            return _stop(remote_shim, arguments.run_id)
        case _:
            remote_shim.serve()
    return DONE


def _stop(remote_shim: RemoteShim, run_id: str | None) -> int:
    from errors import PitwallError
    from launcher.remote.orders import StopOrder

    if run_id not in remote_shim.run_ids():
        raise PitwallError(f"There is no server of run {run_id or ''} here: `./pitwall shim list` prints the runs.")
    report = remote_shim.stop(StopOrder(run_id=run_id, grace_s=GRACE_S))
    print("\n".join([*report["actions"], *report["leftovers"]]))
    return REFUSED if report["leftovers"] else DONE


def _remote_shim() -> RemoteShim:
    from collectors.machine.gpu_status import read_gpu_status
    from launcher.remote.remote_shim import RemoteShim
    from machine.regular_file import follow_own
    from service.this_machine import this_machine
    from settings import load_settings

    settings = load_settings()
    follow_own(settings.data_dir)
    return RemoteShim(settings.shims_dir, read_gpu_status, this_machine)
