"""Runs put together by what they have in common, with one number of each server start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.comparison.starts import by_start
from analysis.verdict.mean import interval_of_mean, mean_of


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Runs that are alike in one thing. `values`: of the server starts of which the number is known, one each."""

    key: str
    run_ids: tuple[str, ...]
    starts: int
    values: tuple[float, ...]

    @property
    def mean(self) -> float | None:
        return mean_of(self.values)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 %, of the mean; None with fewer than two starts, or where all are alike."""
        return interval_of_mean(self.values)

    @property
    def unknown(self) -> int:
        """Server starts of which the number is not known."""
        return self.starts - len(self.values)


def run_groups(
    keys_of: Mapping[str, Sequence[str]],
    values: Mapping[str, float | None],
    processes: Mapping[str, frozenset[str]],
) -> list[RunGroup]:
    """The groups, the highest mean first, those of which none is known last.

    keys_of: run id -> the groups that it is of. Several runs on one server process are one start: their mean counts.
    """
    members: dict[str, list[str]] = {}
    for run_id, keys in keys_of.items():
        for key in keys:
            members.setdefault(key, []).append(run_id)
    groups = [_group(key, ids, values, lambda one: processes.get(one, frozenset())) for key, ids in members.items()]
    return sorted(groups, key=lambda one: (one.mean is None, -(one.mean or 0.0), one.key))


def _group(
    key: str, ids: Sequence[str], values: Mapping[str, float | None], processes_of: Callable[[str], frozenset[str]]
) -> RunGroup:
    starts = by_start(ids, processes_of)
    return RunGroup(key, tuple(ids), len(starts), tuple(_values(starts, values)))


def _values(starts: Sequence[Sequence[str]], values: Mapping[str, float | None]) -> Iterator[float]:
    for runs in starts:
        value_of_arm = mean_of([value for run_id in runs if (value := values.get(run_id)) is not None])
        if value_of_arm is not None:
            yield value_of_arm
