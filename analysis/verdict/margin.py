"""The smallest difference that matters, as a share: 0.02 is 2 %. It reaches from 1/1.02 to 1.02."""

from __future__ import annotations

import re

from errors import PitwallError

MARGIN = 0.02  # unless another is set
LEAST, MOST = 0.001, 0.5  # below a difference that no repeats settle, above one that nobody would call small
WRITTEN = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,6})?|\.\d{1,6})\s*(?P<percent>%?)")


class UnknownMarginError(PitwallError):
    """A text that is no share, or one too small or too large."""


def parse_margin(text: str) -> float:
    """The share that '5%', '5 %' or '0.05' says; raises UnknownMarginError."""
    found = WRITTEN.fullmatch(text.strip())
    share = float(found["number"]) / (100 if found["percent"] else 1) if found else 0.0
    if not LEAST <= share <= MOST:
        raise UnknownMarginError(
            f"The smallest difference that matters cannot be {text[:40]!r}: it is a share such as 5% or 0.05, "
            f"from {margin_words(LEAST)} to {margin_words(MOST)}."
        )
    return share


def margin_words(margin: float) -> str:
    """'2 %'."""
    return f"{100 * margin:.4g} %"
