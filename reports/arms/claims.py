"""Checks of published statements against the published rows, and the numbers that they cast doubt on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial

from analysis.claims.check import CheckedClaim, CheckInput, ClaimCheck, FormulaInput, run_check
from analysis.claims.formulas import FORMULAS
from reference.published import Number, load_published
from reference.statements import StatementCheck, load_checks, load_models, numbers_by_part, quoted_share, read_table

ROUNDED = 0.01  # relative rounding of a number that a document prints again


def checked_claims() -> list[CheckedClaim]:
    """Return every check with its outcome, in the order of the rows."""
    cells = _cells()
    return [run_check(_check(row, cells), FORMULAS) for row in load_checks()]


@cache
def doubts() -> Mapping[str, tuple[str, ...]]:
    """Return number id -> the contradictions that used this number, or the same number printed elsewhere."""
    words_by_number: dict[str, dict[str, None]] = {}
    for claim in checked_claims():
        for number_id in _doubted_by(claim):
            words_by_number.setdefault(number_id, {})[claim.words] = None  # two checks may give the same sentence
    return {number_id: tuple(words) for number_id, words in words_by_number.items()}


def _doubted_by(claim: CheckedClaim) -> Iterator[str]:
    if not claim.is_contradiction:
        return
    for published in load_published().values():
        checked_numbers = [number for number in published.numbers if number.id in claim.inputs]
        yield from (
            number.id for number in published.numbers if any(map(partial(_is_same_number, number), checked_numbers))
        )


def _is_same_number(number: Number, printed: Number) -> bool:
    """Whether two numbers of a configuration are the same: equal unit and conditions, and equal but for rounding."""
    if (number.unit, number.conditions) != (printed.unit, printed.conditions):
        return False
    return abs(float(number.value) - float(printed.value)) <= ROUNDED * abs(float(printed.value))


def _check(row: StatementCheck, cells: dict[str, CheckInput]) -> ClaimCheck:
    formula_input = FormulaInput(
        [[_cell(key, cells) for key in group] for group in row.inputs],
        [_stated(key, cells) for key in row.stated_values],
        row.tolerance,
        load_models().get(row.model),
        numbers_by_part(row.source),
    )
    return ClaimCheck(row.id, row.source, row.line, row.formula, formula_input, row.meaning)


def _cell(key: str, cells: dict[str, CheckInput]) -> CheckInput:
    """Return a measurement, a configuration's field, or the number in a claim's quote."""
    source_id, _, field = key.partition(":")
    if not field:
        return cells[key]
    if field == "quote":
        return CheckInput(key, quoted_share(source_id))
    return CheckInput(key, load_published()[source_id].fields[field][0])


def _stated(key: str, cells: dict[str, CheckInput]) -> float:
    """Return the value that a claim states, or a number printed elsewhere."""
    claims = {row["id"]: row["stated"] for row in read_table("claims")}
    return float(claims[key]) if key in claims else cells[key].value


def _cells() -> dict[str, CheckInput]:
    return {
        row["id"]: CheckInput(
            row["id"],
            row["value"],
            row["metric"],
            float(row["sd"]) if row["sd"] else None,
            int(row["concurrency"]) if row["concurrency"] else None,
            int(row["output_tokens"]) if row["output_tokens"] else None,
        )
        for row in read_table("measurements")
    }
