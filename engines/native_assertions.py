"""Failed assertions of C and C++ as the C library prints them, in any engine's log: of ggml, Triton, NCCL."""

from __future__ import annotations

import re

from engines.line_reader import LogFailure

# In every line of a failed assertion; RE2 syntax.
NEEDLES = r"Assertion [^A-Za-z ]"  # a quotation mark
_MAX_TEXT = 2000
_ASSERTION = re.compile(r"^\S.{0,300}?:(?: ?\d+:|\d+ \S.{0,1000}:) .{0,1000}?Assertion [`'‘].{1,500}['’] failed\.?$")


def read_native_assertion(text: str, cause_rank: int) -> LogFailure | None:
    """Return the failure of a message that reports a failed assertion; None for other messages."""
    if len(text) > _MAX_TEXT or "Assertion " not in text or _ASSERTION.match(text.strip()) is None:
        return None
    return LogFailure(cause_rank, text.strip(), f"An internal check of the engine failed. {text.strip()}")
