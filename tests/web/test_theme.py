"""The palette is legible on both grounds, and numbers read as people write them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from web import theme

STYLE = Path(theme.__file__).parent / "static" / "pitwall.css"


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_every_text_colour_reaches_wcag_aa(ground: theme.Ground) -> None:
    spoken = [*theme.RUN_COLORS[ground], theme.TEXT[ground], theme.MUTED[ground], theme.DOUBT[ground]]
    for color in [*spoken, theme.FAILURE[ground]]:
        assert contrast(color, theme.BACKGROUND[ground]) >= 4.5, color


@pytest.mark.parametrize(
    ("wanted", "given"),
    [([0, 1, 2], [0, 1, 2]), ([1, 4, 0, 1, 0], [1, 4, 0, 2, 3]), ([0, 8], [0, 1]), ([0] * 9, [*range(8), 0])],
)
def test_runs_keep_colours_unless_in_use(wanted: list[int], given: list[int]) -> None:
    assert theme.distinct_colors(wanted) == given


def test_runs_have_eight_distinct_colours() -> None:
    assert all(len(set(palette)) == 8 for palette in theme.RUN_COLORS.values())


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (float("nan"), "–"), (0, "0"), (107.3, "107"), (25.04, "25.0"), (4.278, "4.28"), (0.03124, "0.0312"),
     (876006, "876,006")],
)  # fmt: skip
def test_three_digits(value: float | None, text: str) -> None:
    assert theme.three_digits(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "–"), (0.45, "0.45 s"), (14.2, "14 s"), (134, "2:14"), (3734, "1:02:14")]
)
def test_duration(seconds: float | None, text: str) -> None:
    assert theme.duration(seconds) == text


def test_every_rule_of_the_style_is_whole() -> None:
    """A browser passes over what stands outside of a rule, and with it the rule behind."""
    style = re.sub(r"/\*.*?\*/", "", STYLE.read_text(), flags=re.S)
    outside = re.sub(r"@media[^{}]+\{\s*\}", "", re.sub(r"[^{};@]+\{[^{}]*\}", "", style))
    assert not outside.strip()
    assert not re.search(r":root\s{2,}", style)
