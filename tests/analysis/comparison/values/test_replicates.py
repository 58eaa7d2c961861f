"""The value of one server start, and the parts and factors of a ratio."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from analysis.comparison.facts import RunFacts
from analysis.comparison.log_speed import LogSpeed
from analysis.comparison.replicates import (
    ClassComparison,
    Replicate,
    compare_classes,
    factor_ratios,
    make_replicate,
)
from analysis.evidence.factors import SpeedFactors
from analysis.evidence.loads import LoadRecord, common_keys
from analysis.evidence.measure import Measurement
from analysis.evidence.objectives import parse_objective
from analysis.runs.conditions import Conditions
from analysis.verdict import FactorFinding, Ratio
from reasons import Code, Reason
from tests.analysis.comparison.hand_made import faster, load, mark, request, run, streams


def value(facts: RunFacts, objective: str = "decode_tps") -> Replicate:
    return make_replicate(facts, parse_objective(objective), common_keys(facts.loads))


def test_the_mean_over_the_loads_of_a_start() -> None:
    """One at 10, one at 40 tok/s, and one that measured nothing of this kind."""
    one, other = load(streams(2)), load(faster(streams(2), 4.0))
    nothing = replace(one, requests=one.requests[:1])
    keys = common_keys([one, other])
    replicate = make_replicate(run("a", one, nothing, other), parse_objective("decode_tps"), keys)
    assert replicate.run_id == "a" and replicate.value == pytest.approx(20.0) and replicate.reason is None
    assert [m.value for m in replicate.measured] == pytest.approx([10.0, 40.0])


def test_a_start_without_a_value_says_why() -> None:
    assert value(run("a")) == Replicate("a", None, (), Reason(Code.NO_LOAD))
    assert value(run("a", load([]))) == Replicate("a", None, (), Reason(Code.RESULTS_ALONE))
    actual_value = value(run("a", load(streams(1, 4))))
    assert actual_value.value is None and actual_value.reason == Reason(
        Code.NO_REQUEST_OF_KIND, values={"concurrency": 1}
    )
    assert len(actual_value.measured) == 1


def test_speculation_is_asked_of_the_run() -> None:
    counted = load(streams(2), [mark(0, 0.0), mark(1, 20.0)])
    assert value(run("a", counted, speculates=False)).factors is not None
    unknown = value(run("a", counted, speculates=None))
    assert unknown.factors is None and unknown.measured[0].no_factors == Reason(Code.NO_STEP_COUNTER)


def test_facts_of_the_run_itself() -> None:
    facts = run("a", startup_s=12.0, log=LogSpeed(30.0, 5, "x", None))
    assert value(facts, "startup_s") == Replicate("a", 12.0)
    assert value(facts, "log_tps") == Replicate("a", 30.0)
    assert value(run("a"), "startup_s") == Replicate("a", None, reason=Reason(Code.NOT_STARTED_BY_US))
    assert value(run("a"), "log_tps") == Replicate("a", None, reason=Reason(Code.NO_LOG_SPEED))
    assert value(run("a"), "tokens_per_j") == Replicate("a", None, reason=Reason(Code.NO_ENERGY))


@pytest.mark.parametrize("odd", [0.0, -3.0, math.nan, math.inf])
def test_a_value_that_no_speed_can_have_is_none(odd: float) -> None:
    """A wall clock that was set back while a server started made a start-up time below zero, and a crash."""
    facts = run("a", startup_s=odd, log=LogSpeed(odd, 5, "x", None))
    assert value(facts, "startup_s").value is None and value(facts, "log_tps").value is None


def test_tokens_per_joule() -> None:
    def with_energy(*joules: float | None, loads: int = 1) -> RunFacts:
        requested_loads = [load([request(0), request(1, completion_tokens=None, error_kind="timeout")])] * loads
        return run("a", *requested_loads, conditions=tuple(Conditions("a", energy_j=joule) for joule in joules))

    assert value(with_energy(5.0), "tokens_per_j").value == pytest.approx(10 / 5)
    assert value(with_energy(5.0, 3.0, loads=2), "tokens_per_j").value == pytest.approx(20 / 8)
    for part in (with_energy(None), with_energy(5.0, None, loads=2), with_energy(0.0), with_energy(5.0, loads=2)):
        assert value(part, "tokens_per_j") == Replicate("a", None, reason=Reason(Code.NO_ENERGY))


@pytest.mark.parametrize("number", [0, 1])
def test_tokens_that_are_not_told_are_not_none(number: int) -> None:
    """A server that reports no usage made tokens all the same."""
    asked = load([*[request(n) for n in range(number)], request(5, completion_tokens=None)])
    facts = run("a", asked, conditions=(Conditions("a", energy_j=5.0),))
    assert value(facts, "tokens_per_j") == Replicate("a", None, reason=Reason(Code.NO_OUTPUT_TOKENS))


def test_load_without_measurements_has_no_energy() -> None:
    """There are conditions of measured loads alone: one that was cancelled in its warm-up has none."""
    cold = LoadRecord("a", "c", requests=load([]).requests)
    facts = run("a", load([request(0)]), cold, conditions=(Conditions("a", energy_j=5.0),))
    assert value(facts, "tokens_per_j").value == pytest.approx(2.0)


def test_start_factors_cover_all_its_loads() -> None:
    measurements = [
        Measurement(1.0, factors=SpeedFactors(1.0, 8.0, 2.0)),
        Measurement(1.0, factors=SpeedFactors(4.0, 2.0, 8.0)),
    ]
    assert Replicate("a", 1.0, tuple(measurements)).factors == pytest.approx((2.0, 4.0, 4.0, None, None))
    queued = SpeedFactors(1.0, 8.0, 2.0, 0.5, 0.5)
    both = (Measurement(1.0, factors=queued), Measurement(1.0, factors=SpeedFactors(1.0, 8.0, 2.0, 0.25)))
    assert Replicate("a", 1.0, both).factors == pytest.approx((1.0, 8.0, 2.0, 0.25, None)), "one queue is not known"
    alone = [measurements[0], Measurement(1.0, factors=SpeedFactors(4.0, 2.0))]
    factors = Replicate("a", 1.0, tuple(alone)).factors
    assert factors is not None and factors.running is None
    assert Replicate("a", 1.0, (measurements[0], Measurement(1.0))).factors is None
    assert Replicate("a", 1.0).factors is None


def test_ratios_of_factors() -> None:
    sides = [
        [SpeedFactors(1.0, 10.0, 2.0), SpeedFactors(1.0, 10.5, 2.0)],
        [SpeedFactors(3.0, 5.0, 2.0), SpeedFactors(3.3, 5.0, 2.0)],
    ]
    tokens, steps, running = factor_ratios(sides)
    assert (tokens.name, steps.name, running.name) == ("tokens_per_step", "steps_per_s", "running")
    assert tokens.values == pytest.approx((1.0, math.sqrt(9.9))) and tokens.ratio == pytest.approx(math.sqrt(9.9))
    assert steps.ratio == pytest.approx(5 / math.sqrt(105)) and running.ratio == 1.0
    assert running.interval is None and running.finding is FactorFinding.UNCHANGED
    varied = factor_ratios(
        [[SpeedFactors(1.0, 10.0), SpeedFactors(1.0, 10.5)], [SpeedFactors(1.0, 5.0), SpeedFactors(1.0, 5.2)]]
    )
    assert [one.name for one in varied] == ["tokens_per_step", "steps_per_s"]
    assert varied[1].interval == Ratio.of_sides("", [10.0, 10.5], [5.0, 5.2]).interval, "the only one that varies"


def test_no_ratio_where_a_start_lacks_its_factors() -> None:
    speed_factors = SpeedFactors(1.0, 2.0)
    assert (
        factor_ratios([[speed_factors, None], [speed_factors]]) == () and factor_ratios([[speed_factors], [None]]) == ()
    )
    assert factor_ratios([[speed_factors], [speed_factors, None]]) == () and factor_ratios([[], [speed_factors]]) == ()
    assert [r.name for r in factor_ratios([[SpeedFactors(1.0, 2.0, 3.0)], [speed_factors]])] == [
        "tokens_per_step",
        "steps_per_s",
    ]


def start(*measured: Measurement, worth: float | None = 1.0) -> Replicate:
    return Replicate("a", worth, measured)


def test_parts_that_all_starts_have() -> None:
    split = {"Code": SpeedFactors(1.0, 2.0)}
    a = start(Measurement(1.0, {"Q&A": 5.0, "Code": 2.0, "Math": 1.0}, factors_by_class=split))
    two = [
        Measurement(1.0, {"Code": 4.0, "Q&A": 5.0}, factors_by_class=split),
        Measurement(1.0, {"Code": 9.0, "Q&A": 5.0}),
    ]
    chat, code = compare_classes([[a], [start(*two)]])
    assert chat.ratio == Ratio("Q&A", pytest.approx(1.0), (pytest.approx(5.0), pytest.approx(5.0)))
    assert code.ratio.name == "Code" and code.ratio.ratio == pytest.approx(3.0) and code.factors == ()
    (alone,) = compare_classes(
        [[a], [start(two[0], worth=1.0), start(Measurement(1.0, {"Code": 4.0}, factors_by_class=split))]]
    )
    assert alone.ratio.name == "Code" and [f.name for f in alone.factors] == ["tokens_per_step", "steps_per_s"]


def test_starts_without_a_value_have_no_parts() -> None:
    a = start(Measurement(1.0, {"Code": 2.0}))
    none = start(Measurement(reason=Reason(Code.NO_STEADY_PART)), worth=None)
    (part,) = compare_classes([[a, none], [a]])
    assert isinstance(part, ClassComparison) and part.ratio.ratio == pytest.approx(1.0)
    assert compare_classes([[none], [none]]) == () and compare_classes([[], []]) == ()
