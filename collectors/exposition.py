"""The wanted lines of a /metrics body. A vLLM scrape has over a thousand, of which some twenty are read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from prometheus_client.parser import text_string_to_metric_families

from engines.base import MetricPoint


@lru_cache(maxsize=16)
def _encoded(names: frozenset[str]) -> frozenset[bytes]:
    return frozenset(name.encode() for name in names)


def read_points(body: bytes, names: frozenset[str]) -> list[MetricPoint]:
    """The samples with these names; raises ValueError on a line that is not Prometheus' text format.

    Lines are dropped as bytes before the parser, which costs some 10 ms for a whole scrape, sees them.
    """
    wanted = _encoded(names)
    lines = [ln for ln in body.split(b"\n") if ln.partition(b"{")[0].partition(b" ")[0] in wanted]
    families = text_string_to_metric_families(b"\n".join(lines).decode("utf-8", "replace") + "\n")
    return [MetricPoint(s.name, s.labels, s.value) for family in families for s in family.samples]


def has_prefix(body: bytes, prefixes: Iterable[str]) -> bool:
    """Whether a sample or its HELP line starts so: a server that has served nothing yet exports HELP lines alone."""
    starts = tuple(form for p in prefixes for form in (p.encode(), b"# HELP " + p.encode(), b"# TYPE " + p.encode()))
    return any(body.startswith(start) or b"\n" + start in body for start in starts)
