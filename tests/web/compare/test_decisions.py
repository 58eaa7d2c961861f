"""The proposal to adopt, and the words on a viewpoint by which nothing is ranked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from analysis.decide.rank import RankCandidate, Ranking, RankingOutcome
from analysis.decide.viewpoints import Viewpoint, ViewpointTerms
from analysis.guard.rows import GuardRow, RowCode, RowStatus
from analysis.verdict import VerdictAnswer
from web.compare.arms.adopt import winner_id
from web.compare.viewpoints.viewpoint_table import viewpoint_lines

BETTER, WORSE, UNKNOWN = VerdictAnswer.BETTER, VerdictAnswer.WORSE, VerdictAnswer.UNKNOWN


def answer(arm_id: str, verdict: VerdictAnswer | None, ratio: float) -> Any:
    judgement = SimpleNamespace(answer=verdict, ratio=ratio) if verdict else None
    return SimpleNamespace(pair=SimpleNamespace(contender=SimpleNamespace(id=arm_id)), judgement=judgement)


@pytest.mark.parametrize(
    ("answers", "higher_is_better", "winner"),
    [
        ([("b", BETTER, 1.1), ("c", BETTER, 1.3)], True, "c"),
        ([("b", BETTER, 0.9), ("c", BETTER, 0.7)], False, "c"),
        ([("b", WORSE, 0.9), ("c", UNKNOWN, 1.2)], True, "a"),
        ([("b", None, 1.0)], True, "a"),
        ([], True, "a"),
    ],
)
def test_winner_is_proposed_for_adoption(answers: list[Any], higher_is_better: bool, winner: str) -> None:
    terms = SimpleNamespace(higher_is_better=higher_is_better)
    report: Any = SimpleNamespace(
        arms=[SimpleNamespace(id="a")],
        answers=[answer(*one) for one in answers],
        objective=SimpleNamespace(terms=terms),
    )
    assert winner_id(report) == winner


def test_unranked_viewpoint_has_every_arms_value() -> None:
    candidates = (RankCandidate("a", (70.2,)), RankCandidate("b", (68.0,)), RankCandidate("c", (55.0,)))
    rows = (GuardRow(RowCode.LOOPS, RowStatus.MATTERS),)
    terms = ViewpointTerms("Peak, p99", "tok/s", True, "the fastest")
    ranking = Ranking(
        Viewpoint.PEAK_P99, terms, candidates, RankingOutcome.NOT_RANKED, refused=(("b", rows), ("c", rows))
    )
    (line,) = viewpoint_lines([ranking], {"a": "plain", "b": "n-gram", "c": "draft"})
    assert all(text in line.unranked for text in ("plain: 70.2 tok/s", "n-gram (68.0 tok/s)", "draft (55.0 tok/s)"))
