"""Writes a Config as a command: as argv to run, and as shell text to copy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from commands.edit import reword_args
from commands.explain import read_argv
from commands.paste.containers import ContainerCommand, find_runtime, port_pair, read_container
from commands.paste.servers import SCRIPTS, basename, find_server
from commands.paste.variables import arg
from commands.quoting import pattern_pieces, without_expansion_marks
from commands.secrets import as_references, as_words
from domain import Config
from engines import BY_NAME
from engines.flag_table import words_of_flag
from errors import PitwallError

RUNTIMES = {"podman": "podman", "docker": "docker", "compose": "docker", "kubernetes": "docker"}
_REFERENCE = re.compile(r"(?<!\\)(?:\\\\)*\$[A-Za-z_{]")
_HOME = re.compile(r"~[\w.-]*(?:/|$)")
_IN_DOUBLE = re.compile(r"(?P<dollar>(?<!\\)\\*\$(?=[A-Za-z_{]))|(?:^|(?<=[:=]))(?P<tilde>\\+)(?=~)|[\\\"`$]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNSEEN = re.compile(rf"{_CONTROL.pattern}|[\\']")
_BARE_WORD = re.compile(r"[\w@%+=:,./~-]+")


class CommandError(PitwallError):
    """No command can express a configuration or its change; the message is for the user."""


def command_of(config: Config) -> list[str]:
    """Return the argv that starts this config: its own words, edited if they no longer match the fields.

    Without words it is written from the fields. Masked secrets stay '<secret>'; a process's `env` is not included.
    Raises CommandError for a config without words whose engine has no known command line.
    """
    engine = BY_NAME.get(config.engine)
    if config.argv and (engine is None or not engine.commands or _words_match(config)):
        return list(config.argv)
    if engine is None or not engine.commands:
        raise CommandError(f"There is no command to write for engine {config.engine!r}.")
    if config.executable and basename(config.executable) in SCRIPTS:
        return list(config.argv) or [config.executable]
    if config.argv and (edited := _edited_words(config)):
        return edited
    if config.launcher in RUNTIMES and config.image:
        return _container_command(config, engine.commands.write_command(_in_container(config)))
    return [*_wrapper(config), *engine.commands.write_command(config)]


def _words_match(config: Config) -> bool:
    """Whether the config's words still read as the config; references in texts count as equal."""
    own_config = _read_words(config)
    if own_config is None:
        return False
    ignored = {"argv": (), "engine_version": None}
    for name in ("volumes", "env"):
        if "$" in str(getattr(config, name)):
            ignored[name] = type(getattr(config, name))()
    return own_config.model_copy(update=ignored) == config.model_copy(update=ignored)


def _read_words(config: Config) -> Config | None:
    """The config read from its own words; a container's environment is among them."""
    return read_argv(config.argv, {} if config.launcher in RUNTIMES else config.env)


def _edited_words(config: Config) -> list[str] | None:
    """The config's words with only changed fields rewritten; None if that is not possible."""
    old = _read_words(config)
    container = _container_of(config)
    server = find_server([arg(word) for word in config.argv]) if container is None else None
    args = server.args if server else _server_args(container) if container else None
    if old is None or args is None or (old.engine, old.launcher) != (config.engine, config.launcher):
        return None
    head = list(config.argv[: len(config.argv) - len(args)])
    if container:
        old = old.model_copy(update={"port": config.port})  # belongs to the container runtime, not to the server
        start = head.index(str(container.image))
        head = [*_runtime_words(config), str(config.image), *head[start + 1 :]]
    elif config.executable and server and server.executable:
        head[len(server.prefix)] = config.executable
    words = head + reword_args(args, old, config)
    return words if _words_match(config.model_copy(update={"argv": tuple(words)})) else None


def _server_args(container: ContainerCommand) -> list[str]:
    server = find_server(container.args)
    return server.args if server else [word.text for word in container.args]


def _wrapper(config: Config) -> list[str]:
    server = find_server([arg(word) for word in config.argv])
    if server:
        return [word.text for word in server.prefix]
    return ["./launch-cluster.sh", "exec"] if config.launcher == "script" else []


def _in_container(config: Config) -> Config:
    words = _started_by_image(config)
    return config.model_copy(update={"executable": words[0]}) if words else config


