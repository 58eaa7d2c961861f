"""Order of recorded requests: the ends after which each was sent, and the pause in between.

A client does not say what it waited for. A request waits for the one that it continues, and for the sessions and
branches that began and ended in the pause between both: subagents. The first request of a session waits for the
request that ended last before it, such as the turn that started a subagent.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from analysis.sessions.turns import Turn

MOST_JOINED = 256  # sessions that one request waits for


class RequestStart(NamedTuple):
    """When a request is sent: so long after the ends of others, or at a time since the start if it waits for none."""

    waits_for: tuple[int, ...] = ()
    pause_s: float = 0.0
    arrives_s: float | None = None


class RequestOrder:
    """The order of requests, given in the order in which they were sent; all are named by their index."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = turns
        self._index_of = {turn.request_id: index for index, turn in enumerate(turns)}
        self._sent_at = [turn.request.sent_at for turn in turns]
        self._by_end = sorted(range(len(turns)), key=lambda index: turns[index].ended_at)
        self._ended_at = [turns[index].ended_at for index in self._by_end]
        self._begun_at: dict[tuple[str, int], datetime] = {}
        for turn in turns:
            self._begun_at.setdefault((turn.session, turn.branch), turn.request.sent_at)

    def followed(self, turn: Turn) -> int | None:
        """Return the nearest request that the turn continues and that is among these and was sent before it."""
        follows = turn.follows
        while follows is not None and follows.request_id not in self._index_of:
            follows = follows.follows
        index = self._index_of[follows.request_id] if follows else None
        return index if index is not None and index < self._index_of[turn.request_id] else None

    def start_of(self, turn: Turn, follows: int | None) -> RequestStart:
        """Return when a turn is sent; `follows`: the request that it continues."""
        sent_at = turn.request.sent_at
        if follows is not None and self._turns[follows].ended_at <= sent_at:
            waits_for = (follows, *self._joined(turn, self._turns[follows]))
        else:
            waits_for = self._last_ended(turn)
        if not waits_for:
            return RequestStart(arrives_s=(sent_at - self._sent_at[0]).total_seconds())
        ended_at = max(self._turns[index].ended_at for index in waits_for)
        return RequestStart(waits_for, (sent_at - ended_at).total_seconds())

    def _joined(self, turn: Turn, follows: Turn) -> list[int]:
        """Return the last requests of the sessions and branches that began and ended in the pause before a turn."""
        first = bisect_left(self._sent_at, follows.ended_at)
        last_of: dict[tuple[str, int], int] = {}
        for index in range(first, self._index_of[turn.request_id]):
            other = self._turns[index]
            way = (other.session, other.branch)
            if way != (turn.session, turn.branch) and self._begun_at[way] >= follows.ended_at:
                last_of[way] = index
        ended = [index for index in last_of.values() if self._turns[index].ended_at <= turn.request.sent_at]
        return ended[:MOST_JOINED]

    def _last_ended(self, turn: Turn) -> tuple[int, ...]:
        """Return the request before the turn that ended last before it was sent; none if none had ended."""
        turn_index = self._index_of[turn.request_id]
        for place in reversed(range(bisect_right(self._ended_at, turn.request.sent_at))):
            if self._by_end[place] < turn_index:
                return (self._by_end[place],)
        return ()
