"""Calls ssh and explains its errors; the remote command is fixed, everything else goes to its standard input."""

from __future__ import annotations

import re
import shlex
from typing import Any

from launcher.remote.hosts import Host, HostError
from launcher.remote.wire import Frames, WireError, encode_line, truncate_refusal
from machine.run_with_timeout import ProcessOutput, ask_bounded

ASK_S = 60.0
MOST_BYTES = 2 << 20
OPTIONS = (
    "BatchMode=yes",  # never prompts
    "StrictHostKeyChecking=yes",  # regardless of the user's settings
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    "ControlMaster=no",
    "ControlPath=none",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "LogLevel=ERROR",
)
SSH_FAILED = 255  # exit status of ssh itself, not of the command


def ssh_argv(host: Host, forward: str | None = None) -> list[str]:
    """Return the argv that reaches the shim on the host; `forward` is the argument of `ssh -L`."""
    options = [word for option in OPTIONS for word in ("-o", option)]
    through = ["-o", "ExitOnForwardFailure=yes", "-L", forward] if forward else ["-o", "ClearAllForwardings=yes"]
    settings = ["-F", host.ssh_config] if host.ssh_config else []
    command = f"{shlex.quote(f'{host.folder}/pitwall')} shim -"
    return ["ssh", "-T", *settings, *options, *through, "--", host.target, command]


def ask(host: Host, order: dict[str, Any], timeout_s: float = ASK_S) -> dict[str, Any]:
    """Send one order and return its answer; raises HostError with a sentence on why there is none."""
    try:
        output = ask_bounded(ssh_argv(host), encode_line(order), timeout_s, MOST_BYTES)
    except OSError as error:
        raise HostError(f"ssh could not be started on this machine: {error.strerror}.") from error
    frames = Frames()
    try:
        answers = [frame.fields for frame in frames.feed(output.stdout) if frame.fields]
    except WireError as error:
        raise HostError(f"{host.label} gave no usable answer: {error}.") from error
    if refusal := next(
        (candidate["refused"] for candidate in answers if isinstance(candidate.get("refused"), str)), None
    ):
        raise HostError(truncate_refusal(refusal))
    if answer := next(
        (candidate["answer"] for candidate in answers if isinstance(candidate.get("answer"), dict)), None
    ):
        return dict(answer)
    raise HostError(explain(host, output, frames.is_greeted))


def explain(host: Host, output: ProcessOutput, is_greeted: bool) -> str:
    """Return in one sentence why a connection gave no usable answer, and what to do about it."""
    stderr = output.stderr.decode(errors="replace").strip()
    if output.returncode == SSH_FAILED:
        return explain_refusal(host, stderr)
    if output.returncode is None:
        return f"{host.label} did not answer in time: is {host.target} up and responsive?"
    if not is_greeted and output.returncode in (126, 127):
        return (
            f"There is no Pitwall in {host.folder} on {host.label}: clone it there and run `make install`, or name its "
            f"folder with `./pitwall host add {host.label} {host.target} --folder PATH`."
        )
    last_line = stderr.splitlines()[-1] if stderr else f"it ended with status {output.returncode}"
    return f"The Pitwall on {host.label} gave no answer: {last_line}"


_REFUSALS = (
    (
        r"host identification has changed|host key .*has changed",
        "The host key of {label} differs from the one that ssh knows: somebody may be intercepting the connection, or "
        "the machine was reinstalled. If it was: `ssh-keygen -R {name}`, then `ssh {target}` once, and compare the "
        "fingerprint it shows.",
    ),
    (
        r"host key verification failed|no .*host key is known",
        "ssh does not know the host key of {label}: connect once with `ssh {target}`, and compare the fingerprint it "
        "shows.",
    ),
    (
        r"permission denied|too many authentication failures",
        "{label} rejects this user's key: install it with `ssh-copy-id {target}`. A key with a passphrase needs an ssh "
        "agent when Pitwall is started.",
    ),
    (
        r"could not resolve hostname|name or service not known",
        "This machine cannot resolve the name {name} of {label}: correct it with "
        "`./pitwall host add {label} USER@HOST`.",
    ),
    (
        r"cannot listen to port|could not request local forwarding|address already in use",
        "The local port that forwards to the server on {label} is in use: launch again.",
    ),
    (
        r"connection refused",
        "{label} refuses ssh connections: is its ssh server running? Try `ssh {target}`.",
    ),
    (
        r"timed out|timeout|no route to host|network is unreachable|connection (?:reset|closed)|broken pipe",
        "{label} cannot be reached: are the machine and the network up? Try `ssh {target}`.",
    ),
)


def explain_refusal(host: Host, stderr: str) -> str:
    """Return a sentence on ssh's own error."""
    name = host.target.rpartition("@")[2]
    for pattern, sentence in _REFUSALS:
        if re.search(pattern, stderr, re.IGNORECASE | re.DOTALL):
            return sentence.format(label=host.label, target=host.target, name=name)
    last_line = stderr.splitlines()[-1] if stderr else "it printed nothing"
    return f"ssh did not reach {host.label}: {last_line}"
