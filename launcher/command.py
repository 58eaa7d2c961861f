"""A Config back as the command that says it: as words to run, and as text to copy."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from domain import Config
from engines import BY_NAME
from launcher.explain import read_argv
from launcher.paste.containers import find_runtime, read_container
from launcher.paste.servers import SCRIPTS, basename, find_server
from launcher.paste.variables import arg
from launcher.secrets import MASK, is_secret_name, replace_in_argv

RUNTIMES = {"podman": "podman", "docker": "docker", "compose": "docker", "kubernetes": "docker"}
IMAGE_STARTS = {"vllm": "vllm", "llamacpp": "llama-server"}  # what the engine's own images start by themselves
_REFERENCE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_BARE_WORD = re.compile(r"~?[\w@%+=:,./-]+$")
_MASKED_NAME = re.compile(r"\W+")


def command_of(config: Config) -> list[str]:
    """The argv that starts this config: its own words while they still say it, else written from its fields.

    Masked secrets stay '<secret>'; `env` of a process is not part of it. Raises ValueError for an engine
    without a command line of its own and no words to fall back on.
    """
    engine = BY_NAME.get(config.engine)
    if config.argv and (engine is None or not engine.commands or _still_says(config)):
        return list(config.argv)
    if engine is None or not engine.commands:
        raise ValueError(f"There is no command to write for engine {config.engine!r}.")
    if config.executable and basename(config.executable) in SCRIPTS:
        return list(config.argv) or [config.executable]
    if config.launcher in RUNTIMES and config.image:
        return _container_command(config, engine.commands.write_command(_in_container(config)))
    return [*_wrapper(config), *engine.commands.write_command(config)]


def _still_says(config: Config) -> bool:
    """Whether the config's own words read as the config; references in its texts count as equal."""
    read = read_argv(config.argv, config.env)
    if read is None:
        return False
    loose = {"argv": (), "engine_version": None}
    for name in ("volumes", "env"):
        if "$" in str(getattr(config, name)):
            loose[name] = type(getattr(config, name))()
    return read.model_copy(update=loose) == config.model_copy(update=loose)


def _wrapper(config: Config) -> list[str]:
    server = find_server([arg(word) for word in config.argv])
    if server:
        return [word.text for word in server.prefix]
    return ["./launch-cluster.sh", "exec"] if config.launcher == "script" else []


def _in_container(config: Config) -> Config:
    default = IMAGE_STARTS.get(config.engine)
    return config if config.executable or not default else config.model_copy(update={"executable": default})


def _container_command(config: Config, server: Sequence[str]) -> list[str]:
    words = [RUNTIMES[config.launcher], "run", *_runtime_flags(config)]
    if config.gpus and config.gpus not in (
        config.env.get("CUDA_VISIBLE_DEVICES"),
        config.env.get("NVIDIA_VISIBLE_DEVICES"),
    ):
        words += _gpu_flags(config.gpus)
    if config.port and not any("host" in word for word in _runtime_flags(config) if "net" in word):
        words += ["-p", f"{config.port}:{config.port}"]
    for name, value in config.env.items():
        words += ["-e", name if value == f"${name}" else f"{name}={value}"]
    for volume in config.volumes:
        words += ["-v", volume]
    starts_itself = not config.executable and config.engine in IMAGE_STARTS
    drop = (2 if config.engine == "vllm" else 1) if starts_itself else 0
    return [*words, str(config.image), *server[drop:]]


def _runtime_flags(config: Config) -> list[str]:
    """What the config's own words tell the runtime and no field holds."""
    words = [arg(word) for word in config.argv]
    container = read_container(words) if find_runtime(words) else None
    return [word for text in (container.flags if container else []) for word in text.split(" ", 1)]


def _gpu_flags(gpus: str) -> list[str]:
    if "/gpu=" in gpus:
        return [word for device in gpus.split(",") for word in ("--device", device)]
    devices = f"device={gpus}" if re.fullmatch(r"\d+(,\d+)+", gpus) else gpus
    return ["--gpus", f'"{devices}"' if "," in devices else devices]  # the runtime reads this value as CSV


def complete_words(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The words as a shell would hand them over: `~/` and references to plain variables filled in.

    Secrets are left to `launcher.secrets`. Returns the words and the names that `environ` lacks.
    """
    missing: list[str] = []

    def fill(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if not is_secret_name(name) and name not in environ and name not in missing:
            missing.append(name)
        return match[0] if is_secret_name(name) else environ.get(name, match[0])

    home = environ.get("HOME")
    words = [home + word[1:] if home and word.startswith("~/") else word for word in argv]
    return [_REFERENCE.sub(fill, word) for word in words], missing


def shell_text(argv: Sequence[str], env: Mapping[str, str] | None = None) -> str:
    """The command as text for a POSIX shell, a flag to a line; masked secrets become references ('$HF_TOKEN')."""
    words = replace_in_argv(argv, lambda name, value: f"${_variable(name)}" if value == MASK else value)
    prefix = [f"{name}={_quote(f'${name}' if value == MASK else value)}" for name, value in (env or {}).items()]
    lines = [" ".join(prefix)] if prefix else []
    start = next((i for i, word in enumerate(words) if word.startswith("-")), len(words))
    lines.append(" ".join(map(_quote, words[:start])))
    for word in words[start:]:
        if word.startswith("-") and len(word) > 1:
            lines.append("  " + _quote(word))
        else:
            lines[-1] += " " + _quote(word)
    return " \\\n".join(lines)


def _variable(name: str) -> str:
    return _MASKED_NAME.sub("_", name.strip("-")).upper()


def _quote(word: str) -> str:
    """A word in the quotes it needs; references in it stay references."""
    if _BARE_WORD.match(word):
        return word
    if not _REFERENCE.search(word):
        return shlex.quote(word)
    escaped = re.sub(r'([\\"`])', r"\\\1", word)
    return '"' + re.sub(r"\$(?![A-Za-z_{])", r"\\$", escaped) + '"'
