"""The heat maps of a grid: of one slice, which the viewer chooses and which is named."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from load_records import Result

NOW = datetime(2026, 11, 27, tzinfo=UTC)
PAGE = """
from tests.web.loads.test_load_charts import grid
from web.loads.panels.load_charts import show_grid_map

show_grid_map(grid(), "load")
"""
INCOMPLETE = PAGE.replace("grid(),", "[*grid(), replace(grid()[0], depth_tokens=None, value=9.0)],").replace(
    "\nfrom", "\nfrom dataclasses import replace\nfrom", 1
)


def grid() -> list[Result]:
    """A value that tells its point: concurrency in thousands, prompt and depth in hundreds and ones."""
    return [
        Result("r", "l", NOW, f"pp{prompt} d{depth} c{users}", "decode_tps", "mean", "tok/s", "d",
               value=float(1000 * users + prompt + depth), prompt_tokens=prompt, depth_tokens=depth, output_tokens=32,
               concurrency=users)
        for users in (1, 2, 4) for prompt in (100, 200) for depth in (0, 50)
    ]  # fmt: skip


@pytest.fixture
def drawn_figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    figures: list[Any] = []
    monkeypatch.setattr("web.loads.panels.load_charts.still_chart", lambda figure, *_: figures.append(figure))
    monkeypatch.setattr("web.charts.is_phone", lambda: False)
    return figures


def test_heat_map_names_its_slice(drawn_figures: list[Any]) -> None:
    at = AppTest.from_string(PAGE, default_timeout=60).run()
    assert not at.exception and [box.label for box in at.selectbox] == ["The maps are for concurrency"]
    assert [list(row) for row in drawn_figures[-1].data[0].z] == [[1100.0, 1200.0], [1150.0, 1250.0]]
    at.selectbox[0].set_value(4).run()
    assert [list(row) for row in drawn_figures[-1].data[0].z] == [[4100.0, 4200.0], [4150.0, 4250.0]]


def test_point_without_a_place_on_the_map_is_left_out(drawn_figures: list[Any]) -> None:
    """A foreign tool's row that names no depth."""
    at = AppTest.from_string(INCOMPLETE, default_timeout=60).run()
    assert not at.exception
    assert [list(row) for row in drawn_figures[-1].data[0].z] == [[1100.0, 1200.0], [1150.0, 1250.0]]
