"""The wanted lines of a /metrics body. A vLLM scrape has over a thousand, of which some twenty are read."""

from __future__ import annotations

import io
from collections.abc import Iterable
from functools import lru_cache

from prometheus_client.parser import text_string_to_metric_families

from engines.base import MetricPoint

MOST_POINTS = 20_000  # of the wanted lines: vLLM with 256 DP ranks has some 10,000


@lru_cache(maxsize=16)
def _encoded(names: frozenset[str]) -> frozenset[bytes]:
    return frozenset(name.encode() for name in names)


def read_points(body: bytes, names: frozenset[str], most: int = MOST_POINTS) -> list[MetricPoint]:
    """The samples with these names; raises ValueError on a line that is not Prometheus' text format, or on too many.

    Lines are dropped as bytes before the parser, which costs some 10 ms for a whole scrape, sees them.
    """
    wanted = _encoded(names)
    lines = [ln for ln in io.BytesIO(body) if ln.partition(b"{")[0].partition(b" ")[0] in wanted]
    if len(lines) > most:
        raise ValueError(f"it has {len(lines):,} counters of this engine, more than {most:,}")
    families = text_string_to_metric_families(b"".join(lines).decode("utf-8", "replace") + "\n")
    return [MetricPoint(s.name, s.labels, s.value) for family in families for s in family.samples]


def has_prefix(body: bytes, prefixes: Iterable[str]) -> bool:
    """Whether a sample or its HELP line starts so: a server that has served nothing yet exports HELP lines alone."""
    starts = tuple(form for p in prefixes for form in (p.encode(), b"# HELP " + p.encode(), b"# TYPE " + p.encode()))
    return any(body.startswith(start) or b"\n" + start in body for start in starts)
