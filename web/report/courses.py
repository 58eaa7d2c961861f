"""The courses of a report's runs as its script draws them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from analysis.decide.frontier import Point
from analysis.runs.windows import Window
from reports.arms.report_data import ReportData
from reports.runs.run_report import RunReport
from web.compare.answer.answer_cards import Colors
from web.compare.viewpoints.frontier_plots import axis_words, plots
from web.theme import run_color

MOST_WINDOWS = 2000  # of a run; of a longer one every n-th is drawn, and all are in the tables
QUESTIONS: Mapping[str, Callable[[Window], float | None]] = {
    "Decode speed, tok/s of all streams": lambda w: w.decode_tps,
    "Tokens per step": lambda w: w.tokens_per_step,
    "Steps per second": lambda w: w.steps_per_s,
}


def courses(data: ReportData, colors: Colors) -> list[dict[str, Any]]:
    """A chart a quantity that any window has, with one line a run; none where no window holds decoding alone."""
    if not any(w.activity == "active" for one in data.reports for w in one.windows):
        return []
    return [
        {"title": title, "lines": [_line(one, value, colors) for one in data.reports]}
        for title, value in QUESTIONS.items()
        if any(value(w) is not None for one in data.reports for w in one.windows)
    ]


def _line(one: RunReport, value: Callable[[Window], float | None], colors: Colors) -> dict[str, Any]:
    shown = one.windows[:: 1 + len(one.windows) // MOST_WINDOWS]
    color = colors.get(one.run.id, one.run.color)
    return {
        "name": one.run.name,
        "color": [run_color(color, "light"), run_color(color, "dark")],
        "x": [round(w.since_ready_s, 2) for w in shown],
        "y": [None if (y := value(w)) is None else float(f"{y:.5g}") for w in shown],
        "active": [w.activity == "active" for w in shown],
    }


def frontiers(data: ReportData, colors: Colors) -> list[dict[str, Any]]:
    """A chart two viewpoints, or the two sides of load: its axes, its points and the line of its frontier."""
    arms = {arm.id: arm.name for arm in data.comparison.arms}
    return [
        {
            "title": plot.title,
            "x": axis_words(plot.x),
            "y": axis_words(plot.y),
            "points": [_point(one, arms, colors) for one in plot.points],
            "line": [[one.x, one.y] for one in plot.best],
        }
        for plot in plots(data.rankings, data.curve)
    ]


def _point(one: Point, arms: Mapping[str, str], colors: Colors) -> dict[str, Any]:
    color = [run_color(colors[one.arm_id], "light"), run_color(colors[one.arm_id], "dark")]
    point = {"name": arms[one.arm_id], "color": color, "x": one.x, "y": one.y, "note": one.note}
    return point | {"x_interval": one.x_interval, "y_interval": one.y_interval, "is_comparable": one.is_comparable}
