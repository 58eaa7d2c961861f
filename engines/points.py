"""The points of one scrape, looked up by name and label; all engines' counters are read through it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from engines.base import MetricPoint

MOST_POSITIONS = 1024  # of a draft


class Points:
    """Points by name, as they were exposed."""

    def __init__(self, points: Iterable[MetricPoint]) -> None:
        self._by_name: dict[str, list[MetricPoint]] = {}
        for point in points:
            self._by_name.setdefault(point.name, []).append(point)

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def named(self, *names: str, **labels: str) -> list[MetricPoint]:
        """The points of the first of these names that is there, with these label values."""
        found = next((self._by_name[name] for name in names if name in self._by_name), [])
        return [p for p in found if all(p.labels.get(key) == value for key, value in labels.items())]

    def total(self, *names: str, **labels: str) -> float | None:
        """Their sum: one counter may be split over labels (the model, streaming or not).

        None where one of them is NaN, which is how an exporter says that it does not know.
        """
        found = self.named(*names, **labels)
        total = sum(p.value for p in found) if found else math.nan
        return None if math.isnan(total) else total

    def by_position(self, *names: str, **labels: str) -> list[float] | None:
        """The values of label `position` 0, 1, 2, ... in this order; what is no position of a draft is left out."""
        places = ((small_number(p.labels.get("position", "")), p.value) for p in self.named(*names, **labels))
        found = {place: value for place, value in places if place is not None and place < MOST_POSITIONS}
        return [found.get(i, 0.0) for i in range(max(found) + 1)] if found else None

    def label_values(self, label: str) -> list[str]:
        """Every value this label has anywhere, numbers in their order."""
        return sorted({p.labels[label] for p in self if label in p.labels}, key=_number_first)

    def __iter__(self) -> Iterator[MetricPoint]:
        return (p for group in self._by_name.values() for p in group)


def small_number(label: str) -> int | None:
    """A label that is a number which engines, ranks and positions are counted by; None for another."""
    return int(label) if label.isdecimal() and len(label) < 7 else None


def _number_first(value: str) -> tuple[int, str]:
    number = small_number(value)
    return (1 << 30, value) if number is None else (number, "")
