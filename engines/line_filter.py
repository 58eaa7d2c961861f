"""A grammar's filter of log lines: most lines are irrelevant to it and are never decoded.

The patterns are RE2's, which has no look-around.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Routine(NamedTuple):
    """Lines in which `like` is found and `unlike` is not: there are times when they mean nothing to a grammar."""

    like: re.Pattern[bytes]
    unlike: re.Pattern[bytes]


class LineFilter(NamedTuple):
    """What a grammar says of the lines it wants.

    `noise`: what meaningless lines start with, whatever they hold. `needles`: bytes without which a line means
    nothing; None: every line is wanted. `routine`: lines that mean nothing while the grammar says so.
    """

    needles: re.Pattern[bytes] | None = None
    noise: re.Pattern[bytes] | None = None
    routine: Routine | None = None
