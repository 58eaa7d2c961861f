"""The number of a cell can be read on its own colour, over the whole scale, which is the same on both grounds."""

from __future__ import annotations

import pytest

from tests.web.test_theme import contrast
from web.explore.heat_figure import DARK, LIGHT, SCALE, color_of, with_ink


def hex_of(rgb: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(channel):02x}" for channel in rgb)


def test_cell_numbers_have_contrast_of_4_5() -> None:
    inks = set()
    for value in range(1001):
        cell = hex_of(color_of(value, 0, 1000))
        ink = DARK if DARK in with_ink("7", value, 0, 1000) else LIGHT
        inks.add(ink)
        assert contrast(ink, cell) >= 4.5, (value, cell)
    assert inks == {DARK, LIGHT}


def test_scale_keeps_own_ends_and_plotly_middle() -> None:
    assert hex_of(color_of(3.0, 3.0, 5.0)) == SCALE[0][1] and hex_of(color_of(5.0, 3.0, 5.0)) == SCALE[-1][1]
    assert color_of(4.0, 4.0, 4.0) == color_of(4.0, 3.5, 4.5), "of one value alone Plotly takes the middle"


@pytest.mark.parametrize("told", ["1.5", "1.5<br>3 starts"])
def test_ink_is_given_in_plotly_markup(told: str) -> None:
    assert with_ink(told, 0.0, 0.0, 1.0) == f'<span style="color:{LIGHT}">{told}</span>'
    assert with_ink(told, 1.0, 0.0, 1.0) == f'<span style="color:{DARK}">{told}</span>'
