"""A ratio of two sides with its interval and both sides' values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from analysis.verdict.difference import interval_of_ratio
from analysis.verdict.mean import mean_of


@dataclass(frozen=True, slots=True)
class Ratio:
    """Contender over baseline, with its interval if there are repeats, and both arms' geometric means."""

    name: str
    ratio: float
    values: tuple[float, float]
    interval: tuple[float, float] | None = None

    @classmethod
    def of_sides(cls, name: str, baseline: Sequence[float], contender: Sequence[float]) -> Self:
        """Return the ratio with its 95 % interval. The values must be positive."""
        first, second = mean_of(baseline) or 0.0, mean_of(contender) or 0.0
        return cls(name, second / first, (first, second), interval_of_ratio(baseline, contender))
