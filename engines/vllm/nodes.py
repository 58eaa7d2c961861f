"""Commands for the other machines of a vLLM server: its own processes there, or a worker of a Ray cluster."""

from __future__ import annotations

from collections.abc import Sequence

from engines.node_commands import (
    FIRST_ADDRESS,
    NodeCommand,
    commands_by_rank,
    flag_value,
    node_count,
    with_flag,
)

RAY_PORT = 6379


def node_commands(argv: Sequence[str]) -> list[NodeCommand]:
    """Return one command per further machine for --nnodes, or the one that joins the Ray cluster; none otherwise.

    The further machines of --nnodes serve no API, so they are --headless. How many machines Ray needs is not stated.
    """
    count = node_count(argv)
    if count > 1:
        address = flag_value(argv, "--master-addr") or FIRST_ADDRESS
        return commands_by_rank(with_flag(with_flag(argv, "--headless"), "--master-addr", address), count)
    if flag_value(argv, "--distributed-executor-backend") == "ray":
        join = ["ray", "start", f"--address={FIRST_ADDRESS}:{RAY_PORT}"]
        return [NodeCommand("on each further machine, before the server starts", join)]
    return []
