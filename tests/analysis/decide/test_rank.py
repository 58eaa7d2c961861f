"""The best arm from a viewpoint: computed by hand, and over many trials of equal arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import f

from analysis.decide.rank import RankCandidate, Ranking, RankingOutcome, rank
from analysis.decide.viewpoints import VIEWS, Viewpoint, ViewpointTerms
from analysis.guard import GuardRow, RowCode, RowStatus
from analysis.loads.accuracy import wilson
from analysis.loads.paired_accuracy import PairedItems
from analysis.verdict import MARGIN, judge
from analysis.verdict.spread_ratio import f_quantile, sd_ratio_interval
from reasons import Code, Reason

SPEED = VIEWS[Viewpoint.TYPICAL]
A, B, C = (100.0, 101.0, 99.0), (130.0, 131.0, 129.0), (129.5, 130.5, 131.0)


def of(
    *arms: RankCandidate,
    view: ViewpointTerms = SPEED,
    refused: dict[tuple[str, str], Sequence[GuardRow]] | None = None,
    margin: float = MARGIN,
) -> Ranking:
    told = refused or {}
    return rank(Viewpoint.TYPICAL, view, arms, lambda a, b: told.get((a, b)) or told.get((b, a)) or (), margin)


def test_the_best_its_runner_up_and_the_margin() -> None:
    ranking = of(RankCandidate("a", A), RankCandidate("b", B))
    assert (ranking.outcome, ranking.best, ranking.runner_up) == (RankingOutcome.BEST, "b", "a")
    assert ranking.ratio == pytest.approx(1.3, rel=1e-3) and ranking.interval and ranking.interval[0] > 1.2


def test_intervals_hold_for_all_pairs_together() -> None:
    ranking = of(RankCandidate("a", A), RankCandidate("b", B), RankCandidate("c", C))
    assert ranking.interval == pytest.approx(judge(B, C, comparisons=3).interval)


def test_lower_is_better_where_it_is() -> None:
    ranking = of(RankCandidate("a", A), RankCandidate("b", B), view=VIEWS[Viewpoint.TTFT])
    assert (ranking.outcome, ranking.best, ranking.ratio) == (
        RankingOutcome.BEST,
        "a",
        pytest.approx(1 / 1.3, rel=1e-3),
    )


def test_equal_zeros_tie_and_more_beats_zero() -> None:
    view = VIEWS[Viewpoint.KV_CAPACITY]
    none = of(RankCandidate("a", (0.0,)), RankCandidate("b", (0.0,)), view=view)
    assert (none.outcome, none.tied) == (RankingOutcome.TIE, ("b",))
    some = of(RankCandidate("a", (0.0,)), RankCandidate("b", (3.0,)), view=view)
    assert (some.outcome, some.best) == (RankingOutcome.BEST, "b")


def test_arms_that_are_not_told_apart_tie() -> None:
    ranking = of(RankCandidate("a", A), RankCandidate("b", B), RankCandidate("c", C))
    assert (ranking.outcome, ranking.best, ranking.tied) == (RankingOutcome.TIE, "c", ("b",))


def test_one_start_each_shows_nothing() -> None:
    assert of(RankCandidate("a", A[:1]), RankCandidate("b", B[:1])).outcome is RankingOutcome.SEEN_ONCE


def test_watched_and_imported_runs_are_not_ranked() -> None:
    ranking = of(RankCandidate("a", A), RankCandidate("b", B), RankCandidate("log", (900.0,), label="imported"))
    assert (ranking.best, ranking.outcome) == ("b", RankingOutcome.BEST) and len(ranking.candidates) == 3


def test_guard_refusal_prevents_rank_with_reason() -> None:
    row = GuardRow(RowCode.MODEL, RowStatus.MATTERS)
    ranking = of(RankCandidate("a", A), RankCandidate("b", B), RankCandidate("c", C), refused={("a", "c"): [row]})
    assert (ranking.best, ranking.outcome, ranking.refused) == ("b", RankingOutcome.BEST, (("c", (row,)),))
    late = of(RankCandidate("a", A), RankCandidate("b", B), RankCandidate("c", C), refused={("b", "c"): [row]})
    assert (late.best, late.refused) == ("c", (("b", (row,)),)), "held against the best as well"
    nobody = of(RankCandidate("a", A), RankCandidate("b", B), refused={("a", "b"): [row]})
    assert nobody.outcome is RankingOutcome.NOT_RANKED


def test_irrelevant_row_forbids_no_viewpoint() -> None:
    starved = {("a", "b"): [GuardRow(RowCode.STARVATION, RowStatus.MATTERS)]}
    assert of(RankCandidate("a", A), RankCandidate("b", B), refused=starved).outcome is RankingOutcome.NOT_RANKED
    view = VIEWS[Viewpoint.ACCEPTANCE]
    assert of(RankCandidate("a", A), RankCandidate("b", B), view=view, refused=starved).outcome is RankingOutcome.BEST


def test_unknown_values_make_no_race() -> None:
    unknown = RankCandidate("a", reason=Reason(Code.NO_ENERGY))
    assert of(unknown, replace(unknown, arm_id="b")).outcome is RankingOutcome.NOT_KNOWN
    assert of(unknown, RankCandidate("b", B)).outcome is RankingOutcome.ALONE


def test_stated_facts_differ_beyond_margin_or_tie() -> None:
    view = VIEWS[Viewpoint.KV_CAPACITY]
    assert of(RankCandidate("a", (26.7,)), RankCandidate("b", (26.73,)), view=view).outcome is RankingOutcome.TIE
    assert of(RankCandidate("a", (26.7,)), RankCandidate("b", (4.2,)), view=view).best == "a"


def quality_of(name: str, correct: int, n: int) -> RankCandidate:
    return RankCandidate(name, (100 * correct / n,), share=wilson(correct, n))


def test_quality_differs_by_item_intervals() -> None:
    """The fourth document: GPQA 72.73 against 75.71 of 198 items is noise, MMLU-Pro of 12,032 items is not."""
    view = VIEWS[Viewpoint.QUALITY]
    noise = of(quality_of("turbo", 144, 198), quality_of("base", 150, 198), view=view)
    assert (noise.outcome, noise.tied) == (RankingOutcome.UNDECIDED, ("turbo",)), "nothing shows that they are equal"
    ranking = of(quality_of("turbo", 10098, 12032), quality_of("base", 10257, 12032), view=view)
    assert (ranking.outcome, ranking.best) == (RankingOutcome.BEST, "base")


@pytest.mark.parametrize(
    ("number", "won", "outcome"),
    [(82, 13, RankingOutcome.BEST), (20, 15, RankingOutcome.TIE), (700, 650, RankingOutcome.UNDECIDED)],
)
def test_quality_is_tested_on_shared_items(number: int, won: int, outcome: RankingOutcome) -> None:
    """Of 3,000 items. Wilson's intervals overlap in each case."""
    both, items = 1500, PairedItems(1500, number, won, 1500 - number - won)
    arms = (quality_of("a", both + number, 3000), quality_of("b", both + won, 3000))

    def pairs_of(first: str, second: str) -> PairedItems:
        return items if first == "a" else PairedItems(items.both, items.won, items.lost, items.neither)

    found = rank(Viewpoint.QUALITY, VIEWS[Viewpoint.QUALITY], arms, lambda a, b: (), MARGIN, pairs_of)
    assert (found.outcome, found.best) == (outcome, "a")
    assert found.difference and found.difference.points == pytest.approx((number - won) / 30)


