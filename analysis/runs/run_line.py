"""The line of one finished run in the list of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from analysis.runs.printed_speed import PrintedSpeed
from reasons import Reason


@dataclass(frozen=True, slots=True)
class ToolStatement:
    """A speed that another tool or a document states of a run, in its own definition and with all its digits."""

    definition: str  # 'guidellm 0.7.1'
    metric: str  # 'output_tps'
    statistic: str  # 'mean'
    value: float
    unit: str
    point: str


class MetricRow(NamedTuple):
    """A metric of a run at one concurrency, as a row of the SQL view `metrics`.

    reason: the code of the reason for an unknown value.
    """

    metric: str
    concurrency: int | None
    detail: str
    value: float | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class RunLine:
    """The known numbers of a run by the key of their metric; an unknown speed has `reason`.

    printed: the speed that its log prints, if none was measured; stated: the speed that a tool or document states.
    Neither is ever ranked or sorted by. metric_rows: every metric, for the SQL view; lines from the store have none.
    """

    numbers: Mapping[str, float] = field(default_factory=dict)
    reason: Reason | None = None
    printed: PrintedSpeed | None = None
    stated: ToolStatement | None = None
    metric_rows: tuple[MetricRow, ...] = field(default=(), compare=False, repr=False)

    def __getitem__(self, name: str) -> float | None:
        """The value of this metric; None if it is unknown."""
        return self.numbers.get(name)
