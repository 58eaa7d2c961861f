"""The checks of published statements, run on the published rows, and which numbers they cast doubt on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial

from analysis.claims.check import Cell, Check, Checked, Given, run_check
from analysis.claims.formulas import FORMULAS
from reference.published import Number, load_published
from reference.statements import Row, load_checks, load_models, numbers_by_part, quoted_share, read_table

ROUNDED = 0.01  # by how much a document rounds a number that it prints again


def checked_claims() -> list[Checked]:
    """Every check with its outcome, in the order of the rows."""
    cells = _cells()
    return [run_check(_check(row, cells), FORMULAS) for row in load_checks()]


@cache
def doubts() -> Mapping[str, tuple[str, ...]]:
    """What contradictions say, by the id of each number that went into one, or is the same one printed elsewhere."""
    found: dict[str, dict[str, None]] = {}
    for one in checked_claims():
        for number_id in _doubted_by(one):
            found.setdefault(number_id, {})[one.words] = None  # two checks may find the same
    return {number_id: tuple(words) for number_id, words in found.items()}


def _doubted_by(one: Checked) -> Iterator[str]:
    if not one.is_contradiction:
        return
    for published in load_published().values():
        about = [number for number in published.numbers if number.id in one.inputs]
        yield from (number.id for number in published.numbers if any(map(partial(_is_one_print_of, number), about)))


def _is_one_print_of(number: Number, other: Number) -> bool:
    """Whether two numbers of a configuration are one: the same unit and conditions, and equal but for rounding."""
    if (number.unit, number.conditions) != (other.unit, other.conditions):
        return False
    return abs(float(number.value) - float(other.value)) <= ROUNDED * abs(float(other.value))


def _check(row: Row, cells: dict[str, Cell]) -> Check:
    given = Given(
        [[_cell(key, cells) for key in group] for group in row.inputs],
        [_stated(key, cells) for key in row.stated],
        row.tolerance,
        load_models().get(row.model),
        numbers_by_part(row.source),
    )
    return Check(row.id, row.source, row.line, row.formula, given, row.meaning)


def _cell(key: str, cells: dict[str, Cell]) -> Cell:
    """A measurement, a configuration's field, or what a claim's quote prints."""
    whose, _, field = key.partition(":")
    if not field:
        return cells[key]
    if field == "quote":
        return Cell(key, quoted_share(whose))
    return Cell(key, load_published()[whose].fields[field][0])


def _stated(key: str, cells: dict[str, Cell]) -> float:
    """What a claim states, or a number that is printed elsewhere."""
    claims = {row["id"]: row["stated"] for row in read_table("claims")}
    return float(claims[key]) if key in claims else cells[key].value


def _cells() -> dict[str, Cell]:
    return {
        row["id"]: Cell(
            row["id"],
            row["value"],
            row["metric"],
            float(row["sd"]) if row["sd"] else None,
            int(row["concurrency"]) if row["concurrency"] else None,
            int(row["output_tokens"]) if row["output_tokens"] else None,
        )
        for row in read_table("measurements")
    }
