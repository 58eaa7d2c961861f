"""Reads a server's latency histograms, less often than its counters: they are cumulative, so nothing is lost."""

from __future__ import annotations

from dataclasses import replace

from collectors.endpoints.exposition import read_points
from engines.base import CounterMap, Scrape
from samples import LatencySample

LOOK_EVERY_S = 10.0
MOST_POINTS = 100_000  # vLLM with 256 DP ranks has some 22,000

Key = tuple[str, str, int]  # definition, metric, rank


class LatencyLook:
    """Those of one server."""

    def __init__(self) -> None:
        self._before: Scrape | None = None  # the last look
        self._counts: dict[Key, list[float] | None] = {}  # as they were given out last

    def take(self, scrape: Scrape, body: bytes, counters: CounterMap, is_last: bool) -> list[LatencySample]:
        """What has changed since the last look, if one is due; raises ValueError on a body that cannot be read.

        scrape: when the body came; its points are not read. A histogram that appears later than the first look, as
        those of SGLang do with the first request, was empty until then, and is given out so first.
        """
        before = self._before
        is_due = before is None or is_last or scrape.mono_s - before.mono_s >= LOOK_EVERY_S
        if not counters.HISTOGRAM_NAMES or not is_due:
            return []
        points = read_points(body, counters.HISTOGRAM_NAMES, MOST_POINTS)
        changed: list[LatencySample] = []
        for sample in counters.latency_samples(replace(scrape, points=points)):
            key = (sample.definition, sample.metric, sample.engine_index)
            if key not in self._counts and before:
                changed.append(_empty(sample, before))
            if self._counts.get(key) != sample.counts:
                changed.append(sample)
            self._counts[key] = sample.counts
        self._before = scrape
        return changed


def _empty(sample: LatencySample, before: Scrape) -> LatencySample:
    nothing = [0.0 for _ in sample.counts or ()]
    return replace(sample, ts=before.ts, mono_s=before.mono_s, counts=nothing, sum_ms=0.0)
