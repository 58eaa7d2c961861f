"""The command that people paste above its server's log: it states settings that the log leaves out."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from commands.explain import explain
from domain import Config
from engines.base import Engine, ParsedLine
from engines.lines import LineSplitter
from engines.recognition import COMMAND_BYTES

_MOST_LINES = 60  # of one command
_MOST_COMMANDS = 8
_IN_CONTAINER = r"\b(?:docker|podman|nerdctl)\s+(?:container\s+)?run\s"
_GOES_ON = re.compile(r"(?:\\|\^|`|&&|\|\|)\s*$")
_FLAG = re.compile(r"\s*--?[A-Za-z]")
_USAGE = re.compile(r"\s(?:<[a-z][\w -]*>|\[(?:options|args)\])(?=\s|$)", re.IGNORECASE)  # words to be replaced


def read_command_above(log: Path, engine: Engine) -> Config | None:
    """Return the last command of this engine's server in the beginning of its log; None if there is none."""
    if engine.invocation is None:
        return None
    start = re.compile(rf"(?<![\w-])(?:{engine.invocation.text_pattern})['\"]?\s+[^\s\[]|{_IN_CONTAINER}")
    with log.open("rb") as file:
        splitter = LineSplitter()
        lines = [*splitter.feed(file.read(COMMAND_BYTES)), *splitter.close()]
    configs = (explain(text).config for text in itertools.islice(_commands(lines, start), _MOST_COMMANDS))
    return next((config for config in configs if config and config.engine == engine.name and config.model), None)


def _commands(lines: Sequence[ParsedLine], start: re.Pattern[str]) -> Iterator[str]:
    """Yield the text of each command, last one first, with the lines before it that no program has printed."""
    for index, line in reversed(list(enumerate(lines))):
        if _is_record(line) or start.search(line.raw) is None or _USAGE.search(line.raw):
            continue
        before = itertools.takewhile(
            lambda other: not _is_record(other), reversed(lines[max(0, index - _MOST_LINES) : index])
        )
        yield "\n".join([*(other.raw for other in reversed(list(before))), *_whole(lines[index : index + _MOST_LINES])])


def _whole(lines: Sequence[ParsedLine]) -> list[str]:
    """Return the lines of the command that begins with the first."""
    texts: list[str] = []
    quotes = {"'": 0, '"': 0}
    for line in lines:
        goes_on = (
            not texts or _GOES_ON.search(texts[-1]) or _FLAG.match(line.raw) or any(n % 2 for n in quotes.values())
        )
        if not goes_on or _is_record(line):
            break
        texts.append(line.raw)
        quotes = {quote: count + line.raw.count(quote) for quote, count in quotes.items()}
    return texts


def _is_record(line: ParsedLine) -> bool:
    return line.stamp is not None or line.level is not None or line.process is not None
