"""All of a run in one question is what the questions about its parts say, and its counters are read once for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.queries import live_queries, run_data
from storage.queries.run_data import EngineUsage
from storage.queries.statements import statement
from tests.storage.queries.question_costs import ENGINES, Cost, Profiled, asked_store

IDS = [*(f"sealed-{engine}-0" for engine in ENGINES), "live-vllm-0", "nobody"]
SAMPLES = "run_samples_since(NULL::TIMESTAMPTZ, run_ids := $run_ids)"


@pytest.mark.wide
@pytest.mark.publishes
def test_whole_run_equals_its_parts(tmp_path: Path) -> None:
    with asked_store(tmp_path, 1) as store:
        windows, acceptance = run_data.windows(store, IDS, 2.0), run_data.acceptance(store, IDS)
        peaks = _by_run(store, f"max(kv_usage_ratio) AS value FROM {SAMPLES}")
        preemptions = _by_run(store, "max(preemptions) AS value FROM run_totals_of($run_ids)")
        points = live_queries.engine_points(store, dict.fromkeys(IDS))
        whole_run_data = run_data.whole_run_data(store, IDS, 2.0, with_points=True)
        assert {run_id: value.windows for run_id, value in whole_run_data.items()} == windows
        assert {run_id: value.acceptance for run_id, value in whole_run_data.items()} == acceptance
        assert {run_id: value.usage for run_id, value in whole_run_data.items()} == {
            run_id: EngineUsage(peaks.get(run_id), preemptions.get(run_id)) for run_id in IDS
        }
        assert None not in (peaks[IDS[0]], preemptions[IDS[0]]), "something is compared"
        assert [value.points for value in whole_run_data.values()] == [points[run_id] for run_id in IDS]
        assert all(windows[run_id] and points[run_id].num_rows for run_id in IDS[:-1]), "something is compared"
        assert not any(value.points.num_rows for value in run_data.whole_run_data(store, IDS, 2.0).values())


@pytest.mark.wide
@pytest.mark.publishes
def test_its_counters_are_read_once(tmp_path: Path) -> None:
    with asked_store(tmp_path, 1) as store:
        run_data.windows(store, IDS, 2.0)
        once, store.cost = store.cost, Cost(0, 0, 0)
        run_data.whole_run_data(store, IDS, 2.0, with_points=True)
        assert store.cost.rows < 1.5 * once.rows


def _by_run(store: Profiled, selection: str) -> dict[str, float | None]:
    rows = store.query(f"SELECT run_id, {selection} GROUP BY run_id", {"run_ids": IDS}).to_pylist()
    return {row["run_id"]: row["value"] for row in rows}


@pytest.mark.wide
def test_no_sort_of_all_rows_for_the_usual_gap(tmp_path: Path) -> None:
    """As a window function this median sorted the rows of a day once more."""
    with asked_store(tmp_path, 1) as store:
        params = {"run_ids": IDS, "window_s": 2.0, "with_points": True}
        explain = f"EXPLAIN (FORMAT json) {statement('whole_run_data')}"
        ((_, plan),) = store._connection.execute(explain, params).fetchall()
        plan = " ".join(plan.split())
        of_engine = "OVER (PARTITION BY run_id, definition, engine_index"
        assert f"LAG(mono_s) {of_engine}" in plan and f"median(gap_s) {of_engine}" not in plan
