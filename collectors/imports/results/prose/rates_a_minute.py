"""Puts the unit of a rate a minute right behind its number: 'Throughput (tok/min): 900', '45 RPM', `tok_per_min=9`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from collectors.imports.results.prose.heads import plain
from collectors.imports.results.prose.number_text import read_cell
from collectors.imports.results.prose.units import RATES, SECONDS_OF_A_MINUTE, pattern_of

MAX_LINE_CHARS, THOUSAND = 2_000, 1_000
TOKENS, REQUESTS = "tok/min", "req/min"
_UNIT = pattern_of(*RATES, factor=1 / SECONDS_OF_A_MINUTE)
_NUMBER = r"\d[\d,]{0,15}(?:\.\d{1,12})?k?"
_MENTION = re.compile(r"min|[tr]pm", re.IGNORECASE)
_OTHER = re.compile(  # what is allowed, and what turns
    r"\b(?:limit(?:s|ed)?|quotas?|caps?|capped|allow(?:s|ed|ance)?|tiers?|plans?|fans?|pumps?|disks?|drives?|hdds?"
    r"|spindles?)\b",
    re.IGNORECASE,
)
_MILLIONS = re.compile(
    rf"(?<![\w.,])(?P<number>\d{{1,6}}(?:\.\d{{1,6}})?)M(?= ?(?:{_UNIT}|[TR]PM)(?!\w))", re.IGNORECASE
)
_ABBREVIATED = re.compile(rf"(?<![\w.,])(?P<number>{_NUMBER}) ?(?P<unit>[TR])PM\b(?! ?[:=])", re.IGNORECASE)
_LABELLED = re.compile(
    rf"(?P<label>(?<![A-Za-z/])(?:{_UNIT}|(?:tok(?:en)?|req(?:uest)?)s?_per_min(?:ute)?|TPM|(?<=\w )RPM|(?<=\()RPM)"
    rf"\)?[`*]{{0,3}}[ \t]{{0,40}}[:=][ \t`*]{{0,40}})(?P<number>{_NUMBER})(?=[`*]{{0,3}}[ \t]{{0,9}}(?:$|[,;|]))",
    re.IGNORECASE,
)
_HEAD = re.compile(rf"(?:.{{0,60}}[ (/])?(?P<unit>{_UNIT}|[TR]PM)\)?(?: .{{0,20}})?", re.IGNORECASE)


def with_units_a_minute(text: str) -> str:
    """Return a text with the unit right behind such numbers; limits and the turns of fans are left as they are."""
    return "\n".join(_with_units(line) if _may_state(line) else line for line in text.splitlines())


def _may_state(line: str) -> bool:
    return len(line) <= MAX_LINE_CHARS and _MENTION.search(line) is not None and _OTHER.search(line) is None


def _with_units(line: str) -> str:
    line = _MILLIONS.sub(lambda match: f"{Decimal(match['number']) * THOUSAND:f}k", line)
    line = _ABBREVIATED.sub(lambda match: f"{match['number']} {_unit_of(match['unit'])}", line)
    return _LABELLED.sub(lambda match: f"{match[0]} {_unit_of(match['label'])}", line)


def with_units_of_rates(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the rows with the unit behind the plain numbers of columns and rows that state a rate a minute."""
    units = [_unit_of_name(head) for head in heads]
    if not any(units) and not any(_unit_of_name(row[0]) for row in rows if row):
        return [[*row] for row in rows]
    return [
        [
            _with_unit(
                cell, (units[column] if column < len(units) else "") or (_unit_of_name(row[0]) if column else "")
            )
            for column, cell in enumerate(row)
        ]
        for row in rows
    ]


def _with_unit(cell: str, unit: str) -> str:
    value = read_cell(cell) if unit else None
    return f"{cell.strip('*` ')} {unit}" if value and value.unit is None else cell


def _unit_of_name(name: str) -> str:
    """Return the unit of a rate a minute that a head or a label states; empty without one."""
    match = _HEAD.fullmatch(plain(name)) if len(name) <= MAX_LINE_CHARS and not _OTHER.search(name) else None
    return _unit_of(match["unit"]) if match else ""


def _unit_of(words: str) -> str:
    return TOKENS if words.lstrip("(").lower().startswith("t") else REQUESTS
