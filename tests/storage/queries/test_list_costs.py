"""A question about all runs, to list or to find them, reads what is stored once a run and no samples.

A few are about what loads measured, or what logs said of starts: they read that one table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest

from storage.queries import explore_queries, machine_queries, run_queries
from storage.queries.explore_queries import METRICS, View
from storage.queries.run_data import Queryable
from storage.queries.run_queries import RunFilter
from tests.storage.queries.question_costs import ASKED, FORMULAS, NOW, Profiled, asked_store

SPEED = RunFilter(words=("live",), order_by="typical")
OF_ALL_RUNS: Mapping[str, Callable[[Queryable], object]] = {
    "runs_of_batch": lambda store: run_queries.runs_of_batch(store, "b"),
    "names_like": lambda store: run_queries.names_like(store, ASKED),
    "runs_named": lambda store: run_queries.runs_named(store, ["live", "seal"]),
    "log_paths": lambda store: run_queries.log_paths(store),
    "find_runs": lambda store: run_queries.find_runs(store, SPEED, 9),
    "count_runs": lambda store: run_queries.count_runs(store, SPEED),
    "run_choices": lambda store: run_queries.run_choices(store),
    "likely_repeats": lambda store: run_queries.likely_repeats(store, run_queries.runs_of(store, ASKED), 9),
    "same_setting": lambda store: run_queries.same_setting(store, run_queries.runs_of(store, ASKED), 9),
    "runs_of_source": lambda store: run_queries.runs_of_source(store, "hash"),
    "runs_without_line": lambda store: run_queries.runs_without_line(store, FORMULAS, NOW, 9),
    "ended_since": lambda store: run_queries.ended_since(store, NOW, 9),
    "state_counts": lambda store: run_queries.state_counts(store),
    "machine_labels": lambda store: machine_queries.machine_labels(store),
    "machines": lambda store: machine_queries.machines(store),
    "result_metrics": lambda store: explore_queries.result_metrics(store, None),
    "matching_ids": lambda store: explore_queries.matching_ids(store, RunFilter(words=("live",))),
    "read_view": lambda store: _draw(store, "typical"),
}
DRAWN = {
    "a line's metric": "typical",
    "a run's metric": "ready",
    "a start's": "kv_gib",
    "a load's": "results.decode_tps.mean",
}
READS = {"result_metrics": {"results"}}
DRAWS = {"a start's": {"events"}, "a load's": {"results"}}


def _draw(store: Queryable, metric: str) -> object:
    metrics = METRICS | explore_queries.result_metrics(store, None) if metric.startswith("results") else METRICS
    return explore_queries.read_view(store, explore_queries.explore_sql(RunFilter(), View(metric, "started"), metrics))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profiled]:
    with asked_store(tmp_path_factory.mktemp("lists"), 1) as asked:
        yield asked


@pytest.mark.parametrize("name", OF_ALL_RUNS)
def test_a_list_of_runs_reads_no_samples(store: Profiled, name: str) -> None:
    store.read.clear()
    OF_ALL_RUNS[name](store)
    assert store.read == READS.get(name, set())


@pytest.mark.parametrize("name", DRAWN)
def test_explore_reads_only_its_metrics_table(store: Profiled, name: str) -> None:
    store.read.clear()
    _draw(store, DRAWN[name])
    assert store.read == DRAWS.get(name, set())
