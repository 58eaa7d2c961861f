"""Reads lines that list the statistics of one measurement: 'TTFT  mean= 67ms  std= 3ms  min= 65ms  max= 71ms'."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from collectors.imports.results.metrics import STATED, percentile_name
from collectors.imports.results.prose.figure_marks import FIGURE
from collectors.imports.results.prose.metric_names import LATENCY_NAMES
from collectors.imports.results.prose.number_text import NUMBER as STATED_NUMBER
from collectors.imports.results.prose.number_text import TIMED, StatedNumber, parse_number
from collectors.imports.results.prose.units import in_words, pattern_of, unit_of
from collectors.imports.results.values import converted

MAX_LINE_CHARS = 400
MAX_LABEL_CHARS = 80
_STATISTIC_NAME = r"mean|avg|ave|average|median|min|max|std(?:ev|dev)?|p\d{2}(?:\.\d{1,2}|\d)?|\d{2}th percentile"
_STATISTIC = re.compile(
    rf"\b(?P<name>{_STATISTIC_NAME})\b"
    rf"(?: (?:was|is|of|at))? ?[=:]? {{0,8}}(?:{STATED_NUMBER})",
    re.IGNORECASE,
)
_STATISTIC_BEHIND = re.compile(  # 'Tokens/sec: 70.4 (avg), 65.0 (p50)'
    rf"(?:{STATED_NUMBER}) ?\((?P<name>mean|avg|average|median|min|max|p\d{{2}}(?:\.\d{{1,2}}|\d)?)\)", re.IGNORECASE
)
# 'first token latency(s)(min, max, ave): 0.6, 12.9, 4.4', 'latency(s) percentile(50, 99): [1.2, 2.5]',
# 'Latencies [min, mean, 50, 99, max]  65.4ms, 701.6ms, 124.2ms, 10.002s, 10.009s'
_LISTED = re.compile(
    r"(?P<label>[^:|]{2,80}?)[(\[](?P<names>[\w.%]{2,7}(?:, ?[\w.%]{2,7}){1,7})[)\]] ?(?:: ?| {1,60})\[?"
    r"(?P<numbers>\d[\d.]{0,12}[a-zµ]{0,2}(?:, ?\d[\d.]{0,12}[a-zµ]{0,2}){1,7})\]?\s*"
)
_LISTED_NUMBER = re.compile(r"(?P<number>\d{1,12}(?:\.\d{1,9})?)(?P<unit>[a-zµ]{0,2})")
_PERCENT = re.compile(r"\d{2}(?:\.\d{1,2})?")
_PERCENTILES = "percentile"
_IN_BRACKETS = re.compile(rf"\((?:{_STATISTIC_NAME})\)", re.IGNORECASE)
_LEADING = re.compile(
    rf"(?P<label>[^:()]{{2,60}}): {{0,8}}(?:{STATED_NUMBER}) ?\(", re.IGNORECASE
)  # 'TTFT: 98 ms (p50: 94 ms'
_NAMES = {"avg": "mean", "average": "mean", "ave": "mean"}
_ORDINAL = "th percentile"
_LABEL_END = re.compile(r" (?:statistics|stats)$", re.IGNORECASE)
_UNIT_AT_END = re.compile(rf"[ _(/](?P<unit>{pattern_of()})\)?[:=]?$", re.IGNORECASE)
_SEPARATOR = re.compile(r"[\s,;/|·•()*`.]{0,8}(?:and\b)?[\s(*`]{0,4}", re.IGNORECASE)
_LEAST_STATISTICS = 2


class StatisticLine(NamedTuple):
    """A line's label, the unit that the label ends with, and its numbers by statistic; deviations are left out."""

    number: int  # of the line, from 1
    label: str
    unit: str | None
    values: tuple[tuple[str, StatedNumber], ...]
    other_words: str = ""  # of the line, which state other figures


def read_statistic_lines(text: str) -> tuple[list[StatisticLine], str]:
    """Return such lines whose numbers have a unit, and the text with only the words of other figures left of them."""
    lines, statistic_lines = text.splitlines(), []
    for number, line in enumerate(lines, 1):
        parts = [(part, _statistic_line(number, part)) for part in _parts_of(line)]
        lines_of_parts = [statistic_line for _, statistic_line in parts if statistic_line]
        if lines_of_parts:
            words_left = (statistic_line.other_words if statistic_line else part for part, statistic_line in parts)
            lines[number - 1] = "; ".join(filter(None, words_left))
            statistic_lines += lines_of_parts
    return statistic_lines, "\n".join(lines)


def _parts_of(line: str) -> list[str]:
    """Return the parts of a line of which each has the statistics of one latency; the line itself if it has only one.

    'ttft p50=81ms p99=95ms, itl p50=9ms p99=12ms' has two, and what leads the line leads both.
    """
    matches = _statistics_in(line)
    starts = [
        before.end() for before, match in itertools.pairwise(matches)
        if LATENCY_NAMES.search(line[before.end() : match.start()])
    ]  # fmt: skip
    if not starts:
        return [line]
    lead = _lead_of(line[: matches[0].start()])
    lead = "" if LATENCY_NAMES.search(lead) else lead
    parts = [line[start:end].strip(" ,;/|·•") for start, end in itertools.pairwise([*starts, len(line)])]
    return [line[: starts[0]].rstrip(" ,;/|·•"), *(f"{lead}{part}" for part in parts)]


