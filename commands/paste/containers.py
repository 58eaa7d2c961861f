"""`docker run`, `podman run` and `exec`: separates the runtime's own options from the server's argv."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from commands.paste.servers import basename
from commands.paste.variables import Arg

RUNTIMES = {"docker": "docker", "podman": "podman", "nerdctl": "docker"}
# Flags of `run` and `exec` without a value; all others take one.
SWITCHES = """
--detach --interactive --tty --rm --privileged --init --read-only --no-healthcheck --oom-kill-disable --publish-all
--quiet --replace --tls-verify --rmi --disable-content-trust --env-host --http-proxy --no-hosts --no-hostname --passwd
--latest --help --sig-proxy
"""
_SWITCHES = frozenset(SWITCHES.split())
_SHORT_SWITCHES = frozenset("ditPq")


@dataclass
class ContainerCommand:
    """A container as stated by its command or manifest; texts as written, `ports` with variables expanded."""

    launcher: str
    image: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    volumes: list[str] = field(default_factory=list)
    ports: list[str] = field(default_factory=list)  # 'host:container'
    gpus: str | None = None
    args: list[Arg] = field(default_factory=list)  # after the image, the entrypoint before them
    has_entrypoint: bool = False
    is_on_host_network: bool = False
    flags: list[str] = field(default_factory=list)  # for the runtime, without a field
    devices: list[str] = field(default_factory=list)


def find_runtime(words: Sequence[Arg]) -> tuple[int, int, str] | None:
    """Return the position of the runtime, of the first word after its `run` or `exec`, and the verb."""
    for position, word in enumerate(words):
        if basename(word.text) in RUNTIMES:
            for index in range(position + 1, min(len(words), position + 6)):
                if words[index].text in ("run", "create", "exec"):
                    return position, index + 1, words[index].text
                if words[index].text == "compose":
                    return None
    return None


def read_container(words: Sequence[Arg]) -> ContainerCommand | None:
    """Read a `run` or `exec` command line; None if the words are not one."""
    runtime = find_runtime(words)
    if not runtime:
        return None
    position, start, verb = runtime
    container = ContainerCommand(RUNTIMES[basename(words[position].text)])
    if verb == "exec":
        container.flags.append(verb)
    entrypoint: Arg | None = None
    option_words = list(words[start:])
    options = read_options(option_words)
    at = 0
    for name, value, length in options:
        option_text = " ".join(word.raw for word in option_words[at : at + length])
        at += length
        if name == "--entrypoint" and value:
            entrypoint = value
            container.has_entrypoint = bool(value.text)
        else:
            take_option(container, name, value, option_text)
    target, following = (option_words[at].text, option_words[at + 1 :]) if at < len(option_words) else (None, [])
    if verb == "exec":
        container.flags.append(target or "")
    else:
        container.image = target
    container.args = ([entrypoint] if entrypoint and entrypoint.text else []) + following
    container.gpus = container.gpus or ",".join(container.devices) or None
    return container


def read_options(words: Sequence[Arg]) -> Iterator[tuple[str, Arg | None, int]]:
    """Yield each option with its value and number of words, up to the image."""
    position = 0
    while position < len(words) and words[position].text.startswith("-") and len(words[position].text) > 1:
        name, value, length = _option(words, position)
        position += length
        yield name, value, length


def _option(words: Sequence[Arg], position: int) -> tuple[str, Arg | None, int]:
    raw, text = words[position]
    following = words[position + 1] if position + 1 < len(words) else None
    name, equals, value = text.partition("=")
    if text.startswith("--"):
        if equals:
            return name, Arg(raw.partition("=")[2], value), 1
        return (name, None, 1) if name in _SWITCHES or following is None else (name, following, 2)
    letters = text[1:]
    for index, letter in enumerate(letters):
        if letter not in _SHORT_SWITCHES:
            glued = letters[index + 1 :].removeprefix("=")
            if glued:
                raw_value = raw[1 + letters.index(letter) + 1 :].removeprefix("=") if raw != text else glued
                return f"-{letter}", Arg(raw_value, glued), 1
            return (f"-{letter}", following, 2) if following else (f"-{letter}", None, 1)
    return text, None, 1


def take_option(container: ContainerCommand, name: str, value: Arg | None, option_text: str) -> None:
    """Store one option of the runtime."""
    if name in ("-e", "--env") and value:
        take_env(container, value)
    elif name in ("-v", "--volume") and value:
        container.volumes.append(value.raw)
    elif name == "--mount" and value:
        container.volumes.append(_mount(value.raw))
    elif name in ("-p", "--publish") and value:
        container.ports.append(value.text)
    elif name == "--gpus" and value:
        container.gpus = value.raw.strip("\"'")
    elif name == "--device" and value and "/gpu=" in value.text:
        container.devices.append(value.raw)
    elif name in ("--network", "--net") and value and value.text == "host":
        container.is_on_host_network = True
        container.flags.append(option_text)
    else:
        container.flags.append(option_text)


def take_env(container: ContainerCommand, value: Arg) -> None:
    """Store NAME=value; NAME alone inherits the caller's value."""
    name, equals, text = value.raw.partition("=")
    container.env[name] = text if equals else f"${name}"


def _mount(text: str) -> str:
    fields = dict(part.partition("=")[::2] for part in text.split(","))
    source = fields.get("source") or fields.get("src")
    target = fields.get("target") or fields.get("destination") or fields.get("dst")
    if not source or not target:
        return text
    return f"{source}:{target}" + (":ro" if "readonly" in fields or "ro" in fields else "")


def published_port(ports: Sequence[str], server_port: int | None, default_port: int | None) -> tuple[int | None, bool]:
    """Return the host port of the server, and whether mappings exist but none leads to it."""
    expected_port = server_port or default_port
    pairs = [pair for text in ports for pair in [port_pair(text)] if pair]
    for published, target in pairs:
        if target == expected_port or expected_port is None:
            return published, False
    return None, bool(pairs)


def port_pair(text: str) -> tuple[int | None, int] | None:
    """Read '127.0.0.1:8001:8000/tcp' as (8001, 8000); of a range the first port; None without a number."""
    spec = text.strip().strip("\"'").partition("/")[0]
    parts = spec.rsplit(":", 2)
    target = _port(parts[-1])
    if target is None:
        return None
    return (_port(parts[-2]) if len(parts) > 1 else None), target


def _port(text: str) -> int | None:
    first = text.partition("-")[0]
    return int(first) if first.isdigit() and 0 < len(first) < 6 and 0 < int(first) < 65536 else None
