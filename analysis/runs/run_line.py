"""The line of one finished run in the list of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True)
class RunLine:
    """The known numbers of a run by the key of their metric; an unknown speed has `reason`.

    printed: the speed that its log prints, if none was measured; stated: the speed that a tool or document states.
    Neither is ever ranked or sorted by.
    """

    numbers: Mapping[str, float] = field(default_factory=dict)
    reason: Reason | None = None
    printed: PrintedSpeed | None = None
    stated: ToolStatement | None = None

    def __getitem__(self, name: str) -> float | None:
        """The value of this metric; None if it is unknown."""
        return self.numbers.get(name)
