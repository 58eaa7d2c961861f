"""The answer about two arms: from values that stand here to the judgement, its parts and what was left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from analysis.compare_arms import ArmComparison, available_objectives, compare_arms, propose_objective
from analysis.comparison.arms import Arm
from analysis.comparison.facts import RunFacts
from analysis.comparison.log_speed import LogSpeed
from analysis.evidence.objectives import Objective, ObjectiveKind, UnknownObjectiveError, parse_objective
from analysis.guard import RowCode, RowStatus
from analysis.runs.conditions import Conditions
from analysis.verdict import MARGIN, EarlierSpread, VerdictAnswer, judge
from load_records import RequestRecord
from reasons import Code, Reason
from tests.analysis.comparison.hand_made import arm, faster, load, mark, request, run, streams
from tests.analysis.comparison.ideal_engine import SERVED
from web.compare.answer.sentence import answer_sentence, detail, excluded_requests_text

TWO_CLASSES = [*streams(2), *(request(2 + n, 2.0 + n, prompt_class="Q&A", segment=1) for n in range(2))]


def starts(*speeds: float, name: str = "a", requests: Sequence[RequestRecord] = TWO_CLASSES, **facts: Any) -> Arm:
    """One start for each speed; 1.0 is 10 tok/s."""
    return arm(*(run(f"{name}{n}", load(faster(requests, s)), **facts) for n, s in enumerate(speeds)))


def compared(a: Arm, b: Arm, objective: str = "decode_tps", **how: Any) -> ArmComparison:
    (comparison,) = compare_arms([a, b], parse_objective(objective), **how)
    names = {run.run_id: run.run_id for side in (a, b) for run in side.runs}
    assert answer_sentence(comparison, names) and "None" not in answer_sentence(comparison, names)
    assert (detail(comparison) is not None) is comparison.is_ranked
    return comparison


def test_the_values_of_the_starts_are_judged() -> None:
    comparison = compared(starts(1.0, 1.02), starts(2.0, 2.04, 2.02, name="b"))
    first, second = ([one.value for one in side] for side in comparison.replicates)
    assert first == pytest.approx([10.0, 10.2]) and second == pytest.approx([20.0, 20.4, 20.2])
    assert comparison.judgement == judge(first, second)  # type: ignore[arg-type]
    assert (
        comparison.is_ranked
        and comparison.judgement is not None
        and comparison.judgement.answer is VerdictAnswer.BETTER
    )
    assert (
        comparison.pair.ratio
        == comparison.judgement.ratio
        == pytest.approx((20 * 20.4 * 20.2) ** (1 / 3) / math.sqrt(102))
    )
    assert [part.ratio.name for part in comparison.classes] == ["Code", "Q&A"]
    assert len(comparison.pair.keys) == 4 and comparison.no_value is None
    assert [row.code for row in comparison.rows] == list(RowCode)
    assert comparison.no_factors == Reason(Code.NO_COUNTERS_BETWEEN) and comparison.factors == ()


def test_of_a_time_less_is_better() -> None:
    comparison = compared(starts(1.0, 1.02), starts(2.0, 2.04, name="b"), "ttft_ms@1")
    assert (
        comparison.judgement is not None
        and comparison.judgement.answer is VerdictAnswer.BETTER
        and comparison.judgement.ratio < 1
    )


def test_margin_and_earlier_spread_are_used() -> None:
    a, b = starts(1.0, 1.001), starts(1.1, 1.101, name="b")
    assert MARGIN == 0.02
    assert compared(a, b).judgement.answer is VerdictAnswer.BETTER  # type: ignore[union-attr]
    assert compared(a, b, margin=0.2).judgement.answer is VerdictAnswer.SAME  # type: ignore[union-attr]
    once = compared(starts(1.0), starts(1.1, name="b"), earlier=EarlierSpread(0.01, 9))
    assert once.judgement is not None and once.judgement.sd_source == "earlier"


def test_several_arms_share_the_error() -> None:
    sides = [starts(1.0, 1.01), *(starts(1.1, 1.11, name=n) for n in "bcdefgh")]
    comparisons = compare_arms(sides, parse_objective("decode_tps"))
    alone = compare_arms(sides[:2], parse_objective("decode_tps"))[0]
    assert len(comparisons) == 7 and [comparison.pair.contender for comparison in comparisons] == sides[1:]
    assert all(comparison.pair.baseline is sides[0] for comparison in comparisons)
    first = [one.value for one in comparisons[0].replicates[0]]
    second = [one.value for one in comparisons[0].replicates[1]]
    assert comparisons[0].judgement == judge(first, second, comparisons=7)  # type: ignore[arg-type]
    assert alone.judgement == judge(first, second)  # type: ignore[arg-type]


def test_refused_pairs_are_judged_but_not_ranked() -> None:
    other_starts = starts(2.0, 2.1, name="b", requests=[replace(r, completion_tokens=30) for r in TWO_CLASSES])
    comparison = compared(starts(1.0, 1.1), other_starts)
    assert comparison.judgement is not None and not comparison.is_ranked
    assert [row.code for row in comparison.refused] == [RowCode.LENGTHS]


def test_what_was_declared_reaches_the_guard() -> None:
    served = replace(starts(1.0).runs[0].served, model="org/another")
    a, b = starts(1.0, 1.01), starts(1.2, 1.21, name="b", served=served)
    assert not compared(a, b).is_ranked
    assert compared(a, b, declared=[RowCode.MODEL]).is_ranked


def test_requests_match_by_place_class_and_text() -> None:
    for change in (
        {"phase_index": 7},
        {"sequence": 9},
        {"prompt_class": "x"},
        {"prompt_hash": "x"},
        {"concurrency": 3},
    ):
        changed = [*TWO_CLASSES[:-1], replace(TWO_CLASSES[-1], **change)]
        comparison = compared(starts(1.0), starts(2.0, name="b", requests=changed))
        assert len(comparison.pair.keys) == 3, change
        assert comparison.left_out == {"warmup": 2, "unmatched": 2}
    same = compared(starts(1.0), starts(2.0, name="b"))
    assert len(same.pair.keys) == 4 and same.left_out == {"warmup": 2}


def test_what_is_no_evidence_is_counted() -> None:
    bad = [replace(TWO_CLASSES[0], error_kind="http"), *TWO_CLASSES[1:]]
    comparison = compared(starts(1.0, 1.0), starts(2.0, name="b", requests=bad))
    assert comparison.left_out == {"warmup": 3, "failed": 1, "unmatched": 2}
    assert excluded_requests_text(comparison) is not None


def test_class_missing_in_an_arm_leaves_the_ratio() -> None:
    """The other class is slow in both: without matching, leaving it out would look like a gain."""
    slow = [replace(r, decode_ms=9000.0) if r.prompt_class == "Q&A" else r for r in TWO_CLASSES]
    comparison = compared(starts(1.0, 1.0, requests=slow), starts(1.0, 1.0, name="b", requests=slow[:2]))
    assert comparison.judgement is not None and comparison.judgement.ratio == pytest.approx(1.0)


def test_missing_value_gives_reason_and_guard() -> None:
    comparison = compared(starts(1.0, 1.1), starts(1.0, name="b", requests=streams(2, 4)))
    assert (
        comparison.judgement is None
        and not comparison.is_ranked
        and comparison.factors == ()
        and comparison.classes == ()
    )
    assert comparison.no_value == Reason(Code.NO_REQUEST_OF_KIND, values={"concurrency": 1})
    assert comparison.pair.ratio is None and [row.code for row in comparison.rows] == list(RowCode)
    baseline, other = comparison.replicates
    assert [one.run_id for one in baseline] == ["a0", "a1"] and [one.run_id for one in other] == ["b0"]


def test_missing_value_reads_the_same_rows() -> None:
    """Which requests are shared, what was declared and the margin do not hang on a value."""
    unlike = replace(SERVED, model="org/another", model_files="f2")
    b = arm(*(replace(run, served=unlike) for run in starts(1.0, 1.1, name="b").runs))
    comparison = compared(starts(1.0, 1.1), b, "ttft_p95_ms@1", declared={RowCode.MODEL}, margin=0.1)
    assert comparison.judgement is None and comparison.margin == 0.1
    rows = {row.code: row for row in comparison.rows}
    assert rows[RowCode.MODEL].status is RowStatus.COMPARED
    assert rows[RowCode.LENGTHS].status is RowStatus.SAME, "the same requests were answered as long"


def test_an_arm_of_which_all_runs_failed() -> None:
    """They never came to a load: nothing to compare, and the page says so."""
    failed = arm(run("b0", state="failed"), run("b1", state="failed"))
    comparison = compared(starts(1.0, 1.1), failed)
    assert comparison.judgement is None and comparison.no_value == Reason(Code.NO_LOAD)
    assert RowCode.WORKLOAD in [row.code for row in comparison.refused]
    assert propose_objective([failed, starts(1.0)]) == Objective(ObjectiveKind.DECODE_TPS)


def test_start_without_value_keeps_its_arm() -> None:
    a = arm(run("a0", startup_s=10.0), run("a1", startup_s=-5.0), run("a2", startup_s=11.0))
    comparison = compared(a, arm(run("b0", startup_s=20.0), run("b1", startup_s=21.0)), "startup_s")
    assert comparison.judgement is not None and comparison.judgement.replicates == (2, 2) and comparison.is_ranked
    assert comparison.judgement.answer is VerdictAnswer.WORSE and comparison.left_out == {"starts": 1}
    assert excluded_requests_text(comparison) is None, "no request is asked of a start-up time"


def test_answer_uses_the_requested_margin() -> None:
    assert compared(starts(1.0, 1.01), starts(1.1, 1.11, name="b"), margin=0.05).margin == 0.05


def test_reason_comes_from_the_valueless_start() -> None:
    """The first arm's starts have values, and no reason of theirs is told."""
    bare = arm(run("b0"), run("b1"))
    assert compared(starts(1.0, 1.1), bare).no_value == Reason(Code.NO_LOAD)


