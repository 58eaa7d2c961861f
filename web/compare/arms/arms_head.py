"""The sticky head of Compare: one button per arm, which makes it the baseline, and the run picker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis.comparison.arm_names import weights_label
from analysis.comparison.arms import Arm
from domain import Run
from reports.arms.comparison import ComparisonReport
from web.compare.answer.overview import Colors
from web.distinctive_names import distinctive_names
from web.loop_words import SIGN, loop_text
from web.markup import markdown_text, run_css_color
from web.picker import RunSelection, pick_runs

KEY = "compare-runs"
PROMPT = "Runs to compare; the first is the baseline"


class HeadPlaces(NamedTuple):
    """The places in the sticky head that are filled once the comparison is known."""

    arms: DeltaGenerator
    measure: DeltaGenerator  # by what the arms are compared


def arms_and_selection(runs: Sequence[Run], default: Sequence[str], max_runs: int) -> tuple[HeadPlaces, RunSelection]:
    """Return the head's places and the selected runs: the picker is in a popover, or inline below two runs."""
    head = st.container(key="compare-head", horizontal=True, vertical_alignment="center", gap="small")
    requested_ids = st.query_params.get_all("run") or default
    if max(len(requested_ids), len(st.session_state.get(KEY, ()))) < 2:
        return HeadPlaces(head, head), pick_runs(runs, default, PROMPT, key=KEY, max_runs=max_runs)
    places = HeadPlaces(
        head.container(key="compare-arms", horizontal=True, gap="small"),
        head.container(key="compare-measure", width="content"),
    )
    with head.popover("Runs", icon=":material/add:", help="Add or remove runs", key="compare-more"):
        return places, pick_runs(runs, default, PROMPT, key=KEY, max_runs=max_runs)


def show_arms(
    head: DeltaGenerator, report: ComparisonReport, colors: Colors, ids: Sequence[str], collapsed: Mapping[str, float]
) -> None:
    """Show a button per arm; a click puts its runs first. ids: the runs in the URL; collapsed: see `collapsed_arms`."""
    head.html(f"<style>{''.join(_color(arm, colors) for arm in report.arms)}</style>")
    names = distinctive_names([arm.name.strip() for arm in report.arms])
    for position, (arm, name) in enumerate(zip(report.arms, names, strict=True)):
        loops = loop_text(collapsed.get(arm.id))
        label = _label(arm, name, position == 0) + (f" {SIGN}" if loops else "")
        tooltip = " ".join(filter(None, [_help(arm, position == 0), f"{loops}." if loops else ""]))
        if head.button(label, key=_key(arm), help=tooltip, width="stretch") and position:
            arm_run_ids = {run.run_id for run in arm.runs}
            st.query_params["run"] = sorted(ids, key=lambda run_id: run_id not in arm_run_ids)
            st.rerun()


def _key(arm: Arm) -> str:
    return f"arm-{arm.id}"


def _color(arm: Arm, colors: Colors) -> str:
    return f".st-key-{_key(arm)}{{--pw-run:{run_css_color(colors[arm.id])}}}"


def _label(arm: Arm, name: str, is_baseline: bool) -> str:
    """'baseline plain ×3'; the name is in italics so that CSS can truncate it alone."""
    return f"{'**baseline** ' if is_baseline else ''}*{markdown_text(name)}* ×{len(arm.starts)}"


def _help(arm: Arm, is_baseline: bool) -> str:
    starts = "1 server start" if len(arm.starts) == 1 else f"{len(arm.starts)} server starts"
    hint = "The others are compared with it." if is_baseline else "Make it the baseline."
    weights = weights_label(arm.runs[0].served) or "weights not known"
    return f"{markdown_text(arm.name)}, {markdown_text(weights)}, {starts}. {hint}"
