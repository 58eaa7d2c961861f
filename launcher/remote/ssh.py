"""How ssh is called and what its errors mean: the remote command is fixed, all else goes to its standard input."""

from __future__ import annotations

import re
import shlex
from typing import Any

from launcher.remote.hosts import Host, HostError
from launcher.remote.wire import Frames, WireError, as_sentence, line_of
from machine.run_with_timeout import Output, ask_bounded

ASK_S = 60.0
MOST_BYTES = 2 << 20
OPTIONS = (
    "BatchMode=yes",  # it asks nobody
    "StrictHostKeyChecking=yes",  # whatever the user's own settings say
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
REFUSED = 255  # ssh's own exit status, as against the command's


def ssh_argv(host: Host, forward: str | None = None) -> list[str]:
    """The words that reach the shim over there; `forward` is what `ssh -L` takes."""
    options = [word for option in OPTIONS for word in ("-o", option)]
    through = ["-o", "ExitOnForwardFailure=yes", "-L", forward] if forward else ["-o", "ClearAllForwardings=yes"]
    settings = ["-F", host.ssh_config] if host.ssh_config else []
    command = f"{shlex.quote(f'{host.folder}/pitwall')} shim -"
    return ["ssh", "-T", *settings, *options, *through, "--", host.target, command]


def ask(host: Host, order: dict[str, Any], timeout_s: float = ASK_S) -> dict[str, Any]:
    """The answer to one order; raises HostError with the sentence that says why there is none."""
    try:
        output = ask_bounded(ssh_argv(host), line_of(order), timeout_s, MOST_BYTES)
    except OSError as error:
        raise HostError(f"ssh could not be started here: {error.strerror}.") from error
    frames = Frames()
    try:
        answers = [frame.fields for frame in frames.feed(output.stdout) if frame.fields]
    except WireError as error:
        raise HostError(f"{host.label} gave no answer of use: {error}.") from error
    if refusal := next((one["refused"] for one in answers if isinstance(one.get("refused"), str)), None):
        raise HostError(as_sentence(refusal))
    if answer := next((one["answer"] for one in answers if isinstance(one.get("answer"), dict)), None):
        return dict(answer)
    raise HostError(explain(host, output, frames.is_greeted))


def explain(host: Host, output: Output, is_greeted: bool) -> str:
    """Why nothing of use came of a connection, in one sentence with the way round it."""
    said = output.stderr.decode(errors="replace").strip()
    if output.returncode == REFUSED:
        return explain_refusal(host, said)
    if output.returncode is None:
        return f"{host.label} did not answer in time: is {host.target} up and well?"
    if not is_greeted and output.returncode in (126, 127):
        return (
            f"There is no Pitwall in {host.folder} on {host.label}: clone it there and run `make install`, or name its "
            f"folder with `./pitwall host add {host.label} {host.target} --folder PATH`."
        )
    last = said.splitlines()[-1] if said else f"it ended with status {output.returncode}"
    return f"The Pitwall on {host.label} gave no answer: {last}"


_REFUSALS = (
    (
        r"host identification has changed|host key .*has changed",
        "The host key of {label} is not the one that ssh knows for it: somebody may be listening, or the machine was "
        "set up anew. If so: `ssh-keygen -R {name}`, then `ssh {target}` once, and compare the fingerprint it shows.",
    ),
    (
        r"host key verification failed|no .*host key is known",
        "ssh does not know the host key of {label}: connect once by `ssh {target}`, and compare the fingerprint it "
        "shows.",
    ),
    (
        r"permission denied|too many authentication failures",
        "{label} refuses the key of this user: `ssh-copy-id {target}` gives it one, and a key with a passphrase needs "
        "an agent that Pitwall is started with.",
    ),
    (
        r"could not resolve hostname|name or service not known",
        "The name {name} of {label} is not known here: mend it with `./pitwall host add {label} USER@HOST`.",
    ),
    (
        r"cannot listen to port|could not request local forwarding|address already in use",
        "The port of this machine that leads to the server on {label} is in use: launch again.",
    ),
    (
        r"connection refused",
        "{label} refuses ssh: is its ssh server up? Try `ssh {target}`.",
    ),
    (
        r"timed out|timeout|no route to host|network is unreachable|connection (?:reset|closed)|broken pipe",
        "{label} cannot be reached: is it up, and is the network? Try `ssh {target}`.",
    ),
)


def explain_refusal(host: Host, said: str) -> str:
    """What ssh's own refusal means."""
    name = host.target.rpartition("@")[2]
    for pattern, words in _REFUSALS:
        if re.search(pattern, said, re.IGNORECASE | re.DOTALL):
            return words.format(label=host.label, target=host.target, name=name)
    last = said.splitlines()[-1] if said else "it said nothing"
    return f"ssh did not reach {host.label}: {last}"
