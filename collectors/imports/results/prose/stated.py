"""A number as people write it: '~93.8 tok/s', '90-100 tok/s', 'Up to 4.98', '876K tok', '593.84 ± 95.22', '84.55%'."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_N = r"\d{1,3}(?:,\d{3})+(?:\.\d{1,9})?|\d{1,15}(?:\.\d{1,15})?"
UNITS: Mapping[str, tuple[str, float]] = {  # as written, in small letters -> ours, and what makes it ours
    "tok/s": ("tok/s", 1.0), "t/s": ("tok/s", 1.0), "tokens/s": ("tok/s", 1.0), "tps": ("tok/s", 1.0),
    "req/s": ("requests/s", 1.0), "ms": ("ms", 1.0), "s": ("s", 1.0), "min": ("s", 60.0), "gib": ("GiB", 1.0),
    "gb": ("GB", 1.0), "mb": ("MB", 1.0), "tok": ("tokens", 1.0), "tokens": ("tokens", 1.0), "%": ("%", 1.0),
    "x": ("1", 1.0), "×": ("1", 1.0),
}  # fmt: skip
_UNIT = "|".join(map(re.escape, sorted(UNITS, key=len, reverse=True)))
ABOUT = r"(?P<about>~|≈|about|around|roughly)?"
NUMBER = (
    rf"(?P<most>up to|max(?:imum)?)? ?{ABOUT} ?(?P<low>{_N})(?P<kilo>K)?"
    rf" ?(?:(?:-|–|to) ?(?P<high>{_N})|± ?(?P<spread>{_N}))?"
    rf" ?(?P<unit>{_UNIT})?(?![\w/×%])"
)
CELL = re.compile(
    rf"`?(?:{NUMBER})`?(?: class)?(?P<rest> aggregate|,? equivalent to .{{1,40}}| ?\(.{{1,80}}\))?", re.IGNORECASE
)
KILO = 1e3


class Stated(NamedTuple):
    """One number, or a range of two; `unit` is ours, None where none is written."""

    low: float
    high: float | None
    spread: float | None
    unit: str | None
    is_most: bool
    is_about: bool


def read_cell(cell: str) -> Stated | None:
    """What a cell states; None where it is text, or more than one number with its unit."""
    found = CELL.fullmatch(cell.strip().strip("*"))
    return stated(found) if found else None


def stated(found: re.Match[str]) -> Stated:
    """What a match of NUMBER states, in our units."""
    unit, factor = UNITS.get((found["unit"] or "").lower(), (None, 1.0))
    factor *= KILO if found["kilo"] else 1.0
    low, high, spread = (
        None if found[name] is None else float(found[name].replace(",", "")) * factor
        for name in ("low", "high", "spread")
    )
    assert low is not None
    return Stated(low, high, spread, unit, found["most"] is not None, found["about"] is not None)


def unit_in(words: str) -> str | None:
    """The unit that a heading names: 'TTFT (ms)', 'tg t/s (c=1)', 'tg128 decode (t/s)'."""
    found = re.search(r"\b(tok/s|t/s|tokens/s|TPS|req/s)(?!\w)|\((ms|s|GiB|MB|t/s)\)", words)
    return UNITS[(found[1] or found[2]).lower()][0] if found else None
