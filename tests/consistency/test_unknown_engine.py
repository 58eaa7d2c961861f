"""Results of a tool that do not state their engine: it is unknown wherever it is shown, and never equal to another."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from analysis.compare_arms import compare_arms
from analysis.guard import RowCode, RowStatus
from domain import Config, Run, RunState
from engines import UNKNOWN_ENGINE
from reports.arms.comparison import single_run_arm
from reports.arms.facts import facts_of
from reports.runs.effective_config import effective_config
from reports.runs.run_report import engine_title
from settings import Settings
from storage.queries.run_queries import run_choices
from storage.store import Store
from web.compare.answer.guard_words import row_text

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ENGINES = {"first": "other", "second": "other", "stated": "vllm"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(Settings(data_dir=tmp_path))
    for run_id, engine in ENGINES.items():
        config = Config(engine=engine, launcher="import")
        store.save_run(
            Run(id=run_id, name=run_id, color=0, kind="imported", config=config, state=RunState.FINISHED,
                machine_id=f"unknown-{run_id}", created_at=NOW, started_at=NOW, ended_at=NOW)
        )  # fmt: skip
    yield store
    store.close()


def test_an_engine_that_results_do_not_state_is_unknown(store: Store) -> None:
    rows = store.query("SELECT run_id, engine FROM runs ORDER BY run_id").to_pylist()
    assert [row["engine"] for row in rows] == [None, None, "vllm"]
    assert run_choices(store).engines == ("vllm",)
    runs = {run.id: run for run in store.runs()}
    assert [engine_title(runs[run_id]) for run_id in ENGINES] == [UNKNOWN_ENGINE, UNKNOWN_ENGINE, "vLLM"]
    for run_id, engine in ENGINES.items():
        requested = {row.field: row.requested for row in effective_config(store, runs[run_id])[0]}
        assert requested.get("engine") == (None if engine == "other" else engine)


@pytest.mark.parametrize(
    ("others", "words"), [("second", UNKNOWN_ENGINE), ("stated", "not known and vLLM, version not known")]
)
def test_two_unknown_engines_are_not_the_same(store: Store, others: str, words: str) -> None:
    runs = {run.id: run for run in store.runs()}
    arms = [single_run_arm(facts) for facts in facts_of(store, [runs["first"], runs[others]])]
    (answer,) = compare_arms(arms)
    (row,) = [row for row in answer.rows if row.code is RowCode.ENGINE]
    assert row.status is RowStatus.UNKNOWN and row_text(row, {}) == words
