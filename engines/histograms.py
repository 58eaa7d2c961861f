"""A server's latency histograms in Prometheus form: cumulative counts per bound since its start."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from engines.base import MetricPoint, Scrape
from engines.points import ScrapePoints, small_number
from samples import LatencySample

MS_PER_S = 1000.0
BUCKET, SUM = "_bucket", "_sum"
HistogramNames = Mapping[
    str, tuple[str, ...]
]  # 'ttft_ms' -> the histogram's exposed names, the newer one first; in seconds


def histogram_names(histograms: HistogramNames) -> frozenset[str]:
    """Return the exposed names from which these histograms are read."""
    return frozenset(f"{name}{end}" for names in histograms.values() for name in names for end in (BUCKET, SUM))


def histogram_samples(
    scrape: Scrape, definition: str, histograms: HistogramNames, rank_label: str
) -> list[LatencySample]:
    """Return a sample for each histogram and rank that the scrape contains completely."""
    ranks: dict[int, list[MetricPoint]] = {}
    for point in scrape.points:
        ranks.setdefault(small_number(point.labels.get(rank_label, "")) or 0, []).append(point)
    samples = [
        _sample(scrape, definition, metric, names, rank, ScrapePoints(points))
        for rank, points in sorted(ranks.items())
        for metric, names in histograms.items()
    ]
    return [sample for sample in samples if sample]


def _sample(
    scrape: Scrape, definition: str, metric: str, names: Sequence[str], rank: int, points: ScrapePoints
) -> LatencySample | None:
    """Return one histogram, summed over its labels (the model, streaming or not); None if it is missing."""
    counts: dict[float, float] = {}
    for point in points.find(*(f"{name}{BUCKET}" for name in names)):
        bound = _bound(point.labels.get("le", ""))
        if bound is not None:
            counts[bound] = counts.get(bound, 0.0) + point.value
    bounds = sorted(counts)
    ordered_counts = [counts[bound] for bound in bounds]
    if (
        not bounds
        or bounds[-1] != math.inf
        or ordered_counts != sorted(ordered_counts)
        or not all(map(math.isfinite, ordered_counts))
    ):
        return None
    total_s = points.total(*(f"{name}{SUM}" for name in names))
    return LatencySample(
        scrape.run_id,
        scrape.ts,
        scrape.mono_s,
        definition,
        metric,
        rank,
        upper_ms=[round(bound * MS_PER_S, 6) for bound in bounds[:-1]],
        counts=ordered_counts,
        sum_ms=None if total_s is None or not math.isfinite(total_s) else total_s * MS_PER_S,
    )


def _bound(le: str) -> float | None:
    try:
        bound = float(le)
    except ValueError:
        return None
    return None if math.isnan(bound) else bound
