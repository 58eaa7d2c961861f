"""The colours of a heat map's cells, the same on both grounds, and the ink that can be read on each."""

from __future__ import annotations

from itertools import pairwise

from plotly.colors import hex_to_rgb, sequential

DARK, LIGHT = "#000000", "#ffffff"  # one of both has a contrast of 4.5 at least on any colour
EVEN_LUMINANCE = 0.179  # on which both have the same contrast
_COLORS = sequential.Cividis
SCALE = tuple((place / (len(_COLORS) - 1), color) for place, color in enumerate(_COLORS))

Rgb = tuple[float, ...]


def inked(told: str, value: float, low: float, high: float) -> str:
    """A cell's text, without markup but line breaks, in the ink for its colour; low and high are the scale's ends."""
    ink = DARK if _luminance(color_of(value, low, high)) > EVEN_LUMINANCE else LIGHT
    return f'<span style="color:{ink}">{told}</span>'


def color_of(value: float, low: float, high: float) -> Rgb:
    """The colour that Plotly gives a value between the ends of the scale: its three channels, 0 to 255."""
    share = (value - low) / (high - low) if high > low else 0.5
    (begin, first), (end, second) = next(
        both for both in pairwise(SCALE) if share <= both[1][0] or both[1][0] == SCALE[-1][0]
    )
    part = (share - begin) / (end - begin)
    return tuple(a + part * (b - a) for a, b in zip(hex_to_rgb(first), hex_to_rgb(second), strict=True))


def _luminance(color: Rgb) -> float:
    """Relative, as WCAG has it: 0 of black, 1 of white."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (one / 255 for one in color)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
