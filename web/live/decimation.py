"""Long series made short enough to draw, without losing a peak, a dip or a gap."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from web.live.protocol import LivePart, Series

Indices = npt.NDArray[np.intp]


def decimate(series: Series, most: int) -> Series:
    """At most about `most` points: the ends, and of each bucket its minimum, maximum and a null where it holds a gap.

    Buckets hold equal numbers of points, so that dense stretches keep their detail; a point keeps its own time.
    """
    count = len(series["t"])
    if count <= most:
        return series
    inner = _extremes(np.array(series["v"], dtype=np.float64), -(-count * 2 // most))
    kept = np.unique(np.concatenate(([0, count - 1], inner))).tolist()
    short = Series(t=[series["t"][i] for i in kept], v=[series["v"][i] for i in kept])
    if "excluded" in series:
        short["excluded"] = [series["excluded"][i] for i in kept]
    return short


def decimate_part(part: LivePart, most: int) -> LivePart:
    """The part with every series decimated."""
    if "series" not in part:
        return part
    return {**part, "series": {name: decimate(series, most) for name, series in part["series"].items()}}


def _extremes(values: npt.NDArray[np.float64], size: int) -> Indices:
    """Where each bucket of `size` values is lowest, highest and first unknown, as far as it is any of these."""
    count = len(values)
    starts = np.arange(0, count, size)
    buckets = np.full((len(starts), size), np.nan)
    buckets.ravel()[:count] = values
    unknown = np.isnan(buckets)
    is_gap = unknown & (np.arange(buckets.size).reshape(buckets.shape) < count)
    is_known = ~unknown.all(axis=1)
    lowest = starts + np.where(unknown, np.inf, buckets).argmin(axis=1)
    highest = starts + np.where(unknown, -np.inf, buckets).argmax(axis=1)
    gaps = starts + is_gap.argmax(axis=1)
    return np.concatenate((lowest[is_known], highest[is_known], gaps[is_gap.any(axis=1)]))
