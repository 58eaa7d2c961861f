"""Every reason has words, and a run's name is left out where it stands already."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.reasons import Code, Reason
from web.words import OF_BOTH, OF_ONE, UNKNOWN, why, why_not_ranked

NAMES = {"a": "Run", "b": "Run 2"}
VALUES: dict[Code, dict[str, Any]] = {
    Code.TOO_FEW_WINDOWS: {"active": 1, "windows": 4, "fewest": 3},
    Code.STEPS_MISSING: {"missing": 1, "active": 4},
    Code.FAILED: {"why": None},
    Code.NO_SPEED: {"why": Reason(Code.NO_WINDOW)},
    Code.SHARED_MACHINE: {"others": 1},
    Code.OTHER_WORKLOAD: {"workloads": ("demo", "ladder")},
    Code.OTHER_WORKLOAD_PARAMS: {"params": ["concurrency"]},
    Code.UNFINISHED_LOAD: {"unsent": 2},
    Code.OTHER_WINDOWS: {"window_s": (2.0, None)},
    Code.OTHER_DEFINITION: {"definitions": ("vllm.log", "vllm.counter")},
    Code.OTHER_CONCURRENCY: {"requests": (1.0, 4.0)},
}


@pytest.mark.parametrize("code", list(Code))
def test_every_code_has_words(code: Code) -> None:
    reason = Reason(code, ("a", "b") if code in OF_BOTH or code is Code.OVERLAP else ("b",), VALUES.get(code, {}))
    said = why(reason) if code in UNKNOWN else why_not_ranked(reason, NAMES)
    assert said and "{" not in said and "None" not in said


@pytest.mark.parametrize("code", list(OF_ONE))
def test_the_name_beside_which_it_stands_is_not_said_again(code: Code) -> None:
    """Names of which one begins another are told apart: the run is known by its id."""
    reason = Reason(code, ("b",), VALUES.get(code, {}))
    assert why_not_ranked(reason, NAMES).startswith("Run 2 ")
    assert why_not_ranked(reason, NAMES, stands_beside="a").startswith("Run 2 ")
    assert not why_not_ranked(reason, NAMES, stands_beside="b").startswith("Run")
