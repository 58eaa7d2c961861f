"""The questions of Explore: what it shows as SQL gives the very points, of the runs that its filters let through."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pytest

from machine.run_with_timeout import run_bounded
from settings import Settings
from storage.queries.explore_queries import (
    METRICS,
    POINT_FIELDS,
    Metric,
    View,
    explore_sql,
    matching_ids,
    read_view,
    result_metrics,
)
from storage.queries.run_fields import FIELDS
from storage.queries.run_queries import RunFilter
from storage.sandbox.client import Sandbox
from storage.store import Store
from tests.web.explore.explore_page import TTFT, page, page_text

pytestmark = pytest.mark.usefixtures("store")


def views_of(metrics: Mapping[str, Metric]) -> list[View]:
    """Each metric, each field and each of a point somewhere."""
    fields = (*FIELDS, "arm", "started")
    views = [View(y, x, color) for y, x, color in zip(metrics, reversed(metrics), fields, strict=False)]
    views += [View("stream", "k", "", field) for field in fields]
    views += [View(TTFT, field, field, field) for field in POINT_FIELDS]
    return [*views, View(TTFT, TTFT), View("stream", "concurrency")]


@pytest.mark.wide
def test_page_queries_ids_of_the_shown_query(store: Store) -> None:
    metrics = {**METRICS, **result_metrics(store, None)}
    run_filter = RunFilter(words=("k=2",), engines=("vllm",), states=("finished",))
    ids = matching_ids(store, run_filter)
    assert ids and len(ids) == 6
    for view in views_of(metrics):
        of_ids = read_view(store, explore_sql(run_filter, view, metrics, by_ids=True), ids)
        assert of_ids == read_view(store, explore_sql(run_filter, view, metrics)), view


def several_in_one(questions: Sequence[str], most: int) -> Iterator[str]:
    """Statements with the rows of so many questions each: a sandboxed process takes a third of a second to come up."""
    for start in range(0, len(questions), most):
        some = questions[start : start + most]
        yield "SELECT " + ", ".join(f"(SELECT list(v) FROM (\n{sql}\n) v) AS q{at}" for at, sql in enumerate(some))


@pytest.mark.wide
def test_view_sql_gives_its_points_on_sql_page(folder: tuple[Store, Settings]) -> None:
    store, settings = folder
    metrics = {**METRICS, **result_metrics(store, None)}
    run_filter = RunFilter(words=("k=2",), engines=("vllm",), states=("finished",))
    questions = [explore_sql(run_filter, view, metrics) for view in views_of(metrics)]
    sandbox = Sandbox(settings, run_bounded)
    for sql in (*questions[:: len(questions) // 3], *several_in_one(questions, 12)):
        assert sandbox.ask(sql).table.to_pylist() == store.query(sql).to_pylist()
    rows = store.query(explore_sql(run_filter, View("stream", "k", "quantization"), metrics)).to_pylist()
    assert {row["x"] for row in rows} == {2} and len(rows) == 6 and None not in {row["y"] for row in rows}


def test_metric_list_follows_runs_keeps_choice(store: Store) -> None:
    with_line = matching_ids(store, RunFilter(words=("k=2",)))
    without = matching_ids(store, RunFilter(words=("start",), states=("failed",)))
    assert with_line and TTFT in result_metrics(store, with_line) and without and result_metrics(store, without) == {}
    every = result_metrics(store, None)
    assert result_metrics(store, without, ["stream", TTFT, "results.no.such"]) == {TTFT: every[TTFT]}
    axis = page(state="failed", y=TTFT).selectbox(key="explore-y")
    assert axis.value == TTFT and [option for option in axis.options if option.startswith(("ttft", "output_tps"))] == [
        every[TTFT].title
    ]


def test_many_runs_are_not_asked_by_their_ids(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.queries.explore_queries.MOST_IDS", 5)
    assert matching_ids(store, RunFilter(words=("k=2",))) is None
    assert "20 runs are drawn" in page_text(page())


def test_a_quote_in_a_filter_stays_a_text(store: Store) -> None:
    sql = explore_sql(RunFilter(words=("' or 1=1 --",)), View("stream", "k"), METRICS)
    assert store.query(sql).num_rows == 0


def test_a_number_that_is_not_finite_is_not_known(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = read_view(store, explore_sql(RunFilter(words=("k=2",)), View("stream", "k"), METRICS))
    odd = [{**row, "y": math.nan if place == 0 else math.inf} for place, row in enumerate(rows[:2])]
    table = pa.Table.from_pylist([*odd, *rows[2:]])
    monkeypatch.setattr(type(store), "query", lambda *_: table)
    view = read_view(store, "SELECT")
    assert [row["y"] is None for row in view] == [True, True, False, False, False, False]
