"""Tells what repeats stored values: in running text those of tables, lists and printed blocks, in tables of lists."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.sentences import Statement
from collectors.imports.results.values import converted
from load_records import Result
from samples import Sample

LEAST_REPEATED_CELLS = 3  # fewer may be equal by chance
LEAST_DIGITS = 3  # of a rounded figure: '~4040 tok/s'
LEAST_DIGITS_BESIDE = 2  # where another figure of its paragraph repeats a value
LEAST_DIGITS_OF_OTHER_METRIC = 4  # '41.73 s in total' repeats a duration whatever its words name
WIDEST_RANGE = 1.03
MILLISECONDS = {"ms": 1.0, "s": 1e3}


class StoredValues:
    """Values that are stored before the sentences of a text are read."""

    def __init__(self, rows: Iterable[Result]) -> None:
        stored_rows = [row for row in rows if row.value is not None]
        self._exact = {(name, row.value) for row in stored_rows for name in (row.metric, row.unit)}
        singles = [row for row in stored_rows if row.statistic == STATED]
        self._exact_singles = {(name, row.value) for row in singles for name in (row.metric, row.unit)}
        self._times_and_rates = {_in_base_unit(row.value or 0.0, row.unit) for row in stored_rows}
        self._rows: dict[str, list[Result]] = {}
        for row in sorted(stored_rows, key=lambda row: row.value or 0.0):
            for name in {row.metric, row.unit}:
                self._rows.setdefault(name, []).append(row)
        self._values = {name: [row.value or 0.0 for row in rows] for name, rows in self._rows.items()}

    def has_exactly(self, statement: Statement) -> bool:
        """Return whether a figure is a stored value of its metric, with all digits; of a range both ends are."""
        return self._has_all(statement, self._exact)

    def has_single(self, statement: Statement) -> bool:
        """Return whether a figure is a stored value of its metric that is no mean, percentile or the like."""
        return self._has_all(statement, self._exact_singles)

    def _has_all(self, statement: Statement, values: Collection[tuple[str, float | None]]) -> bool:
        name, factor = _name_of(statement), statement.metric_name.factor
        return all((name, converted(end, factor)) in values for end in _ends_of(statement))

    def has(self, statement: Statement, point: MeasurementPoint, is_beside_repeated: bool = False) -> bool:
        """Return whether a figure repeats stored values, exactly or rounded; of a range both ends do."""
        least_digits = LEAST_DIGITS_BESIDE if is_beside_repeated else LEAST_DIGITS
        names = {_name_of(statement), statement.value.unit or ""}
        return (
            self.has_exactly(statement)
            or self._is_about_a_speed(statement)
            or self._has_between(statement, names)
            or all(
                self._has_other_metric(statement, end) or self._rounds(statement, point, end, least_digits)
                for end in _ends_of(statement)
            )
        )

    def has_rounded(self, statement: Statement) -> bool:
        """Return whether an approximate figure rounds a stored value of its unit to its own digits: '~50' is 48.9."""
        unit, factor = _name_of(statement), statement.metric_name.factor
        names = {unit, statement.value.unit or unit}
        if statement.value.high is not None:
            return self._has_between(statement, names)
        return statement.value.is_approximate and any(
            rounds_to(value, converted(statement.value.low, factor)) for name in names
            for value in self._values.get(name, [])
        )  # fmt: skip

    def _is_about_a_speed(self, statement: Statement) -> bool:
        """Return whether an approximate speed is a stored one of any name: 'all decode at ~31.2 tok/s'."""
        value = statement.value
        is_about = value.is_approximate and value.high is None and value.unit == "tok/s"
        return is_about and significant_digits(value.low) >= LEAST_DIGITS and (value.unit, value.low) in self._exact

    def _has_between(self, statement: Statement, names: Collection[str]) -> bool:
        """Return whether a narrow range, as 'around 96-97 tok/s' is one, has a stored value between its ends."""
        factor = statement.metric_name.factor
        low, high = min(_ends_of(statement)), max(_ends_of(statement))
        is_narrow = statement.value.is_approximate and 0 < low < high <= low * WIDEST_RANGE
        ends = (converted(low, factor), converted(high, factor))
        return is_narrow and any(next(self._between(name, *ends), None) is not None for name in names)

    def _has_other_metric(self, statement: Statement, value: float) -> bool:
        """Return whether a value of many digits is stored under another name."""
        is_long = len(_digits(value)) >= LEAST_DIGITS_OF_OTHER_METRIC
        return is_long and _in_base_unit(value, statement.value.unit) in self._times_and_rates

    def _rounds(self, statement: Statement, point: MeasurementPoint, value: float, least_digits: int) -> bool:
        """Return whether a value is a stored one of its metric with fewer decimals, of no other level and statistic."""
        if len(_digits(value)) < least_digits:
            return False
        factor = statement.metric_name.factor
        half = converted(float(Decimal(5).scaleb(-_decimals(value) - 1)), factor)
        middle = converted(value, factor)
        return any(
            row.concurrency in (None, point.concurrency) or point.concurrency is None
            for row in self._between(_name_of(statement), middle - half, middle + half)
            if statement.statistic in (STATED, row.statistic)
        )

    def _between(self, name: str, low: float, high: float) -> Iterator[Result]:
        values = self._values.get(name, [])
        yield from self._rows.get(name, [])[bisect_left(values, low) : bisect_right(values, high)]


def leave_out_repeated_tables(load: LoadBuilder, tables: Iterable[Sequence[Sample]], lists: Sequence[Sample]) -> None:
    """Leave out the figures of tables that the lists of the text, which state more, repeat with their headings.

    `tables`: the rows of each; a figure of a list that names no statistic has that of its table.
    """
    rows_by_value: dict[tuple[str, str, float | None], list[Result]] = {}
    for row in lists:
        if isinstance(row, Result):
            rows_by_value.setdefault(_key_of(row), []).append(row)
    new_rows: dict[int, Result] = {}
    left_out: set[int] = set()
    for table in tables:
        cells = [row for row in table if isinstance(row, Result)]
        repeats = [repeat for cell in cells if (repeat := _repeat_of(cell, rows_by_value))]
        if LEAST_REPEATED_CELLS <= len(table) == len(repeats) < len(lists):
            left_out |= {*map(id, cells)}
            new_rows |= {id(repeat): replace(repeat, statistic=cell.statistic)
                         for cell, repeat in zip(cells, repeats, strict=True)}  # fmt: skip
            load.notes.append(f"A table that repeats values of the text was left out: {cells[0].point!r} and more.")
    load.rows = [new_rows.get(id(row), row) for row in load.rows if id(row) not in left_out]


def leave_out_own_rows(load: LoadBuilder, rows: Sequence[Sample], earlier_rows: Sequence[Sample]) -> None:
    """Leave out the figures of a table that compares own ones with what others published, if they were stored before.

    `earlier_rows`: those of the tables above it in its section. A figure with a metric of its own stays.
    """
    values = {(row.unit, row.value) for row in earlier_rows if isinstance(row, Result)}
    repeats = [
        row for row in rows
        if isinstance(row, Result) and row.metric == STATED and (row.unit, row.value) in values
    ]  # fmt: skip
    if repeats:
        left_out = {*map(id, repeats)}
        load.rows = [row for row in load.rows if id(row) not in left_out]
        figures = ", ".join(f"{row.value:.12g} {row.unit}" for row in repeats)
        load.notes.append(f"What a comparison repeats of a table above was left out: {figures}.")


def _repeat_of(cell: Result, rows_by_value: Mapping[tuple[str, str, float | None], Sequence[Result]]) -> Result | None:
    """Return the figure of a list with a cell's value, and no other statistic and level."""
    return next(
        (row for row in rows_by_value.get(_key_of(cell), ())
         if row.statistic in (STATED, cell.statistic)
         and (None in (cell.concurrency, row.concurrency) or cell.concurrency == row.concurrency)),
        None,
    )  # fmt: skip


