"""The palette is legible on both grounds, and numbers read as people write them."""

from __future__ import annotations

import itertools
import math
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from commands.naming import COLOR_COUNT
from web import theme

STYLE = Path(theme.__file__).parent / "static" / "pitwall.css"


def luminance(color: str) -> float:
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


# Machado, Oliveira and Fernandes (2009), severity 1.0: what of linear RGB the eye sees.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def lab(color: str, vision: str) -> tuple[float, float, float]:
    """CIELAB (D65) of an sRGB colour as somebody with this vision sees it."""
    channels = np.array([int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(VISIONS[vision] @ linear, 0, 1) / np.array([0.95047, 1.0, 1.08883])
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def delta_e(first: tuple[float, float, float], second: tuple[float, float, float]) -> float:
    """CIEDE2000 (Sharma, Wu and Dalal, 2005)."""
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean_chroma = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    stretch = 1.5 - 0.5 * math.sqrt(mean_chroma**7 / (mean_chroma**7 + 25**7))
    c1, c2 = math.hypot(a1 * stretch, b1), math.hypot(a2 * stretch, b2)
    h1, h2 = (math.degrees(math.atan2(b, a * stretch)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180
    lightness, chroma, hue = (l1 + l2) / 2, (c1 + c2) / 2, (h1 + turn / 2) % 360
    t = 1.0
    for weight, factor, offset in ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.20, 4, -63)):
        t += weight * math.cos(math.radians(factor * hue + offset))
    light = (l2 - l1) / (1 + 0.015 * (lightness - 50) ** 2 / math.sqrt(20 + (lightness - 50) ** 2))
    colourful = (c2 - c1) / (1 + 0.045 * chroma)
    turned = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2)) / (1 + 0.015 * chroma * t)
    bend = (
        -2
        * math.sqrt(chroma**7 / (chroma**7 + 25**7))
        * math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    )
    return math.sqrt(light**2 + colourful**2 + turned**2 + bend * colourful * turned)


def test_delta_e_of_a_published_pair() -> None:
    """Pairs 1, 7 and 17 of the test data published with the formula."""
    assert delta_e((50, 2.6772, -79.7751), (50, 0, -82.7485)) == pytest.approx(2.0425, abs=1e-4)
    assert delta_e((50, 0, 0), (50, -1, 2)) == pytest.approx(2.3669, abs=1e-4)
    assert delta_e((50, 2.5, 0), (73, 25, -18)) == pytest.approx(27.1492, abs=1e-4)


@pytest.mark.parametrize("vision", list(VISIONS))
@pytest.mark.parametrize("ground", ["light", "dark"])
def test_solid_hues_differ_for_every_eye(ground: theme.Ground, vision: str) -> None:
    solid = [hue for hue, dash in zip(theme.RUN_HUES[ground], theme.HUE_DASHES, strict=True) if dash == "solid"]
    assert len(solid) == 5 and len(set(theme.HUE_DASHES)) == 4
    for first, second in itertools.combinations(solid, 2):
        assert delta_e(lab(first, vision), lab(second, vision)) >= 10, (first, second)


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_every_text_colour_reaches_wcag_aa(ground: theme.Ground) -> None:
    spoken = [*theme.RUN_HUES[ground], theme.TEXT[ground], theme.MUTED[ground], theme.DOUBT[ground]]
    for color in [*spoken, theme.FAILURE[ground]]:
        assert contrast(color, theme.BACKGROUND[ground]) >= 4.5, color


@pytest.mark.parametrize(
    ("preferred", "hues"),
    [([0, 1, 2], [0, 1, 2]), ([1, 4, 0, 1, 0], [1, 4, 0, 2, 3]), ([0, 8], [0, 1]), ([0] * 9, [*range(8), 0])],
)
def test_arms_keep_hues_unless_in_use(preferred: list[int], hues: list[int]) -> None:
    assert theme.distinct_hues(preferred) == hues


@pytest.mark.parametrize(
    ("preferred", "arms", "colors"),
    [
        ([0, 0, 0, 0], "aaaa", [0, 8, 16, 16]),
        ([0, 1, 2], "aba", [0, 1, 8]),
        ([3, 3, 3], "abc", [3, 0, 1]),
        ([5, 2, 5], "bab", [5, 2, 13]),
    ],
)
def test_repeats_have_their_arms_hue_paler(preferred: list[int], arms: str, colors: list[int]) -> None:
    assert theme.colors_of_runs(preferred, arms) == colors


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_every_run_colour_is_distinct_and_stands_out(ground: theme.Ground) -> None:
    colors = theme.RUN_COLORS[ground]
    assert len({*colors, theme.EXCLUDED[ground], theme.MUTED[ground]}) == len(theme.PALER_SHARES) * theme.HUE_COUNT + 2
    assert min(contrast(color, theme.BACKGROUND[ground]) for color in colors) >= 1.9
    assert theme.HUE_COUNT == COLOR_COUNT


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


def test_text_has_three_sizes() -> None:
    """Streamlit's own text lies between the small sizes, its headings are the larger two."""
    static = STYLE.parent
    styles = [STYLE.read_text(), *((static / name).read_text() for name in ("streamlit_dom.css", "report/report.css"))]
    sizes = {size for style in styles for size in re.findall(r"font-size: ([^;}]+)", style)}
    assert sizes - {"var(--pw-small)", "var(--pw-medium)", "var(--pw-large)"} <= {"14px", "13px", "11px"}, (
        "14 px is the base of rem, 11 px of axis labels"
    )
    variables = dict(re.findall(r"--pw-(small|medium|large): (\d+)px", STYLE.read_text()))
    config = tomllib.loads((static.parents[1] / ".streamlit" / "config.toml").read_text())["theme"]
    base = config["baseFontSize"]
    headings = {round(base * float(size.removesuffix("rem"))) for size in config["headingFontSizes"]}
    small, medium, large = (int(variables[name]) for name in ("small", "medium", "large"))
    assert small <= base <= medium and headings == {medium, large}
