"""Reads a server's latency histograms less often than its counters; they are cumulative, so nothing is lost."""

from __future__ import annotations

from dataclasses import replace

from collectors.endpoints.exposition import read_points
from engines.base import CounterMap, Scrape
from samples import LatencySample

READ_EVERY_S = 10.0
MAX_POINTS = 100_000  # vLLM with 256 DP ranks has about 22,000

Key = tuple[str, str, int]  # definition, metric, rank


class LatencyReader:
    """Latency histograms of one server."""

    def __init__(self) -> None:
        self._previous: Scrape | None = None  # the last reading
        self._counts: dict[Key, list[float] | None] = {}  # of the last samples

    def read(self, scrape: Scrape, body: bytes, counters: CounterMap, is_last: bool) -> list[LatencySample]:
        """Return the histograms that changed since the last reading, if one is due; raises ValueError on a bad body.

        scrape: the time of the body; its points are ignored. A histogram that appears after the first reading, as
        SGLang's do with the first request, was empty until then; an empty sample is returned before it.
        """
        previous = self._previous
        is_due = previous is None or is_last or scrape.mono_s - previous.mono_s >= READ_EVERY_S
        if not counters.HISTOGRAM_NAMES or not is_due:
            return []
        points = read_points(body, counters.HISTOGRAM_NAMES, MAX_POINTS)
        changed: list[LatencySample] = []
        for sample in counters.latency_samples(replace(scrape, points=points)):
            key = (sample.definition, sample.metric, sample.engine_index)
            if key not in self._counts and previous:
                changed.append(_empty(sample, previous))
            if self._counts.get(key) != sample.counts:
                changed.append(sample)
            self._counts[key] = sample.counts
        self._previous = scrape
        return changed


def _empty(sample: LatencySample, previous: Scrape) -> LatencySample:
    zero_counts = [0.0 for _ in sample.counts or ()]
    return replace(sample, ts=previous.ts, mono_s=previous.mono_s, counts=zero_counts, sum_ms=0.0)
