"""Commands for the other machines of a server that spans several, and the words of a command that they change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

FIRST_ADDRESS = "<address of the first machine>"
MOST_RANKS = 8  # commands that differ only in their rank


class NodeCommand(NamedTuple):
    """One step on another machine."""

    place: str  # 'on machine 2 of 2'
    argv: list[str]


def flag_value(argv: Sequence[str], name: str) -> str | None:
    """Return the last value of a flag, as the next word or after '='; None if it is not stated."""
    values = [word.partition("=")[2] for word in argv if word.startswith(f"{name}=")]
    values += [argv[index + 1] for index, word in enumerate(argv[:-1]) if word == name]
    return values[-1] if values else None


def with_flag(argv: Sequence[str], name: str, value: str | None = None) -> list[str]:
    """Return the command with this flag, in place of the stated one if there is one. value: None for a switch."""
    words = list[str]()
    skips = False
    for word in argv:
        if not skips and not word.startswith(f"{name}=") and word != name:
            words.append(word)
        skips = word == name and value is not None
    return [*words, name, *([] if value is None else [value])]


def commands_by_rank(argv: Sequence[str], count: int) -> list[NodeCommand]:
    """Return the command for each further machine, which differs in its --node-rank."""
    return [
        NodeCommand(f"on machine {rank + 1} of {count}", with_flag(argv, "--node-rank", str(rank)))
        for rank in range(1, min(count, MOST_RANKS))
    ]


def node_count(argv: Sequence[str]) -> int:
    """Return the value of --nnodes; 1 if it is not stated or no number."""
    value = flag_value(argv, "--nnodes")
    return int(value) if value and value.isdecimal() else 1
