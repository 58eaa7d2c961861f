"""Splits a column whose cells hold several values that its head or a legend names: 'TTFT ms / tok/s' above '81 / 59.5'.

The names stand in the head ('p50 / p99'), in its brackets ('c=8 (tok/s / TTFT ms)'), or in the line above the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from collectors.imports.results.prose.metric_names import MAXIMUM, MEAN, MEDIAN, MINIMUM, PERCENTILE, metric_of
from collectors.imports.results.prose.number_text import has_no_value, read_cell, states_failure
from collectors.imports.results.prose.stated_points import AT_ONCE
from collectors.imports.results.prose.units import HEADING_UNIT, RATES, implied_unit, pattern_of, unit_in

SPACED = re.compile(r" ?[·•] ?| / |; ")
TIGHT = re.compile(r" ?[·•/] ?|; ")
STATISTICS = (PERCENTILE, MEDIAN, MAXIMUM, MINIMUM, MEAN)
MAX_NAME_CHARS = 200
_RATE = re.compile(rf"(?<!\w)(?:{pattern_of(*RATES)}|ms/tok(?:en)?)(?!\w)|(?<=\w)/s(?:ec)?\b", re.IGNORECASE)
_SLASH_OF_UNIT = "\x1f"
_BRACKETS = re.compile(r"(?P<before>[^()]{0,80})\((?P<names>[^()]{3,80})\)(?P<after>[^()]{0,40})")
_ARMS = re.compile(r"(?P<before>[^()]{1,80})\((?P<arms>[^()]{3,90})\)(?P<after>[^()]{0,40})")  # 'TTFT (old → new)'
_ARROW = re.compile(r" ?(?:→|-{1,2}>|=>|⇒|➜) ?")
_LEGEND = re.compile(r".*(?::| (?:are|is|show|shows|in) |=) ?(?=\S)")
_PHASE = re.compile(r"\bprefill\b|\bdecod(?:e|ing)\b|\b(?:pp|tg)\d*\b", re.IGNORECASE)
_LEVEL_AT_END = re.compile(r"(?P<subject>[A-Za-z][A-Za-z -]{1,30}) \d[\d.,]{0,8}[kKmM]?(?: \([^()]{1,20}\))?")
_UNIT_AT_END = re.compile(r"(?<=\d)[*`]{0,3} ?(?:[a-zµ]{1,6}(?:/[a-z]{1,4})?|%)$", re.IGNORECASE)
_ENDS = ".:,; *"


def split_columns(
    heads: Sequence[str], rows: Sequence[Sequence[str]], legend: str = ""
) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows with a column for each value; a cell without a value stays in the first of its columns."""
    columns = [[row[column].strip("*` ") for row in rows if column < len(row)] for column in range(len(heads))]
    names_of_columns: list[Sequence[str]] = [[head] for head in heads[:1]]
    for head, cells in zip(heads[1:], columns[1:], strict=True):
        fitting = (names for bound, names in _candidates(head) if _are_split(cells, bound, len(names)))
        names_of_columns.append(next(fitting, [head]))
    names_of_legend = names_of_parts(_LEGEND.sub("", legend.rstrip(_ENDS)))
    if len(names_of_legend) > 1 and all(map(_names_metric, names_of_legend)):
        for column in range(len(heads)):
            is_named = not column or len(names_of_parts(heads[column])) > 1 or unit_in(heads[column]) is not None
            if not is_named and _are_split(columns[column], SPACED, len(names_of_legend)):
                names_of_columns[column] = [f"{heads[column]} {name}" for name in names_of_legend]
    widths = [len(names) for names in names_of_columns]
    return [name for names in names_of_columns for name in names], [
        [part for column, cell in enumerate(row) for part in _parts(cell, widths[column] if column < len(heads) else 1)]
        for row in rows
    ]


def _candidates(head: str) -> Iterator[tuple[re.Pattern[str], Sequence[str]]]:
    """Yield the names of the values that the cells below a head may hold, each with what parts them."""
    spaced, tight = (names_of_parts(head, bound) for bound in (SPACED, TIGHT))
    if len(spaced) > 1:
        yield SPACED, spaced
    if len(tight) > 1 and all(map(_names_metric, tight)):
        yield TIGHT, tight


def _names_metric(name: str) -> bool:
    """Return whether the name of a part states a unit, a latency or a phase."""
    has_unit = (unit_in(name) or implied_unit(name)) is not None
    return has_unit or metric_of(name, "ms") is not None or _PHASE.search(name) is not None


