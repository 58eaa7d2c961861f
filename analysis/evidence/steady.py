"""The steady part of a phase: while at least nine tenths of its target are in flight, by the client's own times.

Ramps, pauses and tails fall out by themselves. Prefill belongs to it: at more than one stream it never stops.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from load_records import RequestRecord

FULL = 0.9  # of the target concurrency
MOST_PIECES = 1000  # into which an answer is cut whose pieces were not recorded, however many tokens its server claims


class Stretch(NamedTuple):
    """Seconds since the phase began."""

    from_s: float
    to_s: float


class Steady(NamedTuple):
    """What came out during the steady part of a phase, or of several."""

    tokens: float
    pieces: int  # that these tokens came in
    seconds: float
    in_flight_s: float  # of all its requests together
    prefill_s: float  # likewise, before their first token

    @property
    def output_tps(self) -> float:
        return self.tokens / self.seconds

    @property
    def running(self) -> float:
        """Mean requests in flight."""
        return self.in_flight_s / self.seconds

    @property
    def prefill_share(self) -> float:
        """The share of the requests' time in it that comes before their first token."""
        return self.prefill_s / self.in_flight_s


class _Stretches:
    """Stretches in order, with the seconds in them up to each, so that a long load is asked in no time."""

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        self.stretches = stretches
        self.begins = [one.from_s for one in stretches]
        self.before_s = list(accumulate((one.to_s - one.from_s for one in stretches), initial=0.0))

    @property
    def seconds(self) -> float:
        return self.before_s[-1]

    def hold(self, at_s: float) -> bool:
        """Whether the last stretch that begins before this moment has not ended."""
        place = bisect_left(self.begins, at_s)
        return place > 0 and at_s <= self.stretches[place - 1].to_s

    def overlap_s(self, span: Stretch) -> float:
        return self._until_s(span.to_s) - self._until_s(span.from_s)

    def _until_s(self, at_s: float) -> float:
        place = bisect_left(self.begins, at_s)
        if place == 0:
            return 0.0
        last = self.stretches[place - 1]
        return self.before_s[place - 1] + min(at_s, last.to_s) - last.from_s


def steady_part(requests: Sequence[RequestRecord], concurrency: int) -> Steady | None:
    """The steady part of one phase; None where it never was under full load, or no token came meanwhile."""
    full = _Stretches(full_stretches(requests, concurrency))
    counts = [count for r in requests for at_s, count in token_times(r) if full.hold(at_s)]
    if full.seconds <= 0 or sum(counts) <= 0:
        return None
    in_flight_s = sum(full.overlap_s(span) for r in requests if (span := _span(r)))
    prefill_s = sum(full.overlap_s(span) for r in requests if (span := _prefill(r)))
    return Steady(sum(counts), len(counts), full.seconds, in_flight_s, prefill_s)


def together(parts: Sequence[Steady]) -> Steady:
    """The steady parts of several phases as one."""
    return Steady(*map(sum, zip(*parts, strict=True)))


def full_stretches(requests: Sequence[RequestRecord], concurrency: int) -> list[Stretch]:
    """When at least FULL of `concurrency` requests were in flight; failed ones count while they lasted."""
    steps: dict[float, int] = {}
    for span in filter(None, map(_span, requests)):
        steps[span.from_s] = steps.get(span.from_s, 0) + 1
        steps[span.to_s] = steps.get(span.to_s, 0) - 1
    times = sorted(steps)
    running = accumulate(steps[at_s] for at_s in times)
    full = [
        Stretch(a, b) for (a, b), count in zip(pairwise(times), running, strict=False) if count >= FULL * concurrency
    ]
    return list(_joined(full))


def token_times(request: RequestRecord) -> Iterator[tuple[float, float]]:
    """(seconds since the phase began, tokens) of each piece; its tokens evenly where the server counted none."""
    tokens = request.completion_tokens
    span = _span(request)
    if not tokens or span is None or request.error_kind:
        return
    distances_us: Sequence[float] = request.chunk_us or _even(request, min(tokens, MOST_PIECES))
    counts: Sequence[float] = request.chunk_tokens or []
    if len(counts) != len(distances_us):
        counts = [tokens / len(distances_us)] * len(distances_us)
    for at_us, count in zip(accumulate(distances_us), counts, strict=True):
        yield span.from_s + at_us / 1e6, count


def _even(request: RequestRecord, pieces: int) -> list[float]:
    """Distances of so many pieces, for a record without their times: the first as it came, the others evenly."""
    first_us, others_us = ((ms or 0.0) * 1000 for ms in (request.ttft_ms, request.decode_ms))
    return [first_us, *[others_us / max(1, pieces - 1)] * (pieces - 1)]


def _span(request: RequestRecord) -> Stretch | None:
    if request.since_phase_s is None or request.total_ms is None:
        return None
    return Stretch(request.since_phase_s, request.since_phase_s + request.total_ms / 1000)


def _prefill(request: RequestRecord) -> Stretch | None:
    span = _span(request)
    return span and Stretch(span.from_s, span.from_s + (request.ttft_ms or 0.0) / 1000)


def _joined(stretches: Sequence[Stretch]) -> Iterator[Stretch]:
    open_one: Stretch | None = None
    for one in stretches:
        if open_one and one.from_s == open_one.to_s:
            open_one = Stretch(open_one.from_s, one.to_s)
            continue
        if open_one:
            yield open_one
        open_one = one
    if open_one:
        yield open_one
