"""The chart of agreement over depth as SVG in a report; it needs no script."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from web import markup
from web.compare.answer.agreement_chart import BAND_NAME, DEPTH_AXIS, SHARE_AXIS, TITLE, AgreementChart, SharePoint
from web.compare.answer.overview import Colors

WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 60, 10, 10, 46
LABEL_GAP = 16  # between the axis and its labels, and between these and its title
ARM_STEP, CAP = 9, 4  # arms stand beside each other at a depth, so that their intervals do not overlap
FEWEST_TICKS = 4
TICK_STEPS = (1, 2, 5, 10)


class Scale(NamedTuple):
    """Place of a depth and of a share in the drawing."""

    depths: Sequence[str]
    low: float
    high: float

    def x(self, depth: str) -> float:
        width = (WIDTH - LEFT - RIGHT) / len(self.depths)
        return LEFT + width * (self.depths.index(depth) + 0.5)

    def y(self, percent: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (self.high - percent) / (self.high - self.low)


def agreement_drawing(chart: AgreementChart, colors: Colors) -> str:
    """Return a figure with the drawing, and with the arms' names in their colours."""
    scale = _scale(chart)
    shapes = [*_grid(scale), *_band(chart.band, scale)]
    for number, line in enumerate(chart.lines):
        shift = ARM_STEP * (number - (len(chart.lines) - 1) / 2)
        shapes += _line(line.points, scale, shift, markup.run_css_color(colors[line.arm_id]))
    names = " ".join(markup.colored_name(line.arm_name, colors[line.arm_id]) for line in chart.lines)
    band = f'<span class="pw-muted">band: {markup.text(BAND_NAME)}</span>' if chart.band else ""
    view = f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{markup.text(TITLE)}"'
    return (
        f'<figure class="rp-still"><figcaption>{markup.text(TITLE)}</figcaption><svg {view}>{"".join(shapes)}</svg>'
        f'<div class="rp-legend">{names} {band}</div></figure>'
    )


def _scale(chart: AgreementChart) -> Scale:
    points = [point for line in chart.lines for point in line.points] + list(chart.band)
    low, high = min(point.low for point in points), max(point.high for point in points)
    room = 0.05 * ((high - low) or 1.0)
    return Scale(chart.depths, max(0.0, low - room), min(100.0, high) + room)


def _grid(scale: Scale) -> Iterator[str]:
    for percent in _ticks(scale.low, scale.high):
        y = scale.y(percent)
        yield f'<line class="rp-grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield _label(LEFT - 6, y + 4, f"{percent:g}", "rp-end")
    for depth in scale.depths:
        yield _label(scale.x(depth), HEIGHT - BOTTOM + LABEL_GAP, depth, "rp-middle")
    yield _label(WIDTH - RIGHT, HEIGHT - BOTTOM + 2 * LABEL_GAP, DEPTH_AXIS, "rp-end")
    yield _label(12, TOP, SHARE_AXIS, "rp-end", f' transform="rotate(-90 12 {TOP})"')


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers on the axis, FEWEST_TICKS or more."""
    power = 10 ** math.floor(math.log10((high - low) / FEWEST_TICKS))
    step = max(factor * power for factor in TICK_STEPS if factor * power <= (high - low) / FEWEST_TICKS)
    return [round(step * n, 10) for n in range(math.ceil(low / step), math.floor(min(high, 100.0) / step) + 1)]


def _label(x: float, y: float, words: str, css_class: str, more: str = "") -> str:
    return f'<text class="rp-tick {css_class}" x="{x:.1f}" y="{y:.1f}"{more}>{markup.text(words)}</text>'


def _band(band: Sequence[SharePoint], scale: Scale) -> Iterator[str]:
    """Yield the area between the ends of the intervals; a bar if there is one depth."""
    if not band:
        return
    half = 0 if len(band) > 1 else (WIDTH - LEFT - RIGHT) / 4
    upper = [(scale.x(point.depth), scale.y(point.high)) for point in band]
    lower = [(scale.x(point.depth), scale.y(point.low)) for point in reversed(band)]
    if half:
        upper, lower = ([(x + sign * half, y) for x, y in ends for sign in (-1, 1)] for ends in (upper, lower))
        lower.reverse()
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in upper + lower)
    yield f'<polygon class="rp-band" points="{corners}"/>'


def _line(points: Sequence[SharePoint], scale: Scale, shift: float, color: str) -> Iterator[str]:
    places = [(scale.x(point.depth) + shift, point) for point in points]
    path = " ".join(f"{x:.1f},{scale.y(point.percent):.1f}" for x, point in places)
    yield f'<polyline class="rp-line" points="{path}" style="stroke:{color}"/>'
    for x, point in places:
        low, high, middle = scale.y(point.low), scale.y(point.high), scale.y(point.percent)
        bar = f"M{x:.1f} {low:.1f}V{high:.1f}M{x - CAP:.1f} {low:.1f}h{2 * CAP}M{x - CAP:.1f} {high:.1f}h{2 * CAP}"
        words = f"{point.depth}: {point.percent:.1f} % ({point.low:.1f} to {point.high:.1f})"
        yield f'<path class="rp-interval" d="{bar}" style="stroke:{color}"/>'
        yield (
            f'<circle cx="{x:.1f}" cy="{middle:.1f}" r="4" style="fill:{color}">'
            f"<title>{markup.text(words)}</title></circle>"
        )
