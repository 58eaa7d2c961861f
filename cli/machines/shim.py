"""`./pitwall shim -|list|stop RUN`: the servers on this machine that other Pitwalls started here by ssh."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from cli.exit_status import DONE, REFUSED

if TYPE_CHECKING:
    from launcher.remote.far_side import FarSide

GRACE_S = 30.0


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall shim` to the parser."""
    words = "the servers here that other Pitwalls started by ssh: do what one asks on standard input, list, stop"
    shim = commands.add_parser("shim", help=words, description=words)
    shim.add_argument("what", choices=("-", "list", "stop"), help="'-': one order on standard input, as JSON")
    shim.add_argument("run_id", nargs="?", metavar="RUN", help="of 'stop': as 'list' prints it")
    shim.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Raises PitwallError, OSError."""
    far_side = _far_side()
    match arguments.what:
        case "list":
            print("\n".join(far_side.run_ids()) or "No server of another Pitwall runs here.")
        case "stop":
            return _stop(far_side, arguments.run_id)
        case _:
            far_side.serve()
    return DONE


def _stop(far_side: FarSide, run_id: str | None) -> int:
    from errors import PitwallError
    from launcher.remote.orders import Stop

    if run_id not in far_side.run_ids():
        raise PitwallError(f"No server of a run {run_id or ''} runs here: `./pitwall shim list` prints those that do.")
    stopped = far_side.stop(Stop(run_id=run_id, grace_s=GRACE_S))
    print("\n".join([*stopped["actions"], *stopped["leftovers"]]))
    return REFUSED if stopped["leftovers"] else DONE


def _far_side() -> FarSide:
    from collectors.machine.gpu_now import look_at_gpus
    from launcher.remote.far_side import FarSide
    from machine.regular_file import follow_own
    from service.this_machine import this_machine
    from settings import load_settings

    settings = load_settings()
    follow_own(settings.data_dir)
    return FarSide(settings.shims_dir, look_at_gpus, this_machine)