def test_all_requests_of_a_phase_failed() -> None:
    loads = [*TWO_CLASSES, *(replace(r, phase_index=2, sequence=n) for n, r in enumerate(streams(50, 2)))]
    bad = [replace(r, error_kind="http", completion_tokens=None) if r.concurrency == 1 else r for r in loads]
    comparison = compared(starts(1.0, 1.1, requests=loads), starts(1.0, 1.1, name="b", requests=bad))
    assert comparison.judgement is None and RowCode.FAILED in [row.code for row in comparison.refused]


def test_factors_and_why_there_are_none() -> None:
    def arm_of_counters(name: str, accepted: float) -> Arm:
        marks = [mark(0, 0.0, accepted_tokens=0.0), mark(1, 20.0, accepted_tokens=accepted)]
        return arm(run(name, load(streams(2), marks)))

    comparison = compared(arm_of_counters("a", 0.0), arm_of_counters("b", 9.0))
    assert {factor.name: factor.ratio for factor in comparison.factors} == pytest.approx(
        {"tokens_per_step": 2.0, "steps_per_s": 0.5}
    )
    assert comparison.no_factors is None and [part.factors for part in comparison.classes] == [comparison.factors]
    lacking = compared(arm_of_counters("a", 0.0), arm(run("b", load(streams(2)))))
    assert lacking.factors == () and lacking.no_factors == Reason(Code.NO_COUNTERS_BETWEEN)
    output = compared(arm_of_counters("a", 0.0), arm(run("b", load(streams(2)), speculates=True)), "output_tps@1")
    assert output.no_factors == Reason(Code.NO_COUNTERS_BETWEEN)


