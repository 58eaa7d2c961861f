"""Lookup of one scrape's points by name and label, used by the counters of all engines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from engines.base import MetricPoint

MOST_POSITIONS = 1024  # of a draft


class ScrapePoints:
    """The points of one scrape, by exposed name."""

    def __init__(self, points: Iterable[MetricPoint]) -> None:
        self._by_name: dict[str, list[MetricPoint]] = {}
        for point in points:
            self._by_name.setdefault(point.name, []).append(point)

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def find(self, *names: str, **labels: str) -> list[MetricPoint]:
        """Return the points of the first of these names that exists, with these label values."""
        points = next((self._by_name[name] for name in names if name in self._by_name), [])
        return [p for p in points if all(p.labels.get(key) == value for key, value in labels.items())]

    def total(self, *names: str, **labels: str) -> float | None:
        """Return their sum, since one counter may be split over labels (the model, streaming or not).

        None if there are none, or if one of them is NaN, an exporter's mark for unknown.
        """
        points = self.find(*names, **labels)
        total = sum(p.value for p in points) if points else math.nan
        return None if math.isnan(total) else total

    def by_position(self, *names: str, **labels: str) -> list[float] | None:
        """Return the values of label `position` 0, 1, 2, ... in order, without invalid positions."""
        positions = ((small_number(p.labels.get("position", "")), p.value) for p in self.find(*names, **labels))
        values = {
            position: value for position, value in positions if position is not None and position < MOST_POSITIONS
        }
        return [values.get(i, 0.0) for i in range(max(values) + 1)] if values else None

    def label_values(self, label: str) -> list[str]:
        """Return every value of this label, numbers in numeric order."""
        return sorted({p.labels[label] for p in self if label in p.labels}, key=_number_first)

    def __iter__(self) -> Iterator[MetricPoint]:
        return (p for group in self._by_name.values() for p in group)


def small_number(label: str) -> int | None:
    """Parse a label that counts engines, ranks or positions; None for any other text."""
    return int(label) if label.isdecimal() and len(label) < 7 else None


def _number_first(value: str) -> tuple[int, str]:
    number = small_number(value)
    return (1 << 30, value) if number is None else (number, "")
