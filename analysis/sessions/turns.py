"""Turns of agent sessions: the recorded requests with their rebuilt prompts, each after the request it continues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from analysis.sessions.difference import takes_another_way
from analysis.sessions.prompt_part import PromptPart, StoredPrefix, decode_order, part_of, stored_prefix
from load_records import RequestRecord

MAIN_BRANCH = 0
MOST_TOKENS = 1e12  # a count beyond it is no count


@dataclass(frozen=True, slots=True, eq=False)  # chains of thousands are not compared field by field
class Turn:
    """One recorded request of a session.

    follows: the request that it continues; None if it begins the session, or if that request was not recorded.
    parts: of its prompt; None if they cannot be rebuilt. depth: requests on its way from the session's beginning.
    branch: from 0 in each session; a request that leaves the way of the one it follows, or follows one that has a
    follower already, begins the next branch.
    """

    request: RequestRecord
    session: str
    branch: int
    depth: int
    follows: Turn | None = field(repr=False)
    parts: tuple[PromptPart, ...] | None = field(repr=False)

    @property
    def request_id(self) -> str:
        return self.request.request_id

    @property
    def prompt_tokens(self) -> int | None:
        return self.request.prompt_tokens

    @property
    def cached_tokens(self) -> int | None:
        """Prompt tokens from the cache as the server reports; None if it does not."""
        cached = self.request.extra.get("cached_prompt_tokens")
        if not isinstance(cached, int | float) or isinstance(cached, bool) or not 0 <= cached < MOST_TOKENS:
            return None
        return int(cached)

    @property
    def computed_tokens(self) -> int | None:
        if self.prompt_tokens is None or self.cached_tokens is None:
            return None
        return max(0, self.prompt_tokens - self.cached_tokens)

    @property
    def ended_at(self) -> datetime:
        return self.request.sent_at + timedelta(milliseconds=self.request.total_ms or 0.0)

    @property
    def pause_s(self) -> float | None:
        """Seconds from the end of the followed request to this one: of tools or of the person; None if they overlap."""
        pause_s = (self.request.sent_at - self.follows.ended_at).total_seconds() if self.follows else None
        return pause_s if pause_s is not None and pause_s >= 0 else None

    @property
    def context_tokens(self) -> int | None:
        """Tokens of the context after the answer."""
        if self.prompt_tokens is None or self.request.completion_tokens is None:
            return None
        return self.prompt_tokens + self.request.completion_tokens

    @property
    def reference(self) -> Turn | None:
        """The nearest answered request before it, whose prompt the server has computed."""
        turn = self.follows
        while turn is not None and (turn.request.error_kind or turn.prompt_tokens is None):
            turn = turn.follows
        return turn


def turns_of(requests: Sequence[RequestRecord]) -> list[Turn]:
    """Return the turns of all requests with a stored prompt, in the order of the recording."""
    prefixes = {request.request_id: prefix for request in requests if (prefix := stored_prefix(request.extra))}
    recorded = [request for request in requests if request.request_id in prefixes]
    recorded.sort(key=lambda request: (request.load_id or "", _sequence(request)))
    builder = _TurnBuilder()
    return [builder.add(request, prefixes[request.request_id]) for request in _in_stored_order(recorded, prefixes)]


def _sequence(request: RequestRecord) -> int:
    return request.sequence if request.sequence is not None else 0


def _in_stored_order(requests: Sequence[RequestRecord], prefixes: dict[str, StoredPrefix]) -> list[RequestRecord]:
    """Return the requests so that each comes after the one that it follows, however their answers ended."""
    by_id = {request.request_id: request for request in requests}
    ordered: dict[str, RequestRecord] = {}
    for request in requests:
        way: list[str] = []
        name: str | None = request.request_id
        while name in by_id and name not in ordered and name not in way:
            way.append(name)
            name = prefixes[name].follows
        ordered |= {request_id: by_id[request_id] for request_id in reversed(way)}
    return list(ordered.values())


class _TurnBuilder:
    """Rebuilds prompts and numbers branches, one request after the other."""

    def __init__(self) -> None:
        self._turns: dict[str, Turn] = {}
        self._parts: dict[str | None, dict[str, PromptPart]] = {}  # by load and digest: each recorder has its own key
        self._continued: set[str] = set()
        self._branches: dict[str, int] = {}

    def add(self, request: RequestRecord, prefix: StoredPrefix) -> Turn:
        parts_by_digest = self._parts.setdefault(request.load_id, {})
        parts_by_digest |= {digest: part_of(digest, part) for digest, part in prefix.parts.items()}
        follows = self._turns.get(prefix.follows or "")
        parts = self._rebuilt(prefix, follows, parts_by_digest)
        branch = self._branch(prefix, follows, parts)
        turn = Turn(request, prefix.session, branch, follows.depth + 1 if follows else 0, follows, parts)
        self._turns[request.request_id] = turn
        return turn

    def _branch(self, prefix: StoredPrefix, follows: Turn | None, parts: tuple[PromptPart, ...] | None) -> int:
        """Return the branch of the followed request, or a new one: that request is left, or has a follower already."""
        if follows is None:
            return self._branches.setdefault(prefix.session, MAIN_BRANCH)
        is_left = takes_another_way(follows.parts or (), parts or ())
        if not is_left and follows.request_id not in self._continued:
            self._continued.add(follows.request_id)
            return follows.branch
        self._branches[prefix.session] = self._branches.get(prefix.session, MAIN_BRANCH) + 1
        return self._branches[prefix.session]

    def _rebuilt(
        self, prefix: StoredPrefix, follows: Turn | None, parts_by_digest: dict[str, PromptPart]
    ) -> tuple[PromptPart, ...] | None:
        if prefix.is_cut or (prefix.follows and (follows is None or follows.parts is None)):
            return None
        base = [part.digest for part in follows.parts] if follows and follows.parts else []
        digests = decode_order(prefix.order, base)
        if digests is None or not all(digest in parts_by_digest for digest in digests):
            return None
        return tuple(parts_by_digest[digest] for digest in digests)
