"""The guard's rows about the machine, on their thresholds: GPUs, clocks, starvation, neighbours."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.comparison.facts import Neighbour, RunFacts
from analysis.guard import GuardRow, RowCode, RowStatus
from analysis.runs.conditions import Conditions
from domain import unknown_machine_id
from reasons import Code, Reason
from tests.analysis.guard.test_guard_rows import COMPARED, MATTERS, SAME, TOLD, UNKNOWN, row, serving
from web.compare.answer.guard_words import row_text


def having(*conditions: dict[str, Any], **served: Any) -> RunFacts:
    facts = serving(**served)
    return replace(facts, conditions=tuple(Conditions("b", **condition) for condition in conditions))


def test_more_gpus_of_one_kind_are_a_setting() -> None:
    assert row(RowCode.SETTINGS, serving(gpus=()), serving(gpus=None)).values["values"] == {"max_model_len": "4096"}
    actual_row = row(RowCode.SETTINGS, serving(), serving(gpus=("H100", "H100")))
    assert actual_row.values["fields"] == {"gpu_count": ("1", "2")}
    assert row(RowCode.HARDWARE, serving(), serving(gpus=("H100", "H100"))).status is COMPARED


@pytest.mark.parametrize(
    ("fields", "standing"),
    [
        ({}, SAME),
        ({"gpus": ("H200",)}, MATTERS),
        ({"machine_id": "m2"}, MATTERS),
        ({"machine_id": "m2", "gpus": None}, MATTERS),
        ({"gpus": None}, UNKNOWN),
    ],
)
def test_hardware(fields: dict[str, Any], standing: RowStatus) -> None:
    actual_row = row(RowCode.HARDWARE, serving(), serving(**fields))
    assert actual_row.status is standing
    assert actual_row.values["gpus"] == (("H100",), fields.get("gpus", ("H100",)))
    assert actual_row.values["machines"] == (["m1"], [fields.get("machine_id", "m1")])
    assert row(RowCode.HARDWARE, serving(**fields), serving()).status is standing


def test_unknown_gpus_are_not_the_same() -> None:
    assert row(RowCode.HARDWARE, serving(gpus=None), serving(gpus=None)).status is UNKNOWN
    assert row(RowCode.HARDWARE, serving(gpus=()), serving(gpus=())).status is SAME


# The machine meanwhile


def test_gpu_clocks() -> None:
    cool = {"hardware_throttled": False, "power_capped": False, "sm_clock_mhz_median": 1900.0}
    assert row(RowCode.THROTTLING, having(cool), having(cool)).status is SAME
    slow = row(RowCode.THROTTLING, having(cool), having(cool | {"sm_clock_mhz_median": 1800.0}))
    assert slow.status is MATTERS
    assert slow.values["found"] == {"sm_clock_mhz_median": ((1900.0,), (1800.0,))}
    assert row(RowCode.THROTTLING, having(cool), having()).status is UNKNOWN
    none = row(RowCode.THROTTLING, having(gpus=()), having(gpus=()))
    assert none.status is SAME and none.values == {"no_gpu": True}
    assert row(RowCode.THROTTLING, having(gpus=()), having(cool)).status is UNKNOWN


def test_other_gpu_kind_has_its_own_clocks() -> None:
    """A declared comparison of two GPUs could otherwise never be made."""
    cool = {"hardware_throttled": False, "power_capped": False, "sm_clock_mhz_median": 1900.0}
    h200 = having(cool | {"sm_clock_mhz_median": 1600.0}, gpus=("H200",))
    assert row(RowCode.THROTTLING, having(cool), h200).status is SAME
    hot = having(cool | {"hardware_throttled": True, "throttle_bits": 0x40}, gpus=("H200",))
    actual_row = row(RowCode.THROTTLING, having(cool), hot)
    assert actual_row.status is MATTERS
    assert actual_row.values["found"] == {
        "hardware_throttled": ((False,), (True,)),
        "throttle_bits": ((None,), (0x40,)),
    }
    mixed = [h200, having(cool, gpus=("H200",))]
    assert row(RowCode.THROTTLING, having(cool), mixed).status is MATTERS, "unlike within an arm"
    capped = having(cool | {"power_capped": True}, gpus=("H200",))
    assert row(RowCode.THROTTLING, having(cool), capped).status is TOLD
    assert row(RowCode.THROTTLING, capped, having(gpus=("H100",))).status is UNKNOWN


def test_starvation_and_others_on_the_gpus() -> None:
    for code, name in ((RowCode.STARVATION, "starvation_ratio"), (RowCode.GPU_SHARED, "other_gpu_utilization")):
        calm = {name: 0.0, "other_gpu_memory_bytes": 0}
        assert row(code, having(calm), having(calm)).status is SAME
        assert row(code, having(calm), having(calm | {name: 0.5})).status is MATTERS
        why = Reason(Code.NO_GPU_LOOKED_AT_WITHIN)
        unseen = replace(having({}), conditions=(Conditions("b", reasons={name: why}),))
        actual_row = row(code, having(calm), unseen)
        assert actual_row.status is UNKNOWN and actual_row.values["reasons"] == (why,)
    assert row(RowCode.GPU_SHARED, having(gpus=()), having(gpus=())).status is SAME
    fields = {"starvation_ratio": 0.5}
    assert row(RowCode.STARVATION, having(fields), having(fields)).status is TOLD
    assert row(RowCode.STARVATION, having(gpus=()), having(gpus=())).status is UNKNOWN


def test_neighbours() -> None:
    alone = replace(serving(), run_id="a")
    far, near = (replace(serving(), neighbours=(Neighbour("x", shares),)) for shares in (False, True))
    assert row(RowCode.NEIGHBOURS, alone, alone).status is SAME
    nowhere = replace(alone, served=replace(alone.served, machine_id=unknown_machine_id("b")))
    actual_row = row(RowCode.NEIGHBOURS, alone, nowhere)
    assert actual_row.status is UNKNOWN and row_text(actual_row, {}) == "the machine of one arm is not known"
    assert row(RowCode.NEIGHBOURS, alone, far) == GuardRow(RowCode.NEIGHBOURS, TOLD, {"beside": {"b": ["x"]}})
    assert row(RowCode.NEIGHBOURS, alone, near) == GuardRow(RowCode.NEIGHBOURS, MATTERS, {"sharing": {"b": ["x"]}})
