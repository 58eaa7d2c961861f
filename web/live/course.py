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
class StandsFor:
    """How many samples each point stands for, and their mean (NaN of none): itself and the like that were left out."""

    mean: Floats
    count: Floats


@dataclass(frozen=True)
class Course:
    """Values and their times, oldest first; one that is not known is NaN. `excluded` marks what is not judged.

    `brief` marks what of that is shorter than the points that were kept can show: a line need not break there.
    `stands_for` is of a course that was thinned: a mean may not be taken of extremes.
    """

    t: Floats
    v: Floats
    excluded: Flags | None = None
    brief: Flags | None = None
    stands_for: StandsFor | None = None

    def thinned(self, most: int) -> Course:
        """At most about `most` points: the ends, and of each bucket its minimum, maximum and a null where it has a gap.

        Buckets hold equal numbers of points, so that dense stretches keep their detail; a point keeps its own time.
        """
        count = len(self.t)
        if count <= most:
            return self
        size = -(-count * 2 // most)
        kept = np.unique(np.concatenate(([0, count - 1], _extremes(self.v, size))))
        stands_for = self._gathered(kept)
        if self.excluded is None:
            return Course(self.t[kept], self.v[kept], stands_for=stands_for)
        brief = _shorter(self.excluded, size) if self.brief is None else _shorter(self.excluded, size) | self.brief
        return Course(self.t[kept], self.v[kept], self.excluded[kept], brief[kept], stands_for)

    def _gathered(self, kept: Indices) -> StandsFor:
        """Each known sample goes to the next point that was kept and is known and judged like it, else to the last."""
        known = ~np.isnan(self.v)
        marked = np.zeros(len(self.v), np.bool_) if self.excluded is None else self.excluded
        held = self.stands_for or StandsFor(self.v, known.astype(float))
        mean, count = np.full(len(kept), np.nan), np.zeros(len(kept))
        for mine in (known & ~marked, known & marked):
            places = np.flatnonzero(mine[kept])
            if not len(places):
                continue
            samples = np.flatnonzero(mine)
            nearest = np.minimum(np.searchsorted(kept[places], samples), len(places) - 1)
            counts = np.bincount(nearest, held.count[samples], len(places))
            mean[places] = np.bincount(nearest, held.count[samples] * held.mean[samples], len(places)) / counts
            count[places] = counts
        return StandsFor(mean, count)

    def excluded_codes(self) -> list[int] | None:
        """As the protocol has it: 1 is excluded, 2 excluded briefly; None where nothing is judged."""
        if self.excluded is None:
            return None
        codes = self.excluded.astype(int) + (0 if self.brief is None else self.brief)
        return [int(code) for code in codes]

    def series(self) -> Series:
        """As the protocol has it."""
        series = Series(t=self.t.tolist(), v=_or_none(self.v))
        if self.stands_for is not None:
            series["mean"] = _or_none(self.stands_for.mean)
            series["count"] = [int(count) for count in self.stands_for.count]
        if (excluded := self.excluded_codes()) is not None:
            series["excluded"] = excluded
        return series


def _or_none(values: Floats) -> list[float | None]:
    """What is not known as JSON has it."""
    return [None if value != value else value for value in values.tolist()]


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
