"""Parses selected metrics from a /metrics body: about twenty of the more than a thousand lines of vLLM."""

from __future__ import annotations

import io
from collections.abc import Iterable
from functools import lru_cache

from prometheus_client.parser import text_string_to_metric_families

from engines.base import MetricPoint

MAX_POINTS = 20_000  # vLLM with 256 DP ranks has about 10,000 with the selected names


@lru_cache(maxsize=16)
def _encoded(names: frozenset[str]) -> frozenset[bytes]:
    return frozenset(name.encode() for name in names)


def read_points(body: bytes, names: frozenset[str], max_points: int = MAX_POINTS) -> list[MetricPoint]:
    """Return the samples with these names; raises ValueError for invalid Prometheus text or too many samples.

    Other lines are dropped as bytes before parsing, which would take about 10 ms for a whole scrape.
    """
    encoded_names = _encoded(names)
    lines = [ln for ln in io.BytesIO(body) if ln.partition(b"{")[0].partition(b" ")[0] in encoded_names]
    if len(lines) > max_points:
        raise ValueError(f"it has {len(lines):,} counters of this engine, more than {max_points:,}")
    families = text_string_to_metric_families(b"".join(lines).decode("utf-8", "replace") + "\n")
    return [MetricPoint(s.name, s.labels, s.value) for family in families for s in family.samples]


def has_prefix(body: bytes, prefixes: Iterable[str]) -> bool:
    """Return whether a sample, HELP or TYPE line has one of the prefixes; a fresh server exports HELP lines alone."""
    starts = tuple(form for p in prefixes for form in (p.encode(), b"# HELP " + p.encode(), b"# TYPE " + p.encode()))
    return any(body.startswith(start) or b"\n" + start in body for start in starts)
