"""Colours of heat map cells, the same in both themes, and the readable text colour on each."""

from __future__ import annotations

from itertools import pairwise

from plotly.colors import hex_to_rgb, sequential

DARK, LIGHT = "#000000", "#ffffff"  # one of the two has a contrast of at least 4.5 on any colour
EVEN_LUMINANCE = 0.179  # both have the same contrast here
_COLORS = sequential.Cividis
SCALE = tuple((index / (len(_COLORS) - 1), color) for index, color in enumerate(_COLORS))

Rgb = tuple[float, ...]


def with_ink(text: str, value: float, low: float, high: float) -> str:
    """Return a cell's text in a readable colour. text: no markup except line breaks; low, high: the scale's ends."""
    ink = DARK if _luminance(color_of(value, low, high)) > EVEN_LUMINANCE else LIGHT
    return f'<span style="color:{ink}">{text}</span>'


def color_of(value: float, low: float, high: float) -> Rgb:
    """Return the colour that Plotly gives a value on the scale, as three channels of 0 to 255."""
    share = (value - low) / (high - low) if high > low else 0.5
    (begin, first), (end, second) = next(
        pair for pair in pairwise(SCALE) if share <= pair[1][0] or pair[1][0] == SCALE[-1][0]
    )
    fraction = (share - begin) / (end - begin)
    return tuple(a + fraction * (b - a) for a, b in zip(hex_to_rgb(first), hex_to_rgb(second), strict=True))


def _luminance(color: Rgb) -> float:
    """Relative luminance by WCAG 2: 0 for black, 1 for white."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (channel / 255 for channel in color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
