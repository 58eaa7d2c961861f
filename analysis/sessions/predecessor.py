"""Predecessor of a request: the earlier one that it continues, by the parts of their messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

SHARE = 0.5  # of the predecessor's message parts that a continuation has, more than


class RememberedPrompt(NamedTuple):
    """The parts of an earlier request's prompt.

    messages: the digests of its messages' parts; tools and system text may change within a session.
    """

    request_id: str
    session: str
    digests: tuple[str, ...]
    messages: frozenset[str]


def predecessor_of(messages: frozenset[str], earlier: Iterable[RememberedPrompt]) -> RememberedPrompt | None:
    """Return the earlier request that shares the most message parts; None if the request begins a session.

    Agents begin every session with the same reminders, so a continuation has more than half of its predecessor's
    parts. Among equals it is the one with the fewest other parts, and of these the newest.
    """
    best: RememberedPrompt | None = None
    best_rank = (0, 0)
    for candidate in earlier:
        shared = len(messages & candidate.messages)
        rank = (shared, -len(candidate.messages))
        if shared > SHARE * len(candidate.messages) and rank >= best_rank:
            best, best_rank = candidate, rank
    return best
