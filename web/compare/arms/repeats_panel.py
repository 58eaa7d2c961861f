"""Repeats on the Compare page: which runs make an arm, adding those that were not picked, leaving one out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from analysis.comparison.arms import Arm
from analysis.guard import DECLARABLE, RowCode
from analysis.verdict.margin import LEAST, MOST
from domain import Run
from reports.arms.comparison import Asking, ComparisonReport, offered_repeats
from web.actions import is_member
from web.compare import asking as address
from web.compare.answer.guard_words import TITLES
from web.compare.answer.report_notes import workload_titles
from web.context import services
from web.markup import markdown_text

OBJECTIVE_PX = 250  # the longest title in full
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
        width=OBJECTIVE_PX,
    )
    if chosen != report.objective:
        address.set_objective(chosen)
        st.rerun()


def workload_picker(report: ComparisonReport) -> None:
    """Whose loads are compared, where the runs share several workloads."""
    if report.workload is None or len(report.workloads) < 2:
        return
    titles, options = workload_titles(report.workloads), list(report.workloads)
    meaning = "The loads of one workload are compared; others on the same server starts do not count."
    at = options.index(report.workload)
    chosen = st.selectbox("Workload", options, index=at, format_func=titles.__getitem__, help=meaning)
    if chosen != report.workload:
        address.set_workload(chosen)
        st.rerun()


def margin_input(report: ComparisonReport) -> None:
    """The smallest difference that matters."""
    meaning = "The smallest difference that matters: an arm is better or worse beyond it, and the same within it."
    low, high, now = (100 * share for share in (LEAST, MOST, report.margin))
    percent = st.number_input("Smallest difference, %", low, high, now, 0.5, format="%g", help=meaning, width=180)
    if abs(percent - now) > 1e-6:
        address.set_margin(percent / 100)
        st.rerun()


def show_earlier(report: ComparisonReport) -> None:
    """Whose spread between starts serves where an arm has a single one; a guest sees no names of other runs."""
    if report.earlier:
        names = ", ".join(dict.fromkeys(run.name for run in report.earlier))
        which = names if is_member() else f"{len(report.earlier)} runs"
        words = f"How much one start differs from the next is taken from earlier repeats under the same load: {which}."
        st.caption(markdown_text(words))


def offer_repeats(report: ComparisonReport, runs: Sequence[Run]) -> None:
    """Runs of the store that repeat an arm and were not picked: one click adds them."""
    offered = offered_repeats(services().store, runs, report)
    if not offered:
        return
    words = f"{len(offered)} more run{'s repeat' if len(offered) > 1 else ' repeats'} these configurations"
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.caption(f"{words}: with {'them' if len(offered) > 1 else 'it'} the answer rests on more server starts.")
    if right.button("Add as repeats", icon=":material/library_add:"):
        st.query_params["run"] = [*(run.id for run in runs), *offered]
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
    st.markdown(f"**{markdown_text(arm.name)}** \u2013 {_starts(len(arm.starts))}")
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
