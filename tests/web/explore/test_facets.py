"""Small charts by the value of a field: which there are, what stands in which, and what has no room."""

from __future__ import annotations

import pytest

from analysis.chart_points import ChartMark, ChartPoint, mean_marks
from storage.queries.explore_queries import View
from web.explore import facets
from web.explore.controls import DISTRIBUTION, HEAT, LINE, SCATTER, ExploreSelection
from web.explore.facets import MOST_FACETS, panels
from web.explore.figures import explore_figure
from web.explore.heat_figure import heat_figure, with_ink

TITLES = {"stream": "Stream, tok/s", "k": "Draft length k", "model": "Model", "": ""}


@pytest.fixture(autouse=True)
def desktop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.explore.facets.is_phone", lambda: False)


def mark(facet: str, color: str = "", x: object = 1, y: float = 10.0) -> ChartMark:
    return ChartMark(x, y, color, "name", (f"run-{facet}-{color}-{x}",), facet=facet)


def figure_of(marks: list[ChartMark], kind: str = SCATTER) -> dict:  # type: ignore[type-arg]
    explore_selection = ExploreSelection(kind, View("stream", "k", "model", "model"), False, TITLES)
    return (heat_figure if kind == HEAT else explore_figure)(marks, explore_selection).to_dict()  # type: ignore[no-any-return]


def test_charts_in_value_order_keep_most_points() -> None:
    few = [mark(str(number)) for number in range(20, 20 - MOST_FACETS, -1)]
    many = [mark("eagle", x=x) for x in range(3)] + [mark("4", x=x) for x in range(2)]
    shown, left_out = panels(few + many)
    names = [facet for facet, _ in shown]
    assert len(names) == MOST_FACETS and names == [*sorted(names[:-1], key=float), "eagle"] and "4" in names
    assert [facet for facet, _ in left_out] == ["13", "14"] and all(len(marks) == 1 for _, marks in left_out)
    assert panels([]) == ([], [])


@pytest.mark.parametrize("kind", [SCATTER, LINE, DISTRIBUTION])
def test_trace_is_in_its_facet_and_named_once(kind: str) -> None:
    figure = figure_of([mark("a", "red"), mark("b", "red", x=2), mark("b", "blue"), mark("c", "blue")], kind)
    rows = {(one["name"], one["meta"], one.get("xaxis", "x"), one.get("yaxis", "y")) for one in figure["data"]}
    assert rows == {("red", "a", "x", "y"), ("red", "b", "x2", "y2"), ("blue", "b", "x2", "y2"),
                     ("blue", "c", "x3", "y3")}  # fmt: skip
    for name in ("red", "blue"):
        mine = [one for one in figure["data"] if one["name"] == name]
        assert [one["showlegend"] for one in mine] == [True, False] and {one["legendgroup"] for one in mine} == {name}
        assert len({one["marker"]["color"] for one in mine}) == 1


def test_charts_share_axes_and_stand_apart() -> None:
    layout = figure_of([mark(str(number)) for number in range(5)])["layout"]
    for number in range(2, 6):
        assert (layout[f"xaxis{number}"]["matches"], layout[f"yaxis{number}"]["matches"]) == ("x", "y")
    assert "matches" not in layout["xaxis"] and layout["xaxis3"]["domain"][0] > layout["xaxis2"]["domain"][1]
    assert layout["yaxis4"]["domain"][1] < layout["yaxis"]["domain"][0], "the second row is below the first"
    showticklabels = [layout[f"xaxis{number}"]["showticklabels"] for number in ("", 2, 3, 4, 5)]
    assert showticklabels == [False, False, True, True, True], "a number stands below the lowest chart of each column"
    assert [layout[f"yaxis{number}"]["showticklabels"] for number in ("", 2, 3, 4)] == [True, False, False, True]
    titles = [annotation["text"] for annotation in layout["annotations"]]
    assert {annotation["xanchor"] for annotation in layout["annotations"][:5]} == {"center"}, (
        "else Plotly moves it by its place"
    )
    assert titles == [*"01234", "Draft length k", "Stream, tok/s"]


def test_distribution_charts_share_box_order() -> None:
    layout = figure_of([mark("a", x=4), mark("b", x="none"), mark("b", x=2)], DISTRIBUTION)["layout"]
    assert layout["xaxis"]["categoryarray"] == layout["xaxis2"]["categoryarray"] == [2, 4, "none"]


def test_a_single_distribution_is_in_order_too() -> None:
    explore_selection = ExploreSelection(DISTRIBUTION, View("stream", "k", "model", ""), False, TITLES)
    layout = explore_figure([mark("", x=4), mark("", x=0), mark("", x=6)], explore_selection).to_dict()["layout"]
    assert (layout["xaxis"]["categoryorder"], layout["xaxis"]["categoryarray"]) == ("array", [0, 4, 6])


