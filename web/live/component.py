"""The Streamlit component that draws charts over time: Live gets its data by push, other pages request `/series`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from analysis.verdict.student_t import quantile
from domain import Run
from web.assets import STATIC, assets_url
from web.charts import PALETTE
from web.distinctive_names import distinctive_names
from web.theme import RUN_COLORS

_component = st.components.v2.component(
    "pitwall_live",
    css=(STATIC / "live" / "live.css").read_text(),
    js=(STATIC / "component_loader.js").read_text(),
    isolate_styles=False,
)


def show_live_charts(
    colors: Mapping[str, int],
    not_comparable: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    key: str = "live-plot",
    links: Mapping[str, str] | None = None,
) -> None:
    """Show these runs (by id, with their colours) together: live ones as they progress, finished ones as an overlay.

    The speed of the others is divided by that of the first, the baseline;
    `not_comparable` maps a run id to the reason why it is not compared with the baseline;
    `names` are shown until a run's own data arrives; `links` lead to runs of other Pitwalls.
    Without runs nothing is shown.
    """
    if not colors:
        return
    board = _board("live/main.js", colors)
    _component(
        key=key,
        data={
            **board,
            "names": dict(names or {}),
            "labels": labels_of(names or {}),
            "baseline": next(iter(colors)),
            "not_comparable": dict(not_comparable or {}),
            "links": dict(links or {}),
            "run_url": f"{board['base']}/run?run=",
        },
    )


def labels_of(names: Mapping[str, str]) -> dict[str, str]:
    """Return by run id the part of its name that tells it apart from the others."""
    return dict(zip(names, distinctive_names(list(names.values())), strict=True))


def show_run_charts(
    runs: Sequence[Run], colors: Mapping[str, int], names: Mapping[str, str], charts: Sequence[str] = ()
) -> None:
    """Show these runs over time since each was ready; `charts` are ids from web/static/live/charts.js, empty for all.

    names: run id -> name of its arm.

    Runs of one colour share a legend entry, and their mean is drawn with its interval.
    """
    runs_by_color: dict[int, list[Run]] = {}
    for run in runs:
        runs_by_color.setdefault(colors[run.id], []).append(run)
    legend = [
        {"name": name, "color": color, "runs": [run.id for run in arm_runs]}
        for name, (color, arm_runs) in zip(
            distinctive_names([names[arm_runs[0].id] for arm_runs in runs_by_color.values()]),
            runs_by_color.items(),
            strict=True,
        )
    ]
    board = _board("live/run_charts.js", {run.id: colors[run.id] for run in runs})
    repeats = max(len(arm_runs) for arm_runs in runs_by_color.values()) if runs else 0
    quantiles = [quantile(0.975, df) for df in range(1, repeats)]  # for the bands over the runs of an arm
    _component(key="time-charts", data={**board, "legend": legend, "charts": list(charts), "quantiles": quantiles})


def _board(module: str, colors: Mapping[str, int]) -> dict[str, object]:
    """Return the data that every board of charts needs."""
    base = st.get_option("server.baseUrlPath").strip("/")
    base_path = f"/{base}" if base else ""
    return {
        "runs": list(colors),
        "colors": {run_id: color % len(RUN_COLORS["light"]) for run_id, color in colors.items()},
        "base": base_path,
        "assets": assets_url(base_path),
        "module": module,
        "palette": PALETTE,
    }
