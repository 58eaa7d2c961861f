"""The repeats that would settle a comparison: of what is open alone, and no more promised than can be queued."""

from __future__ import annotations

import pytest

from analysis.compare_arms import compare_arms
from analysis.comparison.arms import Arm, arm_key
from analysis.comparison.facts import RunFacts
from analysis.evidence.objectives import parse_objective
from reports.arms.comparison import ComparisonReport
from tests.analysis.comparison.ideal_engine import SERVED
from web.compare.arms import repeats_panel
from web.compare.arms.more_repeats import offer_text, repeats_to_settle

OBJECTIVE = parse_objective("startup_s")


def arm(name: str, *startups_s: float) -> Arm:
    runs = tuple(RunFacts(f"{name}-{n}", f"{name} #{n}", SERVED, startup_s=s) for n, s in enumerate(startups_s))
    return Arm(arm_key(runs[0]), runs)


def test_settled_arms_are_not_started_again() -> None:
    arms = (arm("A", 10.0, 10.1, 9.9), arm("clear", 20.0, 20.1, 19.9), arm("open", 10.0, 12.0, 11.0), arm("once", 11.0))
    report = ComparisonReport(arms, OBJECTIVE, (OBJECTIVE,), tuple(compare_arms(arms, OBJECTIVE)))
    wanted = repeats_to_settle(report)
    assert set(wanted) == {"open-0", "once-0"} and wanted["once-0"] == 2


def test_more_than_can_be_queued_is_said() -> None:
    arms = [arm("A", 1.0), arm("B", 1.0)]
    told = offer_text(arms, 1).replace("\\", "")
    assert told == "1 more start each of A and B would probably settle the open answers: 2 server starts."
    assert "; 20 of each can be queued at once: 40 server starts" in offer_text(arms, 36).replace("\\", "")


@pytest.mark.parametrize(("is_member", "told"), [(True, "acme-secret #1"), (False, "2 runs")])
def test_guest_reads_no_names_of_unshared_runs(is_member: bool, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(repeats_panel.st, "caption", said.append)
    monkeypatch.setattr(repeats_panel, "is_member", lambda: is_member)
    lent = arm("acme-secret", 10.0, 11.0).runs
    repeats_panel.show_earlier(ComparisonReport((), OBJECTIVE, (OBJECTIVE,), (), earlier=lent))
    assert told in said[0].replace("\\", "") and ("secret" in said[0]) == is_member
