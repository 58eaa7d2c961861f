"""Long series made short enough to draw, without losing a peak, a dip or a gap."""

from __future__ import annotations

from web.live.protocol import LivePart, Series


def decimate(series: Series, most: int) -> Series:
    """At most about `most` points: the ends, and of each bucket its minimum, maximum and a null where it holds a gap.

    Buckets hold equal numbers of points, so that dense stretches keep their detail; a point keeps its own time.
    """
    count = len(series["t"])
    if count <= most:
        return series
    size = -(-count * 2 // most)
    inner = (index for start in range(0, count, size) for index in _extremes(series, start, min(start + size, count)))
    kept = sorted({0, count - 1, *inner})
    short = Series(t=[series["t"][i] for i in kept], v=[series["v"][i] for i in kept])
    if "excluded" in series:
        short["excluded"] = [series["excluded"][i] for i in kept]
    return short


def decimate_part(part: LivePart, most: int) -> LivePart:
    """The part with every series decimated."""
    if "series" not in part:
        return part
    return {**part, "series": {name: decimate(series, most) for name, series in part["series"].items()}}


def _extremes(series: Series, start: int, stop: int) -> set[int]:
    known = {index: value for index in range(start, stop) if (value := series["v"][index]) is not None}
    gaps = [index for index in range(start, stop) if index not in known]
    extremes = {min(known, key=known.__getitem__), max(known, key=known.__getitem__)} if known else set()
    return extremes.union(gaps[:1])
