"""Causes that Compare names, by runs of which it is known what differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.verdict import FactorFinding, VerdictAnswer, read_causes
from tests.known_truth.import_door import PlayedStore
from tests.known_truth.paced_server import PacedServer
from tests.known_truth.played_run import PlayedArm
from web.compare.answer.sentence import answer_sentence

DRAFTING = PacedServer(drafts=3, acceptance=0.6, acceptance_sd=0.06, start_sd=0.005)
EXACT = PacedServer(start_sd=0.0, step_cv=0.0)
CLAIMS = (VerdictAnswer.BETTER, VerdictAnswer.WORSE)


def named_causes(played: PlayedStore, pairs: int, other: PacedServer, starts: int = 3) -> list[list[str]]:
    """Return the factors that are named as causes in each claim of so many comparisons with DRAFTING."""
    causes = []
    for _ in range(pairs):
        answer = played.answer([PlayedArm("a", DRAFTING), PlayedArm("b", other)], "output_tps@4", starts)
        assert not answer.refused and answer.judgement
        if answer.judgement.answer in CLAIMS:
            reading = read_causes(answer.factors, answer.judgement.ratio, answer.margin)
            causes.append([effect.name for effect in reading.causes])
    return causes


@pytest.mark.wide
def test_acceptance_noise_is_no_cause(played: PlayedStore) -> None:
    """Only the step differs; the drafts' luck differs from start to start by as much as that."""
    faster = PacedServer(drafts=3, acceptance=0.6, acceptance_sd=0.06, start_sd=0.005, step_s=0.02 / 1.3)
    causes = named_causes(played, 6, faster)
    assert len(causes) >= 3, "a true 1.3 is claimed"
    assert all("tokens_per_step" not in names for names in causes)
    assert sum("steps_per_s" in names for names in causes) >= len(causes) - 1


def test_main_cause_has_its_share(played: PlayedStore) -> None:
    paced_server = PacedServer(drafts=3, acceptance=0.85, acceptance_sd=0.01, start_sd=0.005, step_s=0.02 / 1.1)
    steady = PacedServer(drafts=3, acceptance=0.6, acceptance_sd=0.01, start_sd=0.005)
    answer = played.answer([PlayedArm("a", steady), PlayedArm("b", paced_server)], "output_tps@4")
    text = answer_sentence(answer, {})
    assert "because tokens per step rose to" in text and "of the difference" in text and "steps/s rose to" in text


@pytest.mark.wide
def test_causes_not_known_apart(played: PlayedStore) -> None:
    """Two noisy factors of 4 % each: the product is claimed, no factor is."""
    noisy = {"drafts": 3, "acceptance_sd": 0.05, "start_sd": 0.03}
    a, b = PacedServer(**noisy), PacedServer(**noisy, step_s=0.02 / 1.12)
    sentences = [
        answer_sentence(played.answer([PlayedArm("a", a), PlayedArm("b", b)], "output_tps@4", 4), {}) for _ in range(4)
    ]
    for text in sentences:
        assert "because tokens per step" not in text, text


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_wrong_causes_are_rare(played: PlayedStore) -> None:
    """At most 5 % of the claims name the factor that is equal in truth."""
    faster = PacedServer(drafts=3, acceptance=0.6, acceptance_sd=0.06, start_sd=0.005, step_s=0.02 / 1.2)
    better_drafts = PacedServer(drafts=3, acceptance=0.75, acceptance_sd=0.06, start_sd=0.005)
    by_step, by_drafts = named_causes(played, 60, faster, 5), named_causes(played, 60, better_drafts, 5)
    wrong = sum("tokens_per_step" in names for names in by_step) + sum("steps_per_s" in names for names in by_drafts)
    assert len(by_step) + len(by_drafts) >= 60
    assert wrong <= 0.05 * (len(by_step) + len(by_drafts)), (wrong, by_step, by_drafts)


def test_no_factor_is_claimed_of_a_ratio_without_interval(played: PlayedStore) -> None:
    """Equal starts show no spread, so neither the ratio nor the only factor that differs is shown."""
    arms = [PlayedArm("a", EXACT), PlayedArm("b", replace(EXACT, step_s=0.01))]
    answer = played.answer(arms, "decode_tps", 2)
    assert answer.judgement and answer.judgement.interval is None and answer.factors
    assert not {FactorFinding.ROSE, FactorFinding.FELL} & {factor.finding for factor in answer.factors}
