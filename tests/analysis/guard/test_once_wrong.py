"""Comparisons that were once wrong, each as a pair of arms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis.compare_arms import ArmComparison, compare_arms
from analysis.comparison.arms import Arm, arm_key
from analysis.comparison.facts import RunFacts
from analysis.comparison.log_speed import LogSpeed
from analysis.evidence.loads import LoadRecord
from analysis.evidence.objectives import parse_objective
from analysis.verdict import VerdictAnswer
from load_records import Load
from tests.analysis.comparison.hand_made import arm, faster, load, mark, request, run, streams
from tests.analysis.comparison.ideal_engine import T0, IdealEngine, repeats
from web.compare.answer.sentence import answer_sentence


def answer(a: list[RunFacts], b: list[RunFacts], objective: str) -> ArmComparison:
    sides = [Arm(arm_key(side[0]), tuple(side)) for side in (a, b)]
    return compare_arms(sides, parse_objective(objective))[0]


def two(*loads: object, name: str) -> Arm:
    return arm(*(run(f"{name}{n}", load) for n, load in enumerate(loads)))  # type: ignore[arg-type]


def test_requests_shorter_than_a_window_count() -> None:
    """Answers of a few tokens, over in a tenth of a second."""
    rng = np.random.default_rng(3)
    sides = [repeats(IdealEngine(s, start_sd=0.005), "five-prompts", 3, rng, token_scale=0.05) for s in (0.009, 0.006)]
    actual_answer = answer(sides[0], sides[1], "decode_tps")
    assert (
        actual_answer.judgement is not None
        and actual_answer.judgement.answer is VerdictAnswer.BETTER
        and not actual_answer.refused
    )
    assert actual_answer.judgement.ratio == pytest.approx(1.5, rel=0.05)


def test_which_repeat_comes_first_changes_nothing() -> None:
    rng = np.random.default_rng(4)
    sides = [repeats(IdealEngine(s, start_sd=0.05), "ladder", 3, rng, tokens=32) for s in (0.02, 0.018)]
    judgements = [answer(sides[0][n:] + sides[0][:n], sides[1], "output_tps@8").judgement for n in range(3)]
    assert judgements[0] is not None
    for judgement in judgements[1:]:
        assert judgement is not None and judgement.answer is judgements[0].answer
        assert judgement.ratio == pytest.approx(judgements[0].ratio) and judgement.interval == pytest.approx(
            judgements[0].interval
        )


@pytest.mark.parametrize(
    ("start_sd", "starts", "answered"),
    [(0.05, 2, VerdictAnswer.UNKNOWN), (0.002, 20, VerdictAnswer.SAME)],
    ids=["unknown", "same"],
)
def test_no_cause_is_told_where_no_difference_is(start_sd: float, starts: int, answered: VerdictAnswer) -> None:
    rng = np.random.default_rng(5)
    engine = IdealEngine(0.02, start_sd=start_sd)
    a, b = (repeats(engine, "ladder", starts, rng, tokens=32) for _ in range(2))
    actual_answer = answer(a, b, "output_tps@8")
    assert actual_answer.judgement is not None and actual_answer.judgement.answer is answered
    actual_answer_sentence = answer_sentence(actual_answer, {one.run_id: one.name for one in (*a, *b)})
    assert actual_answer.factors and "because" not in actual_answer_sentence and "steps/s" not in actual_answer_sentence


def test_the_time_to_first_token_has_an_interval() -> None:
    rng = np.random.default_rng(6)
    sides = [repeats(IdealEngine(s, start_sd=0.01), "ladder", 3, rng, tokens=32) for s in (0.02, 0.03)]
    actual_answer = answer(sides[0], sides[1], "ttft_ms@1")
    assert actual_answer.judgement is not None and actual_answer.judgement.interval is not None
    assert actual_answer.judgement.answer is VerdictAnswer.WORSE


def test_a_slow_warm_up_is_in_no_number() -> None:
    """Both were warmed up by the same 40 requests; one of them at a hundredth of the speed, while it compiled."""
    warm = [replace(r, phase="warmup", phase_index=0) for r in streams(40)]
    plain = load(streams(4))
    sides = [
        replace(plain, requests=(*faster(warm, speed), *plain.measured), counters=(mark(0, 0.0), mark(1, 40.0)))
        for speed in (1.0, 0.01)
    ]
    a, b = ([run(f"{n}{i}", side, speculates=False) for i in (0, 1)] for n, side in zip("ab", sides, strict=True))
    for objective in ("decode_tps", "output_tps@1", "ttft_ms@1", "e2e_ms@1"):
        comparison = compare_arms([arm(*a), arm(*b)], parse_objective(objective))[0]
        assert comparison.judgement is not None and comparison.judgement.ratio == 1.0 and not comparison.refused, (
            objective
        )
        assert [factor.ratio for factor in comparison.factors if factor.ratio != 1.0] == [], objective


def three_windows(name: str, decode_tps: float) -> Arm:
    """A log of which three windows hold decoding alone, under a load that its owner declared."""
    declared = LoadRecord(name, "l", Load(name, "l", T0, "declared", "replay", params={"requests at once": 1}))
    return arm(run(name, declared, kind="imported", log=LogSpeed(decode_tps, 3, "vllm.log", 10.0)))


def test_three_windows_a_side_claim_nothing() -> None:
    """One per cent apart was once '1.01x as fast'; windows of one run are no repeats of it."""
    comparison = compare_arms([three_windows("a", 50.0), three_windows("b", 50.5)])[0]
    assert comparison.judgement is not None and not comparison.refused
    assert (comparison.judgement.answer, comparison.judgement.interval) == (VerdictAnswer.SEEN_ONCE, None)


def test_requests_after_the_load_are_not_counted() -> None:
    """The counters go on for two minutes, and the log has a speed of its own."""
    marks = [mark(0, 0.0), mark(1, 40.0)]
    alone = load(streams(4), marks)
    after = load(streams(4), [*marks, mark(2, 9000.0)])
    a, b = ([run(f"{n}{i}", one, speculates=False) for i in (0, 1)] for n, one in (("a", alone), ("b", after)))
    comparison = compare_arms([arm(*a), arm(*(replace(one, log=LogSpeed(99.0, 60, "x", 2.0)) for one in b))])[0]
    assert comparison.judgement is not None and comparison.judgement.ratio == 1.0
    assert [factor.ratio for factor in comparison.factors] == [1.0, 1.0]


def staggered(pause_s: float) -> list[object]:
    """Two streams that pause after each request: fewer than two in flight in the mean."""
    responses = [
        request(n * 2 + stream, n * (1.0 + pause_s) + stream * 0.3, 2) for n in range(10) for stream in range(2)
    ]
    return [load(responses)] * 2


@pytest.mark.parametrize(("first", "second"), [(0.0, 0.5), (0.17, 0.2)])
def test_partly_full_streams_keep_the_rate(first: float, second: float) -> None:
    """1.5 against 2 in flight in the mean were once a ratio, 1.67 against 1.71 a refusal: full load alone counts."""
    sides = [two(*staggered(pause_s), name=name) for name, pause_s in (("a", first), ("b", second))]
    comparison = compare_arms(sides, parse_objective("output_tps@2"))[0]
    assert not comparison.refused and comparison.judgement is not None
    assert comparison.judgement.ratio == pytest.approx(1.0, abs=0.08)


def test_eight_staggered_streams_have_a_rate() -> None:
    """There is never a moment without prefill, and the share of it is told."""
    responses = [
        request(n * 8 + s, n * 8.0 + s, 8, ttft_ms=500.0, decode_ms=7500.0, total_ms=8000.0)
        for n in range(4)
        for s in range(8)
    ]
    comparison = compare_arms(
        [two(load(responses), name="a"), two(load(responses), name="b")], parse_objective("output_tps@8")
    )[0]
    measured = comparison.replicates[0][0].measured[0]
    assert measured.value is not None and measured.steady_s == pytest.approx(25.0)
    assert measured.prefill_share == pytest.approx(0.0625, rel=0.1)
