"""The exposed points of one scrape, looked up by name and label; what all counter maps stand on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from engines.base import MetricPoint


class Points:
    """Points by name; NaN and absent are the same: None."""

    def __init__(self, points: Iterable[MetricPoint]) -> None:
        self._by_name: dict[str, list[MetricPoint]] = {}
        for point in points:
            if not math.isnan(point.value):
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
        """Their sum: one counter may be split over labels (the model, streaming or not)."""
        found = self.named(*names, **labels)
        return sum(p.value for p in found) if found else None

    def by_position(self, *names: str, **labels: str) -> list[float] | None:
        """The values of label `position` 0, 1, 2, ... in this order."""
        found = {int(p.labels["position"]): p.value for p in self.named(*names, **labels) if "position" in p.labels}
        return [found.get(i, 0.0) for i in range(max(found) + 1)] if found else None

    def label_values(self, label: str) -> list[str]:
        """Every value this label has anywhere, numbers in their order."""
        return sorted({p.labels[label] for p in self if label in p.labels}, key=_number_first)

    def __iter__(self) -> Iterator[MetricPoint]:
        return (p for group in self._by_name.values() for p in group)


def _number_first(value: str) -> tuple[int, str]:
    return (int(value), "") if value.isdigit() else (1 << 30, value)
