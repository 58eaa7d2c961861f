"""`./pitwall agent --run RUN --to URL`: send this machine's GPU and host samples to the Pitwall of a run."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from cli.exit_status import DONE
from cli.secret_input import read_token

if TYPE_CHECKING:
    from domain import Run

TOKEN_VARIABLE = "PITWALL_AGENT_TOKEN"
BUFFER_MIB = 64


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall agent` and its flags to the parser."""
    words = "send samples of this machine's GPUs and host to the Pitwall of a run that is spread over several machines"
    command = commands.add_parser("agent", help=words, description=words)
    command.add_argument("--run", dest="run_id", required=True, metavar="RUN", help="the id of the run")
    command.add_argument("--to", required=True, metavar="URL", help="of its Pitwall: https, or http on this machine")
    words = f"a file of mode 0600 with its token, - for standard input (default: the variable {TOKEN_VARIABLE})"
    command.add_argument("--token-file", metavar="FILE", help=words)
    words = "a process of the run here: it and its children are measured, and the GPUs that they use are the run's"
    command.add_argument("--pid", type=int, metavar="PID", help=words)
    command.add_argument("--gpus", metavar="LIST", help="numbers or UUIDs of the run's GPUs here (default: all)")
    command.add_argument("--ca", type=Path, metavar="FILE", help="certificates to trust in place of the usual ones")
    words = f"the most that is kept while the Pitwall does not answer (default: {BUFFER_MIB})"
    command.add_argument("--buffer-mib", type=int, default=BUFFER_MIB, metavar="N", help=words)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """DONE when the run is over or on SIGINT or SIGTERM. Raises PitwallError, OSError."""
    from collectors.base import Clock
    from collectors.machine.nvml import NvmlProvider
    from collectors.nodes.agent import NodeLook
    from collectors.nodes.link import checked_address

    checked_address(arguments.to)
    token = read_token(arguments.token_file, TOKEN_VARIABLE)
    looked_at = run_here(arguments.run_id, arguments.pid, arguments.gpus)
    return work(arguments, token, looked_at, NodeLook(looked_at, NvmlProvider(), Clock(), say))


def work(arguments: argparse.Namespace, token: str, looked_at: Run, look: object) -> int:
    """Send what `look` gives until the run is over."""
    import socket

    from collectors.nodes.agent import Agent, Node
    from collectors.nodes.link import Link
    from collectors.nodes.spool import Spool
    from machine.identity import boot_id
    from settings import load_settings

    path = load_settings().agent_dir / f"{arguments.run_id}.sqlite"
    spool = Spool(path, max(arguments.buffer_mib, 1) << 20)
    link = Link(arguments.to, token, arguments.run_id, spool.agent_id, arguments.ca)
    node = Node(looked_at.machine_id, socket.gethostname(), boot_id())
    agent = Agent(node, spool, link, look, say)  # type: ignore[arg-type]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: agent.stop())
    say(f"Sending samples of {node.host_name} ({node.machine_id}) to {arguments.to}.")
    try:
        is_done = agent.work()
        left = "" if spool.is_empty() else f" What is not sent yet waits in {path}; the next start sends it."
        say("The run has ended, and everything is sent." if is_done else f"Stopped.{left}")
    finally:
        link.close()
        spool.close()
    return DONE


def run_here(run_id: str, pid: int | None, gpus: str | None) -> Run:
    """The run as this machine's collectors need to know it. Raises PitwallError."""
    import re

    import psutil

    from domain import Config, Run, utc_now
    from errors import PitwallError
    from machine.identity import machine_id
    from machine.process_start import process_start_s

    if not re.fullmatch(r"[\w-]{1,64}", run_id, re.ASCII):
        raise PitwallError(f"{run_id} is no id of a run.")
    try:
        born_s = None if pid is None else process_start_s(pid)
    except psutil.NoSuchProcess:
        raise PitwallError(f"There is no process {pid}.") from None
    return Run(
        id=run_id,
        name=run_id,
        color=0,
        machine_id=machine_id(),
        config=Config(gpus=gpus),
        pid=pid,
        pid_birth_s=born_s,
        created_at=utc_now(),
    )


def say(words: str) -> None:
    """Print a line at once, also where the output is a file or a pipe."""
    print(words, flush=True)
