"""The answer on an engine whose truth is known: right ratios, right factors, nothing refused that is alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analysis.compare_arms import ArmComparison, compare_arms
from analysis.comparison.arms import Arm, arm_key, arms_of
from analysis.comparison.facts import RunFacts
from analysis.evidence.objectives import parse_objective
from analysis.verdict import VerdictAnswer
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats

SMALL = {"five-prompts": {"token_scale": 0.25}, "ladder": {"tokens": 64, "repeats": 2}}
WORKLOADS = ("five-prompts", "ladder")


def answer(a: list[RunFacts], b: list[RunFacts], objective: str | None = None) -> ArmComparison:
    """Compare two arms, whatever their keys: in simulation two arms may be the same configuration."""
    arms = [Arm(arm_key(side[0]), tuple(side)) for side in (a, b)]
    return compare_arms(arms, parse_objective(objective) if objective else None)[0]


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("true_ratio", [1.1, 1.3, 1.5])
def test_faster_engine_gets_its_true_ratio(workload: str, true_ratio: float) -> None:
    rng = np.random.default_rng(11)
    slow, fast = IdealEngine(0.025, start_sd=0.01), IdealEngine(0.025 / true_ratio, start_sd=0.01)
    actual_answer = answer(
        repeats(slow, workload, 3, rng, **SMALL[workload]), repeats(fast, workload, 3, rng, **SMALL[workload])
    )
    assert not actual_answer.refused and actual_answer.judgement
    assert actual_answer.judgement.answer is VerdictAnswer.BETTER
    assert actual_answer.judgement.ratio == pytest.approx(true_ratio, rel=0.02)
    factors = {factor.name: factor.ratio for factor in actual_answer.factors}
    assert factors["tokens_per_step"] == pytest.approx(1.0, abs=1e-9)
    assert factors["steps_per_s"] == pytest.approx(true_ratio, rel=0.03)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_drafts_are_told_by_tokens_per_step(workload: str) -> None:
    """Drafts of 4 accepted with 0.6 each give 2.31 tokens a step; a verify step costs a quarter more."""
    rng = np.random.default_rng(5)
    plain, drafting = IdealEngine(0.020, start_sd=0.005), IdealEngine(0.025, drafts=4, start_sd=0.005)
    actual_answer = answer(repeats(plain, workload, 3, rng), repeats(drafting, workload, 3, rng))
    assert actual_answer.judgement and not actual_answer.refused
    tokens, steps, *_ = actual_answer.factors
    per_step = 1 + sum(0.6**k for k in range(1, 5))
    assert tokens.ratio == pytest.approx(per_step, rel=0.05)
    assert steps.ratio == pytest.approx(0.8, rel=0.03)
    assert actual_answer.judgement.ratio == pytest.approx(per_step * 0.8, rel=0.05)


def test_longer_answers_in_a_class_keep_ratios() -> None:
    rng = np.random.default_rng(1)
    a = repeats(IdealEngine(0.02, length_sd=0.0), "five-prompts", 2, rng, token_scale=0.25)
    b = repeats(IdealEngine(0.02 / 1.2, length_sd=0.0), "five-prompts", 2, rng, token_scale=0.25)
    actual_answer = answer(a, b)
    assert {part.ratio.name for part in actual_answer.classes} == {"Q&A", "Code", "JSON", "Math", "LongCode"}
    for part in actual_answer.classes:
        assert part.ratio.ratio == pytest.approx(1.2, rel=0.03)
        product = np.prod([factor.ratio for factor in part.factors])
        assert product == pytest.approx(part.ratio.ratio, rel=1e-9)


def held_back(run: RunFacts, tokens: int) -> RunFacts:
    """The run where no answer shows a piece before its first tokens are so many, as parsers and half characters do."""
    for request in run.loads[0].requests:
        pieces = int(np.searchsorted(np.cumsum(request.chunk_tokens), tokens)) + 1
        times, counts = request.chunk_us or [], request.chunk_tokens or []
        object.__setattr__(request, "ttft_ms", sum(times[:pieces]) / 1000)
        object.__setattr__(request, "decode_ms", sum(times[pieces:]) / 1000)
        request.extra["first_chunk_tokens"] = sum(counts[:pieces])
        object.__setattr__(request, "chunk_us", [sum(times[:pieces]), *times[pieces:]])
        object.__setattr__(request, "chunk_tokens", [sum(counts[:pieces]), *counts[pieces:]])
    return run


def test_late_pieces_keep_tokens_per_step() -> None:
    """The counters go on meanwhile: a server without drafts makes one token a step, whatever its stream shows."""
    rng = np.random.default_rng(8)
    plain, drafting = IdealEngine(0.020, length_sd=0.0), IdealEngine(0.025, drafts=4, length_sd=0.0)
    sides = [[held_back(run, 12) for run in repeats(engine, "five-prompts", 2, rng)] for engine in (plain, drafting)]
    actual_answer = answer(*sides)
    assert [part.ratio.name for part in actual_answer.classes] == ["Q&A", "Code", "JSON", "Math", "LongCode"]
    for part in actual_answer.classes:
        tokens, steps = part.factors
        assert tokens.values[0] == pytest.approx(1.0, abs=1e-9)
        assert steps.values[0] == pytest.approx(1 / 0.020, rel=0.03)
        assert tokens.ratio * steps.ratio == pytest.approx(part.ratio.ratio, rel=1e-9)


def test_ladder_rungs_are_compared_separately() -> None:
    rng = np.random.default_rng(2)
    a, b = (repeats(IdealEngine(s), "ladder", 2, rng, **SMALL["ladder"]) for s in (0.02, 0.02 / 1.4))
    for rung in (2, 4, 8):
        actual_answer = answer(a, b, f"output_tps@{rung}")
        assert actual_answer.judgement and actual_answer.judgement.ratio == pytest.approx(1.4, rel=0.02)
        product = np.prod([factor.ratio for factor in actual_answer.factors])
        assert product == pytest.approx(actual_answer.judgement.ratio, rel=1e-9)


def test_factors_cover_the_compared_seconds() -> None:
    """Answers of unlike lengths leave the end of a phase to a few of them: that is no part of the ratio."""
    rng = np.random.default_rng(9)
    plain, drafting = IdealEngine(0.02, length_sd=0.3), IdealEngine(0.025, drafts=4, length_sd=0.3)
    sides = [repeats(engine, "five-prompts", 2, rng) for engine in (plain, drafting)]
    actual_answer = answer(*sides, "output_tps@4")
    tokens, steps, running, first_token = actual_answer.factors
    assert actual_answer.judgement
    assert tokens.ratio * steps.ratio * running.ratio * first_token.ratio == pytest.approx(
        actual_answer.judgement.ratio, rel=1e-9
    )
    assert tokens.values[0] == pytest.approx(1.0, abs=1e-9)
    assert tokens.values[1] == pytest.approx(1 + sum(0.6**k for k in range(1, 5)), rel=0.05)
    assert running.values == pytest.approx((4.0, 4.0)), "nothing but full load"


def test_no_factors_if_client_and_counters_differ() -> None:
    rng = np.random.default_rng(3)
    a, b = (repeats(IdealEngine(s), "ladder", 2, rng, **SMALL["ladder"]) for s in (0.02, 0.015))
    mark = b[0].loads[0].counters[-1]
    object.__setattr__(mark, "generation_tokens_total", mark.generation_tokens_total * 1.5)
    actual_answer = answer(a, b, "output_tps@8")
    assert actual_answer.factors == () and actual_answer.no_factors and actual_answer.no_factors.values["counters"] > 0


def test_repeats_join_and_configs_split_arms() -> None:
    rng = np.random.default_rng(4)
    plain, drafting = IdealEngine(), IdealEngine(drafts=2)
    runs = [plain.run("ladder", rng), drafting.run("ladder", rng), plain.run("ladder", rng)]
    assert [[run.run_id for run in arm.runs] for arm in arms_of(runs)] == [
        [runs[0].run_id, runs[2].run_id],
        [runs[1].run_id],
    ]
    apart = arms_of(runs, separate_ids=[runs[2].run_id])
    assert len(apart) == 3
    arms = arms_of(runs, left_out={runs[0].run_id: "somebody compiled"})
    assert [len(arm.runs) for arm in arms] == [1, 1]
    assert arms[0].left_out == {runs[0].run_id: "somebody compiled"}


def test_one_start_each_claims_nothing() -> None:
    rng = np.random.default_rng(6)
    actual_answer = answer([IdealEngine(0.02).run("ladder", rng)], [IdealEngine(0.01).run("ladder", rng)])
    assert actual_answer.judgement and actual_answer.judgement.answer is VerdictAnswer.SEEN_ONCE


def test_run_before_download_joins_by_path() -> None:
    rng = np.random.default_rng(7)
    runs = [IdealEngine().run("ladder", rng) for _ in range(2)]
    command = ("vllm", "serve", "org/model")
    runs = [replace(run, served=replace(run.served, command=command)) for run in runs]
    early = replace(runs[0], run_id="early", served=replace(runs[0].served, model_files=None))
    (arm,) = arms_of([early, *runs])
    assert len(arm.runs) == 3 and arm.unknown == ("model_files",)
    elsewhere = replace(early, served=replace(early.served, machine_id="m2"))
    assert len(arms_of([elsewhere, *runs])) == 2, "an unknown on another machine may be another model"
    moved = replace(early, served=replace(early.served, model="org/other"))
    assert len(arms_of([moved, *runs])) == 2
    other_run = replace(runs[1], run_id="other", served=replace(runs[1].served, model_files="f2"))
    assert len(arms_of([early, runs[0], other_run])) == 3, "it fits both, so nobody knows which it is"


def test_unknown_class_is_in_neither_headline() -> None:
    """An answer of one token has no decoding: the class it is of would be in one mean and not in the other."""
    rng = np.random.default_rng(9)
    a = repeats(IdealEngine(0.02), "five-prompts", 2, rng, **SMALL["five-prompts"])
    b = repeats(IdealEngine(0.02), "five-prompts", 2, rng, **SMALL["five-prompts"])

    def changed(run: RunFacts, is_short: bool) -> RunFacts:
        """Math is ten times as fast; in one arm its answers are a single token."""
        requests = tuple(
            replace(r, completion_tokens=1 if is_short else r.completion_tokens, decode_ms=(r.decode_ms or 0.0) / 10)
            if r.prompt_class == "Math"
            else r
            for r in run.loads[0].requests
        )
        return replace(run, loads=(replace(run.loads[0], requests=requests),))

    actual_answer = answer([changed(run, False) for run in a], [changed(run, True) for run in b], "decode_tps")
    assert actual_answer.judgement and actual_answer.judgement.ratio == pytest.approx(1.0, abs=0.03)
    assert "Math" not in {part.ratio.name for part in actual_answer.classes}
