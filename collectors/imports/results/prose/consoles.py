"""Finds what a pasted console says of the lines below: the command that printed them, and the level of their load."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

FENCE = "```"
MAX_COMMANDS = 40
MAX_COMMAND_CHARS = 400
MAX_LABEL_CHARS = 80
_PROMPT = re.compile(
    r"\s{0,4}(?:\([\w.-]{1,30}\) )?(?:[\w.-]{1,40}@[\w.-]{1,60}[: ][^\s$#]{0,80}[$#]|\$|PS [^>]{1,80}>) "
)
_LEVEL = re.compile(
    r"\W{0,4}(?:max(?:imum)?[ _]|request[ _]){0,2}(?:concurrency|concurrent[ _](?:requests|users))\W{1,4}"
    r"(?P<level>\d{1,5})\b(?![.,]\d)[^.|]{0,80}",
    re.IGNORECASE,
)


class ConsoleContext(NamedTuple):
    """What stands above a line: the words of its command that others have not, and the level of its load."""

    command: str = ""
    level: str = ""


def contexts_of(lines: Sequence[str]) -> Iterator[ConsoleContext]:
    """Yield the context of each line; a fence and a heading end one."""
    labels = _labels_of_commands(lines)
    command, level = "", ""
    for index, line in enumerate(lines):
        if line.startswith("#") or line.lstrip()[:3] == FENCE:
            command, level = "", ""
        if index in labels:
            command, level = labels[index], ""
        elif (match := _LEVEL.fullmatch(line.strip())) and "|" not in line:
            level = f"concurrency {match['level']}"
        yield ConsoleContext(command, level)


def _labels_of_commands(lines: Sequence[str]) -> dict[int, str]:
    """Return the lines that call a command, each with the words that not all of them have; nothing for one command."""
    commands = {
        index: line[match.end() :].split()
        for index, line in enumerate(lines)
        if len(line) <= MAX_COMMAND_CHARS and (match := _PROMPT.match(line))
    }
    if not 1 < len(commands) <= MAX_COMMANDS:
        return {}
    shared = set.intersection(*map(set, commands.values()))
    labels = {index: " ".join(word for word in words if word not in shared) for index, words in commands.items()}
    return {index: label[:MAX_LABEL_CHARS] for index, label in labels.items()}
