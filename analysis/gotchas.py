"""Which of the gotchas that people kept are about a run or a command."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from domain import Config
from notes import Gotcha

_VARYING = re.compile(r"0x[0-9a-f]+|(?:/[\w.+-]+)+|\d[\d.,]*", re.IGNORECASE)


def cause_key(cause: str) -> str:
    """A cause without what differs between two failures of one kind: numbers, addresses, paths, case."""
    return " ".join(_VARYING.sub("#", cause).lower().split())


def words_of(config: Config) -> list[str]:
    """What a gotcha's flag is looked for in: the command's words and its environment as NAME=value."""
    return [*config.argv, *(f"{name}={value}" for name, value in config.env.items())]


def has_flag(words: Sequence[str], flag: str) -> bool:
    """Whether a command has a flag ('--enforce-eager'), with its value where one is said ('--quantization modelopt',
    'NAME=value')."""
    name, _, value = flag.strip().replace("=", " ", 1).partition(" ")
    given = [_value_at(words, index, name) for index, word in enumerate(words) if word.split("=", 1)[0] == name]
    return bool(given) if not value else value.strip() in given


def _value_at(words: Sequence[str], index: int, name: str) -> str:
    """The value of a flag, after its '=' or as the next word."""
    _, is_joined, value = words[index].partition("=")
    if is_joined:
        return value
    return words[index + 1] if index + 1 < len(words) else ""


def gotchas_of_failure(gotchas: Iterable[Gotcha], config: Config, cause: str | None) -> list[Gotcha]:
    """Those of this engine whose cause is the one that a run failed by, and whose flag its command has."""
    words, key = words_of(config), cause_key(cause or "")
    return [
        one
        for one in gotchas
        if one.engine == config.engine
        and (one.cause is None or cause_key(one.cause) == key)
        and (one.flag is None or has_flag(words, one.flag))
    ]


def gotchas_of_command(gotchas: Iterable[Gotcha], config: Config) -> list[Gotcha]:
    """Those of this engine that are about a flag of this command."""
    words = words_of(config)
    return [one for one in gotchas if one.engine == config.engine and one.flag and has_flag(words, one.flag)]


def gotchas_about(gotchas: Iterable[Gotcha], config: Config, cause: str | None) -> list[Gotcha]:
    """Those about how a run failed or about a flag of its command, in their order."""
    given = list(gotchas)
    about = {one.id for one in (*gotchas_of_failure(given, config, cause), *gotchas_of_command(given, config))}
    return [one for one in given if one.id in about]
