"""Who is best from a viewpoint: worked by hand, and over many trials of equal arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import f

from analysis.decide.rank import Candidate, Outcome, Ranking, rank
from analysis.decide.viewpoints import VIEWS, View, Viewpoint
from analysis.guard import Row, RowCode, Standing
from analysis.loads.accuracy import wilson
from analysis.verdict import MARGIN, judge
from analysis.verdict.spread_ratio import f_quantile, sd_ratio_interval
from reasons import Code, Reason

SPEED = VIEWS[Viewpoint.TYPICAL]
A, B, C = (100.0, 101.0, 99.0), (130.0, 131.0, 129.0), (129.5, 130.5, 131.0)


def of(
    *arms: Candidate,
    view: View = SPEED,
    refused: dict[tuple[str, str], Sequence[Row]] | None = None,
    margin: float = MARGIN,
) -> Ranking:
    told = refused or {}
    return rank(Viewpoint.TYPICAL, view, arms, lambda a, b: told.get((a, b)) or told.get((b, a)) or (), margin)


def test_the_best_its_runner_up_and_the_margin() -> None:
    found = of(Candidate("a", A), Candidate("b", B))
    assert (found.outcome, found.best, found.runner_up) == (Outcome.BEST, "b", "a")
    assert found.ratio == pytest.approx(1.3, rel=1e-3) and found.interval and found.interval[0] > 1.2


def test_the_intervals_hold_for_all_pairs_together() -> None:
    found = of(Candidate("a", A), Candidate("b", B), Candidate("c", C))
    assert found.interval == pytest.approx(judge(B, C, comparisons=3).interval)


def test_lower_is_better_where_it_is() -> None:
    found = of(Candidate("a", A), Candidate("b", B), view=VIEWS[Viewpoint.TTFT])
    assert (found.outcome, found.best, found.ratio) == (Outcome.BEST, "a", pytest.approx(1 / 1.3, rel=1e-3))


def test_equal_zeros_are_a_tie_and_something_is_more_than_nothing() -> None:
    view = VIEWS[Viewpoint.KV_CAPACITY]
    none = of(Candidate("a", (0.0,)), Candidate("b", (0.0,)), view=view)
    assert (none.outcome, none.tied) == (Outcome.TIE, ("b",))
    some = of(Candidate("a", (0.0,)), Candidate("b", (3.0,)), view=view)
    assert (some.outcome, some.best) == (Outcome.BEST, "b")


def test_arms_that_are_not_told_apart_tie() -> None:
    found = of(Candidate("a", A), Candidate("b", B), Candidate("c", C))
    assert (found.outcome, found.best, found.tied) == (Outcome.TIE, "c", ("b",))


def test_one_start_each_shows_nothing() -> None:
    assert of(Candidate("a", A[:1]), Candidate("b", B[:1])).outcome is Outcome.SEEN_ONCE


def test_what_is_watched_or_imported_is_shown_and_not_ranked() -> None:
    found = of(Candidate("a", A), Candidate("b", B), Candidate("log", (900.0,), label="imported"))
    assert (found.best, found.outcome) == ("b", Outcome.BEST) and len(found.candidates) == 3


def test_what_the_guard_refuses_is_not_ranked_and_says_why() -> None:
    row = Row(RowCode.MODEL, Standing.MATTERS)
    found = of(Candidate("a", A), Candidate("b", B), Candidate("c", C), refused={("a", "c"): [row]})
    assert (found.best, found.outcome, found.refused) == ("b", Outcome.BEST, (("c", (row,)),))
    late = of(Candidate("a", A), Candidate("b", B), Candidate("c", C), refused={("b", "c"): [row]})
    assert (late.best, late.refused) == ("c", (("b", (row,)),)), "held against the best as well"
    nobody = of(Candidate("a", A), Candidate("b", B), refused={("a", "b"): [row]})
    assert nobody.outcome is Outcome.NOT_RANKED


def test_a_row_that_does_not_matter_for_a_viewpoint_forbids_nothing() -> None:
    starved = {("a", "b"): [Row(RowCode.STARVATION, Standing.MATTERS)]}
    assert of(Candidate("a", A), Candidate("b", B), refused=starved).outcome is Outcome.NOT_RANKED
    view = VIEWS[Viewpoint.ACCEPTANCE]
    assert of(Candidate("a", A), Candidate("b", B), view=view, refused=starved).outcome is Outcome.BEST


def test_what_nobody_knows_is_not_known_and_what_one_knows_is_no_race() -> None:
    unknown = Candidate("a", reason=Reason(Code.NO_ENERGY))
    assert of(unknown, replace(unknown, arm_id="b")).outcome is Outcome.NOT_KNOWN
    assert of(unknown, Candidate("b", B)).outcome is Outcome.ALONE


def test_stated_facts_differ_by_more_than_the_margin_or_tie() -> None:
    view = VIEWS[Viewpoint.KV_CAPACITY]
    assert of(Candidate("a", (26.7,)), Candidate("b", (26.73,)), view=view).outcome is Outcome.TIE
    assert of(Candidate("a", (26.7,)), Candidate("b", (4.2,)), view=view).best == "a"


def test_quality_is_told_apart_by_intervals_of_its_items() -> None:
    """The fourth document: GPQA 72.73 against 75.71 of 198 items is noise, MMLU-Pro of 12,032 items is not."""
    view = VIEWS[Viewpoint.QUALITY]

    def arm(name: str, correct: int, n: int) -> Candidate:
        return Candidate(name, (100 * correct / n,), share=wilson(correct, n))

    assert of(arm("turbo", 144, 198), arm("base", 150, 198), view=view).outcome is Outcome.TIE
    told = of(arm("turbo", 10098, 12032), arm("base", 10257, 12032), view=view)
    assert (told.outcome, told.best) == (Outcome.BEST, "base")


def test_the_spread_of_three_starts_is_told_apart_by_a_large_ratio_alone() -> None:
    view = VIEWS[Viewpoint.STABILITY]
    few = of(Candidate("a", (0.5,), starts=3), Candidate("b", (2.0,), starts=3), view=view)
    assert few.outcome is Outcome.TIE and few.interval and few.interval[0] < 1 < few.interval[1]
    assert of(Candidate("a", (0.5,), starts=20), Candidate("b", (2.0,), starts=20), view=view).outcome is Outcome.BEST


@pytest.mark.parametrize(("p", "df", "other"), [(0.975, 2, 2), (0.05, 3, 7), (0.5, 30, 4), (0.999, 1, 1)])
def test_the_quantile_of_f_is_that_of_scipy(p: float, df: int, other: int) -> None:
    assert f_quantile(p, df, other) == pytest.approx(f.ppf(p, df, other), rel=1e-9)
    low, high = sd_ratio_interval(2.0, df, other)
    assert low < 2.0 < high


def test_impossible_spreads_are_refused() -> None:
    with pytest.raises(ValueError, match="1 degree of freedom"):
        sd_ratio_interval(2.0, 0, 2)


@pytest.mark.parametrize("arms", [2, 4, 8])
def test_equal_arms_have_no_best_in_95_of_100(arms: int) -> None:
    """Choosing the best by looking must not make one: 5 starts each, 1 % between them, no margin.

    Fixed seeds; the limit is 5 % and two standard errors of so many trials.
    """
    count = 1000
    rng = np.random.default_rng(arms)
    trials = [
        of(*(Candidate(str(n), tuple(100 * np.exp(rng.normal(0, 0.01, 5)))) for n in range(arms)), margin=1e-6)
        for _ in range(count)
    ]
    limit = 0.05 + 2 * (0.05 * 0.95 / count) ** 0.5
    assert sum(one.outcome is Outcome.BEST for one in trials) / count <= limit
