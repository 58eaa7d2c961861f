"""Causes of a prefix-cache miss: a turn that computed more than its new part, and the one cause that has evidence.

A cause is named only if it alone fits what is stored. If two fit, or none, the cause is not known.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from math import gcd
from typing import NamedTuple

from analysis.sessions.difference import (
    MESSAGE,
    Change,
    PartDifference,
    Parts,
    TokenRange,
    broken_groups,
    difference_in,
    lost_share,
    tokens_before,
    without_new_branch,
)
from analysis.sessions.prompt_part import PartKind
from analysis.sessions.turns import Turn

TOLERANCE_TOKENS = 32  # a block of most engines is 16 tokens; llama.cpp computes the last one again
TOLERANCE_SHARE = 0.02  # of the prompt
FEWEST_COUNTS = 3  # of cached tokens, different ones, that show the size of a block
LARGEST_BLOCK_TOKENS = 1024  # of a cache; counts that have more in common are few
ESTIMATE_SHARE = 0.25  # error of tokens estimated by bytes: code, prose and JSON differ so much
FULL_KV = 0.9


class CauseKind(StrEnum):
    """Causes: one of the prompt, the others of the server or of the order of requests."""

    CONTENT = "content"
    RESTARTED = "restarted"
    EVICTED = "evicted"
    SLOT_TAKEN = "slot_taken"
    OVERLAPPED = "overlapped"
    THINKING_DROPPED = "thinking_dropped"
    CACHING_OFF = "caching_off"


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause with its evidence: the part that differs, or numbers of the server."""

    kind: CauseKind
    difference: PartDifference | None = None
    kv_usage_ratio: float | None = None
    preemptions: float | None = None
    other_requests: int | None = None


class ServerSighting(NamedTuple):
    """A scrape of the server that saw something happen to its cache."""

    ts: datetime
    is_new_process: bool
    preemptions: float
    kv_usage_ratio: float | None


@dataclass(frozen=True, slots=True)
class ServerEvidence:
    """What is stored of the server itself; `slots`, `is_caching`: None if unknown."""

    sightings: Sequence[ServerSighting] = ()
    slots: int | None = None
    is_caching: bool | None = None


@dataclass(frozen=True, slots=True)
class PrefixMiss:
    """Tokens of a turn that the server computed although it had computed them before.

    cause: None if it is not known; `candidates` are then those that fit as well as each other.
    """

    turn: Turn
    excess_tokens: int
    cause: Cause | None
    candidates: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class CauseTotal:
    """All misses of a session by one cause; `cause`: of the first of them, None for all that are not known."""

    cause: Cause | None
    misses: tuple[PrefixMiss, ...] = field(default_factory=tuple)

    @property
    def excess_tokens(self) -> int:
        return sum(miss.excess_tokens for miss in self.misses)


def prefix_misses(turns: Sequence[Turn], evidence: ServerEvidence) -> list[PrefixMiss]:
    """Return the misses of all turns, in their order."""
    by_time, block_tokens = sorted(turns, key=_sent_at), cache_block_tokens(turns)
    return [miss for turn in turns if (miss := _miss_of(turn, by_time, evidence, block_tokens))]


def cache_block_tokens(turns: Sequence[Turn]) -> int:
    """Return the tokens of a block of the server's cache: all its cached counts are multiples of it; 1 if it has none.

    A prompt's last block, if it is not full, is computed again with the next turn.
    """
    counts = {turn.cached_tokens for turn in turns if turn.cached_tokens}
    block_tokens = gcd(*counts) if len(counts) >= FEWEST_COUNTS else 1
    return block_tokens if block_tokens <= LARGEST_BLOCK_TOKENS else 1


def totals_of(misses: Sequence[PrefixMiss]) -> list[CauseTotal]:
    """Return the causes of these misses, the one that cost the most tokens first."""
    groups: dict[object, list[PrefixMiss]] = {}
    for miss in misses:
        groups.setdefault(_rank_key(miss.cause), []).append(miss)
    totals = [CauseTotal(group[0].cause, tuple(group)) for group in groups.values()]
    return sorted(totals, key=lambda total: -total.excess_tokens)


def _rank_key(cause: Cause | None) -> object:
    """Return what equal causes share: of a part its kind, change and name, not its place, which moves."""
    difference = cause.difference if cause else None
    return cause and (cause.kind, difference and (difference.kind, difference.change, difference.name))


def _miss_of(turn: Turn, turns: Sequence[Turn], evidence: ServerEvidence, block_tokens: int) -> PrefixMiss | None:
    """Return the miss of a turn; None if there is none, or if its tokens or prompt are not known."""
    reference, cached = turn.reference, turn.cached_tokens
    if reference is None or cached is None or not turn.prompt_tokens or turn.request.error_kind:
        return None
    before, after = reference.parts, turn.parts
    if before is None or after is None or not reference.prompt_tokens:
        return None
    tolerance = max(_tolerance(turn.prompt_tokens), block_tokens)
    if min(reference.prompt_tokens, turn.prompt_tokens) - cached <= tolerance:
        return None  # most turns, whose parts need not be compared
    lost_tokens = lost_share(before, without_new_branch(before, after)) * reference.prompt_tokens
    excess = min(reference.prompt_tokens - lost_tokens, turn.prompt_tokens) - cached
    if excess <= tolerance + ESTIMATE_SHARE * lost_tokens:
        return None
    of_server = list(_server_causes(turn, reference, turns, evidence))
    groups = broken_groups(before, after)
    cause, candidates = _of_content(turn, before, after, groups, of_server) if groups else _only(of_server)
    return PrefixMiss(turn, round(excess), cause, candidates)