def _are_split(cells: Sequence[str], bound: re.Pattern[str], count: int) -> bool:
    """Return whether the cells of a column hold as many numbers each."""
    values = [split_parts(cell, bound) for cell in cells if any(map(str.isdigit, cell)) and not states_failure(cell)]
    return bool(values) and all(len(parts) == count and all(map(_is_value, parts)) for parts in values)


def _is_value(part: str) -> bool:
    return has_no_value(part) or read_cell(part) is not None


def _parts(cell: str, count: int) -> list[str]:
    parts = with_last_unit(split_parts(cell, TIGHT)) if count > 1 else [cell]
    return parts if len(parts) == count else [cell, *[""] * (count - 1)]


def with_last_unit(parts: Sequence[str]) -> list[str]:
    """Return the parts of a cell with the unit of the last behind the numbers that have none: '3.5 / 4.5s'."""
    parts = [part.strip("*` ") for part in parts]
    unit = match[0].strip() if (match := _UNIT_AT_END.search(parts[-1])) else ""
    return [part if not part[-1:].isdigit() else f"{part} {unit}".strip() for part in parts]


def split_parts(text: str, bound: re.Pattern[str]) -> list[str]:
    """Return the parts of a text; the slash of a unit parts nothing."""
    if "/" not in text:
        return bound.split(text)
    guarded = _RATE.sub(lambda match: match[0].replace("/", _SLASH_OF_UNIT), text)
    return [part.replace(_SLASH_OF_UNIT, "/") for part in bound.split(guarded)]


@lru_cache(maxsize=1024)  # the names of a table are asked for at every cell
def names_of_parts(label: str, bound: re.Pattern[str] = TIGHT) -> tuple[str, ...]:
    """Return the names of the values that a label names: 'TTFT p50 (ms)', 'TTFT p99 (ms)' of 'TTFT p50/p99 (ms)'.

    The words before a first statistic, those behind a last one, a unit at the end and a level hold for all.
    """
    label = label[:MAX_NAME_CHARS]
    for match in _BRACKETS.finditer(label):
        inner = _shared_names(split_parts(match["names"], bound))
        if len(inner) > 1 and len(split_parts(match["before"] + match["after"], bound)) == 1:
            return tuple(" ".join(f"{match['before']} {name} {match['after']}".split()) for name in inner)
    return tuple(_shared_names(split_parts(label, bound)))


def names_of_arms(head: str) -> list[str]:
    """Return a name for each of the arms that a head compares: 'TTFT old', 'TTFT new' of 'TTFT (old → new)'."""
    match = _ARMS.fullmatch(head.strip("*` ")[:MAX_NAME_CHARS])
    arms = _ARROW.split(match["arms"]) if match else []
    if match is None or len(arms) < 2:
        return []
    return [" ".join(f"{match['before']} {arm} {match['after']}".split()) for arm in arms]


def _shared_names(parts: Sequence[str]) -> list[str]:
    parts = [part.strip("*` ") for part in parts]
    first, last = _statistic(parts[0]), _statistic(parts[-1])
    subject = parts[0][: first.start()].strip() if first else ""
    if match := _LEVEL_AT_END.fullmatch(parts[0]):  # 'Prefill 1k', '4k', '16k (t/s)'
        is_level = [_LEVEL_AT_END.fullmatch(f"{match['subject']} {part}") is not None for part in parts[1:]]
        parts = [parts[0], *(f"{match['subject']} {part}" for part in parts[1:])] if all(is_level) else parts
    behind = parts[-1][last.end() :].strip() if last and not parts[-1][: last.start()].strip(" (") else ""
    unit = match[0] if (match := HEADING_UNIT.search(parts[-1])) else ""
    has_one_unit = not any(HEADING_UNIT.search(part) for part in parts[:-1])
    level = match[0] if (match := AT_ONCE.search(parts[-1])) else ""
    names = [parts[0], *(f"{subject} {part}".strip() if _is_statistic(part) else part for part in parts[1:])]
    shared: list[str] = []
    for name in names[:-1]:
        name = f"{name} {behind}" if behind and _is_statistic(name) else name
        name = f"{name} {unit}" if has_one_unit and unit and not HEADING_UNIT.search(name) else name
        shared.append(f"{name}, {level}" if level and not AT_ONCE.search(name) else name)
    return [*shared, names[-1]]


def _statistic(part: str) -> re.Match[str] | None:
    return next((match for pattern in STATISTICS if (match := pattern.search(part))), None)


def _is_statistic(part: str) -> bool:
    """Return whether a part names nothing but a statistic and perhaps its unit."""
    words = HEADING_UNIT.sub("", part).strip(" ()")
    return any(pattern.fullmatch(words) for pattern in STATISTICS)
