"""Explore's heat maps: their cells, what a pressed one lists, and small ones by a field."""

from __future__ import annotations

import json

import pytest

from tests.web.explore.explore_page import OF_ALL, figure, page, page_text

pytestmark = pytest.mark.usefixtures("store")


def test_a_heat_map_leaves_an_unknown_cell_empty() -> None:
    at = page(draw="heat", x="k", color="quantization")
    heat = figure(at)["data"][0]
    assert heat["x"] == ["0", "1", "2", "4"] and heat["y"] == ["&lt;i>q&lt;/i>", "fp8", "not stated"]
    assert heat["z"][0] == [None, 90.0, None, None] and heat["text"][0][0] == ""


def test_addressed_cell_lists_its_runs() -> None:
    at = page(draw="heat", x="k", color="quantization", cell=["4", "fp8"])
    heat = figure(at)["data"][0]
    assert [json.loads(cell[0]) for cell in heat["customdata"][1] if cell] == [["0", "fp8"], ["2", "fp8"], ["4", "fp8"]]
    (rows,) = at.dataframe
    assert sorted(name.split("#", 1)[1] for name in rows.value["name"]) == ["fp8 k=4", "fp8 k=4 #2", "fp8 k=4 #3"]
    assert "when_utc" not in at.dataframe[0].proto.column_order, "the columns that Runs proposes"
    assert "3 in the cell Draft length k 4, Quantization fp8" in page_text(at) and "A click on a cell" in page_text(at)
    assert not page(draw="heat", x="k", color="quantization", cell=["4", "nothing"]).dataframe
    assert not page(x="k", color="quantization", cell=["4", "fp8"]).dataframe, "no heat map"


def test_small_heat_map_cells_name_their_field(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = ["4", OF_ALL, "fp8"]
    at = page(draw="heat", x="k", color="workload", facet="quantization", cell=cell)
    maps = figure(at)["data"]
    assert [one["meta"] for one in maps] == ["<i>q</i>", "fp8", "not stated"]
    assert {one["z"][0][3] is not None for one in maps[1:]} == {True} and maps[0]["z"][0] == [None, 90.0, None, None]
    assert f"3 in the cell Draft length k 4, Workload {OF_ALL}, Quantization fp8" in page_text(at)
    assert {name.split(" k=")[0].split("#", 1)[1] for name in at.dataframe[0].value["name"]} == {"fp8"}
    assert "AS facet" in next(code.value for code in at.code) and "19 of 20 runs are drawn" in page_text(at)
    assert not page(draw="heat", x="k", color="workload", cell=cell).dataframe, "no such cell without small maps"
    monkeypatch.setattr("web.explore.facets.MOST_FACETS", 2)
    monkeypatch.setattr("web.explore.view.MOST_FACETS", 2)
    at = page(draw="heat", x="k", color="workload", facet="quantization")
    assert len(figure(at)["data"]) == 2 and "2 small charts are drawn, for the values with the most cells" in page_text(
        at
    )
    assert "Left out: 1 run with Quantization <i>q</i>." in page_text(at)
