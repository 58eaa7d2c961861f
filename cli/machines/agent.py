"""`./pitwall agent --run RUN --to URL`: sends this machine's GPU and host samples to the Pitwall of a run."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from cli.exit_status import DONE
from cli.secret_input import read_token

if TYPE_CHECKING:
    from domain import Run

TOKEN_VARIABLE = "PITWALL_AGENT_TOKEN"
BUFFER_MIB = 64


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall agent` and its flags to the parser."""
    help_text = "send samples of this machine's GPUs and host to the Pitwall of a run that spans several machines"
    command = commands.add_parser("agent", help=help_text, description=help_text)
    command.add_argument("--run", dest="run_id", required=True, metavar="RUN", help="a run's id")
    command.add_argument(
        "--to", required=True, metavar="URL", help="address of its Pitwall: https, or http on this machine"
    )
    help_text = f"file of mode 0600 with its token, - for standard input (default: the variable {TOKEN_VARIABLE})"
    command.add_argument("--token-file", metavar="FILE", help=help_text)
    help_text = "process of the run on this machine; it, its children and the GPUs that they use are measured"
    command.add_argument("--pid", type=int, metavar="PID", help=help_text)
    command.add_argument("--gpus", metavar="LIST", help="numbers or UUIDs of the run's GPUs here (default: all)")
    command.add_argument("--ca", type=Path, metavar="FILE", help="certificates to trust instead of the system's")
    help_text = f"largest buffer while the Pitwall does not answer (default: {BUFFER_MIB})"
    command.add_argument("--buffer-mib", type=int, default=BUFFER_MIB, metavar="N", help=help_text)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Return DONE when the run has ended, or on SIGINT or SIGTERM. Raises PitwallError, OSError."""
    from collectors.agents.agent import NodeSampler
    from collectors.agents.link import checked_address
    from collectors.base import Clock
    from collectors.machine.nvml import NvmlProvider

    checked_address(arguments.to)
    token = read_token(arguments.token_file, TOKEN_VARIABLE)
    local_run = make_local_run(arguments.run_id, arguments.pid, arguments.gpus)
    return send_samples(arguments, token, local_run, NodeSampler(local_run, NvmlProvider(), Clock(), say))


def send_samples(arguments: argparse.Namespace, token: str, local_run: Run, sampler: object) -> int:
    """Send the readings of `sampler` until the run has ended."""
    import socket

    from collectors.agents.agent import Agent, NodeIdentity
    from collectors.agents.link import Link
    from collectors.agents.spool import Spool
    from machine.identity import boot_id
    from settings import load_settings

    path = load_settings().agent_dir / f"{arguments.run_id}.sqlite"
    spool = Spool(path, max(arguments.buffer_mib, 1) << 20)
    link = Link(arguments.to, token, arguments.run_id, spool.agent_id, arguments.ca)
    node = NodeIdentity(local_run.machine_id, socket.gethostname(), boot_id())
    agent = Agent(node, spool, link, sampler, say)  # type: ignore[arg-type]
    call_at_signal(agent.stop)
    say(f"Sending samples of {node.host_name} ({node.machine_id}) to {arguments.to}.")
    try:
        is_done = agent.work()
        unsent = "" if spool.is_empty() else f" Unsent samples remain in {path}; the next start sends them."
        say("The run has ended, and all samples were sent." if is_done else f"Stopped.{unsent}")
    finally:
        link.close()
        spool.close()
    return DONE


def call_at_signal(stop: Callable[[], None]) -> None:
    """Call `stop` in a thread of its own at the first SIGINT or SIGTERM; the main thread must call this.

    A handler that set the agent's event would wait forever if the signal arrived while the main thread held the
    event's lock. `SimpleQueue.put` may be called at any moment.
    """
    received: SimpleQueue[int] = SimpleQueue()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: received.put(number))

    def stop_at_first() -> None:
        received.get()
        stop()

    threading.Thread(target=stop_at_first, name="signals", daemon=True).start()


def make_local_run(run_id: str, pid: int | None, gpus: str | None) -> Run:
    """Return the run as this machine's collectors need it; raises PitwallError."""
    import re

    import psutil

    from domain import Config, Run, utc_now
    from errors import PitwallError
    from machine.identity import machine_id
    from machine.process_start import process_start_s

    if not re.fullmatch(r"[\w-]{1,64}", run_id, re.ASCII):
        raise PitwallError(f"{run_id} is not a run id.")
    try:
        start_s = None if pid is None else process_start_s(pid)
    except psutil.NoSuchProcess:
        raise PitwallError(f"There is no process {pid}.") from None
    return Run(
        id=run_id,
        name=run_id,
        color=0,
        machine_id=machine_id(),
        config=Config(gpus=gpus),
        pid=pid,
        pid_birth_s=start_s,
        created_at=utc_now(),
    )


def say(text: str) -> None:
    """Print a line and flush it, since the output may be a file or a pipe."""
    print(text, flush=True)
