"""Checks of published statements: input numbers, recomputed numbers, and whether they agree with the statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class CheckInput:
    """One published number or field with the context that a formula may need."""

    id: str
    text: str  # as printed
    metric: str = ""
    sd: float | None = None
    concurrency: int | None = None
    output_tokens: int | None = None

    @property
    def value(self) -> float:
        """The text as a number; ValueError if it is none."""
        return float(self.text)

    @property
    def number_or_text(self) -> float | str:
        try:
            return self.value
        except ValueError:
            return self.text


class FormulaInput(NamedTuple):
    """Input of a formula."""

    groups: Sequence[Sequence[CheckInput]]
    stated_values: Sequence[float]
    tolerance: float
    model_config: Mapping[str, Any] | None = None
    parts: Mapping[str, frozenset[str]] = {}  # numbers of a document by section


class CheckOutcome(NamedTuple):
    """Result of a check; `agrees` None: the numbers fit several readings, and the document names none."""

    recomputed: tuple[float, ...]
    agrees: bool | None


Formula = Callable[[FormulaInput], CheckOutcome]


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """A check as a reference row states it.

    meaning: explanation of a disagreement; a template in which i0, r0 and s0 are the first input, the first recomputed
    and the first stated number. It contains no literal number.
    """

    id: str
    source: str
    line: int
    formula: str
    formula_input: FormulaInput
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A check and its outcome."""

    check: ClaimCheck
    outcome: CheckOutcome
    inputs: tuple[str, ...] = field(default=())  # ids of the input rows

    @property
    def is_contradiction(self) -> bool:
        return self.outcome.agrees is False

    @property
    def words(self) -> str:
        """The explanation with its numbers filled in."""
        cells = [cell for group in self.check.formula_input.groups for cell in group]
        values_by_prefix = {
            "i": [cell.number_or_text for cell in cells],
            "r": self.outcome.recomputed,
            "s": self.check.formula_input.stated_values,
        }
        return self.check.meaning.format(
            **{
                f"{name}{index}": value
                for name, values in values_by_prefix.items()
                for index, value in enumerate(values)
            }
        )


def run_check(check: ClaimCheck, formulas: Mapping[str, Formula]) -> CheckedClaim:
    """Run a check; KeyError if no formula has that name."""
    outcome = formulas[check.formula](check.formula_input)
    rounded = tuple(round(value, 3) for value in outcome.recomputed)
    ids = tuple(cell.id for group in check.formula_input.groups for cell in group)
    return CheckedClaim(check, CheckOutcome(rounded, outcome.agrees), ids)


def per_group(inputs: FormulaInput, formula: Callable[[Sequence[float]], float]) -> tuple[float, ...]:
    """Apply the formula to each group's numbers."""
    return tuple(formula([cell.value for cell in group]) for group in inputs.groups)


def compare_stated(inputs: FormulaInput, recomputed: Sequence[float]) -> CheckOutcome:
    """Agree if all are within the tolerance of the stated values; one stated value may cover several numbers."""
    stated_values = list(inputs.stated_values) * (len(recomputed) if len(inputs.stated_values) == 1 else 1)
    pairs = zip(recomputed, stated_values, strict=True)
    return CheckOutcome(
        tuple(recomputed), all(abs(value - stated_value) <= inputs.tolerance + 1e-9 for value, stated_value in pairs)
    )
