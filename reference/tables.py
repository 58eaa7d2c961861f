"""Comparison tables of the published documents, rebuilt from the stored rows; Pitwall draws no conclusion from them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from reference.published import FOLDER, Number, load_published, load_sources, numbers_by_id
from reference.statements import read_table

RANGE = ".."


class CellItem(NamedTuple):
    """One item of a cell: a number as printed, or words of the document."""

    cell_text: str
    line: int
    number: Number | None = None


class PublishedTable(NamedTuple):
    """One table; a cell without items is empty in the document."""

    source: str  # the document's title
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[CellItem, ...], ...]], ...]  # the row's name and its cells


@cache
def published_tables() -> tuple[PublishedTable, ...]:
    """Return every table in document order, with the best by viewpoint right after its comparison."""
    tables = [_table(table) for table in tomllib.loads((FOLDER / "tables.toml").read_text(encoding="utf-8"))["table"]]
    return (tables[0], _best_by_viewpoint(), *tables[1:], _compatibility())


def _table(table: dict[str, list[list[str]]]) -> PublishedTable:
    rows = tuple((row[0], tuple(tuple(_cell_items(cell)) for cell in row[1:])) for row in table["rows"])
    return PublishedTable(_title(str(table["source"])), str(table["title"]), tuple(map(str, table["head"])), rows)


def _cell_items(cell: str) -> Iterator[CellItem]:
    for token in cell.split():
        first, _, last = token.partition(RANGE)
        yield _range_item(first, last) if last else _named_item(first)


def _named_item(name: str) -> CellItem:
    """Return the item for a measurement id, a configuration field or a claim id."""
    config, _, field = name.partition(":")
    if field:
        return CellItem(*load_published()[config].fields[field])
    if number := numbers_by_id().get(name):
        return CellItem(_printed_number(number), number.line, number)
    claim = next(row for row in read_table("claims") if row["id"] == name)
    return CellItem(claim["quote"], int(claim["line"]))


def _range_item(low: str, high: str) -> CellItem:
    first, last = numbers_by_id()[low], numbers_by_id()[high]
    return CellItem(f"{first.value}-{last.value} {last.unit_words}", first.line, first)


def _printed_number(number: Number) -> str:
    digits = f"{int(number.value):,}" if number.value.isdigit() else number.value
    return f"{number.bound} {digits} {number.unit_words}".strip()


def _best_by_viewpoint() -> PublishedTable:
    claims = [row for row in read_table("claims") if row["viewpoint"]]
    rows = tuple(
        (row["viewpoint"], ((_best_configurations(row),), (CellItem(row["reason"], int(row["line"])),)))
        for row in claims
    )
    return PublishedTable(
        _title(claims[0]["source"]), "Best by viewpoint", ("Viewpoint", "Best configuration", "Reason"), rows
    )


def _best_configurations(row: dict[str, str]) -> CellItem:
    labels = [load_published()[name].label for name in row["best"].split()]
    return CellItem(" / ".join(labels), int(row["line"]))


def _compatibility() -> PublishedTable:
    """Return the GPU compatibility table that the documents state."""
    validations = [row for row in read_table("validations") if row["kind"] == "compatibility"]
    works = {"true": "works", "false": "does not work", "": "untested"}
    rows = tuple(
        (row["subject"], tuple((CellItem(words, int(row["line"])),) if words else () for words in _cells(row, works)))
        for row in validations
    )
    head = ("GPU", "VRAM", "Works?", "Max context", "Notes")
    return PublishedTable(_title(validations[0]["source"]), "Compatibility", head, rows)


def _cells(row: dict[str, str], works: dict[str, str]) -> tuple[str, ...]:
    return row["memory"], works[row["is_pass"]], row["max_context"], row["result"]


def _title(source: str) -> str:
    return next(str(row["title"]) for row in load_sources() if row["id"] == source)
