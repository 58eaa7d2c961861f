"""Energy, money and the time to readiness."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.physics.formula_result import evaluate
from analysis.physics.money import cost_per_million, idle_share
from analysis.physics.startup import restart_tokens, startup_phases
from reasons import Code


def test_money_by_hand() -> None:
    """100 tok/s are 360,000 an hour; at 3.60 an hour and 1 kW at 0.40 they cost 4.00, so a million 11.11."""
    assert cost_per_million(100, 3.60, 1000, 0.40) == pytest.approx(4.00 / 0.36)
    assert idle_share(60, 300) == 0.2


def test_formula_names_its_missing_inputs() -> None:
    value = evaluate(cost_per_million, output_tps=100, price_per_hour=None, power_w=300.0, price_per_kwh=None)
    assert value.value is None and value.reason and value.reason.code is Code.INPUTS_UNKNOWN
    assert value.reason.values["inputs"] == ("price_per_hour", "price_per_kwh")
    assert evaluate(idle_share, idle_w=1.0, load_w=4.0).value == 0.25


def test_the_published_start_by_phase() -> None:
    actual_startup_phases = startup_phases(147, weights_s=7.44, loading_s=8.96, compile_s=66.23, engine_s=108.24)
    assert dict(actual_startup_phases.seconds) == pytest.approx(
        {"weights": 7.44, "rest of loading": 1.52, "compilation": 66.23}
        | {"rest of the engine's start": 42.01, "other": 29.8}
    )
    assert restart_tokens(147, 571.22) == pytest.approx(83_969.34)


def test_phases_that_cannot_be_are_refused() -> None:
    actual_startup_phases = startup_phases(10, weights_s=8, engine_s=7)
    assert (
        not actual_startup_phases.seconds
        and actual_startup_phases.reason
        and actual_startup_phases.reason.code is Code.PHASES_OVERLAP
    )
    unknown = startup_phases(None, weights_s=8)
    assert unknown.reason and unknown.reason.code is Code.INPUTS_UNKNOWN
    assert dict(startup_phases(10).seconds) == {"other": 10}


parts = st.one_of(st.none(), st.floats(0, 100))


@given(st.floats(1, 500), st.tuples(parts, parts, parts, parts, parts, parts))
def test_phases_sum_to_the_total(total: float, told: tuple[float | None, ...]) -> None:
    actual_startup_phases = startup_phases(total, *told)
    assert actual_startup_phases.reason or sum(actual_startup_phases.seconds.values()) == pytest.approx(total)
