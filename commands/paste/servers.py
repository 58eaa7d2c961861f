"""Finds the server of a known engine in a command's words, whatever wraps it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from commands.paste.variables import Arg
from commands.quoting import without_marks
from engines import ENGINES
from engines.base import HostedModule, Invocation
from engines.flag_table import FlagTable, is_flag

INVOCATIONS: dict[str, Invocation] = {engine.name: engine.invocation for engine in ENGINES if engine.invocation}
MODULES = {module: name for name, invocation in INVOCATIONS.items() for module in invocation.modules}
HOSTED_MODULES = {
    module: hosted for invocation in INVOCATIONS.values() for module, hosted in invocation.hosted_modules.items()
}
MODULES |= {module: name for name, invocation in INVOCATIONS.items() for module in invocation.hosted_modules}
FILES = {file: name for name, invocation in INVOCATIONS.items() for file in invocation.files}
SCRIPTS = {script: name for name, invocation in INVOCATIONS.items() for script in invocation.scripts}
NEVER_WORDS = """
echo printf pip pip3 grep egrep pkill pgrep kill killall curl wget which alias git cd tail cat less man
systemctl journalctl
"""
NEVER_SERVE = frozenset(NEVER_WORDS.split())
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ash"})
_STARTS = "|".join(invocation.text_pattern for invocation in INVOCATIONS.values())
SERVER_START = re.compile(rf"(?:(?<=\s)|^)(?:\"[^\"\n]*[/\\]|'[^'\n]*[/\\]|\S*[/\\])?(?:{_STARTS})[\"']?\s")
_CONTAINER_START = re.compile(r"\b(?:docker|podman|nerdctl)[ \t]+(?:container[ \t]+)?(?:run|create)[ \t]")
_PYTHON = re.compile(r"(python|pypy)[\d.]*$")
_PYTHON_FLAGS_WITH_VALUE = frozenset({"-X", "-W"})
_SHELL_SCRIPT_FLAG = re.compile(r"-[a-z]*c[a-z]*$")


@dataclass(frozen=True)
class ServerCommand:
    """A server's command: engine, executable (None: the image's entrypoint) and arguments."""

    engine: str
    executable: str | None
    args: list[str]
    prefix: list[Arg] = field(default_factory=list)  # wrapper words before it
    start: list[str] = field(default_factory=list)  # from executable to module, before `args`

    @property
    def hosted_module(self) -> HostedModule | None:
        """The module of another product that runs this server as its worker."""
        return HOSTED_MODULES.get(self.start[-1]) if self.start else None

    @property
    def engine_args(self) -> list[str]:
        """The arguments under the engine's own names."""
        flags = self.hosted_module.flags if self.hosted_module else {}
        parts = (word.partition("=") for word in self.args)
        return [flags.get(name, name) + equals + value for name, equals, value in parts] if flags else self.args


def has_server_start(command: str) -> bool:
    """Whether a command starts a server, or a container with an engine's image."""
    if SERVER_START.search(f"{command} "):
        return True
    return bool(_CONTAINER_START.search(command)) and any(map(engine_of_image, command.split()))


def basename(word: str) -> str:
    """Return a program's name without its POSIX or Windows path."""
    return word.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")


def is_python(word: str) -> bool:
    """Whether a word starts a Python interpreter."""
    return bool(_PYTHON.match(basename(word)))


def find_server(words: Sequence[Arg]) -> ServerCommand | None:
    """Return the first server in a command's words, or None."""
    texts = [word.text for word in words]
    for position, word in enumerate(texts):
        if basename(word) in NEVER_SERVE:
            return None
        server = _server_at(texts, position)
        if server:
            engine, length = server
            return ServerCommand(
                engine, word, texts[position + length :], list(words[:position]), texts[position : position + length]
            )
    return None


def _server_at(texts: Sequence[str], position: int) -> tuple[str, int] | None:
    """The engine and its number of start words, if a server starts at this word."""
    name = basename(texts[position])
    if _PYTHON.match(name):
        return _python_server(texts, position)
    engines = (engine for engine, invocation in INVOCATIONS.items() if invocation.is_server(name, texts, position + 1))
    return next(((engine, 1) for engine in engines), None)


def _python_server(texts: Sequence[str], position: int) -> tuple[str, int] | None:
    index = position + 1
    while index < len(texts) and texts[index].startswith("-") and texts[index] != "-m":
        index += 2 if texts[index] in _PYTHON_FLAGS_WITH_VALUE else 1
    if index + 1 < len(texts) and texts[index] == "-m" and texts[index + 1] in MODULES:
        return MODULES[texts[index + 1]], index + 2 - position
    path = f"/{texts[index]}" if index < len(texts) else ""
    engine = next((engine for file, engine in FILES.items() if path.endswith(f"/{file}")), None)
    return (engine, index + 1 - position) if engine else None


def find_script(words: Sequence[Arg]) -> tuple[str, int] | None:
    """Return the engine of a known launch script and the script's position."""
    names = ((basename(word.text), position) for position, word in enumerate(words))
    return next(((SCRIPTS[name], position) for name, position in names if name in SCRIPTS), None)


def inner_script(words: Sequence[Arg]) -> tuple[int, str] | None:
    """Return the position of the shell and its script in `... bash -c 'SCRIPT'`."""
    for position, word in enumerate(words[:-2]):
        if basename(word.text) in SHELLS:
            for index in range(position + 1, len(words) - 1):
                if _SHELL_SCRIPT_FLAG.match(words[index].text):
                    return position, without_marks(words[index + 1].text)
                if not words[index].text.startswith("-"):
                    break
    return None


def quoted_command(words: Sequence[Arg]) -> str | None:
    """Return a word that is a whole server command: `tmux new -d 'vllm serve …'`, `ssh host "…"`."""
    if not words or basename(words[0].text) in NEVER_SERVE:
        return None
    texts = (without_marks(word.text) for word in words[1:])
    return next((text for text in texts if " " in text and SERVER_START.search(text)), None)


def engine_of_image(image: str | None) -> str | None:
    """Return the engine named by an image; the last part of its path is checked first."""
    if not image:
        return None
    path = re.sub(r"(@sha256:\w+|:[^/]*)$", "", image)
    for text in (path.rpartition("/")[2], path, image):
        engine = next((name for name, invocation in INVOCATIONS.items() if invocation.image_name.search(text)), None)
        if engine:
            return engine
    return None


def engine_of_flags(args: Sequence[str]) -> str | None:
    """Return the only engine that knows all flags of a command, if at least two flags identify it."""
    names = {word.partition("=")[0] for word in args if is_flag(word)}
    matching_engines = [
        name for name, table in flag_tables().items() if names and all(n in table.by_name for n in names)
    ]
    return matching_engines[0] if len(matching_engines) == 1 and len(names) > 1 else None


def flag_tables() -> dict[str, FlagTable]:
    """Return every engine's flags by engine name."""
    return {engine.name: engine.commands.TABLE for engine in ENGINES if engine.commands}


def takes_of(word: str) -> str | None:
    """Return the number of words a flag takes in any engine; None if it is unknown."""
    name = word.partition("=")[0]
    flags = (table.by_name.get(table.spell(name)) for table in flag_tables().values())
    return next((flag.takes for flag in flags if flag), None)
