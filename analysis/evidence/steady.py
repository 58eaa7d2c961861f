"""Output in the steady part of a phase: the time with at least nine tenths of its target concurrency in flight.

Times are the client's. Ramps, pauses and tails are excluded; prefill is included, since with several streams it never
stops.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, pairwise, repeat
from typing import NamedTuple

from load_records import RequestRecord

FULL_LOAD_SHARE = 0.9  # of the target concurrency
RESOLUTION_S = 0.5e-6  # times of chunks are whole microseconds, and sums of them are not exact
MAX_PIECES = 1000  # for an answer without recorded chunks, however many tokens its server claims


class TimeSpan(NamedTuple):
    """An interval in seconds since the phase began."""

    from_s: float
    to_s: float


class SteadyOutput(NamedTuple):
    """Output during the steady part of one or several phases."""

    tokens: float
    pieces: int  # chunks that carried these tokens
    seconds: float
    in_flight_s: float  # summed over its requests
    prefill_s: float  # likewise, before their first chunk
    first_tokens: float = 0.0  # of `tokens`, those of first chunks
    first_pieces: int = 0  # of `pieces`, the first chunks

    @property
    def output_tps(self) -> float:
        return self.tokens / self.seconds

    @property
    def running(self) -> float:
        """Mean requests in flight."""
        return self.in_flight_s / self.seconds

    @property
    def prefill_share(self) -> float:
        """Share of the requests' time before their first token."""
        return self.prefill_s / self.in_flight_s

    @property
    def decode_s(self) -> float:
        """Summed time of its requests after their first chunk."""
        return self.in_flight_s - self.prefill_s

    @property
    def later_tokens(self) -> float:
        """Tokens after the first chunks."""
        return self.tokens - self.first_tokens


class _TimeSpans:
    """Ordered time spans with cumulative seconds, for fast lookups in long loads."""

    def __init__(self, spans: Sequence[TimeSpan]) -> None:
        self.spans = spans
        self.begins = [span.from_s for span in spans]
        self.cumulative_s = list(accumulate((span.to_s - span.from_s for span in spans), initial=0.0))

    @property
    def seconds(self) -> float:
        return self.cumulative_s[-1]

    def contains(self, at_s: float) -> bool:
        """Whether this time lies in a span."""
        index = bisect_left(self.begins, at_s)
        return index > 0 and at_s <= self.spans[index - 1].to_s + RESOLUTION_S

    def overlap_s(self, span: TimeSpan) -> float:
        return self._until_s(span.to_s) - self._until_s(span.from_s)

    def _until_s(self, at_s: float) -> float:
        index = bisect_left(self.begins, at_s)
        if index == 0:
            return 0.0
        last = self.spans[index - 1]
        return self.cumulative_s[index - 1] + min(at_s, last.to_s) - last.from_s


def steady_output(requests: Sequence[RequestRecord], concurrency: int) -> SteadyOutput | None:
    """Return the output of the steady part of one phase; None if it was never under full load or had no tokens."""
    full_load = _TimeSpans(full_load_spans(requests, concurrency))
    chunks = [
        (count, is_first)
        for request in requests
        for is_first, (at_s, count) in zip(chain([True], repeat(False)), token_times(request), strict=False)
        if full_load.contains(at_s)
    ]
    tokens = sum(count for count, _ in chunks)
    if full_load.seconds <= 0 or tokens <= 0:
        return None
    first_counts = [count for count, is_first in chunks if is_first]
    in_flight_s = sum(full_load.overlap_s(span) for request in requests if (span := _request_span(request)))
    prefill_s = sum(full_load.overlap_s(span) for request in requests if (span := _prefill_span(request)))
    return SteadyOutput(
        tokens, len(chunks), full_load.seconds, in_flight_s, prefill_s, sum(first_counts), len(first_counts)
    )


def merge_outputs(outputs: Sequence[SteadyOutput]) -> SteadyOutput:
    """Sum the steady outputs of several phases."""
    return SteadyOutput(*map(sum, zip(*outputs, strict=True)))


def full_load_spans(requests: Sequence[RequestRecord], concurrency: int) -> list[TimeSpan]:
    """Return the spans with at least FULL_LOAD_SHARE of `concurrency` requests in flight, failed requests included."""
    steps: dict[float, int] = {}
    for span in filter(None, map(_request_span, requests)):
        steps[span.from_s] = steps.get(span.from_s, 0) + 1
        steps[span.to_s] = steps.get(span.to_s, 0) - 1
    times = sorted(steps)
    in_flight_counts = accumulate(steps[at_s] for at_s in times)
    spans = [
        TimeSpan(from_s, to_s)
        for (from_s, to_s), count in zip(pairwise(times), in_flight_counts, strict=False)
        if count >= FULL_LOAD_SHARE * concurrency
    ]
    return list(_join_spans(spans))


def token_times(request: RequestRecord) -> Iterator[tuple[float, float]]:
    """Yield (seconds since the phase began, tokens) per chunk; tokens are spread evenly if the server counted none."""
    tokens = request.completion_tokens
    span = _request_span(request)
    if not tokens or span is None or request.error_kind:
        return
    intervals_us: Sequence[float] = request.chunk_us or _even_chunks(request, min(tokens, MAX_PIECES))
    counts: Sequence[float] = request.chunk_tokens or []
    if len(counts) != len(intervals_us):
        counts = [tokens / len(intervals_us)] * len(intervals_us)
    for at_us, count in zip(accumulate(intervals_us), counts, strict=True):
        yield span.from_s + at_us / 1e6, count


def _even_chunks(request: RequestRecord, pieces: int) -> list[float]:
    """Return chunk intervals in µs for a record without chunk times: the first as measured, the others evenly."""
    first_us, later_us = ((ms or 0.0) * 1000 for ms in (request.ttft_ms, request.decode_ms))
    return [first_us, *[later_us / max(1, pieces - 1)] * (pieces - 1)]


def _request_span(request: RequestRecord) -> TimeSpan | None:
    if request.since_phase_s is None or request.total_ms is None:
        return None
    return TimeSpan(request.since_phase_s, request.since_phase_s + request.total_ms / 1000)


def _prefill_span(request: RequestRecord) -> TimeSpan | None:
    span = _request_span(request)
    return span and TimeSpan(span.from_s, span.from_s + (request.ttft_ms or 0.0) / 1000)


def _join_spans(spans: Sequence[TimeSpan]) -> Iterator[TimeSpan]:
    current: TimeSpan | None = None
    for span in spans:
        if current and span.from_s == current.to_s:
            current = TimeSpan(current.from_s, span.to_s)
            continue
        if current:
            yield current
        current = span
    if current:
        yield current
