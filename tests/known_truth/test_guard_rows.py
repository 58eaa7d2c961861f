"""The guard's rows for runs with a known disturbance, or with none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.compare_arms import ArmComparison
from analysis.guard import GuardRow, RowCode, RowStatus
from analysis.verdict import VerdictAnswer, read_causes
from tests.known_truth.import_door import PlayedStore
from tests.known_truth.paced_server import LoopingAnswers, PacedServer
from tests.known_truth.played_run import PlayedArm
from web.compare.answer.guard_words import row_text
from web.compare.answer.sentence import answer_sentence

pytestmark = pytest.mark.wide

PLAIN = PacedServer(start_sd=0.005)
FIVE: dict[str, Any] = {"workload": "five-prompts", "params": {"token_scale": 0.1, "parallel": 0}}
LADDER: dict[str, Any] = {"params": {"tokens": 64, "repeats": 4, "rungs": [1, 4]}}


def row_of(answer: ArmComparison, code: RowCode) -> GuardRow:
    return next(row for row in answer.rows if row.code is code)


def against_plain(
    played: PlayedStore, objective: str, server: PacedServer, load: dict[str, Any], starts: int = 3
) -> ArmComparison:
    return played.answer([PlayedArm("a", PLAIN, **load), PlayedArm("b", server, **load)], objective, starts)


def causes_of(answer: ArmComparison) -> list[str]:
    assert answer.judgement and not answer.refused
    return [cause.name for cause in read_causes(answer.factors, answer.judgement.ratio, answer.margin).causes]


def test_slow_first_requests_are_refused(played: PlayedStore) -> None:
    """The first five are 3 times as slow while shapes are compiled; they are half of the load."""
    answer = against_plain(played, "decode_tps", replace(PLAIN, slow_requests=5, slowdown=3.0), FIVE)
    row = row_of(answer, RowCode.WARMUP)
    assert [refused.code for refused in answer.refused] == [RowCode.WARMUP]
    assert row.values["slowness"] == pytest.approx((1.0, 3.0), rel=0.1)
    assert "as long per token as the same ones later" in row_text(row, {})


def test_alike_slow_first_requests_are_ranked(played: PlayedStore) -> None:
    """Both arms were cold in the same way: their ratio is that of the servers."""
    cold = replace(PLAIN, slow_requests=5, slowdown=3.0)
    arms = [PlayedArm("a", cold, **FIVE), PlayedArm("b", replace(cold, step_s=0.02 / 1.3), **FIVE)]
    answer = played.answer(arms, "decode_tps", 3)
    assert not answer.refused and answer.judgement and answer.judgement.answer is VerdictAnswer.BETTER


def test_queue_is_the_cause(played: PlayedStore) -> None:
    answer = against_plain(played, "output_tps@4", replace(PLAIN, max_num_seqs=2), LADDER)
    assert answer.judgement and answer.judgement.ratio == pytest.approx(0.5, rel=0.05)
    assert causes_of(answer) == ["queueing"]
    assert "because requests not queued fell to 0.50×" in answer_sentence(answer, {})


def test_prefill_is_the_cause(played: PlayedStore) -> None:
    answer = against_plain(played, "output_tps@4", replace(PLAIN, prefill_s=0.3), LADDER)
    assert causes_of(answer) == ["prefill"]
    assert "because time not spent on prefill fell" in answer_sentence(answer, {})


def test_short_answers_are_not_ranked_by_output(played: PlayedStore) -> None:
    """42 instead of 60 tokens on one engine: prefill weighs more, nothing else differs."""
    slow_prefill = replace(PLAIN, prefill_s=0.4)
    load = {"params": {"tokens": 60, "repeats": 4, "rungs": [1, 4]}}
    arms = [PlayedArm("a", slow_prefill, **load), PlayedArm("b", replace(slow_prefill, answer_share=0.7), **load)]
    ids = played.play(arms, 3)
    (answer,) = played.report(ids, "output_tps@4").answers
    assert [refused.code for refused in answer.refused] == [RowCode.LENGTHS]
    assert row_of(answer, RowCode.LENGTHS).values["explains"] == pytest.approx(0.92, abs=0.03)
    (answer,) = played.report(ids, "decode_tps").answers
    assert not answer.refused, "decode speed does not depend on the length"
    faster = replace(slow_prefill, answer_share=0.95, step_s=0.02 / 1.3)
    answer = played.answer([PlayedArm("a", slow_prefill, **load), PlayedArm("b", faster, **load)], "output_tps@4", 3)
    assert not answer.refused and row_of(answer, RowCode.LENGTHS).status is RowStatus.TOLD


@pytest.mark.parametrize(
    ("from_share", "drafts", "standing"),
    [(0.0, 0, RowStatus.MATTERS), (0.6, 0, RowStatus.TOLD), (0.6, 3, RowStatus.MATTERS)],
    ids=["from_the_first_word", "past_the_end", "past_the_end_drafted"],
)
def test_lead_from_loops(played: PlayedStore, from_share: float, drafts: int, standing: RowStatus) -> None:
    """A load of ignore_eos: where the loop begins decides, and loops are easy to draft wherever they begin."""
    looping = replace(PLAIN, loops=LoopingAnswers(0.9, from_share), drafts=drafts, acceptance=0.7, step_s=0.02 / 1.2)
    answer = against_plain(played, "output_tps@4", looping, LADDER)
    assert row_of(answer, RowCode.LOOPS).status is standing


def test_restarted_server_is_refused(played: PlayedStore) -> None:
    answer = against_plain(played, "output_tps@4", replace(PLAIN, restart_at=9), LADDER)
    assert [refused.code for refused in answer.refused] == [RowCode.RESTARTS]
    assert len(row_of(answer, RowCode.RESTARTS).values["runs"]) == 3


def test_frozen_server_is_told(played: PlayedStore) -> None:
    answer = against_plain(played, "ttft_ms@4", replace(PLAIN, freeze=(9, 20.0)), LADDER)
    row = row_of(answer, RowCode.STALLS)
    assert row.status is RowStatus.TOLD and row.values["stalled_s"] == pytest.approx((0.0, 20.1), abs=0.1)
    assert not answer.refused


def test_quiet_pair_has_no_row_to_read(played: PlayedStore) -> None:
    answer = against_plain(played, "output_tps@4", PLAIN, LADDER)
    assert not answer.refused and answer.judgement
    disturbances = (RowCode.WARMUP, RowCode.RESTARTS, RowCode.STALLS, RowCode.LENGTHS, RowCode.LOOPS)
    assert {row_of(answer, code).status for code in disturbances} == {RowStatus.SAME}
