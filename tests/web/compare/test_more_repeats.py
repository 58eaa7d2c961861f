"""The repeats that would settle a comparison: of what is open alone, and no more promised than can be queued."""

from __future__ import annotations

import pytest

from analysis.compare_arms import compare_arms
from analysis.comparison.arms import Arm, arm_key
from analysis.comparison.facts import RunFacts
from analysis.evidence.objectives import parse_objective
from analysis.verdict import SettlingRepeats
from reports.arms.comparison import ComparisonReport
from tests.analysis.comparison.ideal_engine import SERVED
from web.compare.arms import repeats_panel
from web.compare.arms.more_repeats import largest_range, offer_text, repeats_to_settle

OBJECTIVE = parse_objective("startup_s")


def arm(name: str, *startups_s: float) -> Arm:
    runs = tuple(RunFacts(f"{name}-{n}", f"{name} #{n}", SERVED, startup_s=s) for n, s in enumerate(startups_s))
    return Arm(arm_key(runs[0]), runs)


def test_settled_arms_are_not_started_again() -> None:
    arms = (arm("A", 10.0, 10.1, 9.9), arm("clear", 20.0, 20.1, 19.9), arm("open", 10.0, 12.0, 11.0), arm("once", 11.0))
    report = ComparisonReport(arms, OBJECTIVE, (OBJECTIVE,), tuple(compare_arms(arms, OBJECTIVE)))
    repeats = repeats_to_settle(report)
    assert set(repeats) == {"open-0", "once-0"} and repeats["once-0"] == (2, 2)


@pytest.mark.parametrize(
    ("repeats", "words"),
    [
        ((1, 1), "Probably 1 more start each of A and B"),
        ((2, 2), "Probably 2 more starts each of A and B"),
        ((3, 36), "Probably 3 to 36 more starts each of A and B"),
        ((40, None), "40 to more than 1000 more starts each of A and B"),
    ],
)
def test_offer_says_range_and_cost(repeats: tuple[int, int | None], words: str) -> None:
    offered = offer_text([arm("A", 1.0), arm("B", 1.0)], SettlingRepeats(*repeats), 3).replace("\\", "")
    assert offered == f"{words} would settle the open answers. 3 of each cost 6 server starts."


def test_range_settles_every_answer() -> None:
    assert largest_range([SettlingRepeats(1, 9), SettlingRepeats(2, 5)]) == (2, 9)
    assert largest_range([SettlingRepeats(1, None), SettlingRepeats(2, 5)]) == (2, None)


@pytest.mark.parametrize(("is_member", "told"), [(True, "acme-secret #1"), (False, "2 runs")])
def test_guest_reads_no_names_of_unshared_runs(is_member: bool, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    monkeypatch.setattr(repeats_panel.st, "caption", texts.append)
    monkeypatch.setattr(repeats_panel, "is_member", lambda: is_member)
    lent = arm("acme-secret", 10.0, 11.0).runs
    repeats_panel.show_earlier(ComparisonReport((), OBJECTIVE, (OBJECTIVE,), (), earlier=lent))
    assert told in texts[0].replace("\\", "") and ("secret" in texts[0]) == is_member