def test_three_starts_need_a_large_ratio() -> None:
    view = VIEWS[Viewpoint.STABILITY]
    few = of(RankCandidate("a", (0.5,), starts=3), RankCandidate("b", (2.0,), starts=3), view=view)
    assert few.outcome is RankingOutcome.TIE and few.interval and few.interval[0] < 1 < few.interval[1]
    assert (
        of(RankCandidate("a", (0.5,), starts=20), RankCandidate("b", (2.0,), starts=20), view=view).outcome
        is RankingOutcome.BEST
    )


@pytest.mark.parametrize(("p", "df", "other"), [(0.975, 2, 2), (0.05, 3, 7), (0.5, 30, 4), (0.999, 1, 1)])
def test_the_quantile_of_f_is_that_of_scipy(p: float, df: int, other: int) -> None:
    assert f_quantile(p, df, other) == pytest.approx(f.ppf(p, df, other), rel=1e-9)
    low, high = sd_ratio_interval(2.0, df, other)
    assert low < 2.0 < high


def test_impossible_spreads_are_refused() -> None:
    with pytest.raises(ValueError, match="1 degree of freedom"):
        sd_ratio_interval(2.0, 0, 2)


@pytest.mark.wide
@pytest.mark.parametrize("arms", [2, 4, 8])
def test_equal_arms_have_no_best_in_95_of_100(arms: int) -> None:
    """Choosing the best by looking must not make one: 5 starts each, 1 % between them, no margin.

    Fixed seeds; the limit is 5 % and two standard errors of so many trials.
    """
    count = 1000
    rng = np.random.default_rng(arms)
    trials = [
        of(*(RankCandidate(str(n), tuple(100 * np.exp(rng.normal(0, 0.01, 5)))) for n in range(arms)), margin=1e-6)
        for _ in range(count)
    ]
    limit = 0.05 + 2 * (0.05 * 0.95 / count) ** 0.5
    assert sum(trial.outcome is RankingOutcome.BEST for trial in trials) / count <= limit
