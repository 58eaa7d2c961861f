"""The smallest difference that matters, as a share: 0.02 is 2 % and spans 1/1.02 to 1.02."""

from __future__ import annotations

import re

from errors import PitwallError

MARGIN = 0.02  # the default
MIN_MARGIN, MAX_MARGIN = 0.001, 0.5  # below: settled by no number of repeats; above: no small difference
MARGIN_FORMAT = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,6})?|\.\d{1,6})\s*(?P<percent>%?)")


class UnknownMarginError(PitwallError):
    """A text that is not a share, or a share that is too small or too large."""


def parse_margin(text: str) -> float:
    """Parse a share such as '5%', '5 %' or '0.05'; raises UnknownMarginError."""
    match = MARGIN_FORMAT.fullmatch(text.strip())
    share = float(match["number"]) / (100 if match["percent"] else 1) if match else 0.0
    if not MIN_MARGIN <= share <= MAX_MARGIN:
        raise UnknownMarginError(
            f"The smallest difference that matters cannot be {text[:40]!r}: enter a share such as 5% or 0.05, "
            f"from {format_margin(MIN_MARGIN)} to {format_margin(MAX_MARGIN)}."
        )
    return share


def format_margin(margin: float) -> str:
    """Return the margin as text: '2 %'."""
    return f"{100 * margin:.4g} %"
