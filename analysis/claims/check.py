"""One check of a published statement: which numbers go in, what comes out, and whether it is what was stated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Cell:
    """One published number or field with what a formula may want to know beside it."""

    id: str
    text: str  # as printed
    metric: str = ""
    sd: float | None = None
    concurrency: int | None = None
    output_tokens: int | None = None

    @property
    def value(self) -> float:
        """ValueError where it is no number."""
        return float(self.text)

    @property
    def number_or_text(self) -> float | str:
        try:
            return self.value
        except ValueError:
            return self.text


class Given(NamedTuple):
    """What a formula works on."""

    groups: Sequence[Sequence[Cell]]
    stated: Sequence[float]
    tolerance: float
    model_config: Mapping[str, Any] | None = None
    parts: Mapping[str, frozenset[str]] = {}  # numbers of a document by its part


class Outcome(NamedTuple):
    """What came out; `agrees` None: the numbers fit several readings, and none is named."""

    recomputed: tuple[float, ...]
    agrees: bool | None


Formula = Callable[[Given], Outcome]


@dataclass(frozen=True, slots=True)
class Check:
    """A check as a reference row states it.

    meaning: what it means where it does not agree; a template in which i0, r0 and s0 stand for the first input, the
    first number that came out, the first that was stated. No number is typed into it.
    """

    id: str
    source: str
    line: int
    formula: str
    given: Given
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """A check and its outcome."""

    check: Check
    outcome: Outcome
    inputs: tuple[str, ...] = field(default=())  # ids of the rows that went in

    @property
    def is_contradiction(self) -> bool:
        return self.outcome.agrees is False

    @property
    def words(self) -> str:
        """What it means, with the numbers that went in and came out."""
        cells = [cell for group in self.check.given.groups for cell in group]
        parts = {
            "i": [cell.number_or_text for cell in cells],
            "r": self.outcome.recomputed,
            "s": self.check.given.stated,
        }
        return self.check.meaning.format(
            **{f"{name}{place}": value for name, values in parts.items() for place, value in enumerate(values)}
        )


def run_check(check: Check, formulas: Mapping[str, Formula]) -> Checked:
    """KeyError where no formula has that name."""
    outcome = formulas[check.formula](check.given)
    rounded = tuple(round(value, 3) for value in outcome.recomputed)
    ids = tuple(cell.id for group in check.given.groups for cell in group)
    return Checked(check, Outcome(rounded, outcome.agrees), ids)


def each(given: Given, formula: Callable[[Sequence[float]], float]) -> tuple[float, ...]:
    """The formula of each group's numbers."""
    return tuple(formula([cell.value for cell in group]) for group in given.groups)


def as_stated(given: Given, recomputed: Sequence[float]) -> Outcome:
    """Agrees where all are within the tolerance of what was stated; one statement may be about several numbers."""
    stated = list(given.stated) * (len(recomputed) if len(given.stated) == 1 else 1)
    pairs = zip(recomputed, stated, strict=True)
    return Outcome(tuple(recomputed), all(abs(one - other) <= given.tolerance + 1e-9 for one, other in pairs))
