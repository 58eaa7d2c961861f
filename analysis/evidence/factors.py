"""Splits a speed by the engine's counters into steps per second, tokens per step, and the time of no decoding.

The load generator read the counters while nothing was in flight, so they cover exactly its requests. An engine that
counts its steps is trusted; for the others every step of a request makes one token besides the accepted drafts, so
steps are tokens minus accepted ones. For a server known not to speculate each token is a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from analysis.evidence.loads import LoadRecord, decode_tokens
from analysis.evidence.steady import SteadyOutput, full_load_spans, token_times
from load_records import LoadCounters, RequestRecord
from reasons import Code, Reason

AGREE = 0.02  # largest relative difference between the client's and the counters' tokens
SUMMED_COUNTERS = (
    "generation_tokens_total",
    "first_tokens_total",
    "inter_token_count_total",
    "accepted_tokens_total",
)


class SpeedFactors(NamedTuple):
    """Factors whose product is a speed; the last three are None if requests ran one after the other.

    If the server's queue is not known, `queueing` is None and `decoding` also contains the wait in it.
    """

    tokens_per_step: float
    steps_per_s: float  # of one request while it decodes
    running: float | None = None  # mean requests in flight, those that wait at the server included
    decoding: float | None = None  # output per second that a request runs, over that while it decodes
    queueing: float | None = None  # share of the requests in flight that run, by the server's counters

    @property
    def without_queue(self) -> SpeedFactors:
        """The factors with the wait in the server's queue counted as time before the first token."""
        if self.queueing is None or self.decoding is None:
            return self
        return self._replace(queueing=None, decoding=self.decoding * self.queueing)


class CounterIncrements(NamedTuple):
    """Counter increments over some requests, summed over ranks."""

    generation_tokens: float | None
    first_tokens: float | None
    inter_token_count: float | None
    accepted_tokens: float | None


def stream_factors(
    load: LoadRecord, prompt_class: str, speculates: bool | None, compared_requests: Sequence[RequestRecord]
) -> SpeedFactors | Reason:
    """Return the factors of a class decoded one request at a time: decode tok/s = steps/s x tokens per step.

    `compared_requests` must be all requests of the class, because the counters cannot exclude one. The counters count
    from the first token, the client's speed from the first chunk, which may hold several tokens: so tokens per step
    cover all tokens after the first, and steps/s is the speed divided by them.
    """
    class_requests = [r for r in load.measured if r.concurrency == 1 and r.prompt_class == prompt_class]
    if len(class_requests) != len(compared_requests):
        return Reason(Code.REQUESTS_LEFT_OUT)
    increments = counter_increments(load, class_requests)
    if isinstance(increments, Reason):
        return increments
    steps = decode_steps(increments, len(class_requests), speculates)
    if isinstance(steps, Reason):
        return steps
    per_step = (sum(r.completion_tokens or 0 for r in class_requests) - len(class_requests)) / steps
    seconds = sum(r.decode_ms or 0.0 for r in class_requests) / 1000
    return SpeedFactors(per_step, sum(map(decode_tokens, class_requests)) / seconds / per_step)


def steady_factors(
    load: LoadRecord, concurrency: int, speculates: bool | None, steady: SteadyOutput
) -> SpeedFactors | Reason:
    """Return the factors of steady phase parts: output tok/s = in flight x queueing x decoding x steps/s x tokens/step.

    The counters are read at the ends of a phase. The steady part's share of the steps is its share of the chunks after
    the first of each answer, because a drafting step sends its tokens as one chunk; without drafts it is its share of
    these tokens.
    """
    phase_requests = [r for r in load.measured if r.concurrency == concurrency]
    if not any(p.kind == "measure" and p.concurrency == concurrency for p in load.phases):
        return Reason(Code.PHASE_NOT_ENDED)
    increments = counter_increments(load, phase_requests)
    if isinstance(increments, Reason):
        return increments
    answered = [request for request in phase_requests if request.completion_tokens]
    phase_steps = decode_steps(increments, len(answered), speculates)
    if isinstance(phase_steps, Reason):
        return phase_steps
    later_counts = [count for request in answered for _, count in islice(token_times(request), 1, None)]
    steps = phase_steps * sum(later_counts) / max(1.0, sum(r.completion_tokens or 0 for r in answered) - len(answered))
    later_pieces = steady.pieces - steady.first_pieces
    if min(steps, later_pieces, steady.later_tokens, steady.decode_s) <= 0:
        return Reason(Code.NO_STEP_COUNTED)
    steps *= steady.later_tokens / sum(later_counts) if speculates is False else later_pieces / len(later_counts)
    decode_tps = steady.later_tokens / steady.decode_s
    factors = SpeedFactors(
        steady.later_tokens / steps,
        steps / steady.decode_s,
        steady.running,
        steady.tokens / steady.in_flight_s / decode_tps,
    )
    served = _served_share(load, concurrency)
    return factors if served is None else factors._replace(queueing=served, decoding=(factors.decoding or 0.0) / served)


