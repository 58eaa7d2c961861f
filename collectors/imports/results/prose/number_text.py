"""Parses numbers as people write them: '~93.8 tok/s', '90-100 tok/s', 'Up to 4.98', '876K tok', '593.84 ± 95.22'."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_N = r"\d{1,3}(?:,\d{3})+(?:\.\d{1,9})?|\d{1,15}(?:\.\d{1,15})?"
UNITS: Mapping[str, tuple[str, float]] = {  # as written, in lower case -> Pitwall's unit and the factor to it
    "tok/s": ("tok/s", 1.0), "t/s": ("tok/s", 1.0), "tokens/s": ("tok/s", 1.0), "tps": ("tok/s", 1.0),
    "tok/sec": ("tok/s", 1.0), "toks/s": ("tok/s", 1.0), "tokens/sec": ("tok/s", 1.0), "tokens/second": ("tok/s", 1.0),
    "tokens per second": ("tok/s", 1.0), "req/s": ("requests/s", 1.0), "rps": ("requests/s", 1.0),
    "req/sec": ("requests/s", 1.0), "requests/s": ("requests/s", 1.0), "requests/sec": ("requests/s", 1.0),
    "ms": ("ms", 1.0), "s": ("s", 1.0), "sec": ("s", 1.0), "seconds": ("s", 1.0), "min": ("s", 60.0),
    "gib": ("GiB", 1.0), "gb": ("GB", 1.0), "mb": ("MB", 1.0), "tok": ("tokens", 1.0), "tokens": ("tokens", 1.0),
    "%": ("%", 1.0), "x": ("1", 1.0), "×": ("1", 1.0),
}  # fmt: skip
_UNIT = "|".join(map(re.escape, sorted(UNITS, key=len, reverse=True)))
ABOUT = r"(?P<about>~|≈|about|around|roughly)?"
NUMBER = (
    rf"(?P<most>up to|max(?:imum)?)? ?{ABOUT} ?(?P<low>{_N})(?P<kilo>K)?"
    rf" ?(?:(?:-|–|to) ?(?P<high>{_N})|± ?(?P<spread>{_N}))?"
    rf" ?(?P<unit>{_UNIT})?(?![\w/×%=])"
)
CELL = re.compile(
    rf"`?(?:{NUMBER})`?(?: class)?(?P<rest> aggregate|,? equivalent to .{{1,40}}| ?\(.{{1,80}}\))?", re.IGNORECASE
)
WITH_STATISTIC = re.compile(
    rf"(?:{NUMBER}) (?P<statistic>avg|mean|median|min|max|p\d{{2}}(?:\.\d)?)"
    rf"(?: \((?P<least>{_N}) ?(?:-|–|to) ?(?P<greatest>{_N})\)| ?\(.{{1,80}}\))?",
    re.IGNORECASE,
)
WITH_LABEL = re.compile(
    rf"(?:(?P<label>[A-Za-z][\w -]{{0,30}}(?:\([\w/]{{1,12}}\))?)(?: |: ?))?\*{{0,2}}(?:{NUMBER})\*{{0,2}}"
    r"(?: \([+-][\d.]{1,9}%\))?",  # a difference from another cell
    re.IGNORECASE,
)
PARTS = re.compile(r"[,;] (?=\D|\d[^,;]*[a-z])| ?<br ?/?> ?", re.IGNORECASE)
TAG = re.compile(r"</?(?:span|b|i|em|strong|font|sub|sup|small|code)\b[^<>]{0,200}>", re.IGNORECASE)
STATISTICS = {"avg": "mean", "p50": "median"}
MAX_CELL_CHARS = 300
_RATES = "|".join(re.escape(unit) for unit, (name, _) in UNITS.items() if name in ("tok/s", "requests/s"))
HEADING_UNIT = re.compile(
    rf"\b({_RATES})(?!\w)"
    r"|(?<=\s)(ms|s|sec|seconds|GiB|GB)$|[,(\[] ?(ms|s|sec|seconds)[)\]]"
    r"|\((GiB|MB|tokens|requests|tokens/sec/user|ms/tok(?:en)?)\)",
    re.IGNORECASE,
)
HEADING_UNITS = {unit: name for unit, (name, _) in UNITS.items()} | {
    "tokens/sec/user": "tok/s", "ms/tok": "ms", "ms/token": "ms", "requests": "requests",
}  # fmt: skip
KILO = 1e3


class StatedNumber(NamedTuple):
    """A number or a range; `unit` is Pitwall's, None if none is written."""

    low: float
    high: float | None
    spread: float | None
    unit: str | None
    is_maximum: bool
    is_approximate: bool


def read_cell(cell: str) -> StatedNumber | None:
    """Parse a cell; None if it is text or more than one number with its unit."""
    match = CELL.fullmatch(cell.replace("**", "").strip().strip("*"))  # '**90.2** tok/s'
    return parse_number(match) if match else None


def read_statistics(cell: str) -> list[tuple[str, StatedNumber]]:
    """Parse a cell that names its statistics: '78ms p50, 150ms p95', '43.1 tok/s avg (40.7 – 45.1)'; else nothing."""
    matches = [WITH_STATISTIC.fullmatch(part) for part in cell[:MAX_CELL_CHARS].strip().strip("*`").split(", ")]
    values: list[tuple[str, StatedNumber]] = []
    for match in matches:
        if match is None:
            return []
        name = match["statistic"].lower()
        value = parse_number(match)
        values.append((STATISTICS.get(name, name), value))
        if match["least"]:
            values += [
                (edge, value._replace(low=float(match[group].replace(",", ""))))
                for edge, group in (("min", "least"), ("max", "greatest"))
            ]
    return values


def read_parts(cell: str) -> list[tuple[str, StatedNumber]]:
    """Parse a cell with several numbers, each with its unit and perhaps its name: '1,642 tok/s, TTFT (ms): 24'."""
    parts = PARTS.split(TAG.sub("", cell[:MAX_CELL_CHARS]).strip())
    matches = [match for part in parts if (match := WITH_LABEL.fullmatch(part.strip("*` ")))]
    values = [(match["label"] or "", parse_number(match)) for match in matches]
    values = [(label, value._replace(unit=value.unit or unit_in(label))) for label, value in values]
    is_complete = len(values) == len(parts) > 1 and all(value.unit for _, value in values)
    return values if is_complete else []


def parse_number(match: re.Match[str]) -> StatedNumber:
    """Convert a match of NUMBER to Pitwall's units."""
    unit, factor = UNITS.get((match["unit"] or "").lower(), (None, 1.0))
    factor *= KILO if match["kilo"] else 1.0
    low, high, spread = (
        None if match[name] is None else float(match[name].replace(",", "")) * factor
        for name in ("low", "high", "spread")
    )
    assert low is not None
    return StatedNumber(low, high, spread, unit, match["most"] is not None, match["about"] is not None)


def unit_in(text: str) -> str | None:
    """Return the unit in a heading: 'TTFT (ms)', 'tg t/s (c=1)', 'tg128 decode (t/s)', 'Throughput (tokens/sec)'."""
    match = HEADING_UNIT.search(text)
    if match is None:
        return None
    return HEADING_UNITS[next(unit for unit in match.groups() if unit).lower()]
