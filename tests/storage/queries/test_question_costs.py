"""A question about two runs reads the rows of these two, however many others are stored. Counted in rows, not in time.

The published file is asked, whose views are the store's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from analysis.runs.conditions import Span
from storage.queries import (
    condition_queries,
    explore_queries,
    live_queries,
    load_queries,
    machine_queries,
    node_queries,
    note_queries,
    row_counts,
    run_data,
    run_fields,
    run_queries,
    sample_queries,
    share_queries,
    study_queries,
)
from storage.queries.explore_queries import METRICS, RESULT, Metric, View, drawn_value_counts, explore_sql, read_view
from storage.queries.run_data import Queryable
from storage.queries.run_queries import RunFilter
from storage.rows import TIME_COLUMNS
from tests.storage.queries.question_costs import ASKED, FORMULAS, NOW, SECONDS, Cost, asked_store
from tests.storage.queries.test_list_costs import OF_ALL_RUNS

MODULES = (
    condition_queries, explore_queries, row_counts, live_queries, load_queries, machine_queries, node_queries,
    note_queries, run_data, run_fields, run_queries, sample_queries, share_queries, study_queries,
)  # fmt: skip
SINCE = dict.fromkeys(ASKED, NOW + timedelta(seconds=5))
OF_THESE = {  # what takes run ids -> the same of all runs
    "events_of($ids)": "events",
    "run_samples_since(NULL::TIMESTAMPTZ, run_ids := $ids)": "run_samples",
    "engine_samples_since(NULL::TIMESTAMPTZ, run_ids := $ids)": "engine_samples",
    "run_windows(2, run_ids := $ids)": "run_windows(2)",
    "engine_windows(2, run_ids := $ids)": "engine_windows(2)",
    "crosscheck_of($ids)": "samples_crosscheck",
    "acceptance_of($ids)": "acceptance_of(NULL)",
    "server_latency_of($ids)": "server_latency",
    "run_notes_of($ids)": "run_notes",
    "turns_of($ids)": "turns",
    "prompt_parts_of($ids)": "prompt_parts",
}
QUESTIONS: Mapping[str, Callable[[Queryable], object]] = {
    "windows": lambda store: run_data.windows(store, ASKED, 2.0),
    "whole_run_data": lambda store: run_data.whole_run_data(store, ASKED, 2.0, with_points=True),
    "printed_speeds": lambda store: run_data.printed_speeds(store, ASKED),
    "acceptance": lambda store: run_data.acceptance(store, ASKED),
    "sources": lambda store: run_data.sources(store, ASKED),
    "newest_samples": lambda store: run_data.newest_samples(store, ASKED),
    "crosschecks": lambda store: run_data.crosschecks(store, ASKED),
    "silences": lambda store: run_data.silences(store, ASKED),
    "request_totals": lambda store: run_data.request_totals(store, ASKED),
    "loads": lambda store: load_queries.loads(store, ASKED),
    "read_loads": lambda store: load_queries.read_loads(store, ASKED),
    "recorded_requests": lambda store: load_queries.recorded_requests(store, ASKED),
    "answer_pieces": lambda store: load_queries.answer_pieces(store, dict.fromkeys(ASKED, "load"), 0, None, 100),
    "outcomes": lambda store: load_queries.outcomes(store, ASKED),
    "fidelity_positions": lambda store: load_queries.fidelity_positions(store, ASKED),
    "task_checks": lambda store: load_queries.task_checks(store, ASKED),
    "depth_checks": lambda store: load_queries.depth_checks(store, ASKED),
    "item_pairs": lambda store: load_queries.item_pairs(store, ASKED, ["load"]),
    "tool_statements": lambda store: load_queries.tool_statements(store, ASKED),
    "neighbours": lambda store: load_queries.neighbours(
        store, [Span(run_id, NOW + timedelta(seconds=5), NOW + timedelta(seconds=25)) for run_id in ASKED]
    ),
    "gpu_memory_peaks": lambda store: run_data.gpu_memory_peaks(store, ASKED),
    "cache_sightings": lambda store: run_data.cache_sightings(store, ASKED, 0.9),
    "slot_counts": lambda store: run_data.slot_counts(store, ASKED),
    "process_starts": lambda store: run_data.process_starts(store, ASKED),
    "requests": lambda store: [run_data.requests(store, run_id) for run_id in ASKED],
    "events": lambda store: [run_data.events(store, run_id) for run_id in ASKED],
    "load_events": lambda store: [run_data.load_events(store, run_id) for run_id in ASKED],
    "server_latency": lambda store: run_data.server_latency(store, ASKED),
    "startups": lambda store: run_data.startups(store, ASKED),
    "failed_loads": lambda store: run_data.failed_loads(store, ASKED, NOW),
    "startup_facts": lambda store: run_data.startup_facts(store, ASKED),
    "recent_speed": lambda store: run_data.recent_speed(store, ASKED, 1e9),
    "engine_points": lambda store: live_queries.engine_points(store, SINCE),
    "host_points": lambda store: live_queries.host_points(store, SINCE),
    "gpu_points": lambda store: live_queries.gpu_points(store, SINCE),
    "conditions": lambda store: condition_queries.conditions(
        store, [Span(run_id, NOW + timedelta(seconds=5), NOW + timedelta(seconds=25)) for run_id in ASKED]
    ),
    "memory_growth": lambda store: condition_queries.memory_growth(
        store, Span(ASKED[0], NOW + timedelta(seconds=5), NOW + timedelta(seconds=25))
    ),
    "samples_of": lambda store: list(sample_queries.samples_of(store, ASKED)),
    "nodes": lambda store: node_queries.nodes(store, ASKED),
    "notes": lambda store: note_queries.notes(store, ASKED),
    "note_versions": lambda store: note_queries.note_versions(store, ASKED),
    "marks": lambda store: live_queries.marks(store, ASKED),
    "recent_server_latency": lambda store: live_queries.recent_server_latency(store, ASKED, 1e9),
    "stored_row_counts": lambda store: row_counts.stored_row_counts(store, ASKED),
    "runs_of": lambda store: run_queries.runs_of(store, ASKED),
    "cached_lines": lambda store: run_queries.cached_lines(store, ASKED, FORMULAS),
    "compatibility": lambda store: run_queries.compatibility(store, ASKED),
    "field_values": lambda store: run_fields.field_values(store, ASKED, "engine"),
    "collector_errors": lambda store: live_queries.collector_errors(store, ASKED),
    "result_metrics": lambda store: explore_queries.result_metrics(store, ASKED, ["results.decode_tps.mean"]),
    "drawn_value_counts": lambda store: [_value_counts(store, name) for name in ("typical", "kv_gib")],
    "read_view": lambda store: [_chart_rows(store, name) for name in ("typical", "kv_gib", "results.decode_tps.mean")],
}
ABOUT_NO_RUN = {
    "gotchas",
    "saved_views",
    "newest_views",
    "metric_definitions",
    "studies",
    "study_outcomes",
    "studies_ended_since",
    "link_openings",
}
ABOUT_OTHERS = {"neighbours"}  # who else ran at that time can be told by the rows of the runs alone
IN_VAIN = {"crosschecks": 2}  # merged files in which others have what is llama.cpp's alone
WITHOUT_SAMPLES = {"runs_of", "compatibility"}  # what is stored once a run
OF_SLOTS = {"slot_counts"}  # which the engines of the runs that are asked about do not have
TABLES = {
    "stored_row_counts": len(TIME_COLUMNS),
    "samples_of": len(TIME_COLUMNS),
    "newest_samples": 5,
    "read_view": 3,
    "drawn_value_counts": 2,
}  # where a question is about more than a table or two


def _chart_rows(store: Queryable, name: str) -> list[dict[str, Any]]:
    metrics = METRICS | {"results.decode_tps.mean": Metric("", RESULT, "decode_tps", "mean")}
    view = View(name, "started", "tag")
    return read_view(store, explore_sql(RunFilter(), view, metrics, by_ids=True), ASKED)


def _value_counts(store: Queryable, name: str) -> dict[str, int]:
    return drawn_value_counts(store, RunFilter(), View(name, "started"), METRICS, ASKED)


def costs(folder: Path, of_each: int, merged: bool = False) -> dict[str, Cost]:
    costs_by_name: dict[str, Cost] = {}
    with asked_store(folder, of_each, merged) as store:
        for name, ask in QUESTIONS.items():
            store.cost = Cost(0, 0, 0)
            ask(store)
            costs_by_name[name] = store.cost
    return costs_by_name


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cost]:
    return costs(tmp_path_factory.mktemp("few"), 1)


@pytest.fixture(scope="module", params=["a file a run", "merged files"])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cost]:
    return costs(tmp_path_factory.mktemp("many"), 4, merged=request.param == "merged files")


@pytest.mark.wide
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_costs_no_more_among_more_runs(
    request: pytest.FixtureRequest, name: str, few: dict[str, Cost], many: dict[str, Cost]
) -> None:
    if name in ABOUT_OTHERS:
        few, many = ({name: found[name]._replace(runs=0)} for found in (few, many))
    # Fewer rows where DuckDB sees that two parts of a question read the same merged file.
    assert many[name].rows <= few[name].rows and many[name].runs == few[name].runs
    # A merged file of runs between the first and the last that are asked about may be opened in vain.
    in_vain = 0.5 * few[name].files + IN_VAIN.get(name, 0) if "merged" in request.node.name else 0
    assert many[name].files <= few[name].files + in_vain


@pytest.mark.wide
@pytest.mark.parametrize("name", QUESTIONS)
def test_query_reads_each_row_a_few_times(name: str, many: dict[str, Cost]) -> None:
    told_of = 2 * SECONDS  # rows that the two runs have in one table
    least = 0 if name in WITHOUT_SAMPLES | OF_SLOTS else 1
    assert least <= many[name].rows <= 4 * told_of * TABLES.get(name, 1) or name in ABOUT_OTHERS


@pytest.mark.wide
def test_run_id_macros_match_the_view_rows(tmp_path: Path) -> None:
    with asked_store(tmp_path, 1) as store:
        for name, value in OF_THESE.items():
            table = store.query(f"FROM {name} ORDER BY ALL", {"ids": ASKED})
            assert table.num_rows > 0, name
            same = f"FROM {value} WHERE list_contains($ids, run_id) ORDER BY ALL"
            assert table.equals(store.query(same, {"ids": ASKED})), name


def test_every_question_is_held() -> None:
    public: Sequence[str] = [
        name
        for module in MODULES
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_") and "store" in inspect.signature(function).parameters
    ]
    assert set(public) - ABOUT_NO_RUN == QUESTIONS.keys() | OF_ALL_RUNS.keys()


@pytest.mark.wide
def test_count_notices_a_query_over_all_runs(tmp_path: Path) -> None:
    """The check of the check: what asks for all runs costs more among more runs."""
    told = []
    for of_each in (1, 2):
        with asked_store(tmp_path / str(of_each), of_each) as store:
            store.query("FROM samples_crosscheck")
        told.append(store.cost)
    assert told[0].rows < told[1].rows and told[0].files < told[1].files and told[0].runs < told[1].runs
