"""The head of Compare that stays in sight: a column an arm, a click makes it the baseline; the runs to pick from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from analysis.comparison.arms import Arm
from domain import Run
from reports.arms.comparison import ComparisonReport
from web.compare.answer.answer_cards import Colors
from web.markup import markdown_text, run_css_color
from web.picker import Picked, pick_runs

KEY = "compare-runs"
LONG_BEGINNING = 12  # characters
PROMPT = "Runs to compare; the first is the baseline"


def head_and_runs(runs: Sequence[Run], default: Sequence[str], most: int) -> tuple[DeltaGenerator, Picked]:
    """The head, empty as yet, and the picked runs: behind its '+', or in its place while they are under two."""
    head = st.container(key="compare-head", horizontal=True, vertical_alignment="center", gap="small")
    named = st.query_params.get_all("run") or default
    if max(len(named), len(st.session_state.get(KEY, ()))) < 2:
        return head, pick_runs(runs, default, PROMPT, key=KEY, most=most)
    arms = head.container(key="compare-arms", horizontal=True, gap="small")
    with head.popover("Runs", icon=":material/add:", help="Add runs, or take some out", key="compare-more"):
        return arms, pick_runs(runs, default, PROMPT, key=KEY, most=most)


def show_arms(head: DeltaGenerator, report: ComparisonReport, colors: Colors, ids: Sequence[str]) -> None:
    """`ids` are the runs of the address; those of the arm that is clicked come first."""
    head.html(f"<style>{''.join(_color(arm, colors) for arm in report.arms)}</style>")
    names = distinctive_names([arm.name.strip() for arm in report.arms])
    for place, (arm, name) in enumerate(zip(report.arms, names, strict=True)):
        label, help_ = _label(arm, name, place == 0), _help(arm, place == 0)
        if head.button(label, key=_key(arm), help=help_, width="stretch") and place:
            own = {run.run_id for run in arm.runs}
            st.query_params["run"] = sorted(ids, key=lambda run_id: run_id not in own)
            st.rerun()


def _key(arm: Arm) -> str:
    return f"arm-{arm.id}"


def _color(arm: Arm, colors: Colors) -> str:
    return f".st-key-{_key(arm)}{{--pw-run:{run_css_color(colors[arm.id])}}}"


def distinctive_names(names: Sequence[str]) -> list[str]:
    """The names without the words that all begin with, where these are long: a column shows a name's first letters."""
    words = [name.split() for name in names]
    shared = sum(1 for _ in takewhile(lambda at_one_place: len(set(at_one_place)) == 1, zip(*words, strict=False)))
    if len(names) < 2 or len(" ".join(words[0][:shared])) < LONG_BEGINNING or shared == min(map(len, words)):
        return list(names)
    return [f"… {' '.join(own[shared:])}" for own in words]


def _label(arm: Arm, name: str, is_baseline: bool) -> str:
    """'baseline plain ×3'; the name is set apart so that it alone is cut where there is no room."""
    return f"{'**baseline** ' if is_baseline else ''}*{markdown_text(name)}* ×{len(arm.starts)}"


def _help(arm: Arm, is_baseline: bool) -> str:
    starts = "1 server start" if len(arm.starts) == 1 else f"{len(arm.starts)} server starts"
    words = "The others are held against it." if is_baseline else "Make it the baseline."
    return f"{markdown_text(arm.name)}, {starts}. {words}"
