"""The charts over time, a Streamlit component of web/static/live: Live's are pushed, still pages ask `/series`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from analysis.comparison.arms import NUMBERED
from analysis.verdict.student_t import quantile
from domain import Run
from web.charts import PALETTE
from web.server.assets import STATIC, assets_url
from web.theme import RUN_COLORS

_component = st.components.v2.component(
    "pitwall_live",
    css=(STATIC / "live" / "live.css").read_text(),
    js=(STATIC / "component_loader.js").read_text(),
    isolate_styles=False,
)


def live_plot(
    colors: Mapping[str, int],
    not_comparable: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    key: str = "live-plot",
    links: Mapping[str, str] | None = None,
) -> None:
    """Show these runs (by id, with their colours) side by side, live ones as they go and finished ones as an overlay.

    The speed of the first divides that of the others;
    `not_comparable` maps a run id to the reason why it is not measured against the baseline;
    `names` are shown until a run itself has answered; `links` lead to runs of other Pitwalls.
    Without a run there is nothing to show and nothing is shown.
    """
    if not colors:
        return
    board = _board("live/main.js", colors)
    _component(
        key=key,
        data={
            **board,
            "names": dict(names or {}),
            "baseline": next(iter(colors)),
            "not_comparable": dict(not_comparable or {}),
            "links": dict(links or {}),
            "run_url": f"{board['base']}/run?run=",
        },
    )


def course_plot(runs: Sequence[Run], colors: Mapping[str, int], charts: Sequence[str] = ()) -> None:
    """Show these runs over time since each was ready; `charts` are the ids of web/static/live/charts.js, none: all.

    Runs of one colour are one entry of the legend, and have their mean with its interval drawn.
    """
    of_color: dict[int, list[Run]] = {}
    for run in runs:
        of_color.setdefault(colors[run.id], []).append(run)
    legend = [
        {"name": NUMBERED.sub("", same[0].name), "color": color, "runs": [run.id for run in same]}
        for color, same in of_color.items()
    ]
    board = _board("live/courses.js", {run.id: colors[run.id] for run in runs})
    repeats = max(len(same) for same in of_color.values()) if runs else 0
    quantiles = [quantile(0.975, df) for df in range(1, repeats)]  # for the bands over the runs of an arm
    _component(key="courses", data={**board, "legend": legend, "charts": list(charts), "quantiles": quantiles})


def _board(module: str, colors: Mapping[str, int]) -> dict[str, object]:
    """What every board of charts gets."""
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
