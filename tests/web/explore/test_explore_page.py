"""Explore draws any metric against any and says what it leaves out."""

from __future__ import annotations

import pytest

from tests.many_runs import HOSTILE
from tests.web.app_page import still_charts
from tests.web.explore.explore_page import OF_ALL, OUTPUT, TTFT, figure, page, page_text, points

pytestmark = pytest.mark.usefixtures("store")


def test_points_in_field_colours_count_unknown() -> None:
    at = page()
    assert points(at) == {"fp8": 9, "not stated": 9, "&lt;i>q&lt;/i>": 1}
    assert "19 of 20 runs are drawn" in page_text(at) and "Stream, tok/s of 1 run" in page_text(at)
    assert "did not start</a>" in page_text(at) and "A click on a point opens its run" in page_text(at)
    first = next(trace for trace in figure(at)["data"] if trace["name"] == "fp8")
    assert set(first["x"]) == {0, 2, 4}, "without speculation no token is drafted, and that is known"


def test_newest_of_many_points_drawn_with_total(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "too many points" not in page_text(page())
    monkeypatch.setattr("storage.queries.explore_queries.MOST_ROWS", 5)
    at = page(x="started", color="")
    assert "There are too many points: only the newest 5 of 20 are shown." in page_text(at)
    assert "4 of 20 runs are drawn" in page_text(at) and "Stream, tok/s of 1 run" in page_text(at)
    (trace,) = figure(at)["data"]
    numbers = [int(ids[0].split("-")[1]) for ids in trace["customdata"]]
    assert numbers == [15, 16, 17, 18], "in the order in which they began"
    at = page(y=OUTPUT, x="kv_tokens", color="")
    assert "2 of 20 runs are drawn" in page_text(at) and "only the newest 5 of 58 are shown" in page_text(at), (
        "3 points a load"
    )


def test_arm_point_has_two_intervals_and_its_runs() -> None:
    at = page(each="arm", x="kv_tokens", y="stream", color="")
    (trace,) = figure(at)["data"]
    assert sorted(map(len, trace["customdata"])) == [1, 3, 3, 3, 3, 3, 3]
    once = trace["customdata"].index(next(ids for ids in trace["customdata"] if len(ids) == 1))
    assert trace["error_y"]["array"][once] is None and trace["error_x"]["array"][once] is None
    assert all(up > 0 for at, up in enumerate(trace["error_y"]["array"]) if at != once)
    assert "95 % interval" in page_text(at)


def test_two_results_of_a_load_point_pair_up() -> None:
    at = page(x=TTFT, y=OUTPUT, color="concurrency")
    traces = {trace["name"]: trace for trace in figure(at)["data"]}
    assert {name: set(trace["x"]) for name, trace in traces.items()} == {"1": {80}, "4": {320}, "8": {640}}
    assert points(at) == {"1": 19, "4": 19, "8": 19}


def test_field_line_is_the_mean_of_starts() -> None:
    at = page(draw="line", x="concurrency", y=OUTPUT, color="arm")
    line = next(trace for trace in figure(at)["data"] if trace["name"] == "fp8 k=0")
    assert line["x"] == [1, 4, 8] and line["y"][0] == pytest.approx(121.2, abs=0.05)
    assert all(line["error_y"]["array"])


def test_codes_use_the_words_of_other_pages() -> None:
    assert set(points(page(color="method"))) == {"ngram", "no speculation is configured"}
    assert set(points(page(color="engine"))) == {"vLLM"} and set(points(page(color="workload"))) == {OF_ALL}
    titles = [annotation["text"] for annotation in figure(page(x="kv_tokens", facet="method"))["layout"]["annotations"]]
    assert titles[:2] == ["ngram", "no speculation is configured"]


def test_a_distribution_shows_every_run() -> None:
    boxes = figure(page(draw="distribution", x="method"))["data"]
    assert {box["type"] for box in boxes} == {"box"} and sum(len(box["y"]) for box in boxes) == 19


def test_chart_per_value_with_omissions_named(monkeypatch: pytest.MonkeyPatch) -> None:
    at = page(x="kv_tokens", facet="quantization", color="k")
    titles = [annotation["text"] for annotation in figure(at)["layout"]["annotations"]]
    assert titles[:3] == ["&lt;i>q&lt;/i>", "fp8", "not stated"] and at.query_params["facet"] in (
        "quantization",
        ["quantization"],
    )
    assert "19 of 20 runs are drawn" in page_text(at) and "Left out" not in page_text(at)
    with_sql = next(code.value for code in at.code)
    assert "AS facet" in with_sql and "AS facet" not in next(one.value for one in page().code)
    monkeypatch.setattr("web.explore.facets.MOST_FACETS", 2)
    monkeypatch.setattr("web.explore.view.MOST_FACETS", 2)
    at = page(x="kv_tokens", facet="quantization")
    assert "18 of 20 runs are drawn" in page_text(at)
    assert "Left out: 1 run with Quantization <i>q</i>." in page_text(at) and "2 small charts are drawn" in page_text(
        at
    )
    assert len({trace["meta"] for trace in figure(at)["data"]}) == 2


def test_hostile_names_are_texts() -> None:
    at = page(color="arm", find="bold")
    (trace,) = figure(at)["data"]
    assert trace["name"] == "&lt;b>bold&lt;/b> $x$ [link](http://x)" and "<b>" not in trace["hovertext"][0]
    assert "<b>bold" not in page_text(page(y="weights", find="bold")), "not among what is not drawn either"


def test_a_guest_sees_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.actions.current_role", lambda: "guest")
    at = page()
    assert [info.value for info in at.info] == ["A shared link shows only its own runs."] and not still_charts(at)
    assert HOSTILE not in page_text(at)