def _tolerance(prompt_tokens: int) -> float:
    return max(TOLERANCE_TOKENS, TOLERANCE_SHARE * prompt_tokens)


Explanation = tuple[Cause | None, tuple[Cause, ...]]


def _only(causes: Sequence[Cause]) -> Explanation:
    """Return the cause if there is exactly one, else all as candidates."""
    return (causes[0], ()) if len(causes) == 1 else (None, tuple(causes))


def _of_content(
    turn: Turn, before: Parts, after: Parts, groups: Sequence[str], of_server: Sequence[Cause]
) -> Explanation:
    """Explain a miss of a changed prompt: by its first change, if the cache ends there and nothing else fits."""
    differences = {group: difference_in(group, before, after) for group in groups}
    contents = [Cause(CauseKind.CONTENT, difference) for difference in differences.values()]
    prefix_groups = [group for group in groups if group != MESSAGE]
    is_first_known = len(prefix_groups) <= 1 and PartKind.SETTING.value not in groups[:-1]
    if not is_first_known:  # templates write tools before or behind the system text
        return None, (*contents, *of_server)
    cached, prompt_tokens = turn.cached_tokens or 0, turn.prompt_tokens or 0
    tokens = tokens_before(differences[groups[0]], groups[0], after, prompt_tokens)
    tolerance = _tolerance(prompt_tokens)
    ends_there = tokens is not None and _is_within(cached, tokens, tolerance)
    is_kept_until_there = not of_server or cached > 2 * tolerance
    if ends_there and is_kept_until_there:
        return contents[0], ()
    return None, (contents[0], *of_server)


def _is_within(cached: int, tokens: TokenRange, tolerance: float) -> bool:
    low, high = (1 - ESTIMATE_SHARE) * tokens.low - tolerance, (1 + ESTIMATE_SHARE) * tokens.high + tolerance
    return low <= cached <= high


def _server_causes(turn: Turn, reference: Turn, turns: Sequence[Turn], evidence: ServerEvidence) -> Iterator[Cause]:
    """Yield every cause that lies in the server or in the order of requests and has evidence."""
    if evidence.is_caching is False and not turn.cached_tokens:
        yield Cause(CauseKind.CACHING_OFF)
        return  # nothing else can matter
    since, until = reference.request.sent_at, turn.ended_at
    sightings = [sighting for sighting in evidence.sightings if since < sighting.ts <= until]
    if any(sighting.is_new_process for sighting in sightings):
        yield Cause(CauseKind.RESTARTED)
    yield from _eviction([sighting for sighting in sightings if sighting.ts <= _first_token_at(turn)])
    if turn.request.sent_at < reference.ended_at:
        yield Cause(CauseKind.OVERLAPPED)
    other_turns = _others_between(turn, reference, turns)
    if evidence.slots is not None and len({(other.session, other.branch) for other in other_turns}) >= evidence.slots:
        yield Cause(CauseKind.SLOT_TAKEN, other_requests=len(other_turns))
    if _drops_thinking(turn, reference):
        yield Cause(CauseKind.THINKING_DROPPED)


def _first_token_at(turn: Turn) -> datetime:
    return turn.request.sent_at + timedelta(milliseconds=turn.request.ttft_ms or turn.request.total_ms or 0.0)


def _eviction(sightings: Sequence[ServerSighting]) -> Iterator[Cause]:
    preemptions = sum(sighting.preemptions for sighting in sightings)
    usage = max((s.kv_usage_ratio for s in sightings if s.kv_usage_ratio is not None), default=None)
    if preemptions > 0 or (usage is not None and usage >= FULL_KV):
        yield Cause(CauseKind.EVICTED, kv_usage_ratio=usage, preemptions=preemptions)


def _others_between(turn: Turn, reference: Turn, turns: Sequence[Turn]) -> list[Turn]:
    """Return the requests that were sent between these two and are not on the turn's own way; `turns`: by time."""
    own_ids: set[str] = {turn.request_id}
    follows = turn.follows
    while follows is not None and follows is not reference:
        own_ids.add(follows.request_id)
        follows = follows.follows
    start = bisect_right(turns, reference.request.sent_at, key=_sent_at)
    end = bisect_left(turns, turn.request.sent_at, key=_sent_at)
    return [other for other in turns[start:end] if other.request_id not in own_ids]


def _sent_at(turn: Turn) -> datetime:
    return turn.request.sent_at


def _drops_thinking(turn: Turn, reference: Turn) -> bool:
    """Whether a person's new message follows earlier thinking, and the cache ends where that thinking began."""
    before, after = reference.parts or (), turn.parts or ()
    thinking = [part for part in before if part.kind is PartKind.THINKING]
    is_persons_turn = any(part.kind is PartKind.TEXT and part.name == "user" for part in after[len(before) :])
    if not thinking or not is_persons_turn or turn.cached_tokens is None or not turn.prompt_tokens:
        return False
    rendered = [part for part in after if part.kind is not PartKind.THINKING]
    messages_before = [part for part in before[: before.index(thinking[0])] if part.is_message]
    beginning = PartDifference(
        Change.REMOVED, PartKind.THINKING, None, len(messages_before) + 1, len(rendered), equal_bytes=0
    )
    tokens = tokens_before(beginning, MESSAGE, rendered, turn.prompt_tokens)
    return tokens is not None and _is_within(turn.cached_tokens, tokens, _tolerance(turn.prompt_tokens))
