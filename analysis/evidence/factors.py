"""A speed split by the engine's counters: how many steps it made, and how many tokens each gave.

The counters are those that the load generator read while nothing was in flight, so they cover the very requests. An
engine that counts its steps is believed; for the others every step of a request makes one token beside the accepted
drafts, so steps are tokens less accepted ones. Of a server known not to speculate each token is a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from analysis.evidence.loads import LoadRecord, decode_tokens
from analysis.evidence.steady import Steady, token_times
from load_records import LoadCounters, RequestRecord
from reasons import Code, Reason

AGREE = 0.02  # how far the client's tokens and the counters' may be apart
SUMMED = (
    "generation_tokens_total",
    "first_tokens_total",
    "inter_token_count_total",
    "accepted_tokens_total",
)


class Factors(NamedTuple):
    """Whose product is a speed; `running` is None where requests ran one after the other."""

    tokens_per_step: float
    steps_per_s: float  # of one request
    running: float | None = None  # mean requests in flight


class Increments(NamedTuple):
    """What the counters gained over some requests, all ranks together."""

    generation_tokens: float | None
    first_tokens: float | None
    inter_token_count: float | None
    accepted_tokens: float | None


def stream_factors(
    load: LoadRecord, prompt_class: str, speculates: bool | None, compared: Sequence[RequestRecord]
) -> Factors | Reason:
    """The factors of a class decoded one request after the other: decode tok/s = steps/s x tokens per step.

    Only where the requests that are `compared` are all of the class: the counters cannot leave one out. They count from
    the first token on, and the client's speed from the first piece on, which may hold several: so tokens per step are
    those of all tokens after the first, and steps/s those that the speed takes.
    """
    inside = [r for r in load.measured if r.concurrency == 1 and r.prompt_class == prompt_class]
    if len(inside) != len(compared):
        return Reason(Code.REQUESTS_LEFT_OUT)
    gained = gained_over(load, inside)
    if isinstance(gained, Reason):
        return gained
    steps = decode_steps(gained, len(inside), speculates)
    if isinstance(steps, Reason):
        return steps
    per_step = (sum(r.completion_tokens or 0 for r in inside) - len(inside)) / steps
    seconds = sum(r.decode_ms or 0.0 for r in inside) / 1000
    return Factors(per_step, sum(map(decode_tokens, inside)) / seconds / per_step)


def steady_factors(load: LoadRecord, concurrency: int, speculates: bool | None, steady: Steady) -> Factors | Reason:
    """The factors of the steady part of phases: output tok/s = mean running x steps/s of a request x tokens per step.

    The counters are read at the ends of a phase, of which this is a part: of its steps it has the share that it has of
    the pieces, for a step that drafts sends what it gained as one; without drafts the share that it has of the tokens.
    """
    inside = [r for r in load.measured if r.concurrency == concurrency]
    if not any(p.kind == "measure" and p.concurrency == concurrency for p in load.phases):
        return Reason(Code.PHASE_NOT_ENDED)
    gained = gained_over(load, inside)
    if isinstance(gained, Reason):
        return gained
    steps = _all_steps(gained, speculates)
    if isinstance(steps, Reason):
        return steps
    counts = [count for request in inside for _, count in token_times(request)]
    steps *= steady.tokens / sum(counts) if speculates is False else steady.pieces / len(counts)
    return Factors(steady.tokens / steps, steps / steady.in_flight_s, steady.running)


def geometric_mean(values: Sequence[float]) -> float:
    """exp of the mean of logs; all values are positive."""
    return math.exp(sum(map(math.log, values)) / len(values))


def gained_over(load: LoadRecord, requests: Sequence[RequestRecord]) -> Increments | Reason:
    """The counters' increments over the segments of these requests, if they count the same tokens as the client."""
    segments = {request.segment for request in requests}
    parts = [_between(load.counters, segment) for segment in segments]
    if not requests or None in parts:
        return Reason(Code.NO_COUNTERS_BETWEEN)
    whole = Increments(*(_sum(values) for values in zip(*(part for part in parts if part), strict=True)))
    ours = sum(request.completion_tokens or 0 for request in requests)
    theirs = whole.generation_tokens
    if theirs is None or not ours:
        return Reason(Code.NO_COUNTERS_BETWEEN)
    if abs(theirs - ours) > AGREE * ours:
        return Reason(Code.COUNTERS_DISAGREE, values={"client": ours, "counters": theirs})
    return whole


def _between(counters: Sequence[LoadCounters], segment: int | None) -> Increments | None:
    """What all ranks gained from before a segment to after it; None where one was not read, or began anew."""
    if segment is None:
        return None
    before = {c.engine_index: c for c in counters if c.segment == segment}
    after = {c.engine_index: c for c in counters if c.segment == segment + 1}
    if not before or before.keys() != after.keys():
        return None
    gained = [_sum([_difference(before[i], after[i], name) for i in before]) for name in SUMMED]
    return None if any(value is not None and value < 0 for value in gained) else Increments(*gained)


def _difference(before: LoadCounters, after: LoadCounters, name: str) -> float | None:
    first, last = getattr(before, name), getattr(after, name)
    # A counter that appears with its first increment began at zero.
    gained = None if last is None else float(last - (first or 0.0))
    return gained if gained is not None and math.isfinite(gained) else None


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def decode_steps(gained: Increments, requests: int, speculates: bool | None) -> float | Reason:
    """Request-steps after each request's first token."""
    if gained.inter_token_count:
        return gained.inter_token_count
    steps = _all_steps(gained, speculates)
    return steps if isinstance(steps, Reason) else _counted(steps - requests)


def _all_steps(gained: Increments, speculates: bool | None) -> float | Reason:
    """Request-steps, that of the first token among them."""
    tokens = gained.generation_tokens or 0.0
    if gained.inter_token_count:
        return gained.inter_token_count + (gained.first_tokens or 0.0)
    if gained.accepted_tokens is not None:
        return _counted(tokens - gained.accepted_tokens)
    return tokens if speculates is False else Reason(Code.NO_STEP_COUNTER)


def _counted(steps: float) -> float | Reason:
    return steps if steps > 0 else Reason(Code.NO_STEP_COUNTED)
