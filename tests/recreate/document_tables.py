"""The tables of the five documents, with the numbers that each prints: rows of `reference/`, chosen by their lines.

Nothing here is measured by Pitwall: these are the values that the tests demand of its own tables.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from reference.published import FOLDER
from reference.statements import read_table

ABOUT = 0.006  # relative tolerance of a number that its document hedges
SIMULATION = 0.0005  # relative tolerance of every played value: times are kept in microseconds


class PrintedNumber(NamedTuple):
    """One number of a document, with the row and column that it stands in."""

    id: str
    config: str
    metric: str
    value: float
    rounding: float  # half a unit of the last printed digit
    sd: float | None
    is_about: bool
    conditions: dict[str, str]
    line: int

    @property
    def concurrency(self) -> int:
        return int(self.conditions["concurrency"] or 1)

    @property
    def point(self) -> str:
        """The point of Pitwall's grid that it belongs to: 'pp512 tg128 d0 c4'."""
        lengths = (self.conditions["pp"], self.conditions["tg"], self.conditions["depth"] or "0")
        return "pp{} tg{} d{} c{}".format(*lengths, self.concurrency)


@dataclass(frozen=True)
class DocumentTable:
    """One table, or list of values, of a document; it owns every number of its lines."""

    source: str
    title: str
    first_line: int
    last_line: int

    @property
    def name(self) -> str:
        return f"{self.source} {self.title}"

    @property
    def numbers(self) -> tuple[PrintedNumber, ...]:
        return tuple(
            number
            for number in printed_numbers()
            if number.id.startswith(f"s{self.source}.") and self.first_line <= number.line <= self.last_line
        )

    def number(self, config: str, metric: str, **conditions: object) -> PrintedNumber:
        """Return the number with these conditions; a document may print it twice."""
        numbers = [
            number
            for number in self.numbers
            if (number.config, number.metric) == (f"s{self.source}.{config}", metric)
            and all(number.conditions[name] == str(value) for name, value in conditions.items())
        ]
        assert len({number.value for number in numbers}) == 1, f"{self.name}: {config}, {metric}, {conditions}"
        return numbers[0]

    def value(self, config: str, metric: str, **conditions: object) -> float:
        return self.number(config, metric, **conditions).value


TABLES = tuple(
    DocumentTable(*row)
    for row in (
        ("000", "Comparison of configurations A to D", 11, 16),
        ("000", "Observed log lines", 85, 88),
        ("000", "Aggregated values of A", 90, 98),
        ("000", "Values of B", 115, 123),
        ("000", "SWAKVPool and KV memory of C", 142, 148),
        ("000", "Observed values of C", 150, 153),
        ("000", "SWAKVPool and KV memory of D", 170, 176),
        ("000", "Observed values of D", 178, 181),
        ("001", "llama-benchy, single user", 25, 38),
        ("001", "llama-benchy, c2 and c4", 42, 67),
        ("001", "torch.compile against enforce-eager", 70, 78),
        ("001", "Summary of the single node", 81, 86),
        ("001", "Two nodes: token generation", 93, 98),
        ("001", "Two nodes: prompt processing", 100, 104),
        ("001", "Two nodes: time to first response", 106, 110),
        ("001", "Two nodes: memory in use", 112, 115),
        ("001", "Variants of Gemma 4", 118, 124),
        ("002", "Five prompts, two runs", 9, 21),
        ("002", "Four at once, both aggregates", 22, 29),
        ("003", "Start-up phases and capacity", 25, 33),
        ("003", "Serving capacity", 35, 41),
        ("003", "One warm request", 45, 52),
        ("003", "Concurrent throughput", 56, 60),
        ("003", "MMLU-Pro", 64, 68),
        ("003", "MMLU-Pro beside the 26B mixture", 71, 76),
        ("004", "1K input and 200 output tokens", 17, 24),
        ("004", "Other quants of similar size", 28, 33),
    )
)
# Tables without a measured number: their rows are statements, in other files of `reference/`.
STATEMENT_TABLES = (
    ("000", "Best by viewpoint", 189, 195),
    ("001", "Tool calls", 144, 153),
    ("001", "Open issues of vLLM", 156, 164),
    ("004", "Compatibility by GPU", 98, 104),
)


def document_table(source: str, title: str) -> DocumentTable:
    (table,) = [table for table in TABLES if (table.source, table.title) == (source, title)]
    return table


@cache
def printed_numbers() -> tuple[PrintedNumber, ...]:
    """Return every number of `reference/measurements.csv` that is one."""
    with (FOLDER / "measurements.csv").open(newline="", encoding="utf-8") as file:
        return tuple(_printed_number(row) for row in csv.DictReader(file) if row["value"][0].isdigit())


def _printed_number(row: dict[str, str]) -> PrintedNumber:
    is_about = bool(row["approximate"] or row["comparator"])
    sd = float(row["sd"]) if row["sd"] else None
    value = float(row["value"])
    return PrintedNumber(
        row["id"], row["config"], row["metric"], value, rounding(row["value"]), sd, is_about, row, int(row["line"])
    )


def rounding(text: str) -> float:
    """Return half a unit of the last digit that a number is printed with; zeros at the end of 876000 are none."""
    _, _, decimals = text.partition(".")
    zeros = len(text) - len(text.rstrip("0")) if not decimals else 0
    return float(0.5 * 10 ** (zeros - len(decimals)))


def printed_difference(claim_id: str) -> float:
    """Return a difference, ratio or delta that a document states."""
    return float(next(row["stated"] for row in read_table("claims") if row["id"] == claim_id))


def assert_recreated(
    table: DocumentTable,
    shown_value: Callable[[PrintedNumber], float | None],
    tolerance: float = SIMULATION,
    metrics: tuple[str, ...] = (),
) -> None:
    """Demand every number of the table, or of these metrics: a missing row and another value both fail."""
    numbers = [number for number in table.numbers if not metrics or number.metric in metrics]
    assert numbers, f"{table.name} has no numbers"
    shown_values = {number.id: shown_value(number) for number in numbers}
    missing = [f"line {n.line}: {n.metric} {n.value}" for n in numbers if shown_values[n.id] is None]
    assert not missing, f"{table.name}: Pitwall's table has no row for {missing}"
    different = [
        f"line {n.line}: {n.metric} is {shown_value:.6g}, printed {n.value}"
        for n in numbers
        if (shown_value := shown_values[n.id]) is not None
        and abs(shown_value - n.value) > n.rounding + n.value * max(tolerance, ABOUT if n.is_about else 0.0)
    ]
    assert not different, f"{table.name}: {different}"


def statement_lines(source: str, title: str) -> list[str]:
    """Return the lines of the rows of a table of statements, as `reference/` has them."""
    first, last = next(lines for name, words, *lines in STATEMENT_TABLES if (name, words) == (source, title))
    return [str(line) for line in range(first + 2, last + 1)]