def _key_of(row: Result) -> tuple[str, str, float | None]:
    return (row.metric, row.unit, row.value)


def _ends_of(statement: Statement) -> list[float]:
    return [end for end in (statement.value.low, statement.value.high) if end is not None]


def _name_of(statement: Statement) -> str:
    """Return the metric of a figure, or the unit that stands for it: a speed without a name repeats any."""
    metric = statement.metric_name.metric
    return statement.value.unit or metric if metric == STATED else metric


def _in_base_unit(value: float, unit: str | None) -> tuple[str | None, float]:
    return ("ms", converted(value, MILLISECONDS[unit])) if unit in MILLISECONDS else (unit, value)


def _digits(value: float) -> str:
    """Return the digits of a number that are significant: '4040' has three."""
    return f"{value:f}".rstrip("0").replace(".", "").strip("0")


def significant_digits(value: float) -> int:
    return len(_digits(value))


def rounds_to(value: float, rounded: float) -> bool:
    """Return whether a number with fewer digits is another one rounded to these."""
    digits = significant_digits(rounded)
    return value > 0 and digits > 0 and float(f"{Decimal(repr(value)):.{digits - 1}e}") == rounded


def _decimals(value: float) -> int:
    return len(f"{Decimal(repr(value)).normalize():f}".partition(".")[2])