def test_output_rate_checks_whether_run_drafts() -> None:
    marks = [mark(0, 0.0), mark(1, 20.0)]
    sides = [arm(run(n, load(streams(2), marks), speculates=False)) for n in "ab"]
    assert len(compared(sides[0], sides[1], "output_tps@1").factors) == 4
    unknown = [arm(run(n, load(streams(2), marks))) for n in "ab"]
    assert compared(unknown[0], unknown[1], "output_tps@1").no_factors == Reason(Code.NO_STEP_COUNTER)


def test_what_is_proposed_and_what_there_is() -> None:
    logged = LogSpeed(10.0, 5, "x", None)
    loaded, bare = starts(1.0), arm(run("b"))
    assert propose_objective([loaded, bare]).name == "decode_tps" and propose_objective([bare]).name == "log_tps"
    assert propose_objective([arm(run("a", load([])), run("b", load(streams(1, 4))))]).name == "output_tps@4"
    actual_arm, logged = arm(run("a", load([]))), arm(run("b", log=LogSpeed(30.0, 5, "x", None)))
    assert (
        propose_objective([actual_arm]).name == "decode_tps"
        and propose_objective([actual_arm, logged]).name == "log_tps"
    )
    names = [
        available_objective.name
        for available_objective in available_objectives([loaded, starts(1.0, name="b", log=logged)])
    ]
    assert names[0] == "decode_tps" and "log_tps" not in names
    assert [available_objective.name for available_objective in available_objectives([starts(1.0, log=logged)])][
        -1
    ] == "log_tps"
    assert [available_objective.name for available_objective in available_objectives([bare])] == ["startup_s"]
    assert [available_objective.name for available_objective in available_objectives([arm(run("b", log=logged))])] == [
        "startup_s",
        "log_tps",
    ]
    (answer,) = compare_arms([starts(1.0), starts(1.1, name="b")])
    assert answer.pair.objective.name == "decode_tps"


