"""No table of the documents is left out: neither of the data, nor of the texts, nor of the page that lists them."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from reference.statements import read_table
from tests.collectors.imports.captured import SOURCES
from tests.recreate import (
    test_document_000,
    test_document_001,
    test_document_002,
    test_document_003,
    test_document_004,
)
from tests.recreate.document_tables import STATEMENT_TABLES, TABLES, DocumentTable, printed_numbers

MODULES = (test_document_000, test_document_001, test_document_002, test_document_003, test_document_004)
GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "recreate-the-documents.md"
# Lines of sentences: numbers that stand in no table and in no list of values.
SENTENCES = {
    "000": {99, 154},
    "001": {18, 79, 141},
    "002": {2, 4, 30},
    "003": {77},
    "004": {5, 90, 91, 92, 93},
}
# Tables of hardware and of configurations, by the line of their heads: what is launched, not what is measured.
WITHOUT_NUMBERS = {"000": {32, 39, 108, 130, 158}}
REPEATED_IN_CHINESE = range(129, 243)  # of document 003; `reference/checks.csv` compares its numbers
NAMES = [table.name for table in TABLES] + [f"{source} {title}" for source, title, *_ in STATEMENT_TABLES]


def tables_of(module: ModuleType) -> set[str]:
    """Return the names of the tables that a module recreates."""
    values = [value for value in vars(module).values() if isinstance(value, DocumentTable)]
    values += [
        table
        for value in vars(module).values()
        if isinstance(value, dict)
        for table in value.values()
        if isinstance(table, DocumentTable)
    ]
    return {table.name for table in values}


def test_every_table_has_its_test() -> None:
    assert {name for module in MODULES for name in tables_of(module)} == {table.name for table in TABLES}


def test_every_printed_number_belongs_to_one_table() -> None:
    owned = [number.id for table in TABLES for number in table.numbers]
    assert len(owned) == len(set(owned)) and all(table.numbers for table in TABLES)
    left_out = [
        f"{number.id}, line {number.line}"
        for number in printed_numbers()
        if number.id not in set(owned) and number.line not in SENTENCES[number.id[1:4]]
    ]
    assert left_out == []


def test_the_guide_has_a_row_for_every_table() -> None:
    rows = re.findall(r"^\| (\d{3}) \| ([^|]+) \| `tests/recreate/(\w+\.py)` \|", GUIDE.read_text(), re.MULTILINE)
    assert sorted(f"{source} {title}" for source, title, _ in rows) == sorted(NAMES)
    assert all(file == f"test_document_{source}.py" for source, _, file in rows)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name[:3])
def test_every_table_of_the_text(path: Path) -> None:
    """Each table between bars is one of ours, and each of its rows has a number, a stated difference or a verdict."""
    source = path.name[:3]
    lines = {number: line for number, line in enumerate(path.read_text().splitlines(), 1) if line.startswith("|")}
    heads = [number for number in lines if set(lines.get(number + 1, "x")) <= set("|-: ")]
    ranges = [(table.first_line, table.last_line) for table in TABLES if table.source == source]
    ranges += [(first, last) for name, _, first, last in STATEMENT_TABLES if name == source]
    known_lines = {number.line for number in printed_numbers() if number.id.startswith(f"s{source}.")}
    known_lines |= {
        int(row["line"])
        for name in ("claims", "failures", "validations")
        for row in read_table(name)
        if row["source"] == source
    }
    for head in heads:
        if head in WITHOUT_NUMBERS.get(source, ()) or (source == "003" and head in REPEATED_IN_CHINESE):
            continue
        assert any(first <= head <= last for first, last in ranges), f"line {head}: {lines[head]}"
        row = head + 2
        while row in lines:
            assert row in known_lines, f"line {row} is not in reference/: {lines[row]}"
            row += 1
