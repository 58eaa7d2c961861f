"""A configuration that draws more meets the power limit sooner: its lower clock is its own. All other ones refuse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.runs.conditions import Conditions, clocks

COOL = Conditions(
    "r", hardware_throttled=False, power_capped=False, sm_clock_mhz_median=1980.0, memory_clock_mhz_median=2619.0,
    power_limits_w=(700.0,), gpu_uuids=("GPU-0",),
)  # fmt: skip
CAPPED = replace(COOL, power_capped=True, sm_clock_mhz_median=1350.0)


def word(a: list[Conditions], b: list[Conditions]) -> str:
    found = {clocks(a, b).level, clocks(b, a).level}
    assert len(found) == 1, "whichever is the baseline"
    return found.pop()


def test_clock_lowered_by_power_limit_is_reported() -> None:
    assert word([COOL], [CAPPED]) == "warns"
    nearly = replace(CAPPED, sm_clock_mhz_median=1365.0)
    assert word([COOL, COOL], [CAPPED, nearly]) == "warns"
    assert clocks([COOL], [CAPPED]).values["sm_clock_mhz_median"] == ((1980.0,), (1350.0,))
    both = replace(COOL, power_capped=True)
    assert word([both], [CAPPED]) == "warns", "both met it, one of them more"


@pytest.mark.parametrize(
    "but",
    [
        {"power_capped": False},
        {"power_capped": None},
        {"power_limits_w": (350.0,)},
        {"power_limits_w": None},
        {"gpu_uuids": ("GPU-1",)},
        {"memory_clock_mhz_median": 1500.0},
        {"hardware_throttled": True},
    ],
)
def test_any_other_lower_clock_refuses(but: dict[str, Any]) -> None:
    assert word([COOL], [replace(CAPPED, **but)]) == "matters"
    assert word([COOL, COOL], [CAPPED, replace(CAPPED, **but)]) == "matters", "in one start too"


def test_unlike_clocks_within_an_arm_refuse() -> None:
    """They draw alike, so something else lowered the clock of one."""
    assert word([COOL], [CAPPED, replace(CAPPED, sm_clock_mhz_median=1500.0)]) == "matters"
    assert word([COOL, CAPPED], [CAPPED, CAPPED]) == "matters"
    faster_is_capped = replace(COOL, power_capped=True)
    assert word([faster_is_capped], [replace(CAPPED, power_capped=False)]) == "matters"


@pytest.mark.parametrize("nothing", [{"power_limits_w": None}, {"gpu_uuids": ()}])
def test_unknown_limits_and_gpus_explain_nothing(nothing: dict[str, Any]) -> None:
    assert word([replace(COOL, **nothing)], [replace(CAPPED, **nothing)]) == "matters"
