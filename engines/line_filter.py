"""A grammar's filter of log lines: most lines are irrelevant and are never decoded.

The patterns use RE2 syntax, without look-around.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Routine(NamedTuple):
    """Lines that match `like` and not `unlike`: at times they mean nothing to a grammar."""

    like: re.Pattern[bytes]
    unlike: re.Pattern[bytes]


class LineFilter(NamedTuple):
    """The lines that a grammar reads.

    `noise`: beginnings of meaningless lines. `needles`: a line without a match means nothing; None: every line is read.
    `routine`: lines that mean nothing while the grammar skips them.
    """

    needles: re.Pattern[bytes] | None = None
    noise: re.Pattern[bytes] | None = None
    routine: Routine | None = None
