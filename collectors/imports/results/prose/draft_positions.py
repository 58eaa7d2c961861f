"""Reads the shares of accepted drafts by their position, as records and lines of texts list them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint
from collectors.imports.results.prose.metric_names import words
from collectors.imports.results.prose.sections import Sections
from collectors.imports.results.prose.stated_points import point_of_words
from collectors.imports.results.prose.value_names import is_number, value_name_of
from reasons import Code, Reason

_ACCEPTANCE, _POSITIONS = words(r"\baccept"), words(r"\bpos(?:itions?|itional)?\b")
_SHARE, _PERCENTAGE = r"(?:0?\.\d{1,9}|[01](?:\.0{1,9})?)", r"\d{1,3}(?:\.\d{1,9})? ?%"
_LISTED = re.compile(  # 'Per-position acceptance rate: 0.81, 0.6, 0.37', as vLLM logs it
    r"\b(?P<name>per[- ]position (?:draft )?acceptance(?: rates?)?|acceptance(?: rates?)? (?:per|by) position)"
    r"`?(?:[:=]| is| was)[ `]{0,3}[\[(]?"
    rf"(?P<shares>{_SHARE}(?:(?:, ?| / ){_SHARE}){{1,15}}|{_PERCENTAGE}(?:(?:, ?| / ){_PERCENTAGE}){{1,15}})"
    r"(?![\d.]*[\d%])[\])]?,?",
    re.IGNORECASE,
)
_NAMED = re.compile(  # 'accept length 2.5, pos-0 ~70%'
    r"(?:, ?(?:and )?)?\bpos(?:ition)?[- ]?(?P<position>\d{1,2})(?: accept(?:ance)?(?: rate)?)?"
    rf"(?: ?[:=] ?| )(?P<about>[~≈])?(?P<share>{_PERCENTAGE})",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r", ?| / ")
_METRIC = "position_acceptance_rate"
_LEAST_POSITIONS = 2


def lists_positions(name: str, value: Any) -> bool:
    """Return whether a value lists the shares of accepted drafts, all of them between 0 and 1."""
    is_list = isinstance(value, list) and len(value) >= _LEAST_POSITIONS
    is_of_shares = is_list and all(is_number(share) and 0 <= share <= 1 for share in value)
    plain_words = value_name_of(name).words
    return is_of_shares and all(pattern.search(plain_words) for pattern in (_ACCEPTANCE, _POSITIONS))


def add_positions(load: LoadBuilder, values: Mapping[str, Any], point: MeasurementPoint) -> None:
    """Add a result for each position that the values of a record list."""
    for name, shares in values.items():
        if lists_positions(name, shares):
            _add_shares(load, point._replace(name=f"{point.name}: {name}"), shares)


def add_position_lines(load: LoadBuilder, text: str, sections: Sections) -> str:
    """Add the shares that lines of a text list, and return the text without them."""
    lines = text.splitlines()
    for index, line in enumerate(lines):
        match = _LISTED.search(line) if "position" in line.lower() else None
        if match:
            name = f"{sections.prefix_of(index + 1)}{match['name']} (line {index + 1})"
            point = point_of_words(name, name, sections.level_of(index + 1))
            _add_shares(load, point, map(_share, _SEPARATOR.split(match["shares"])))
            lines[index] = f"{line[: match.start()]}{line[match.end() :]}"
        elif "accept" in line.lower() and (matches := list(_NAMED.finditer(line))):
            if min(int(match["position"]) for match in matches) > 0:
                continue  # counted from 0 or from 1
            for match in matches:
                name = f"{sections.prefix_of(index + 1)}acceptance rate (line {index + 1})"
                reasons = [Reason(Code.STATED_AS_ABOUT)] if match["about"] else []
                point = MeasurementPoint(f"{name}, draft position {match['position']}")
                load.result(point, _METRIC, "mean", _share(match["share"]), reasons=reasons)
            lines[index] = _NAMED.sub("", line)
    return "\n".join(lines)


def _share(written: str) -> float:
    return round(float(written.rstrip(" %")) / 100, 9) if written.endswith("%") else float(written)


def _add_shares(load: LoadBuilder, point: MeasurementPoint, shares: Iterable[float]) -> None:
    for position, share in enumerate(shares):
        load.result(point._replace(name=f"{point.name}, draft position {position}"), _METRIC, "mean", share)
