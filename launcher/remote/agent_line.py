"""The one line that starts an agent on a host, for samples of a run there: in a shell of this machine.

The token goes through the connection into the agent's standard input: it is in no argument and in no file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from urllib.parse import urlsplit

from launcher.remote.hosts import Host
from machine.ports import host_and_port

SERVER = "server process {} on {}"  # the event that names the server over there
ABOVE = 10_000  # over there the port of a Pitwall of its own may be taken


def server_pid(lines: Iterable[str]) -> int | None:
    """The process that the last of a run's events names; None where none does."""
    pattern = re.compile(SERVER.format(r"(\d+)", ".*"))
    found = [match[1] for match in map(pattern.fullmatch, lines) if match]
    return int(found[-1]) if found else None


def agent_line(host: Host, run_id: str, url: str, pid: int | None) -> str:
    """`url`: of this Pitwall. By https the agent goes there itself, else through the ssh connection."""
    ssh, to = ["ssh", "-T"], url
    if host.ssh_config:
        ssh += ["-F", host.ssh_config]
    if urlsplit(url).scheme != "https":
        name, port = host_and_port(url)
        there = port + ABOVE if port + ABOVE < 1 << 16 else port - ABOVE
        target = f"[{name}]" if ":" in name else name
        ssh += ["-o", "ExitOnForwardFailure=yes", "-R", f"127.0.0.1:{there}:{target}:{port}"]
        to = f"http://127.0.0.1:{there}{urlsplit(url).path}"
    agent = ["./pitwall", "agent", "--run", run_id, "--to", to, "--token-file", "-"]
    agent += ["--pid", str(pid)] if pid else []
    over_there = f"cd {shlex.quote(host.folder)} && {shlex.join(agent)}"
    made = shlex.join(["./pitwall", "token", "make", "agent:write", "--run", run_id, "--days", "7"])
    return f"{made} | {shlex.join([*ssh, '--', host.target, over_there])}"
