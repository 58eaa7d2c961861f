"""Stored runs from every viewpoint: the numbers of the comparison, and a reason for each that is not known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from analysis.decide.rank import RankingOutcome
from analysis.decide.viewpoints import Viewpoint
from analysis.guard import RowCode
from cli.main import main
from domain import Run
from reports.arms.comparison import comparison_of
from reports.arms.viewpoints import rankings, viewpoint_inputs
from settings import Settings
from storage.queries.run_queries import runs_of
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from web.compare.viewpoints.viewpoint_table import viewpoint_lines


@pytest.fixture
def runs(store: Store) -> list[Run]:
    """Two arms of three starts, and an imported one that is faster than both."""
    rng = np.random.default_rng(21)
    made = []
    for place, k in enumerate((0, 4, 8)):
        facts = repeats(IdealEngine(0.02, drafts=k, start_sd=0.005), "ladder", 3 if k < 8 else 1, rng, **SMALL)
        kind = {"kind": "imported"} if k == 8 else {}
        made += [stored(store, facts, k, place * 10 + n, **kind) for n, facts in enumerate(facts)]
    return made


def test_the_headline_is_what_the_comparison_says(store: Store, runs: list[Run], tmp_path: Path) -> None:
    launched = [run for run in runs if run.kind == "launched"]
    report = comparison_of(store, runs_of(store, [run.id for run in launched]))
    rankings_by_viewpoint = {
        ranking.viewpoint: ranking
        for ranking in rankings(viewpoint_inputs(store, report, launched, tmp_path / "prices.toml"))
    }
    judged, headline = report.answers[0].judgement, rankings_by_viewpoint[Viewpoint.COMPARED]
    assert judged and (headline.outcome, headline.best) == (RankingOutcome.BEST, report.arms[1].id)
    assert headline.ratio == pytest.approx(judged.ratio) and headline.interval == pytest.approx(judged.interval)
    assert rankings_by_viewpoint[Viewpoint.TTFT].outcome is not RankingOutcome.NOT_KNOWN


def test_imported_arm_is_shown_with_its_label(store: Store, runs: list[Run], tmp_path: Path) -> None:
    report = comparison_of(store, runs_of(store, [run.id for run in runs]))
    actual_rankings = rankings(viewpoint_inputs(store, report, runs, tmp_path / "prices.toml"))
    lines = viewpoint_lines(actual_rankings, {arm.id: arm.name for arm in report.arms})
    headline = next(line for line in lines if line.title.startswith("Output speed"))
    assert headline.best == "k 4" and "k 8 (imported): " in headline.unranked
    assert all(line.unranked for line in lines if line.best == "\u2013"), "what is not known says why"


def test_looping_arm_never_wins_on_speed(store: Store, tmp_path: Path) -> None:
    rng, made = np.random.default_rng(21), []
    for place, k in enumerate((0, 4)):
        facts = repeats(IdealEngine(0.02, drafts=k, start_sd=0.005), "five-prompts", 3, rng, token_scale=0.1)
        for request in (r for facts in facts for load in facts.loads for r in load.requests if k):
            request.extra["collapse"] = {"looped_ratio": 0.9}
        made += [stored(store, facts, k, place * 10 + n) for n, facts in enumerate(facts)]
    report = comparison_of(store, runs_of(store, [run.id for run in made]))
    assert [row.code for row in report.answers[0].refused] == [RowCode.LOOPS]
    for ranking in rankings(viewpoint_inputs(store, report, made, tmp_path / "prices.toml")):
        if ranking.viewpoint in (Viewpoint.COMPARED, Viewpoint.TYPICAL, Viewpoint.PEAK_P99):
            assert ranking.best != report.arms[1].id, ranking.viewpoint
        if ranking.viewpoint is Viewpoint.COMPARED:
            assert [(arm, [row.code for row in rows]) for arm, rows in ranking.refused] == [
                (report.arms[1].id, [RowCode.LOOPS])
            ]


def test_other_workload_keeps_values_of_the_rest(store: Store, runs: list[Run], tmp_path: Path) -> None:
    other_repeats = repeats(IdealEngine(0.01, start_sd=0.005), "five-prompts", 2, np.random.default_rng(3))
    strangers = [stored(store, other_repeat, 2, 40 + n) for n, other_repeat in enumerate(other_repeats)]
    picked = [run for run in runs if run.kind == "launched"] + strangers
    report = comparison_of(store, runs_of(store, [run.id for run in picked]))
    rankings_by_viewpoint = {
        ranking.viewpoint: ranking
        for ranking in rankings(viewpoint_inputs(store, report, picked, tmp_path / "prices.toml"))
    }
    headline = rankings_by_viewpoint[Viewpoint.COMPARED]
    values_by_arm_id = {candidate.arm_id: candidate.value for candidate in headline.candidates}
    assert values_by_arm_id[report.arms[0].id] and values_by_arm_id[report.arms[1].id]
    assert set(report.without_workload) == {run.id for run in strangers} and len(report.arms) == 2
    assert headline.best in values_by_arm_id and headline.outcome is not RankingOutcome.NOT_KNOWN


@pytest.mark.publishes
def test_the_terminal_says_them_too(
    store: Store,
    settings: Settings,
    runs: list[Run],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ids = [run.id for run in runs if run.kind == "launched"]
    store.close()
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))
    assert main(["compare", *ids, "--viewpoints", "--json"]) == 0
    viewpoints = json.loads(capsys.readouterr().out)["viewpoints"]
    assert len(viewpoints) == len(Viewpoint) and viewpoints[0]["Best"] == "k 4"
    assert main(["compare", *ids, "--viewpoints"]) == 0
    assert "Output speed, 8 at once: k 4; value " in capsys.readouterr().out