def _served_share(load: LoadRecord, concurrency: int) -> float | None:
    """Return the share of the requests at the server that ran, over the steady parts; None without a reading there."""
    running = waiting = 0.0
    for index in dict.fromkeys(r.phase_index for r in load.measured if r.concurrency == concurrency):
        spans = full_load_spans([r for r in load.measured if r.phase_index == index], concurrency)
        readings = [
            reading
            for reading in load.queue
            if reading.phase_index == index and None not in (reading.running, reading.waiting)
        ]
        steady_readings = [reading for reading in readings if any(a <= reading.since_phase_s <= b for a, b in spans)]
        running += sum(reading.running or 0.0 for reading in steady_readings)
        waiting += sum(reading.waiting or 0.0 for reading in steady_readings)
    return running / (running + waiting) if running > 0 else None


def geometric_mean(values: Sequence[float]) -> float:
    """Return exp of the mean of logs; all values must be positive."""
    return math.exp(sum(map(math.log, values)) / len(values))


def counter_increments(load: LoadRecord, requests: Sequence[RequestRecord]) -> CounterIncrements | Reason:
    """Return the counter increments over the segments of these requests, if they match the client's tokens."""
    segments = {request.segment for request in requests}
    segment_increments = [_segment_increments(load.counters, segment) for segment in segments]
    if not requests or None in segment_increments:
        return Reason(Code.NO_COUNTERS_BETWEEN)
    total = CounterIncrements(
        *(_sum(values) for values in zip(*(increments for increments in segment_increments if increments), strict=True))
    )
    client_tokens = sum(request.completion_tokens or 0 for request in requests)
    counter_tokens = total.generation_tokens
    if counter_tokens is None or not client_tokens:
        return Reason(Code.NO_COUNTERS_BETWEEN)
    if abs(counter_tokens - client_tokens) > AGREE * client_tokens:
        return Reason(Code.COUNTERS_DISAGREE, values={"client": client_tokens, "counters": counter_tokens})
    return total


def _segment_increments(counters: Sequence[LoadCounters], segment: int | None) -> CounterIncrements | None:
    """Return the increments of all ranks over a segment; None if a rank was not read or its counters were reset."""
    if segment is None:
        return None
    before = {c.engine_index: c for c in counters if c.segment == segment}
    after = {c.engine_index: c for c in counters if c.segment == segment + 1}
    if not before or before.keys() != after.keys():
        return None
    sums = [_sum([_difference(before[i], after[i], name) for i in before]) for name in SUMMED_COUNTERS]
    return None if any(value is not None and value < 0 for value in sums) else CounterIncrements(*sums)


def _difference(before: LoadCounters, after: LoadCounters, name: str) -> float | None:
    first, last = getattr(before, name), getattr(after, name)
    # A counter that first appears with its first increment started at zero.
    increment = None if last is None else float(last - (first or 0.0))
    return increment if increment is not None and math.isfinite(increment) else None


def _sum(values: Sequence[float | None]) -> float | None:
    known_values = [value for value in values if value is not None]
    return sum(known_values) if len(known_values) == len(values) else None


def decode_steps(increments: CounterIncrements, requests: int, speculates: bool | None) -> float | Reason:
    """Return the request-steps after each request's first token."""
    if increments.inter_token_count:
        return increments.inter_token_count
    steps = _all_steps(increments, speculates)
    return steps if isinstance(steps, Reason) else _positive_steps(steps - requests)


def _all_steps(increments: CounterIncrements, speculates: bool | None) -> float | Reason:
    """Return all request-steps, including those of first tokens."""
    tokens = increments.generation_tokens or 0.0
    if increments.inter_token_count:
        return increments.inter_token_count + (increments.first_tokens or 0.0)
    if increments.accepted_tokens is not None:
        return _positive_steps(tokens - increments.accepted_tokens)
    return tokens if speculates is False else Reason(Code.NO_STEP_COUNTER)


def _positive_steps(steps: float) -> float | Reason:
    return steps if steps > 0 else Reason(Code.NO_STEP_COUNTED)
