"""A run whose answers loop is marked beside its speed in every place, and no other run is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from analysis.comparison.facts import RunFacts
from domain import Run, RunState
from load_records import RequestRecord
from reports.arms.collapsed_arms import collapsed_arms
from reports.arms.report_data import ReportProvenance, report_data
from reports.cache.run_cache import ReportCache
from reports.runs.run_line import compute_lines
from reports.runs.run_report import report_on
from storage.queries.run_data import request_totals
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from tests.web.conftest import ProvideServices
from web.compare.run_tiles import number_tiles
from web.live.reader import StoreReader
from web.loop_words import loop_text
from web.report_export.markdown import report_markdown
from web.report_export.page import report_page
from web.runs.table.run_cards import first_cards, live_cards

MARK = "\u27f2 27 % of answers loop"
NOTE = "27 % of its answers end in a loop"
RATIO = 4 / 15
MADE = ReportProvenance("a test", datetime(2026, 11, 22, 12, 0, tzinfo=UTC), "0.1.0")


def with_verdict(request: RequestRecord, **collapse: Any) -> RequestRecord:
    checked = {"verdict": "none", "words": 100, "onset_word": None, "looped_ratio": 0.0} | collapse
    return replace(request, extra=request.extra | {"collapse": checked}, sampling={"ignore_eos": True})


def looping_facts(facts: RunFacts, every: int | None) -> RunFacts:
    """The same with each `every`-th answer of its loads looping from the first half on, and each other one later."""

    def changed(index: int, request: RequestRecord) -> RequestRecord:
        is_early = every is not None and index % every == 0
        return with_verdict(request, verdict="collapsed", onset_word=10 if is_early else 90, looped_ratio=0.1)

    loads = []
    for load in facts.loads:
        warm_ups = [request for request in load.requests if request.phase != "measure"]
        measured = [request for request in load.requests if request.phase == "measure"]
        loads.append(replace(load, requests=[*warm_ups, *(changed(*pair) for pair in enumerate(measured))]))
    return replace(facts, loads=tuple(loads))


@pytest.fixture
def runs(store: Store) -> list[Run]:
    """A start whose answers do not loop, and one of which every fourth answer does."""
    rng = np.random.default_rng(21)
    engines = {0: IdealEngine(0.02), 4: IdealEngine(0.02, drafts=4)}
    return [
        stored(store, looping_facts(repeats(engine, "ladder", 1, rng, **SMALL)[0], k or None), k, k)
        for k, engine in engines.items()
    ]


def marked(texts: Sequence[str], mark: str = MARK) -> list[bool]:
    return [mark in text for text in texts]


def test_looping_run_is_marked_everywhere(
    store: Store, runs: list[Run], tmp_path: Path, provide_services: ProvideServices
) -> None:
    reports, ids = report_on(store, runs), [run.id for run in runs]
    assert [report.requests.looping_ratio for report in reports] == [0.0, RATIO]
    lines = compute_lines(store, runs)
    assert marked([loop_text(lines[run_id]["looping_ratio"]) for run_id in ids]) == [False, True]
    cards = first_cards(store, ids, ReportCache()).split("</a>")[:2]
    tiles = [number_tiles(report, {}) for report in reports]
    assert marked(cards) == marked(tiles) == [False, True]
    data = report_data(store, ids, MADE, tmp_path / "prices.toml")
    quick = next(arm for arm in data.comparison.arms if arm.runs[0].run_id == ids[1])
    assert collapsed_arms(data.comparison.arms, data.reports) == {quick.id: RATIO}
    assert marked([report_page(data), report_markdown(data).replace("\\", "")], f"{quick.name}: {NOTE}") == [True, True]
    parts = StoreReader(lambda: store).snapshots(ids)
    assert [parts[run_id]["now"]["looping_ratio"]["v"] for run_id in ids] == [None, RATIO]


def test_live_run_is_marked_while_it_runs(store: Store, runs: list[Run], provide_services: ProvideServices) -> None:
    live = [run.model_copy(update={"state": RunState.RUNNING, "ended_at": None}) for run in runs]
    for run in live:
        store.save_run(run)
    provide_services(SimpleNamespace(store=store, settings=None))
    parts = StoreReader(lambda: store).snapshots([run.id for run in live])
    assert [parts[run.id]["now"]["looping_ratio"]["v"] for run in live] == [None, RATIO]
    assert marked(live_cards(live).split("</a>")[:2]) == [False, True]


def test_one_loop_among_hundreds_is_no_collapse(store: Store) -> None:
    assert loop_text(0.019) == "" and loop_text(0.02) == "\u27f2 2 % of answers loop" and loop_text(None) == ""
    assert request_totals(store, ["nobody"])["nobody"].looping_ratio is None
