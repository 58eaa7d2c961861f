"""Commands for the other machines of an SGLang server."""

from __future__ import annotations

from collections.abc import Sequence

from engines.node_commands import NodeCommand, commands_by_rank, node_count


def node_commands(argv: Sequence[str]) -> list[NodeCommand]:
    """Return one command per further machine: the same with its own --node-rank; all of them wait for each other."""
    return commands_by_rank(argv, node_count(argv))
