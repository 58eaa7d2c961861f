"""Settings of GPUs: a power limit, clock or mode of one arm alone forbids a ranking, or is what is compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.comparison.facts import RunFacts
from analysis.guard import CHECKS, DECLARABLE, GuardRow, RowCode, RowStatus, guard
from analysis.guard.gpu_limits import LIMITS
from analysis.runs.conditions import Conditions
from tests.analysis.comparison.hand_made import load, pair_of, run, streams
from tests.analysis.comparison.ideal_engine import SERVED
from web.compare.answer.guard_words import row_text

USUAL = {
    "power_limit_w": (700.0,),
    "application_clock_mhz": (1980.0,),
    "mig": (False,),
    "ecc": (True,),
    "persistence": (True,),
    "driver": ("580.65",),
}
SAME, TOLD, MATTERS = RowStatus.SAME, RowStatus.TOLD, RowStatus.MATTERS
COMPARED, UNKNOWN = RowStatus.COMPARED, RowStatus.UNKNOWN


def limited(conditions: dict[str, Any] | None = None, served: dict[str, Any] | None = None, **limits: Any) -> RunFacts:
    values_by_name = {name: values for name, values in (USUAL | limits).items() if values is not ...}
    facts = run("b", load(streams(1)), served=replace(SERVED, gpu_limits=values_by_name, **served or {}))
    return replace(facts, conditions=(Conditions("b", **conditions),) if conditions else ())


def row(a: RunFacts, b: RunFacts | list[RunFacts], objective: str = "decode_tps", **fields: Any) -> GuardRow:
    others = [b] if isinstance(b, RunFacts) else b
    found = CHECKS[RowCode.GPU_LIMITS](pair_of([a], others, objective, **fields))
    assert found.code is RowCode.GPU_LIMITS and row_text(found, {})
    return found


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"power_limit_w": (350.0,)}, "power limit 700 W and 350 W"),
        ({"power_limit_w": (350.0, 700.0)}, "power limit 700 W and 350 W or 700 W"),
        ({"application_clock_mhz": (1200.0,)}, "application clock 1980 MHz and 1200 MHz"),
        ({"mig": (True,)}, "MIG off and on"),
        ({"ecc": (False,)}, "ECC on and off"),
    ],
)
def test_one_sided_limit_refuses_unless_compared(limits: dict[str, Any], words: str) -> None:
    usual, other = limited(), limited(**limits)
    actual_row = row(usual, other)
    assert actual_row.status is MATTERS and row_text(actual_row, {}) == words
    assert row(other, usual).status is MATTERS
    assert row(usual, [usual, other]).status is MATTERS, "within an arm too"
    assert row(usual, other, declared=frozenset({RowCode.GPU_LIMITS})).status is COMPARED
    assert RowCode.GPU_LIMITS in DECLARABLE


def test_limits_that_are_alike_are_the_same() -> None:
    actual_row = row(limited(), limited())
    assert actual_row.status is SAME
    alike = "power limit 700 W; application clock 1980 MHz; MIG off; ECC on; persistence mode on; driver 580.65"
    assert row_text(actual_row, {}) == alike
    two = {"power_limit_w": (600.0, 700.0)}
    assert row(limited(**two), limited(**two)).status is SAME, "each arm on both GPUs"


def test_persistence_mode_affects_only_startup() -> None:
    off = limited(persistence=(False,))
    actual_row = row(limited(), off)
    assert actual_row.status is TOLD and row_text(actual_row, {}) == "persistence mode on and off"
    assert row(limited(), off, "startup_s").status is MATTERS


def test_another_driver_is_told() -> None:
    other = limited(driver=("570.1",))
    for objective in ("decode_tps", "startup_s"):
        actual_row = row(limited(), other, objective)
        assert actual_row.status is TOLD and row_text(actual_row, {}) == "driver 580.65 and 570.1"


def test_what_nobody_looked_at_is_not_known() -> None:
    actual_row = row(limited(), limited(power_limit_w=..., mig=...))
    assert actual_row.status is UNKNOWN
    assert row_text(actual_row, {}).endswith("; not checked: power limit, MIG")
    nothing = limited(**dict.fromkeys(LIMITS, ...))
    assert row(nothing, nothing).status is UNKNOWN, "an unknown is not equal to another"
    unsupported = limited(mig=(None,), ecc=(None,))
    assert row(unsupported, unsupported).status is SAME, "a GPU that has no such thing"
    assert row(limited(), unsupported).status is SAME, "and what it does not tell is no difference"
    assert row_text(row(limited(), unsupported), {}).count("not known") == 2


def test_gpu_slices_are_of_unknown_likeness() -> None:
    actual_row = row(limited(mig=(True,)), limited(mig=(True,)))
    assert actual_row.status is UNKNOWN and row_text(actual_row, {}).endswith("the MIG slices are not known")
    h200 = {"gpus": ("H200",)}
    for a, b in ((limited(mig=(True,)), limited(served=h200)), (limited(served=h200), limited(mig=(True,)))):
        assert row(a, b).status is UNKNOWN, "of either arm"


def test_other_gpu_kind_has_its_own_limits() -> None:
    """It is the machine that differs then, which has a row."""
    h200 = {"gpus": ("H200",)}
    assert row(limited(), limited(served=h200, power_limit_w=(600.0,))).status is SAME
    mixed = [limited(served=h200), limited(served=h200, power_limit_w=(600.0,))]
    assert row(limited(), mixed).status is MATTERS, "unlike within an arm"


def test_a_machine_without_a_gpu_has_none() -> None:
    actual_row = row(limited(served={"gpus": ()}), limited(served={"gpus": ()}))
    assert actual_row.status is SAME and actual_row.values == {"no_gpu": True}
    bare = limited(served={"gpus": ()}, **dict.fromkeys(LIMITS, ...))
    assert row(bare, limited()).status is UNKNOWN


def test_compared_limits_have_clocks_of_their_own() -> None:
    """Half the power is half the clock: a declared comparison of power limits could otherwise never be made."""
    cool = {"hardware_throttled": False, "power_capped": False, "sm_clock_mhz_median": 1980.0}
    full, half = limited(cool), limited(cool | {"sm_clock_mhz_median": 1350.0}, power_limit_w=(350.0,))

    def clocks(a: RunFacts, b: RunFacts, *declared: RowCode) -> RowStatus:
        rows = guard(pair_of([a], [b], declared=frozenset(declared)))
        return next(row.status for row in rows if row.code is RowCode.THROTTLING)

    assert clocks(full, half) is MATTERS
    assert clocks(full, half, RowCode.GPU_LIMITS) is SAME
    alike = limited(cool | {"sm_clock_mhz_median": 1350.0})
    assert clocks(full, alike, RowCode.GPU_LIMITS) is MATTERS, "limits that do not differ explain no clock"
