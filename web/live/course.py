"""A quantity of a run over time, and how it is made short enough to draw without losing a peak, a dip or a gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from web.live.protocol import Series

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Course:
    """Values and their times, oldest first; one that is not known is NaN. `excluded` marks what is not judged.

    `brief` marks what of that is shorter than the points that were kept can show: a line need not break there.
    """

    t: Floats
    v: Floats
    excluded: Flags | None = None
    brief: Flags | None = None

    def thinned(self, most: int) -> Course:
        """At most about `most` points: the ends, and of each bucket its minimum, maximum and a null where it has a gap.

        Buckets hold equal numbers of points, so that dense stretches keep their detail; a point keeps its own time.
        """
        count = len(self.t)
        if count <= most:
            return self
        size = -(-count * 2 // most)
        kept = np.unique(np.concatenate(([0, count - 1], _extremes(self.v, size))))
        if self.excluded is None:
            return Course(self.t[kept], self.v[kept])
        brief = _shorter(self.excluded, size) if self.brief is None else _shorter(self.excluded, size) | self.brief
        return Course(self.t[kept], self.v[kept], self.excluded[kept], brief[kept])

    def excluded_codes(self) -> list[int] | None:
        """As the protocol has it: 1 is excluded, 2 excluded briefly; None where nothing is judged."""
        if self.excluded is None:
            return None
        codes = self.excluded.astype(int) + (0 if self.brief is None else self.brief)
        return [int(code) for code in codes]

    def series(self) -> Series:
        """As the protocol has it."""
        series = Series(t=self.t.tolist(), v=[None if value != value else value for value in self.v.tolist()])
        if (excluded := self.excluded_codes()) is not None:
            series["excluded"] = excluded
        return series


def _shorter(flags: Flags, size: int) -> Flags:
    """The marked stretches that are shorter than `size`."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False))
    lengths = edges[1::2] - edges[::2]
    found = flags.copy()
    found[flags] = np.repeat(lengths < size, lengths)
    return found


def _extremes(values: Floats, size: int) -> Indices:
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
