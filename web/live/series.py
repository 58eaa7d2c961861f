"""A time series of a run, and its thinning to a drawable length without losing a peak, a dip or a gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from web.live.protocol import Series

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class BucketStats:
    """The number of samples that each point stands for, dropped similar ones included, and their mean (NaN if 0)."""

    mean: Floats
    count: Floats


@dataclass(frozen=True)
class TimeSeries:
    """Times and values, oldest first; an unknown value is NaN. `excluded` marks samples that no verdict uses.

    `is_brief` marks those excluded samples whose interval is too short to show between the remaining points: the line
    need not break there. `bucket_stats` belongs to a thinned series, whose mean must not be taken from its extremes.
    """

    t: Floats
    v: Floats
    excluded: Flags | None = None
    is_brief: Flags | None = None
    bucket_stats: BucketStats | None = None

    def thinned(self, most: int) -> TimeSeries:
        """Return about `most` points: both ends, and each bucket's minimum, maximum and a null if it has a gap.

        Buckets hold equal numbers of points, so that dense intervals keep their detail; a point keeps its own time.
        """
        count = len(self.t)
        if count <= most:
            return self
        size = -(-count * 2 // most)
        indices = np.unique(np.concatenate(([0, count - 1], _extremes(self.v, size))))
        stats = self._bucket_stats(indices)
        if self.excluded is None:
            return TimeSeries(self.t[indices], self.v[indices], bucket_stats=stats)
        brief = (
            _short_intervals(self.excluded, size)
            if self.is_brief is None
            else _short_intervals(self.excluded, size) | self.is_brief
        )
        return TimeSeries(self.t[indices], self.v[indices], self.excluded[indices], brief[indices], stats)

    def _bucket_stats(self, indices: Indices) -> BucketStats:
        """Assign each known sample to the next retained known point with the same exclusion, else to the last one."""
        is_known = ~np.isnan(self.v)
        is_excluded = np.zeros(len(self.v), np.bool_) if self.excluded is None else self.excluded
        previous = self.bucket_stats or BucketStats(self.v, is_known.astype(float))
        mean, count = np.full(len(indices), np.nan), np.zeros(len(indices))
        for mask in (is_known & ~is_excluded, is_known & is_excluded):
            slots = np.flatnonzero(mask[indices])
            if not len(slots):
                continue
            sample_indices = np.flatnonzero(mask)
            nearest = np.minimum(np.searchsorted(indices[slots], sample_indices), len(slots) - 1)
            counts = np.bincount(nearest, previous.count[sample_indices], len(slots))
            mean[slots] = (
                np.bincount(nearest, previous.count[sample_indices] * previous.mean[sample_indices], len(slots))
                / counts
            )
            count[slots] = counts
        return BucketStats(mean, count)

    def excluded_codes(self) -> list[int] | None:
        """Return the protocol's codes: 1 is excluded, 2 briefly excluded; None if no sample is ever excluded."""
        if self.excluded is None:
            return None
        codes = self.excluded.astype(int) + (0 if self.is_brief is None else self.is_brief)
        return [int(code) for code in codes]

    def to_protocol(self) -> Series:
        """Return the series in the form of web.live.protocol."""
        series = Series(t=self.t.tolist(), v=_or_none(self.v))
        if self.bucket_stats is not None:
            series["mean"] = _or_none(self.bucket_stats.mean)
            series["count"] = [int(count) for count in self.bucket_stats.count]
        if (excluded := self.excluded_codes()) is not None:
            series["excluded"] = excluded
        return series


def _or_none(values: Floats) -> list[float | None]:
    """Replace NaN by None, the null of JSON."""
    return [None if value != value else value for value in values.tolist()]


def _short_intervals(flags: Flags, size: int) -> Flags:
    """Return only those runs of set flags that are shorter than `size`."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False))
    lengths = edges[1::2] - edges[::2]
    short_flags = flags.copy()
    short_flags[flags] = np.repeat(lengths < size, lengths)
    return short_flags


def _extremes(values: Floats, size: int) -> Indices:
    """Return the indices at which each bucket of `size` values is lowest, highest and first unknown, if it is."""
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