def _statistic_line(number: int, line: str) -> StatisticLine | None:
    if listed := _listed_statistics(number, line):
        return listed
    matches = _statistics_in(line)
    words = line[: matches[0].start()].strip(" \t-*•`,;:=") if matches else ""
    leading = _LEADING.fullmatch(words)
    words_before, label = ("", leading["label"]) if leading else _parted(words)
    if not any(map(str.isalpha, label)) or len(label) > MAX_LABEL_CHARS:
        return None
    words_behind = line[matches[-1].end() :].lstrip(" ,;|)*`")
    other_words = [words_before, f"{_lead_of(label)}{words_behind}" if FIGURE.search(words_behind) else ""]
    label = _LABEL_END.sub("", label)
    unit_match = _UNIT_AT_END.search(f" {label}")
    unit, factor = unit_of(unit_match["unit"]) if unit_match else (None, 1.0)
    numbers = [parse_number(match) for match in matches] if unit else _with_shared_unit(line, matches)
    values = tuple((_statistic(match["name"]), value) for match, value in zip(matches, numbers, strict=True))
    values = ((STATED, parse_number(leading)), *values) if leading else values
    values = tuple((name, _of_unit(value, factor)) for name, value in values if not name.startswith("std"))
    is_of_one = len({name for name, _ in values}) == len(values)  # else of several measurements
    if not values or not is_of_one or not (unit or all(value.unit for _, value in values)):
        return None
    label = " ".join(label.replace("_", " ").split())
    return StatisticLine(number, label, unit, values, "; ".join(filter(None, other_words)))


def _statistics_in(line: str) -> list[re.Match[str]]:
    """Return the statistics with their numbers on a line; nothing for fewer than two."""
    if len(line) > MAX_LINE_CHARS or line.lstrip().startswith("|"):
        return []
    matches = list(_STATISTIC.finditer(line))
    if len(matches) < _LEAST_STATISTICS and _IN_BRACKETS.search(line):
        matches = list(_STATISTIC_BEHIND.finditer(line))
    return matches if len(matches) >= _LEAST_STATISTICS else []


def _parted(words: str) -> tuple[str, str]:
    """Return the words before statistics that state another figure, and their own label: '8 users: 9 tok/s, TTFT'."""
    words_before, _, label = words.rpartition(", ")
    if not FIGURE.search(words) or FIGURE.search(label):
        return "", words
    return words_before, f"{_lead_of(words_before)}{label}"


def _lead_of(words: str) -> str:
    """Return the words before the last colon, which name the load of all figures of a line; empty without any."""
    lead = words.rpartition(": ")[0]
    return f"{lead}: " if lead and not FIGURE.search(lead) else ""


def _with_shared_unit(line: str, matches: Sequence[re.Match[str]]) -> list[StatedNumber]:
    """Return numbers with the unit that one states for all, if only separators part them: 'p50 9, p90 12 ms'."""
    numbers = [parse_number(match) for match in matches]
    with_unit = [match for match in matches if match["unit"]]
    ends = [*(match.start() for match in matches[1:]), len(line)]
    gaps = [line[match.end() : end] for match, end in zip(matches, ends, strict=True)]
    if len(with_unit) != 1 or not all(map(_SEPARATOR.fullmatch, gaps)):
        return numbers
    unit, factor = unit_of(with_unit[0]["unit"])
    if unit not in TIMED:
        return numbers
    return [value if value.unit else _of_unit(value, factor)._replace(unit=unit) for value in numbers]


def _of_unit(value: StatedNumber, factor: float) -> StatedNumber:
    """Return a number without a unit of its own in Pitwall's unit, `factor` times that of the label."""
    return value if value.unit else value._replace(low=converted(value.low, factor))


def _listed_statistics(number: int, line: str) -> StatisticLine | None:
    """Return a line whose label lists the statistics of the numbers behind it; None for any other line."""
    match = _LISTED.fullmatch(line.strip()) if len(line) <= MAX_LINE_CHARS and ", " in line else None
    if match is None:
        return None
    label, names = match["label"].strip(), match["names"].replace(" ", "").split(",")
    is_percentile = label.endswith(_PERCENTILES)
    label = label.removesuffix(_PERCENTILES).strip()
    names = [f"p{name.rstrip('%')}" if is_percentile or _PERCENT.fullmatch(name) else name for name in names]
    unit_match = _UNIT_AT_END.search(label)
    unit, factor = unit_of(unit_match["unit"]) if unit_match else (None, 1.0)
    numbers = [_LISTED_NUMBER.fullmatch(number_text) for number_text in match["numbers"].replace(" ", "").split(",")]
    is_known = all(re.fullmatch(_STATISTIC_NAME, name, re.IGNORECASE) for name in names)
    values = [_listed_number(listed, unit, factor) for listed in numbers if listed]
    has_units = all(value.unit in (unit or "ms", "ms", "s") for value in values)
    if not is_known or not has_units or not len(names) == len(numbers) == len(values):
        return None
    return StatisticLine(
        number, " ".join(in_words(label).split()), unit, tuple(zip(map(_statistic, names), values, strict=True))
    )


def _listed_number(match: re.Match[str], unit: str | None, factor: float) -> StatedNumber:
    """Return a number of a list; its own unit comes before that of the label, and times are in milliseconds."""
    own_unit, own_factor = unit_of(match["unit"] or None)
    if own_unit == "s":
        own_unit, own_factor = "ms", 1e3 * own_factor
    number = float(match["number"])
    return StatedNumber(number * (own_factor if own_unit else factor), None, None, own_unit or unit, None, False)


def _statistic(name: str) -> str:
    """Pitwall's name of a statistic: 'p999' is the 99.9th percentile."""
    lowered_name = name.lower()
    if lowered_name.endswith(_ORDINAL):
        return percentile_name(lowered_name.removesuffix(_ORDINAL))
    if not lowered_name.startswith("p"):
        return _NAMES.get(lowered_name, lowered_name)
    digits = lowered_name[1:]
    return percentile_name(f"{digits[:2]}.{digits[2:]}" if len(digits) == 3 and "." not in digits else digits)
