"""The tables by which the published documents compare and choose, made of their rows; we conclude nothing from them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from reference.published import FOLDER, Number, load_published, load_sources, numbers_by_id
from reference.statements import read_table

RANGE = ".."


class Shown(NamedTuple):
    """One thing in a cell: a number as printed, or words of the document."""

    words: str
    line: int
    number: Number | None = None


class PublishedTable(NamedTuple):
    """One table; a cell holds what it shows, none where the document leaves it empty."""

    source: str  # the document's title
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[Shown, ...], ...]], ...]  # the row's name and its cells


@cache
def published_tables() -> tuple[PublishedTable, ...]:
    """Every table in the order of the documents, the best by viewpoint behind the comparison that it is from."""
    made = [_table(one) for one in tomllib.loads((FOLDER / "tables.toml").read_text(encoding="utf-8"))["table"]]
    return (made[0], _best_by_viewpoint(), *made[1:], _compatibility())


def _table(one: dict[str, list[list[str]]]) -> PublishedTable:
    rows = tuple((row[0], tuple(tuple(_shown(cell)) for cell in row[1:])) for row in one["rows"])
    return PublishedTable(_title(str(one["source"])), str(one["title"]), tuple(map(str, one["head"])), rows)


def _shown(cell: str) -> Iterator[Shown]:
    for word in cell.split():
        low, _, high = word.partition(RANGE)
        yield _range(low, high) if high else _one(low)


def _one(name: str) -> Shown:
    """A measurement, a field of a configuration, or a claim."""
    config, _, field = name.partition(":")
    if field:
        return Shown(*load_published()[config].fields[field])
    if number := numbers_by_id().get(name):
        return Shown(_printed(number), number.line, number)
    claim = next(row for row in read_table("claims") if row["id"] == name)
    return Shown(claim["quote"], int(claim["line"]))


def _range(low: str, high: str) -> Shown:
    first, last = numbers_by_id()[low], numbers_by_id()[high]
    return Shown(f"{first.value}-{last.value} {last.unit_words}", first.line, first)


def _printed(number: Number) -> str:
    digits = f"{int(number.value):,}" if number.value.isdigit() else number.value
    return f"{number.bound} {digits} {number.unit_words}".strip()


def _best_by_viewpoint() -> PublishedTable:
    claims = [row for row in read_table("claims") if row["viewpoint"]]
    rows = tuple(
        (row["viewpoint"], ((_configurations(row),), (Shown(row["reason"], int(row["line"])),))) for row in claims
    )
    return PublishedTable(
        _title(claims[0]["source"]), "Best by viewpoint", ("Viewpoint", "Best configuration", "Reason"), rows
    )


def _configurations(row: dict[str, str]) -> Shown:
    labels = [load_published()[name].label for name in row["best"].split()]
    return Shown(" / ".join(labels), int(row["line"]))


def _compatibility() -> PublishedTable:
    """GPU x works, as the documents state it."""
    found = [row for row in read_table("validations") if row["kind"] == "compatibility"]
    works = {"true": "works", "false": "does not work", "": "untested"}
    rows = tuple(
        (row["subject"], tuple((Shown(words, int(row["line"])),) if words else () for words in _cells(row, works)))
        for row in found
    )
    head = ("GPU", "VRAM", "Works?", "Max context", "Notes")
    return PublishedTable(_title(found[0]["source"]), "Compatibility", head, rows)


def _cells(row: dict[str, str], works: dict[str, str]) -> tuple[str, ...]:
    return row["memory"], works[row["is_pass"]], row["max_context"], row["result"]


def _title(source: str) -> str:
    return next(str(one["title"]) for one in load_sources() if one["id"] == source)