def _container_command(config: Config, server: Sequence[str]) -> list[str]:
    return [*_runtime_words(config), str(config.image), *server[len(_started_by_image(config)) :]]


def _started_by_image(config: Config) -> Sequence[str]:
    """The words that the image starts by itself; empty if the config names an executable."""
    invocation = BY_NAME[config.engine].invocation
    if config.executable or invocation is None:
        return ()
    return invocation.image_command or ()


def _runtime_words(config: Config) -> list[str]:
    """`podman run ...` up to the image; runtime flags without a field are kept from the config's words."""
    container = _container_of(config)
    flags = [word for text in (container.flags if container else []) for word in words_of_flag(text)]
    words = [RUNTIMES[config.launcher], "run", *flags]
    if config.gpus and config.gpus not in (
        config.env.get("CUDA_VISIBLE_DEVICES"),
        config.env.get("NVIDIA_VISIBLE_DEVICES"),
    ):
        words += _gpu_flags(config.gpus)
    for mapping in _published(config, container):
        words += ["-p", mapping]
    for name, value in config.env.items():
        words += ["-e", name if value == f"${name}" else f"{name}={value}"]
    for volume in config.volumes:
        words += ["-v", volume]
    return words


def _container_of(config: Config) -> ContainerCommand | None:
    words = [arg(word) for word in config.argv]
    return read_container(words) if find_runtime(words) else None


def _published(config: Config, container: ContainerCommand | None) -> list[str]:
    """The port mappings of the config's words with the current port, else a new mapping."""
    if not config.port or (container and container.is_on_host_network):
        return []
    old = _read_words(config)
    if old is None or container is None or not container.ports or old.port is None:
        return [f"{config.port}:{config.port}"]
    return [
        f"{config.port}:{pair[1]}" if pair and pair[0] == old.port != config.port else mapping
        for mapping in container.ports
        for pair in [port_pair(mapping)]
    ]


def _gpu_flags(gpus: str) -> list[str]:
    if "/gpu=" in gpus:
        return [word for device in gpus.split(",") for word in ("--device", device)]
    devices = f"device={gpus}" if re.fullmatch(r"\d+(,\d+)+", gpus) else gpus
    return ["--gpus", f'"{devices}"' if "," in devices else devices]  # the runtime reads this value as CSV


def shell_text(argv: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    """Return the command as POSIX shell text, one flag per line; masked secrets become references ('$HF_TOKEN')."""
    words = as_references(argv)
    assignments = [word.partition("=") for word in as_references(as_words(env or {}))]
    prefix = [f"{name}={_quote(value)}" for name, _, value in assignments]
    lines = [" ".join(prefix)] if prefix else []
    start = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    lines.append(" ".join(map(_quote, words[:start])))
    for word in words[start:]:
        if word.startswith("-") and len(word) > 1:
            lines.append("  " + _quote(word))
        else:
            lines[-1] += " " + _quote(word)
    return " \\\n".join(lines)


def _quote(word: str) -> str:
    """A word with the quotes it needs; references and file patterns stay active."""
    pieces = pattern_pieces(word)
    return "".join(
        piece if index % 2 else _quote_piece(piece) for index, piece in enumerate(pieces) if piece or word == ""
    )


def _quote_piece(word: str) -> str:
    if _BARE_WORD.fullmatch(word):
        return word
    if home := _HOME.match(word):  # not expanded within quotes
        return home[0] + (_quote_piece(word[home.end() :]) if home.end() < len(word) else "")
    if not _REFERENCE.search(word):
        literal = without_expansion_marks(word)
        return "$'" + _UNSEEN.sub(_by_code, literal) + "'" if _CONTROL.search(literal) else shlex.quote(literal)
    return '"' + _IN_DOUBLE.sub(_escape, word) + '"'


def _by_code(match: re.Match[str]) -> str:
    """A control character, which terminals do not pass on, as its code; a quote or backslash escaped."""
    code = ord(match[0])
    return f"\\u{code:04x}" if code > 0x7F else f"\\{code:03o}" if _CONTROL.match(match[0]) else "\\" + match[0]


def _escape(match: re.Match[str]) -> str:
    """The replacement inside double quotes; a `$` and its marks stay unchanged."""
    if match["tilde"]:
        return "\\" * (len(match["tilde"]) // 2 * 2)
    return match["dollar"] or "\\" + match[0]
