"""Matches saved gotchas to runs and commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from domain import Config, Run
from notes import Gotcha

_VARYING = re.compile(r"0x[0-9a-f]+|(?:/[\w.+-]+)+|\d[\d.,]*", re.IGNORECASE)


def cause_key(cause: str) -> str:
    """Return a cause without numbers, addresses, paths and case, which differ between failures of the same kind."""
    return " ".join(_VARYING.sub("#", cause).lower().split())


def searchable_words(config: Config) -> list[str]:
    """Return the words in which a gotcha's flag is searched: the command and its environment as NAME=value."""
    return [*config.argv, *(f"{name}={value}" for name, value in config.env.items())]


def has_flag(words: Sequence[str], flag: str) -> bool:
    """Whether a command has a flag ('--enforce-eager'), with its value if stated ('--quantization modelopt',
    'NAME=value')."""
    name, _, value = flag.strip().replace("=", " ", 1).partition(" ")
    flag_values = [_value_at(words, index, name) for index, word in enumerate(words) if word.split("=", 1)[0] == name]
    return bool(flag_values) if not value else value.strip() in flag_values


def _value_at(words: Sequence[str], index: int, name: str) -> str:
    """Return the value of a flag, after its '=' or as the next word."""
    _, is_joined, value = words[index].partition("=")
    if is_joined:
        return value
    return words[index + 1] if index + 1 < len(words) else ""


def gotchas_of_failure(gotchas: Iterable[Gotcha], config: Config, cause: str | None) -> list[Gotcha]:
    """Return the gotchas of this engine that match a run's failure cause and whose flag its command has."""
    words, key = searchable_words(config), cause_key(cause or "")
    return [
        gotcha
        for gotcha in gotchas
        if gotcha.engine == config.engine
        and (gotcha.cause is None or cause_key(gotcha.cause) == key)
        and (gotcha.flag is None or has_flag(words, gotcha.flag))
    ]


def gotchas_of_run(gotchas: Iterable[Gotcha], run: Run) -> list[Gotcha]:
    """Return the gotchas about a run's failure, and those that were written at this run, in their given order."""
    gotcha_list = list(gotchas)
    similar = gotchas_of_failure(gotcha_list, run.config, run.cause) if run.cause else []
    return [gotcha for gotcha in gotcha_list if gotcha in similar or gotcha.run_id == run.id]


def gotchas_of_command(gotchas: Iterable[Gotcha], config: Config) -> list[Gotcha]:
    """Return the gotchas of this engine that concern a flag of this command."""
    words = searchable_words(config)
    return [
        gotcha for gotcha in gotchas if gotcha.engine == config.engine and gotcha.flag and has_flag(words, gotcha.flag)
    ]


def gotchas_about(gotchas: Iterable[Gotcha], config: Config, cause: str | None) -> list[Gotcha]:
    """Return the gotchas that concern a run's failure or a flag of its command, in their given order."""
    gotcha_list = list(gotchas)
    matching_ids = {
        gotcha.id
        for gotcha in (*gotchas_of_failure(gotcha_list, config, cause), *gotchas_of_command(gotcha_list, config))
    }
    return [gotcha for gotcha in gotcha_list if gotcha.id in matching_ids]
