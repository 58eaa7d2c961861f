"""Finds where the server of a known engine starts in a command's words, whatever wraps it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from commands.paste.variables import Arg
from commands.quoting import without_marks
from engines import ENGINES
from engines.base import Invocation
from engines.flag_table import FlagTable, is_flag

INVOCATIONS: dict[str, Invocation] = {engine.name: engine.invocation for engine in ENGINES if engine.invocation}
MODULES = {module: name for name, invocation in INVOCATIONS.items() for module in invocation.modules}
FILES = {file: name for name, invocation in INVOCATIONS.items() for file in invocation.files}
SCRIPTS = {script: name for name, invocation in INVOCATIONS.items() for script in invocation.scripts}
NEVER = "echo printf pip pip3 grep egrep pkill pgrep kill killall curl wget which alias git cd tail cat less man"
NEVER_SERVE = frozenset(NEVER.split())
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ash"})
_STARTS = "|".join(invocation.in_text for invocation in INVOCATIONS.values())
SERVER_START = re.compile(rf"(?:(?<=\s)|^)(?:\S*/)?(?:{_STARTS})\s")
_PYTHON = re.compile(r"(python|pypy)[\d.]*$")
_PYTHON_FLAGS_WITH_VALUE = frozenset({"-X", "-W"})
_SHELL_SCRIPT_FLAG = re.compile(r"-[a-z]*c[a-z]*$")


@dataclass(frozen=True)
class Server:
    """A server's command: the engine, its executable (None: the image's entrypoint), the words after it."""

    engine: str
    executable: str | None
    args: list[str]
    prefix: list[Arg] = field(default_factory=list)  # the wrappers before it
    start: list[str] = field(default_factory=list)  # executable to module: what stands before `args`


def basename(word: str) -> str:
    """The program's name without its POSIX or Windows path."""
    return word.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")


def find_server(words: Sequence[Arg]) -> Server | None:
    """The first server in a command's words; None where there is none."""
    texts = [word.text for word in words]
    for position, word in enumerate(texts):
        if basename(word) in NEVER_SERVE:
            return None
        found = _server_at(texts, position)
        if found:
            engine, length = found
            return Server(
                engine, word, texts[position + length :], list(words[:position]), texts[position : position + length]
            )
    return None


def _server_at(texts: Sequence[str], position: int) -> tuple[str, int] | None:
    """Engine, and how many words start it, if a server starts at this word."""
    name = basename(texts[position])
    if _PYTHON.match(name):
        return _python_server(texts, position)
    found = (engine for engine, known in INVOCATIONS.items() if known.is_server(name, texts, position + 1))
    return next(((engine, 1) for engine in found), None)


def _python_server(texts: Sequence[str], position: int) -> tuple[str, int] | None:
    at = position + 1
    while at < len(texts) and texts[at].startswith("-") and texts[at] != "-m":
        at += 2 if texts[at] in _PYTHON_FLAGS_WITH_VALUE else 1
    if at + 1 < len(texts) and texts[at] == "-m" and texts[at + 1] in MODULES:
        return MODULES[texts[at + 1]], at + 2 - position
    path = f"/{texts[at]}" if at < len(texts) else ""
    engine = next((engine for file, engine in FILES.items() if path.endswith(f"/{file}")), None)
    return (engine, at + 1 - position) if engine else None


def find_script(words: Sequence[Arg]) -> tuple[str, int] | None:
    """The engine behind a known launch script and where the script stands."""
    names = ((basename(word.text), position) for position, word in enumerate(words))
    return next(((SCRIPTS[name], position) for name, position in names if name in SCRIPTS), None)


def inner_script(words: Sequence[Arg]) -> tuple[int, str] | None:
    """Position of the shell and text of its script in `... bash -c 'SCRIPT'`."""
    for position, word in enumerate(words[:-2]):
        if basename(word.text) in SHELLS:
            for at in range(position + 1, len(words) - 1):
                if _SHELL_SCRIPT_FLAG.match(words[at].text):
                    return position, without_marks(words[at + 1].text)
                if not words[at].text.startswith("-"):
                    break
    return None


def quoted_command(words: Sequence[Arg]) -> str | None:
    """A word that is a server's command by itself: `tmux new -d 'vllm serve …'`, `ssh host "…"`."""
    if not words or basename(words[0].text) in NEVER_SERVE:
        return None
    texts = (without_marks(word.text) for word in words[1:])
    return next((text for text in texts if " " in text and SERVER_START.search(text)), None)


def engine_of_image(image: str | None) -> str | None:
    """The engine that an image's name says; the last part of its path counts first."""
    if not image:
        return None
    path = re.sub(r"(@sha256:\w+|:[^/]*)$", "", image)
    for text in (path.rpartition("/")[2], path, image):
        found = next((name for name, invocation in INVOCATIONS.items() if invocation.image_name.search(text)), None)
        if found:
            return found
    return None


def engine_of_flags(args: Sequence[str]) -> str | None:
    """The one engine that knows all flags of a command, where they are enough to distinguish it from the others."""
    names = {word.partition("=")[0] for word in args if is_flag(word)}
    knowing = [name for name, table in flag_tables().items() if names and all(n in table.by_name for n in names)]
    return knowing[0] if len(knowing) == 1 and len(names) > 1 else None


def flag_tables() -> dict[str, FlagTable]:
    """Every engine's flags by the engine's name."""
    return {engine.name: engine.commands.TABLE for engine in ENGINES if engine.commands}


def takes_of(word: str) -> str | None:
    """How many words a flag takes in whichever engine has it; None if none has."""
    name = word.partition("=")[0]
    flags = (table.by_name.get(table.spell(name)) for table in flag_tables().values())
    return next((flag.takes for flag in flags if flag), None)
