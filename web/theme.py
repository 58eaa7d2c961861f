"""Colours and number formats of every page: one hue per arm, grey for excluded, amber for doubt, red for failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Literal

Ground = Literal["light", "dark"]

# One hue per arm. The first five differ by a CIEDE2000 of 10 or more for people with normal sight and with each of the
# three common colour deficiencies; lines of the others are dashed. Each reaches 4.5:1 on its ground, so that it serves
# lines and text alike (tests/web/test_theme.py measures both).
RUN_HUES: dict[Ground, tuple[str, ...]] = {
    "light": ("#1258A3", "#B55D00", "#108263", "#942665", "#7A5BEF", "#6B6700", "#A3362B", "#0E7490"),
    "dark": ("#3597EE", "#F4A93D", "#3ECC9D", "#EA66A7", "#C8BBFF", "#D9D24E", "#FF8C6B", "#67D4E8"),
}
HUE_COUNT = len(RUN_HUES["light"])
HUE_DASHES = (*("solid",) * 5, "dashdot", "longdash", "longdashdot")  # Plotly's pattern of the lines of each hue
PALER_SHARES = (0.0, 0.28, 0.46)  # share of the ground in the first run of an arm, in its first repeat, in further ones
BACKGROUND: dict[Ground, str] = {"light": "#FFFFFF", "dark": "#0F1318"}
TEXT: dict[Ground, str] = {"light": "#1B2128", "dark": "#E6EAEE"}
MUTED: dict[Ground, str] = {"light": "#5B6672", "dark": "#98A4B0"}
GRID: dict[Ground, str] = {"light": "#E3E7EB", "dark": "#262D35"}
EXCLUDED: dict[Ground, str] = {"light": "#A7B0B9", "dark": "#4C5661"}
DOUBT: dict[Ground, str] = {"light": "#8A5A00", "dark": "#F2B84B"}
FAILURE: dict[Ground, str] = {"light": "#B3261E", "dark": "#FF8A80"}
DASH = "\u2013"  # stands for an unknown value


def run_dash(index: int) -> str:
    """Return Plotly's pattern of the lines of this colour index."""
    return HUE_DASHES[index % HUE_COUNT]


def _mixed(color: str, ground: str, share: float) -> str:
    """Return a colour with this share of the ground mixed in."""
    pairs = [(int(color[at : at + 2], 16), int(ground[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(own + (other - own) * share):02X}" for own, other in pairs)


# By colour index: the hues, then the same hues paler for the repeats of an arm.
RUN_COLORS: dict[Ground, tuple[str, ...]] = {
    ground: tuple(_mixed(hue, BACKGROUND[ground], share) for share in PALER_SHARES for hue in hues)
    for ground, hues in RUN_HUES.items()
}


def run_color(index: int, ground: Ground) -> str:
    """Return the run colour of this index in that theme."""
    palette = RUN_COLORS[ground]
    return palette[index % len(palette)]


def distinct_hues(preferred: Sequence[int]) -> list[int]:
    """Return a hue for each of several arms shown together: the preferred one, or the first free one."""
    assigned: list[int] = []
    for hue in (index % HUE_COUNT for index in preferred):
        reserved = {*assigned, *(index % HUE_COUNT for index in preferred)}
        assigned.append(hue if hue not in assigned else next((h for h in range(HUE_COUNT) if h not in reserved), hue))
    return assigned


def colors_of_runs(preferred: Sequence[int], arms: Sequence[Hashable]) -> list[int]:
    """Return a colour index for each of several runs shown together: a hue per arm, paler for its repeats.

    preferred: each run's own colour. arms: what identifies each run's arm; it has the hue of its first run.
    """
    first_colors = dict(zip(reversed(arms), reversed(preferred), strict=True))
    ordered_arms = list(dict.fromkeys(arms))
    hues = dict(zip(ordered_arms, distinct_hues([first_colors[arm] for arm in ordered_arms]), strict=True))
    colors, counts = [], Counter[Hashable]()
    for arm in arms:
        colors.append(hues[arm] + HUE_COUNT * min(counts[arm], len(PALER_SHARES) - 1))
        counts[arm] += 1
    return colors


def with_free_hues(colors: Sequence[int], count: int) -> list[int]:
    """Return the colour indexes and those of `count` further runs, in hues that are free while there are any."""
    used_hues = {color % HUE_COUNT for color in colors}
    free = [hue for hue in range(HUE_COUNT) if hue not in used_hues] or list(range(HUE_COUNT))
    return [*colors, *(free[number % len(free)] for number in range(count))]


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
