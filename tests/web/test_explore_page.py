"""Explore draws any metric against any, says what it leaves out, and its SQL gives the very points."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from machine.run_with_timeout import run_bounded
from service.run_lines import RunLineKeeper
from settings import Settings
from storage.ask.explore_queries import (
    METRICS,
    POINT_FIELDS,
    Metric,
    View,
    ask_view,
    explore_sql,
    ids_found,
    result_metrics,
)
from storage.ask.run_fields import FIELDS
from storage.ask.run_queries import RunFilter
from storage.sandbox.client import Sandbox
from storage.store import Store
from tests.many_runs import HOSTILE, many_runs
from tests.web.app_page import page_at, still_charts

PAGE = str(Path(__file__).resolve().parents[2] / "pages" / "explore.py")
OF_ALL = "Warm single, then 2, 4, 8 at once"  # the load of all runs
TTFT, OUTPUT = "results.ttft_ms.median", "results.output_tps.mean"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Settings]]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("explore") / "data")
    store = Store.open(settings)
    many_runs(store)
    keeper = RunLineKeeper(store)
    while keeper.keep_next():
        pass
    store.publish()
    yield store, settings
    store.close()


@pytest.fixture(autouse=True)
def store(folder: tuple[Store, Settings], monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr("web.context._provided", [SimpleNamespace(store=folder[0], settings=folder[1], fleet=None)])
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "operator")
    monkeypatch.setattr("streamlit.page_link", lambda *_, **__: None)
    return folder[0]


def page(**params: str | list[str]) -> AppTest:
    return page_at(PAGE, **params)


def figure(at: AppTest) -> dict[str, Any]:
    (drawn,) = still_charts(at)
    found: dict[str, Any] = drawn["figure"]
    return found


def said(at: AppTest) -> str:
    html = " ".join(str(one.proto.body) for one in at.get("html"))
    return (" ".join(str(one.value) for one in (*at.caption, *at.info)) + html).replace("\\", "")


def points(at: AppTest) -> dict[str, int]:
    return {trace["name"]: len(trace["customdata"]) for trace in figure(at)["data"]}


def test_a_point_a_run_in_the_colours_of_a_field_and_what_is_unknown_is_counted() -> None:
    at = page()
    assert points(at) == {"fp8": 9, "not stated": 9, "&lt;i>q&lt;/i>": 1}
    assert "19 of 20 runs are drawn" in said(at) and "Stream, tok/s of 1 run" in said(at)
    assert "did not start</a>" in said(at) and "A click on a point opens its run" in said(at)
    first = next(trace for trace in figure(at)["data"] if trace["name"] == "fp8")
    assert set(first["x"]) == {0, 2, 4}, "without speculation no token is drafted, and that is known"


def test_of_too_many_points_the_newest_are_drawn_and_it_says_of_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Too many points" not in said(page())
    monkeypatch.setattr("storage.ask.explore_queries.MOST_ROWS", 5)
    at = page(x="started", color="")
    assert "Too many points: the newest 5 of 20 are asked for, without the oldest." in said(at)
    assert "4 of 20 runs are drawn" in said(at) and "Stream, tok/s of 1 run" in said(at)
    (trace,) = figure(at)["data"]
    numbers = [int(ids[0].split("-")[1]) for ids in trace["customdata"]]
    assert numbers == [15, 16, 17, 18], "in the order in which they began"
    at = page(y=OUTPUT, x="kv_tokens", color="")
    assert "2 of 20 runs are drawn" in said(at) and "the newest 5 of 58 are asked for" in said(at), "3 points a load"


def test_a_point_an_arm_has_intervals_on_both_axes_and_its_runs() -> None:
    at = page(each="arm", x="kv_tokens", y="stream", color="")
    (trace,) = figure(at)["data"]
    assert sorted(map(len, trace["customdata"])) == [1, 3, 3, 3, 3, 3, 3]
    once = trace["customdata"].index(next(ids for ids in trace["customdata"] if len(ids) == 1))
    assert trace["error_y"]["array"][once] is None and trace["error_x"]["array"][once] is None
    assert all(up > 0 for at, up in enumerate(trace["error_y"]["array"]) if at != once)
    assert "95 % interval" in said(at)


def test_two_results_of_one_point_of_a_load_belong_together() -> None:
    at = page(x=TTFT, y=OUTPUT, color="concurrency")
    traces = {trace["name"]: trace for trace in figure(at)["data"]}
    assert {name: set(trace["x"]) for name, trace in traces.items()} == {"1": {80}, "4": {320}, "8": {640}}
    assert points(at) == {"1": 19, "4": 19, "8": 19}


def test_a_line_over_a_field_is_the_mean_of_starts() -> None:
    at = page(draw="line", x="concurrency", y=OUTPUT, color="arm")
    line = next(trace for trace in figure(at)["data"] if trace["name"] == "fp8 k=0")
    assert line["x"] == [1, 4, 8] and line["y"][0] == pytest.approx(121.2, abs=0.05)
    assert all(line["error_y"]["array"])


def test_a_heat_map_leaves_an_unknown_cell_empty() -> None:
    at = page(draw="heat", x="k", color="quantization")
    heat = figure(at)["data"][0]
    assert heat["x"] == ["0", "1", "2", "4"] and heat["y"] == ["&lt;i>q&lt;/i>", "fp8", "not stated"]
    assert heat["z"][0] == [None, 90.0, None, None] and heat["text"][0][0] == ""


def test_a_cell_that_the_address_names_lists_its_runs() -> None:
    at = page(draw="heat", x="k", color="quantization", cell=["4", "fp8"])
    heat = figure(at)["data"][0]
    assert [json.loads(cell[0]) for cell in heat["customdata"][1] if cell] == [["0", "fp8"], ["2", "fp8"], ["4", "fp8"]]
    (rows,) = at.dataframe
    assert sorted(name.split("#", 1)[1] for name in rows.value["name"]) == ["fp8 k=4", "fp8 k=4 #2", "fp8 k=4 #3"]
    assert "when_utc" not in at.dataframe[0].proto.column_order, "the columns that Runs proposes"
    assert "3 of the cell Draft length k 4, Quantization fp8" in said(at) and "A click on a cell" in said(at)
    assert not page(draw="heat", x="k", color="quantization", cell=["4", "nothing"]).dataframe
    assert not page(x="k", color="quantization", cell=["4", "fp8"]).dataframe, "no heat map"


def test_small_heat_maps_are_of_a_field_and_their_cells_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = ["4", OF_ALL, "fp8"]
    at = page(draw="heat", x="k", color="workload", facet="quantization", cell=cell)
    maps = figure(at)["data"]
    assert [one["meta"] for one in maps] == ["<i>q</i>", "fp8", "not stated"]
    assert {one["z"][0][3] is not None for one in maps[1:]} == {True} and maps[0]["z"][0] == [None, 90.0, None, None]
    assert f"3 of the cell Draft length k 4, Workload {OF_ALL}, Quantization fp8" in said(at)
    assert {name.split(" k=")[0].split("#", 1)[1] for name in at.dataframe[0].value["name"]} == {"fp8"}
    assert "AS facet" in next(one.value for one in at.code) and "19 of 20 runs are drawn" in said(at)
    assert not page(draw="heat", x="k", color="workload", cell=cell).dataframe, "no such cell without small maps"
    monkeypatch.setattr("web.explore.facets.MOST_FACETS", 2)
    monkeypatch.setattr("web.explore.view.MOST_FACETS", 2)
    at = page(draw="heat", x="k", color="workload", facet="quantization")
    assert len(figure(at)["data"]) == 2 and "2 small charts are drawn, of the values with most cells" in said(at)
    assert "Left out: 1 run with Quantization <i>q</i>." in said(at)


def test_codes_are_in_the_words_of_the_other_pages() -> None:
    assert set(points(page(color="method"))) == {"ngram", "no speculation is configured"}
    assert set(points(page(color="engine"))) == {"vLLM"} and set(points(page(color="workload"))) == {OF_ALL}
    titles = [one["text"] for one in figure(page(x="kv_tokens", facet="method"))["layout"]["annotations"]]
    assert titles[:2] == ["ngram", "no speculation is configured"]


def test_a_distribution_shows_every_run() -> None:
    boxes = figure(page(draw="distribution", x="method"))["data"]
    assert {box["type"] for box in boxes} == {"box"} and sum(len(box["y"]) for box in boxes) == 19


def test_a_chart_for_each_value_of_a_field_and_what_has_no_room_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    at = page(x="kv_tokens", facet="quantization", color="k")
    titles = [one["text"] for one in figure(at)["layout"]["annotations"]]
    assert titles[:3] == ["&lt;i>q&lt;/i>", "fp8", "not stated"] and at.query_params["facet"] in (
        "quantization",
        ["quantization"],
    )
    assert "19 of 20 runs are drawn" in said(at) and "Left out" not in said(at)
    with_sql = next(one.value for one in at.code)
    assert "AS facet" in with_sql and "AS facet" not in next(one.value for one in page().code)
    monkeypatch.setattr("web.explore.facets.MOST_FACETS", 2)
    monkeypatch.setattr("web.explore.view.MOST_FACETS", 2)
    at = page(x="kv_tokens", facet="quantization")
    assert "18 of 20 runs are drawn" in said(at)
    assert "Left out: 1 run with Quantization <i>q</i>." in said(at) and "2 small charts are drawn" in said(at)
    assert len({trace["meta"] for trace in figure(at)["data"]}) == 2


def test_hostile_names_are_texts() -> None:
    at = page(color="arm", find="bold")
    (trace,) = figure(at)["data"]
    assert trace["name"] == "&lt;b>bold&lt;/b> $x$ [link](http://x)" and "<b>" not in trace["hovertext"][0]
    assert "<b>bold" not in said(page(y="weights", find="bold")), "not among what is not drawn either"


def test_the_address_restores_a_view_and_an_unknown_choice_is_passed_over() -> None:
    at = page(draw="line", y="peak", x="nonsense", engine="nobody", tag="x")
    assert at.selectbox(key="explore-y").value == "peak" and at.selectbox(key="explore-x").value == "k"


def test_beside_the_fold_of_the_filters_is_how_many_are_in_use_and_it_is_open_then() -> None:
    at = page()
    assert in_use(at) == ("", False)
    at = page(find="bold", engine=["vllm", "nobody"], started="nonsense", state="nobody")
    assert in_use(at) == ("2 filters in use", True)
    at.text_input(key="explore-find").set_value("").run()
    assert in_use(at) == ("1 filter in use", True), "told at once"
    at.multiselect(key="explore-engine").set_value([]).run()
    assert in_use(at) == ("", True), "who has taken it out may choose another"


def in_use(at: AppTest) -> tuple[str, bool]:
    fold = next(one for one in at.expander if one.label == "Which runs")
    return next((one.value for one in at.caption if one.value.endswith("in use")), ""), fold.proto.expanded


def test_the_filter_of_another_field_is_there_when_it_is_asked_for_and_while_it_is_in_use() -> None:
    at = page()
    assert {"explore-k", "explore-quantization"} <= {box.key for box in at.multiselect}, "the usual ones are"
    assert "explore-memory_share" not in {box.key for box in at.multiselect}
    choice = at.selectbox(key="explore-field")
    assert (choice.label, choice.options) == ("Another field", ["choose one", "Share of GPU memory", "Prefix caching"])
    choice.set_value("memory_share").run()
    at.multiselect(key="explore-memory_share").set_value(["0.85"]).run()
    assert at.query_params["memory_share"] in ("0.85", ["0.85"]) and "6 of 6 runs are drawn" in said(at)
    at.selectbox(key="explore-field").set_value("prefix_caching").run()
    assert "explore-prefix_caching" in {box.key for box in at.multiselect}
    box = at.multiselect(key="explore-memory_share")
    assert box.value == ["0.85"], "it is in use, so it stays"
    box.set_value([]).run()
    assert "memory_share" not in at.query_params and "20 runs are drawn" in said(at)
    at.run()
    assert "explore-memory_share" not in {box.key for box in at.multiselect}, "no longer in use"


def test_the_address_restores_the_filter_of_another_field() -> None:
    at = page(prefix_caching="off", memory_share=["0.9", "nonsense"], color="prefix_caching", x="memory_share")
    assert at.multiselect(key="explore-prefix_caching").value == ["off"]
    assert at.multiselect(key="explore-memory_share").value == ["0.9"]
    assert in_use(at) == ("2 filters in use", True) and points(at) == {"off": 6}
    assert set(figure(at)["data"][0]["x"]) == {0.9}


def test_a_view_of_nothing_says_so() -> None:
    assert "No run is like that." in said(page(find="no such run"))
    assert "no run of these has both numbers" in said(page(y="weights"))


def views_of(metrics: Mapping[str, Metric]) -> list[View]:
    """Each metric, each field and each of a point somewhere."""
    fields = (*FIELDS, "arm", "started")
    views = [View(y, x, color) for y, x, color in zip(metrics, reversed(metrics), fields, strict=False)]
    views += [View("stream", "k", "", field) for field in fields]
    views += [View(TTFT, field, field, field) for field in POINT_FIELDS]
    return [*views, View(TTFT, TTFT), View("stream", "concurrency")]


def test_the_page_asks_by_ids_for_what_the_shown_question_gives(store: Store) -> None:
    metrics = {**METRICS, **result_metrics(store, None)}
    wanted = RunFilter(words=("k=2",), engines=("vllm",), states=("finished",))
    ids = ids_found(store, wanted)
    assert ids and len(ids) == 6
    for view in views_of(metrics):
        of_ids = ask_view(store, explore_sql(wanted, view, metrics, of_ids=True), ids)
        assert of_ids == ask_view(store, explore_sql(wanted, view, metrics)), view


def several_in_one(questions: Sequence[str], most: int) -> Iterator[str]:
    """Statements with the rows of so many questions each: a sandboxed process takes a third of a second to come up."""
    for start in range(0, len(questions), most):
        some = questions[start : start + most]
        yield "SELECT " + ", ".join(f"(SELECT list(v) FROM (\n{sql}\n) v) AS q{at}" for at, sql in enumerate(some))


def test_the_sql_of_a_view_gives_its_points_on_the_sql_page(folder: tuple[Store, Settings]) -> None:
    store, settings = folder
    metrics = {**METRICS, **result_metrics(store, None)}
    wanted = RunFilter(words=("k=2",), engines=("vllm",), states=("finished",))
    questions = [explore_sql(wanted, view, metrics) for view in views_of(metrics)]
    sandbox = Sandbox(settings, run_bounded)
    for sql in (*questions[:: len(questions) // 3], *several_in_one(questions, 12)):
        assert sandbox.ask(sql).table.to_pylist() == store.query(sql).to_pylist()
    rows = store.query(explore_sql(wanted, View("stream", "k", "quantization"), metrics)).to_pylist()
    assert {row["x"] for row in rows} == {2} and len(rows) == 6 and None not in {row["y"] for row in rows}


def test_the_list_of_metrics_is_of_the_runs_that_are_shown_and_what_is_chosen_stays(store: Store) -> None:
    with_line = ids_found(store, RunFilter(words=("k=2",)))
    without = ids_found(store, RunFilter(words=("start",), states=("failed",)))
    assert with_line and TTFT in result_metrics(store, with_line) and without and result_metrics(store, without) == {}
    every = result_metrics(store, None)
    assert result_metrics(store, without, ["stream", TTFT, "results.no.such"]) == {TTFT: every[TTFT]}
    axis = page(state="failed", y=TTFT).selectbox(key="explore-y")
    assert axis.value == TTFT and [one for one in axis.options if one.startswith(("ttft", "output_tps"))] == [
        every[TTFT].title
    ]


def test_many_runs_are_not_asked_by_their_ids(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.ask.explore_queries.MOST_IDS", 5)
    assert ids_found(store, RunFilter(words=("k=2",))) is None
    assert "20 runs are drawn" in said(page())


def test_a_quote_in_a_filter_stays_a_text(store: Store) -> None:
    sql = explore_sql(RunFilter(words=("' or 1=1 --",)), View("stream", "k"), METRICS)
    assert store.query(sql).num_rows == 0


def test_a_guest_sees_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.actions.current_role", lambda: "guest")
    at = page()
    assert [one.value for one in at.info] == ["A link that was shared shows its runs alone."] and not still_charts(at)
    assert HOSTILE not in said(at)


def test_a_nul_in_the_address_is_no_part_of_a_text() -> None:
    assert "20 runs are drawn" in said(page(find="\0"))


def test_a_number_that_is_not_finite_is_not_known(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ask_view(store, explore_sql(RunFilter(words=("k=2",)), View("stream", "k"), METRICS))
    odd = [{**row, "y": math.nan if place == 0 else math.inf} for place, row in enumerate(rows[:2])]
    table = pa.Table.from_pylist([*odd, *rows[2:]])
    monkeypatch.setattr(type(store), "query", lambda *_: table)
    told = ask_view(store, "SELECT")
    assert [row["y"] is None for row in told] == [True, True, False, False, False, False]
