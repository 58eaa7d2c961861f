"""Groups of runs that share a property, with one number per server start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.comparison.starts import group_by_start
from analysis.verdict.mean import interval_of_mean, mean_of


@dataclass(frozen=True, slots=True)
class RunGroup:
    """Runs that share a key. `values`: one number per server start for which it is known."""

    key: str
    run_ids: tuple[str, ...]
    starts: int
    values: tuple[float, ...]

    @property
    def mean(self) -> float | None:
        return mean_of(self.values)

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the mean; None with fewer than two starts or if all values are equal."""
        return interval_of_mean(self.values)

    @property
    def unknown(self) -> int:
        """Number of server starts without a known value."""
        return self.starts - len(self.values)


def group_runs(
    keys_of: Mapping[str, Sequence[str]],
    values: Mapping[str, float | None],
    processes: Mapping[str, frozenset[str]],
) -> list[RunGroup]:
    """Return the groups, the highest mean first, those without a known value last.

    keys_of: run id -> keys of its groups. Several runs on one server process are one start: their mean counts.
    """
    members: dict[str, list[str]] = {}
    for run_id, keys in keys_of.items():
        for key in keys:
            members.setdefault(key, []).append(run_id)
    groups = [
        _group(key, ids, values, lambda run_id: processes.get(run_id, frozenset())) for key, ids in members.items()
    ]
    return sorted(groups, key=lambda group: (group.mean is None, -(group.mean or 0.0), group.key))


def _group(
    key: str, ids: Sequence[str], values: Mapping[str, float | None], processes_of: Callable[[str], frozenset[str]]
) -> RunGroup:
    starts = group_by_start(ids, processes_of)
    return RunGroup(key, tuple(ids), len(starts), tuple(_values(starts, values)))


def _values(starts: Sequence[Sequence[str]], values: Mapping[str, float | None]) -> Iterator[float]:
    for runs in starts:
        start_mean = mean_of([value for run_id in runs if (value := values.get(run_id)) is not None])
        if start_mean is not None:
            yield start_mean
