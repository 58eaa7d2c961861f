"""Colours and number formats of every page: one colour per run, grey for excluded, amber for doubt, red for failure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Ground = Literal["light", "dark"]

# Okabe-Ito hues in an order that keeps neighbours apart, darkened or lightened until each reaches
# 4.5:1 on its ground (tests/web/test_theme.py measures it), so that they serve lines and text alike.
RUN_COLORS: dict[Ground, tuple[str, ...]] = {
    "light": ("#0072B2", "#A65F00", "#00785A", "#A0457F", "#1F7FA8", "#B84A00", "#7A6A00", "#4F5B66"),
    "dark": ("#4FA8E0", "#E69F00", "#2FC39A", "#DE93BC", "#7CCBF5", "#F08A4B", "#E5D94A", "#A9B4BF"),
}
BACKGROUND: dict[Ground, str] = {"light": "#FFFFFF", "dark": "#0F1318"}
TEXT: dict[Ground, str] = {"light": "#1B2128", "dark": "#E6EAEE"}
MUTED: dict[Ground, str] = {"light": "#5B6672", "dark": "#98A4B0"}
GRID: dict[Ground, str] = {"light": "#E3E7EB", "dark": "#262D35"}
EXCLUDED: dict[Ground, str] = {"light": "#A7B0B9", "dark": "#4C5661"}
DOUBT: dict[Ground, str] = {"light": "#8A5A00", "dark": "#F2B84B"}
FAILURE: dict[Ground, str] = {"light": "#B3261E", "dark": "#FF8A80"}
DASH = "\u2013"  # stands for an unknown value


def run_color(index: int, ground: Ground) -> str:
    """Return the run colour of this index in that theme."""
    palette = RUN_COLORS[ground]
    return palette[index % len(palette)]


def distinct_colors(preferred: Sequence[int]) -> list[int]:
    """Return a colour index for each of several runs shown together: the preferred one, or the first free one."""
    count = len(RUN_COLORS["light"])
    assigned: list[int] = []
    for color in (index % count for index in preferred):
        reserved = {*assigned, *(index % count for index in preferred)}
        assigned.append(color if color not in assigned else next((c for c in range(count) if c not in reserved), color))
    return assigned


def three_digits(value: float | None) -> str:
    """Format to three significant digits without an exponent, a dash if unknown: 107, 25.0, 4.28, 0.0312."""
    if value is None or value != value:
        return DASH
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 2 if abs(value) < 10 else 1
    if abs(value) < 1:
        return f"{value:.3g}"
    return f"{value:.{digits}f}"


def format_ratio(ratio: float) -> str:
    """Format a ratio to three significant digits, with zeros: '1.00x', '0.999x', '12.3x', '1,230x'."""
    return f"{ratio:,.0f}x" if abs(ratio) >= 99.95 else f"{ratio:#.3g}x"


def duration(seconds: float | None) -> str:
    """Format seconds for people: '0.45 s', '14 s', '2:14', '1:02:14'."""
    if seconds is None or seconds != seconds:
        return DASH
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, seconds_left = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds_left:02d}" if hours else f"{minutes}:{seconds_left:02d}"


def byte_size(value: float | None) -> str:
    """Format bytes in binary units: '237 KiB', '18.5 GiB'."""
    if value is None:
        return DASH
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{three_digits(value)} {unit}"
        value /= 1024
    return f"{three_digits(value)} TiB"