def test_objectives_have_names() -> None:
    assert parse_objective("output_tps@8") == Objective(ObjectiveKind.OUTPUT_TPS, 8)
    assert parse_objective("output_tps@8").title == "output speed, 8 at once"
    assert parse_objective("ttft_ms@1").title == "time to first token, one at a time"
    assert parse_objective("decode_tps").title == "stream speed"
    for wrong in ("", "fast", "decode_tps@1", "output_tps", "output_tps@x", "output_tps@12345", "@", "x" * 50):
        with pytest.raises(UnknownObjectiveError) as error:
            parse_objective(wrong)
        assert str(error.value) == (
            f"There is no objective {wrong[:40]!r}. Choose one of decode_tps, output_tps@N, prompt_tps@N, "
            "request_tps@N, ttft_ms@N, tpot_ms@N, e2e_ms@N, ttft_p95_ms@N, tpot_p95_ms@N, e2e_p95_ms@N, work_s@N, "
            "turn_s, deep_ttft_ms, session_j, session_cost, solved_per_hour, startup_s, tokens_per_j, log_tps; "
            "N is the concurrency."
        )


HOSTILE = "<script>alert(1)</script> **x** `y` [z](javascript:1) \u202e\n\0 {0} %s"


def test_hostile_names_are_only_text() -> None:
    served = replace(starts(1.0).runs[0].served, model=HOSTILE, engine=HOSTILE, settings={HOSTILE: HOSTILE})
    odd = [replace(r, prompt_class=HOSTILE) for r in TWO_CLASSES]
    b = starts(1.2, 1.21, name="b", requests=odd, served=served)
    b = replace(b, runs=tuple(replace(run, name=HOSTILE) for run in b.runs))
    comparison = compared(starts(1.0, 1.01), b)
    assert RowCode.MODEL in [row.code for row in comparison.refused]
    assert HOSTILE in compared(b, b).classes[0].ratio.name


def test_repeated_loads_are_one_replicate() -> None:
    twice = arm(*(run(f"a{n}", load(TWO_CLASSES), load(faster(TWO_CLASSES, 1.21))) for n in range(2)))
    comparison = compared(twice, starts(2.2, 2.21, name="b"))
    assert comparison.judgement is not None and comparison.judgement.replicates == (2, 2) and comparison.is_ranked
    assert comparison.replicates[0][0].value == pytest.approx(11.0)


def test_disturbance_of_one_start_is_noticed() -> None:
    calm, starved = (Conditions("x", starvation_ratio=share) for share in (0.01, 0.5))
    a, b = starts(1.0, 1.01, conditions=(calm,)), starts(1.5, 1.51, name="b", conditions=(calm,))
    assert compared(a, b).is_ranked
    odd = replace(b, runs=(b.runs[0], replace(b.runs[1], conditions=(starved,))))
    assert [row.code for row in compared(a, odd).refused] == [RowCode.STARVATION]


def test_unlike_repeat_counts_claim_no_excess() -> None:
    comparison = compared(starts(1.0, 1.3), starts(*[1.2 + n / 100 for n in range(6)], name="b"))
    assert comparison.judgement is not None and comparison.judgement.answer is VerdictAnswer.UNKNOWN
    assert comparison.judgement.replicates == (2, 6)


def test_runs_without_ids_of_loads_are_compared() -> None:
    """Only their requests are stored: no load, no phases, no place in a plan."""

    def old(name: str, speed: float) -> RunFacts:
        bare = [replace(r, load_id=None, segment=None, chunk_us=None) for r in faster(TWO_CLASSES, speed)]
        return replace(run(name, replace(load(bare), load_id=None, plan=None, phases=())), workload="w")

    comparison = compared(arm(old("a0", 1.0), old("a1", 1.01)), arm(old("b0", 1.5), old("b1", 1.51)))
    assert (
        comparison.is_ranked
        and comparison.judgement is not None
        and comparison.judgement.answer is VerdictAnswer.BETTER
    )
    row = next(row for row in comparison.rows if row.code is RowCode.WORKLOAD)
    assert row.status is RowStatus.UNKNOWN, "with which parameters is not known"
