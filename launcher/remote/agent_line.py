"""Builds the shell command that starts an agent on a host, from this machine, for samples of a run there.

The token goes through the connection into the agent's standard input; it is in no argument and in no file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from urllib.parse import urlsplit

from launcher.remote.hosts import Host
from machine.ports import host_and_port

SERVER = "server process {} on {}"  # event that names the remote server
ABOVE = 10_000  # offset of the remote port, since a Pitwall there may use the same one


def find_server_pid(lines: Iterable[str]) -> int | None:
    """Return the pid in the last of a run's events that names one; None if there is none."""
    pattern = re.compile(SERVER.format(r"(\d+)", ".*"))
    pids = [match[1] for match in map(pattern.fullmatch, lines) if match]
    return int(pids[-1]) if pids else None


def agent_line(host: Host, run_id: str, url: str, pid: int | None) -> str:
    """Return the command. url: of this Pitwall; the agent connects directly by https, else through ssh."""
    ssh, destination = ["ssh", "-T"], url
    if host.ssh_config:
        ssh += ["-F", host.ssh_config]
    if urlsplit(url).scheme != "https":
        host_name, port = host_and_port(url)
        remote_port = port + ABOVE if port + ABOVE < 1 << 16 else port - ABOVE
        target = f"[{host_name}]" if ":" in host_name else host_name
        ssh += ["-o", "ExitOnForwardFailure=yes", "-R", f"127.0.0.1:{remote_port}:{target}:{port}"]
        destination = f"http://127.0.0.1:{remote_port}{urlsplit(url).path}"
    agent = ["./pitwall", "agent", "--run", run_id, "--to", destination, "--token-file", "-"]
    agent += ["--pid", str(pid)] if pid else []
    remote_command = f"cd {shlex.quote(host.folder)} && {shlex.join(agent)}"
    token_command = shlex.join(["./pitwall", "token", "make", "agent:write", "--run", run_id, "--days", "7"])
    return f"{token_command} | {shlex.join([*ssh, '--', host.target, remote_command])}"
