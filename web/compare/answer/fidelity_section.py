"""The section 'Same answers?' of Compare: the table, agreement over depth, and the load that measures it."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
import streamlit as st

from analysis.guard.quality import changed_rows, fidelity_loads
from domain import Run
from launcher.checks.launch_request import LaunchRefusedError
from load_records import FIDELITY
from reports.arms.comparison import ComparisonReport
from web import audit, charts
from web.actions import Once, is_editor, require_editor
from web.compare.answer.agreement_chart import (
    BAND_NAME,
    DEPTH_AXIS,
    SHARE_AXIS,
    AgreementChart,
    SharePoint,
    agreement_chart,
)
from web.compare.answer.agreement_chart import TITLE as CHART_TITLE
from web.compare.answer.fidelity_table import ABOUT, fidelity_table, measured_fidelities
from web.compare.answer.overview import Colors
from web.context import services
from web.markup import markdown_text
from web.theme import MUTED, run_color
from workloads import spec_for
from workloads.probe_support import probe_refusal

TITLE = "Same answers?"
BAND_COLOR = "rgba(128,128,128,0.25)"


def fidelity_section(report: ComparisonReport, runs: Sequence[Run], colors: Colors) -> None:
    """Show how far the arms' answers agree, and offer to measure those of running servers."""
    measured = measured_fidelities(report.answers)
    is_in_question = any(changed_rows(answer.pair) for answer in report.answers)
    if not measured and not is_in_question:
        return
    st.subheader(TITLE)
    if measured:
        st.caption(ABOUT)
        st.html(fidelity_table(measured, colors))
        if chart := agreement_chart(measured):
            charts.still_chart(depth_figure(chart, colors), CHART_TITLE, "fidelity-depth")
    else:
        st.caption("The answers of these arms were not compared, although engine, weights or KV cache differ.")
    _offer_loads(report, runs)


def depth_figure(chart: AgreementChart, colors: Colors) -> go.Figure:
    """Draw the agreement of each arm over depth with its intervals; the first arm's own agreement is a band."""
    ground, figure = charts.DRAWN_GROUND, go.Figure()
    if chart.band:
        depths = [point.depth for point in chart.band]
        edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
        figure.add_scatter(x=depths, y=[point.high for point in chart.band], showlegend=False, **edge)
        lows, filled = [point.low for point in chart.band], {"fill": "tonexty", "fillcolor": BAND_COLOR}
        figure.add_scatter(x=depths, y=lows, name=BAND_NAME, **filled, **edge)
    for line in chart.lines:
        figure.add_scatter(
            x=[point.depth for point in line.points],
            y=[point.percent for point in line.points],
            error_y=_error_bars(line.points),
            mode="lines+markers",
            name=charts.plain(line.arm_name),
            line={"color": run_color(colors[line.arm_id], ground)},
        )
    charts.styled(figure, {"title": {"text": DEPTH_AXIS}, "type": "category"}, legend=True)
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"color": MUTED[ground]}}
    return figure.update_layout(legend=legend, yaxis={"title": {"text": SHARE_AXIS}, "rangemode": "normal"})


def _error_bars(points: Sequence[SharePoint]) -> dict[str, object]:
    above, below = [point.high - point.percent for point in points], [point.percent - point.low for point in points]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below}


def runs_to_measure(report: ComparisonReport, runs: Sequence[Run]) -> list[Run]:
    """Return one run per arm without a fidelity load whose server is ready for one and can be measured."""
    ready = {run.id: run for run in runs if run.state.value == "ready" and not probe_refusal(run.config.engine)}
    unmeasured = [arm for arm in report.arms if not fidelity_loads(arm)]
    candidates = [next((ready[run.run_id] for run in arm.runs if run.run_id in ready), None) for arm in unmeasured]
    return [run for run in candidates if run]


def refusals_to_measure(runs: Sequence[Run]) -> list[str]:
    """Return why runs cannot be measured, each reason once."""
    refusals = dict.fromkeys(probe_refusal(run.config.engine) for run in runs)
    return [refusal for refusal in refusals if refusal]


def _offer_loads(report: ComparisonReport, runs: Sequence[Run]) -> None:
    """Show a button that measures the answers of the arms that run; their results come with the load."""
    if not is_editor() or all(fidelity_loads(arm) for arm in report.arms):
        return
    for refusal in refusals_to_measure(runs):
        st.caption(markdown_text(refusal))
    to_measure = runs_to_measure(report, runs)
    if not to_measure:
        st.caption("The load *Fidelity: same answers?* measures them; start it on a running server, or at the launch.")
        return
    names = ", ".join(run.name for run in to_measure)
    st.button(
        f"Measure the answers of {markdown_text(names)}",
        icon=":material/compare_arrows:",
        key="fidelity-start",
        on_click=Once(_start),
        args=(tuple(run.id for run in to_measure),),
    )


def _start(run_ids: Sequence[str]) -> None:
    require_editor()
    for run_id in run_ids:
        try:
            services().supervisor.start_load(run_id, spec_for(FIDELITY, {}))
        except LaunchRefusedError as refusal:
            st.error(markdown_text(str(refusal)))
            continue
        audit.record("load", [run_id], FIDELITY)
