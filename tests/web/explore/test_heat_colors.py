"""The number of a cell can be read on its own colour, over the whole scale, which is the same on both grounds."""

from __future__ import annotations

import pytest

from tests.web.test_theme import contrast
from web.explore.heat_colors import DARK, LIGHT, SCALE, color_of, inked


def hex_of(rgb: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(channel):02x}" for channel in rgb)


def test_every_number_has_a_contrast_of_4_5_on_its_own_cell() -> None:
    inks = set()
    for value in range(1001):
        cell = hex_of(color_of(value, 0, 1000))
        ink = DARK if DARK in inked("7", value, 0, 1000) else LIGHT
        inks.add(ink)
        assert contrast(ink, cell) >= 4.5, (value, cell)
    assert inks == {DARK, LIGHT}


def test_the_scale_ends_in_its_own_colours_and_its_middle_is_that_of_plotly() -> None:
    assert hex_of(color_of(3.0, 3.0, 5.0)) == SCALE[0][1] and hex_of(color_of(5.0, 3.0, 5.0)) == SCALE[-1][1]
    assert color_of(4.0, 4.0, 4.0) == color_of(4.0, 3.5, 4.5), "of one value alone Plotly takes the middle"


@pytest.mark.parametrize("told", ["1.5", "1.5<br>3 starts"])
def test_the_ink_is_said_in_the_markup_that_plotly_reads(told: str) -> None:
    assert inked(told, 0.0, 0.0, 1.0) == f'<span style="color:{LIGHT}">{told}</span>'
    assert inked(told, 1.0, 0.0, 1.0) == f'<span style="color:{DARK}">{told}</span>'
