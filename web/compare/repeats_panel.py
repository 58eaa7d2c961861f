"""Repeats on the Compare page: which runs make an arm, adding those that were not picked, leaving one out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from analysis.arms import Arm
from analysis.guard import DECLARABLE, RowCode
from reports.comparison import Asking, ComparisonReport
from web.compare import asking as address
from web.compare.guard_words import TITLES
from web.markup import markdown_text

UNKNOWN_WORDS: Mapping[str, str] = {
    "model_files": "its model's files",
    "engine_version": "the engine's version",
    "gpus": "its GPUs",
    "configuration": "its configuration",
}


def objective_picker(report: ComparisonReport) -> None:
    """What they are compared by; the workload proposes one."""
    options = list(report.objectives)
    if report.objective not in options:
        options.append(report.objective)
    chosen = st.selectbox(
        "Compared by",
        options,
        index=options.index(report.objective),
        format_func=lambda one: one.title,
        help=report.objective.terms.meaning,
    )
    if chosen != report.objective:
        address.set_objective(chosen)
        st.rerun()


def baseline_picker(report: ComparisonReport, picked: Sequence[str]) -> None:
    """Which arm the others are held against: its runs come first in the address."""
    arms = {arm.id: arm for arm in report.arms}
    first = report.arms[0].id
    names = {arm_id: arm.name for arm_id, arm in arms.items()}
    chosen = st.selectbox("Baseline", list(arms), format_func=names.__getitem__, help="The others are held against it.")
    if chosen != first:
        own = {run.run_id for run in arms[chosen].runs}
        st.query_params["run"] = sorted(picked, key=lambda run_id: run_id not in own)
        st.rerun()


def offer_repeats(report: ComparisonReport, picked: Sequence[str]) -> None:
    """Runs of the store that repeat an arm and were not picked: one click adds them."""
    offered = [run_id for arm in report.arms for run_id in report.offered.get(arm.id, ()) if run_id not in picked]
    if not offered:
        return
    words = f"{len(offered)} more run{'s repeat' if len(offered) > 1 else ' repeats'} these configurations"
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.caption(f"{words}: with {'them' if len(offered) > 1 else 'it'} the answer rests on more server starts.")
    if right.button("Add as repeats", icon=":material/library_add:"):
        st.query_params["run"] = [*picked, *offered]
        st.rerun()


def settings_panel(report: ComparisonReport, asking: Asking, names: Mapping[str, str]) -> None:
    """What is compared on purpose, which repeats are arms of their own, and which do not count."""
    with st.popover("Repeats and what is compared", icon=":material/tune:"):
        _declare(asking)
        for arm in report.arms:
            _arm(arm, asking, names)


def _declare(asking: Asking) -> None:
    chosen = st.multiselect(
        "I compare these on purpose",
        sorted(DECLARABLE, key=list(RowCode).index),
        default=sorted(asking.declared, key=list(RowCode).index),
        format_func=TITLES.__getitem__,
        help="They then stand in the answer. Failures, warm-up, loops and starvation can never be set aside.",
    )
    if frozenset(chosen) != asking.declared:
        address.set_declared(chosen)
        st.rerun()


def _arm(arm: Arm, asking: Asking, names: Mapping[str, str]) -> None:
    st.markdown(f"**{markdown_text(arm.name)}** \u2013 {_starts(len(arm.runs))}")
    if arm.unknown and len(arm.runs) > 1:
        missing = ", ".join(UNKNOWN_WORDS[one] for one in arm.unknown)
        st.caption(f"Held together by its machine and its command, for {missing} is not known.")
    ids = [run.run_id for run in arm.runs]
    if len(ids) > 1:
        apart = st.multiselect("Take apart", ids, format_func=names.__getitem__, key=f"apart-{arm.id}")
        if apart:
            address.set_apart([*asking.apart, *apart])
            st.rerun()
    _leave_out(arm, names)


def _leave_out(arm: Arm, names: Mapping[str, str]) -> None:
    for run_id, reason in arm.left_out.items():
        st.caption(f"{markdown_text(names[run_id])} does not count: {markdown_text(reason)}")
        if st.button("Count it again", key=f"in-{run_id}"):
            address.count_again(run_id)
            st.rerun()
    if len(arm.runs) < 2:
        return
    with st.form(f"out-{arm.id}", border=False):
        run_id = st.selectbox("Leave out", [run.run_id for run in arm.runs], format_func=names.__getitem__)
        reason = st.text_input("Because", placeholder="the reason is shown beside the answer", max_chars=200)
        if st.form_submit_button("Leave it out") and reason.strip():
            address.leave_out(run_id, reason.strip())
            st.rerun()


def _starts(count: int) -> str:
    return "1 start" if count == 1 else f"{count} starts"
