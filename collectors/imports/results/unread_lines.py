"""Lines of a text whose numbers with a unit of speed or time are in nothing that was read of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from decimal import Decimal, InvalidOperation

from collectors.imports.results.builder import LoadBuilder
from collectors.imports.results.prose.units import NOT_PER, SECONDS_OF_A_MINUTE, pattern_of
from domain import JsonValue
from redaction import mask_text
from samples import Sample

MAX_BYTES = 4 << 20
MAX_LINE_CHARS = 1_000
MAX_PASSAGES = 8
MAX_WORDS_CHARS = 60  # shown before a number
MAX_PASSAGE_CHARS = 160
NUMBER = re.compile(r"\d[\d,]{0,20}(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?", re.IGNORECASE)
UNIT_OF_HEAD = re.compile(rf"\((?:{pattern_of('tok/s', 'requests/s', 'ms', 's')})\)", re.IGNORECASE)
PLAIN_NUMBER = re.compile(r"(?<!\S)\d[\d,]{0,20}(?:\.\d{1,20})?(?!\S)")
LEAST_NUMBERS = 3
SPEED_BESIDE_IT = rf"(?: per token)?, {{1,9}}\d{{1,9}}\.\d{{1,9}} {pattern_of('tok/s')}"  # its inverse
ITEMS_IN_TIME = r"[a-z]{3,20}s ?(?:/ ?| per )(?:sec(?:ond)?|min(?:ute)?|hour|[smh])"  # '13 videos/min'
MEASURED_NUMBER = re.compile(  # no difference ('+1.36s') and no name of a card ('RTX 3090s', '8060S')
    rf"(?<![\w.,+])(?<!RTX )(?P<number>\d[\d,]{{0,20}}(?:\.\d{{1,20}})?)k? ?"
    rf"(?:{pattern_of('tok/s', 'requests/s', 'ms', 's')}|{ITEMS_IN_TIME})(?![\w/%=])(?-i:(?<!\dS))"
    rf"{NOT_PER}(?!{SPEED_BESIDE_IT})",
    re.IGNORECASE,
)


def unread_note(text: str, loads: Sequence[LoadBuilder]) -> str | None:
    """Return a sentence on the speeds and times in a text that its loads do not contain; None if they have all.

    A number counts as read wherever its digits occur: as a value in any decimal unit or in minutes, a spread, a level,
    a setting, or in a note. So what is listed was certainly not read, but some numbers that were not are missing.
    """
    lines = [line for line in text.splitlines() if MEASURED_NUMBER.search(line[:MAX_LINE_CHARS])]
    tables = [line for line in text.splitlines() if len(UNIT_OF_HEAD.findall(line[:MAX_LINE_CHARS])) > 1]
    read_digits = set(_digits_of_loads(loads)) if lines or tables else set()
    passages = list(dict.fromkeys([*_unread_passages(lines, read_digits), *_unread_tables(tables, read_digits)]))
    if not passages:
        return None
    listed = "; ".join(f"“{passage}”" for passage in passages[:MAX_PASSAGES])
    count_of_others = f"; and {len(passages) - MAX_PASSAGES:,} more" if len(passages) > MAX_PASSAGES else ""
    return f"Not read: {listed}{count_of_others}."


def _unread_passages(lines: Iterable[str], read_digits: set[str]) -> Iterator[str]:
    """Yield from each line its speeds and times other than those that were read, with the words before them."""
    for line in lines:
        line = mask_text(" ".join(line[:MAX_LINE_CHARS].split()))  # first, since a passage may lack a secret's name
        matches = [match for match in MEASURED_NUMBER.finditer(line) if _is_unread(match["number"], read_digits)]
        if matches:
            start, end = matches[0].start(), matches[-1].end()
            words = line[max(0, start - MAX_WORDS_CHARS) : start]
            words = words.partition(" ")[2] if start > MAX_WORDS_CHARS else words  # no part of a word
            yield (words + line[start:end])[:MAX_PASSAGE_CHARS]


def _unread_tables(lines: Iterable[str], read_digits: set[str]) -> Iterator[str]:
    """Yield the lines that hold both the heads and the numbers of a table, of which hardly anything was read."""
    for line in lines:
        numbers = PLAIN_NUMBER.findall(line[:MAX_LINE_CHARS])
        unread = [number for number in numbers if _is_unread(number, read_digits)]
        if len(unread) >= LEAST_NUMBERS and 2 * len(unread) > len(numbers):
            yield mask_text(" ".join(line[:MAX_LINE_CHARS].split()))[:MAX_PASSAGE_CHARS]


def _is_unread(number: str, read_digits: set[str]) -> bool:
    """Return whether a number is none of those that were read; 0 was not measured."""
    digits = _digits(number)
    return digits != "" and digits not in read_digits


def _digits_of_loads(loads: Iterable[LoadBuilder]) -> Iterator[str]:
    """Yield the digits of every number in the rows, settings and notes of loads."""
    for load in loads:
        for value in (load.params, load.server_config, load.notes, load.command, load.model, load.planned_requests):
            yield from _digits_of(value)
        for row in load.rows:
            yield from _digits_of_row(row)


def _digits_of_row(row: Sample) -> Iterator[str]:
    for field in fields(row):
        value = getattr(row, field.name)
        yield from _digits_of(value)
        if isinstance(value, float):
            yield _digits(repr(value / SECONDS_OF_A_MINUTE))
            yield _digits(f"{value * SECONDS_OF_A_MINUTE:.12g}")


def _digits_of(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _digits_of(name)
            yield from _digits_of(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _digits_of(item)
    elif isinstance(value, str):
        yield from (_digits(match[0]) for match in NUMBER.finditer(value))
    elif isinstance(value, int | float):
        yield _digits(repr(value))


def _digits(number: str) -> str:
    """Return the digits of a number without zeros around them: '24.9804 s' and '24980.4 ms' are both '249804'."""
    try:
        digits = Decimal(number.replace(",", "")).normalize().as_tuple().digits
    except InvalidOperation:
        return ""
    return "".join(map(str, digits)).strip("0")