def test_point_without_interval_has_no_cross() -> None:
    (trace,) = figure_of([mark("a"), mark("a", x=2)])["data"]
    assert trace["error_x"]["width"] == trace["error_y"]["width"] == 0


def test_small_heat_maps_share_places_and_scale() -> None:
    figure = figure_of([mark("a", "fp8", 4, 3.0), mark("b", "bf16", 0, 9.0), mark("b", "fp8", 4, 5.0)], HEAT)
    first, second = figure["data"]
    assert [(one["meta"], one.get("xaxis", "x"), one.get("yaxis", "y")) for one in (first, second)] == [
        ("a", "x", "y"),
        ("b", "x2", "y2"),
    ]
    assert (first["x"], first["y"]) == (second["x"], second["y"]) == (["0", "4"], ["bf16", "fp8"])
    assert (first["z"], second["z"]) == ([[None, None], [None, 3.0]], [[9.0, None], [None, 5.0]])
    assert {one["coloraxis"] for one in (first, second)} == {"coloraxis"}
    assert "colorscale" in figure["layout"]["coloraxis"] and "colorscale" not in first
    assert second["hovertext"][0][0] == "9.00<br>1 start"
    assert second["text"][0][0] == with_ink("9.00", 9.0, 3.0, 9.0), "there is no room for the starts; one scale for all"
    assert second["customdata"][0][0] == ['["0", "bf16", "b"]'], "and its place says which map"


def test_small_map_texts_are_cut_and_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    marks = [mark("a", "<i>q</i> of 20 letters"), mark("b", "fp8")]
    wide = figure_of(marks, HEAT)["layout"]
    assert list(wide["yaxis2"]["ticktext"]) == ["&lt;i>q&lt;/i> of 2…", "fp8"]
    assert wide["margin"]["l"] > figure_of(marks)["layout"]["margin"]["l"], "numbers need less"
    monkeypatch.setattr("web.explore.facets.is_phone", lambda: True)
    assert figure_of(marks, HEAT)["layout"]["yaxis"]["ticktext"][0] == "&lt;i>q&lt;/i…"


def test_a_name_is_a_text_and_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = "<b>bold</b>", "z" * 100
    annotations = figure_of([mark(first), mark(second)])["layout"]["annotations"]
    assert annotations[0]["text"] == "&lt;b>bold&lt;/b>" and len(annotations[1]["text"]) == facets.LONGEST_TITLE
    monkeypatch.setattr("web.explore.facets.is_phone", lambda: True)
    layout = figure_of([mark(str(number)) for number in range(MOST_FACETS)])["layout"]
    assert layout["xaxis3"]["domain"] == layout["xaxis"]["domain"], "two beside each other on a phone"
    assert layout["height"] > 4 * facets.ROW_ON_PHONE_PX


def test_long_labels_are_cut_and_stand_upright(monkeypatch: pytest.MonkeyPatch) -> None:
    cut = figure_of([mark("a", x="<i>")], DISTRIBUTION)["layout"]["xaxis"]["ticktext"]
    assert list(cut) == ["&lt;i>"], "a text is cut as it reads"
    marks = [mark("a", x="ngram"), mark("b", x="no_speculation_configured")]
    wide = figure_of(marks, DISTRIBUTION)["layout"]
    assert wide["xaxis2"]["ticktext"] == ["ngram", "no_speculatio…"] and wide["xaxis2"]["tickangle"] == 0
    monkeypatch.setattr("web.explore.facets.is_phone", lambda: True)
    narrow = figure_of(marks, DISTRIBUTION)["layout"]
    assert narrow["xaxis2"]["tickangle"] == -90 and narrow["margin"]["b"] > wide["margin"]["b"]
    assert "ticktext" not in figure_of([mark("a", x=1), mark("b", x=2)])["layout"]["xaxis"]


def test_means_are_of_the_runs_of_one_chart() -> None:
    points = [
        ChartPoint(f"r{n}", "n", 1, y, "", facet) for n, (y, facet) in enumerate([(1.0, "a"), (4.0, "a"), (9.0, "b")])
    ]
    marks = mean_marks(points, lambda one: one.x, lambda one: one.name, {}, False)
    assert [(mark.facet, mark.y, mark.run_ids) for mark in marks] == [("a", 2.0, ("r0", "r1")), ("b", 9.0, ("r2",))]


@pytest.mark.parametrize(("values", "step"), [((0, 2, 4), 1), ((1, 512), None), ((0.5, 2.0), None), (("a", "b"), None)])
def test_an_axis_of_few_counts_has_no_halves(values: tuple[object, ...], step: int | None) -> None:
    layout = figure_of([mark(facet, x=x) for facet in ("one", "two") for x in values])["layout"]
    assert [layout[axis].get("dtick") for axis in ("xaxis", "xaxis2")] == [step, step]
