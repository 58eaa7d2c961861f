"""Finds the names of figures that are listed beside them: 'Median TTFT/TPOT/ITL were 120, 15 and 14 ms'."""

from __future__ import annotations

import re

from collectors.imports.results.prose.units import RATES, pattern_of

MAX_CHARS = 240
_STATISTIC = r"(?:mean|avg|average|median|min|max|p\d{2}(?:\.\d{1,2})?)"
_METRIC = (
    r"(?:TTFT|TTFR|TTFB|TPOT|ITL|TBT|(?:E2EL?|end-to-end|request)(?: latency)?|latency"
    r"|(?:prefill|decod(?:e|ing)|generation|prompt processing|pp\d{0,6}|tg\d{0,6})(?: speed| throughput| rate)?)"
)
_AND = r"(?: ?/ ?|,? and |, ?| & )"
_UNIT = rf"(?: ?[(\[](?:in )?(?:{pattern_of(*RATES, 'ms', 's', factor=1.0)})[)\]])?"
_VERB = (
    r"(?: ?[:=])?(?: (?:was|were|is|are|of|at|to|from|went|came|out|in|dropped|fell|improved|rose|grew|increased"
    r"|decreased|reached|hit|around|about|roughly|measured|now|only)){0,4} ?[~≈]?$"
)
_ITEM = rf"(?:{_STATISTIC} )?{_METRIC}(?: {_STATISTIC})?"
_METRICS = re.compile(
    rf"\b(?P<names>{_ITEM}(?:{_AND}{_ITEM}){{1,5}})(?: latency| latencies| times?| speeds?)?{_UNIT}{_VERB}",
    re.IGNORECASE,
)
_STATISTICS = re.compile(
    rf"\b(?:(?P<metric>{_METRIC})(?: latency)? (?:at )?)?(?P<names>{_STATISTIC}(?:{_AND}{_STATISTIC}){{1,5}})"
    rf"(?: (?P<late_metric>{_METRIC}))?{_UNIT}{_VERB}",
    re.IGNORECASE,
)
_BEHIND = re.compile(rf" ?\(?(?P<names>{_ITEM}(?: ?/ ?{_ITEM}){{1,5}})\b(?![\w/])", re.IGNORECASE)
_NUMBER = r"[~≈]?\d{1,9}(?:,\d{3}){0,2}(?:\.\d{1,6})?"
_OF_ITEM = r"(?: (?:was|is|of|at))? ?[:=]? ?"
_WITH_LAST_UNIT = re.compile(
    rf"\b(?P<former>(?:{_ITEM}{_OF_ITEM}{_NUMBER}{_AND}){{1,5}})(?P<last>{_ITEM}{_OF_ITEM}{_NUMBER}"
    rf" ?(?P<unit>{pattern_of(*RATES, 'ms', 's')}))(?![\w/])",
    re.IGNORECASE,
)
_NUMBER_OF_ITEM = re.compile(rf"{_NUMBER}(?={_AND})", re.IGNORECASE)
_BETWEEN = re.compile(_AND, re.IGNORECASE)
_FIRST_STATISTIC = re.compile(rf"{_STATISTIC} ", re.IGNORECASE)
_ANY_STATISTIC = re.compile(rf"\b{_STATISTIC}\b", re.IGNORECASE)


def listed_names(words: str) -> list[str]:
    """Return the names that words before listed numbers end with, each with its statistic; nothing for other words."""
    words = words[-MAX_CHARS:]
    if match := _STATISTICS.search(words):
        metric = match["metric"] or match["late_metric"]
        return [f"{statistic} {metric}" for statistic in _BETWEEN.split(match["names"])] if metric else []
    match = _METRICS.search(words)
    names = _BETWEEN.split(match["names"]) if match else []
    first = _FIRST_STATISTIC.match(names[0]) if names else None
    is_of_all = first is not None and not any(map(_ANY_STATISTIC.search, names[1:]))
    return [names[0], *(f"{first[0]}{name}" if first and is_of_all else name for name in names[1:])] if names else []


def names_behind(words: str) -> list[str]:
    """Return the names between slashes right behind listed numbers: 'pp/tg' of '1200/45 tok/s pp/tg'."""
    match = _BEHIND.match(words[:MAX_CHARS])
    return _BETWEEN.split(match["names"]) if match else []


def with_unit_of_last(text: str) -> str:
    """Return a text with the unit of the last of listed figures behind each: 'TTFT 120 ms and ITL 14 ms'."""
    return _WITH_LAST_UNIT.sub(_with_units, text)


def _with_units(match: re.Match[str]) -> str:
    return _NUMBER_OF_ITEM.sub(lambda number: f"{number[0]} {match['unit']}", match["former"]) + match["last"]
