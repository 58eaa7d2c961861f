"""Writes a Config back as a command: as argv to run, and as shell text to copy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from commands.edit import reword_args
from commands.explain import read_argv
from commands.paste.containers import Container, find_runtime, port_pair, read_container
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
    """A configuration, or a change of one, that no command can say; the message is for the user."""


def command_of(config: Config) -> list[str]:
    """The argv that starts this config: its own words while they still say it, edited where they do not.

    Without words of its own it is written from the fields. Masked secrets stay '<secret>'; `env` of a process is not
    part of it. Raises CommandError for an engine without a command line of its own and no words to fall back on.
    """
    engine = BY_NAME.get(config.engine)
    if config.argv and (engine is None or not engine.commands or _still_says(config)):
        return list(config.argv)
    if engine is None or not engine.commands:
        raise CommandError(f"There is no command to write for engine {config.engine!r}.")
    if config.executable and basename(config.executable) in SCRIPTS:
        return list(config.argv) or [config.executable]
    if config.argv and (edited := _edited(config)):
        return edited
    if config.launcher in RUNTIMES and config.image:
        return _container_command(config, engine.commands.write_command(_in_container(config)))
    return [*_wrapper(config), *engine.commands.write_command(config)]


def _still_says(config: Config) -> bool:
    """Whether the config's own words read as the config; references in its texts count as equal."""
    read = _read_words(config)
    if read is None:
        return False
    loose = {"argv": (), "engine_version": None}
    for name in ("volumes", "env"):
        if "$" in str(getattr(config, name)):
            loose[name] = type(getattr(config, name))()
    return read.model_copy(update=loose) == config.model_copy(update=loose)


def _read_words(config: Config) -> Config | None:
    """What the config's own words say; the environment of a container stands in them."""
    return read_argv(config.argv, {} if config.launcher in RUNTIMES else config.env)


def _edited(config: Config) -> list[str] | None:
    """The config's own words with only what changed said anew; None where that cannot be done."""
    old = _read_words(config)
    container = _container_of(config)
    server = find_server([arg(word) for word in config.argv]) if container is None else None
    args = server.args if server else _server_args(container) if container else None
    if old is None or args is None or (old.engine, old.launcher) != (config.engine, config.launcher):
        return None
    head = list(config.argv[: len(config.argv) - len(args)])
    if container:
        old = old.model_copy(update={"port": config.port})  # the runtime's matter, not the server's
        start = head.index(str(container.image))
        head = [*_runtime_words(config), str(config.image), *head[start + 1 :]]
    elif config.executable and server and server.executable:
        head[len(server.prefix)] = config.executable
    words = head + reword_args(args, old, config)
    return words if _still_says(config.model_copy(update={"argv": tuple(words)})) else None


def _server_args(container: Container) -> list[str]:
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
    """The words that the image starts by itself; none where the config names an executable."""
    invocation = BY_NAME[config.engine].invocation
    if config.executable or invocation is None:
        return ()
    return invocation.image_command or ()


def _runtime_words(config: Config) -> list[str]:
    """`podman run ...` up to the image; what the config's own words say to the runtime and no field holds is kept."""
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


def _container_of(config: Config) -> Container | None:
    words = [arg(word) for word in config.argv]
    return read_container(words) if find_runtime(words) else None


def _published(config: Config, container: Container | None) -> list[str]:
    """The port mappings of the config's own words with the port it has now, else one of its own."""
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
    """The command as text for a POSIX shell, a flag to a line; masked secrets become references ('$HF_TOKEN')."""
    words = as_references(argv)
    named = [word.partition("=") for word in as_references(as_words(env or {}))]
    prefix = [f"{name}={_quote(value)}" for name, _, value in named]
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
    """A word in the quotes it needs; references and file patterns in it stay such."""
    pieces = pattern_pieces(word)
    return "".join(piece if at % 2 else _quote_piece(piece) for at, piece in enumerate(pieces) if piece or word == "")


def _quote_piece(word: str) -> str:
    if _BARE_WORD.fullmatch(word):
        return word
    if home := _HOME.match(word):  # within quotes it would be no home
        return home[0] + (_quote_piece(word[home.end() :]) if home.end() < len(word) else "")
    if not _REFERENCE.search(word):
        said = without_expansion_marks(word)
        return "$'" + _UNSEEN.sub(_by_code, said) + "'" if _CONTROL.search(said) else shlex.quote(said)
    return '"' + _IN_DOUBLE.sub(_escape, word) + '"'


def _by_code(match: re.Match[str]) -> str:
    """A control character, which no terminal passes on, by its number; a quote or a backslash escaped."""
    code = ord(match[0])
    return f"\\u{code:04x}" if code > 0x7F else f"\\{code:03o}" if _CONTROL.match(match[0]) else "\\" + match[0]


def _escape(match: re.Match[str]) -> str:
    """What stands in double quotes for a piece of a word: a `$` and what marks it are written alike in both."""
    if match["tilde"]:
        return "\\" * (len(match["tilde"]) // 2 * 2)
    return match["dollar"] or "\\" + match[0]
