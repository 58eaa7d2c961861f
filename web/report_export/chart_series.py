"""Chart data for a report's script: runs over time, and frontiers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from analysis.decide.frontier import FrontierPoint
from analysis.runs.windows import Window
from reports.arms.report_data import ReportData
from reports.runs.run_report import RunReport
from web.compare.answer.overview import Colors
from web.compare.viewpoints.frontier_plots import axis_title, plots
from web.theme import run_color

MOST_WINDOWS = 2000  # per run; of a longer run only every n-th is drawn, but the tables have all
CHARTED_VALUES: Mapping[str, Callable[[Window], float | None]] = {
    "Decode speed, tok/s of all streams": lambda w: w.decode_tps,
    "Tokens per step": lambda w: w.tokens_per_step,
    "Steps per second": lambda w: w.steps_per_s,
}


def time_charts(data: ReportData, colors: Colors) -> list[dict[str, Any]]:
    """Return one chart per quantity that any window has, one line per run; none without a window of pure decoding."""
    if not any(window.activity == "active" for report in data.reports for window in report.windows):
        return []
    return [
        {"title": title, "lines": [_line(report, read_value, colors) for report in data.reports]}
        for title, read_value in CHARTED_VALUES.items()
        if any(read_value(window) is not None for report in data.reports for window in report.windows)
    ]


def _line(report: RunReport, read_value: Callable[[Window], float | None], colors: Colors) -> dict[str, Any]:
    windows = report.windows[:: 1 + len(report.windows) // MOST_WINDOWS]
    color = colors.get(report.run.id, report.run.color)
    return {
        "name": report.run.name,
        "color": [run_color(color, "light"), run_color(color, "dark")],
        "x": [round(window.since_ready_s, 2) for window in windows],
        "y": [None if (y := read_value(window)) is None else float(f"{y:.5g}") for window in windows],
        "active": [window.activity == "active" for window in windows],
    }


def frontier_charts(data: ReportData, colors: Colors) -> list[dict[str, Any]]:
    """Return one chart per pair of viewpoints and the load curve: axes, points and the frontier line."""
    arms = {arm.id: arm.name for arm in data.comparison.arms}
    return [
        {
            "title": plot.title,
            "names": [plot.y.title, plot.x.title],
            "x": axis_title(plot.x),
            "y": axis_title(plot.y),
            "points": [_point(point, arms, colors) for point in plot.points],
            "line": [[point.x, point.y] for point in plot.best],
        }
        for plot in plots(data.rankings, data.curve)
    ]


def _point(plot_point: FrontierPoint, arms: Mapping[str, str], colors: Colors) -> dict[str, Any]:
    color = [run_color(colors[plot_point.arm_id], "light"), run_color(colors[plot_point.arm_id], "dark")]
    entry = {
        "name": arms[plot_point.arm_id],
        "color": color,
        "x": plot_point.x,
        "y": plot_point.y,
        "note": plot_point.note,
    }
    return entry | {
        "x_interval": plot_point.x_interval,
        "y_interval": plot_point.y_interval,
        "is_comparable": plot_point.is_comparable,
    }
