"""Every reason and every row of the guard has words."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.guard import RowCode, Standing
from analysis.reasons import Code, Reason
from web.compare.guard_words import STANDINGS, TITLES, WORDS
from web.words import UNKNOWN, why

VALUES: dict[Code, dict[str, Any]] = {
    Code.TOO_FEW_WINDOWS: {"active": 1, "windows": 4, "fewest": 3},
    Code.STEPS_MISSING: {"missing": 1, "active": 4},
    Code.COUNTERS_DISAGREE: {"client": 100, "counters": 120.0},
    Code.NO_REQUEST_OF_KIND: {"concurrency": 4},
    Code.NO_STEADY_PART: {"concurrency": 8},
    Code.TOO_FEW_REQUESTS: {"requests": 12, "fewest": 100},
}


@pytest.mark.parametrize("code", list(Code))
def test_every_reason_has_words(code: Code) -> None:
    said = why(Reason(code, ("b",), VALUES.get(code, {})))
    assert said and "{" not in said and "None" not in said


def test_no_words_are_kept_for_a_reason_that_is_gone() -> None:
    assert set(UNKNOWN) == set(Code)
    assert set(TITLES) == set(WORDS) == set(RowCode)
    assert set(STANDINGS) == set(Standing)
