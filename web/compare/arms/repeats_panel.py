"""Controls of the Compare page: objective, workload, margin, and which runs make up an arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from analysis.comparison.arms import Arm
from analysis.guard import DECLARABLE, RowCode
from analysis.verdict import format_margin
from analysis.verdict.margin import MAX_MARGIN, MIN_MARGIN
from domain import Run
from reports.arms.comparison import ComparisonOptions, ComparisonReport, offered_repeats
from web.actions import is_member
from web.compare import url_params
from web.compare.answer.guard_words import TITLES
from web.compare.answer.report_notes import workload_titles
from web.context import services
from web.markup import markdown_text

OBJECTIVE_PX = 250  # fits the longest title
UNKNOWN_WORDS: Mapping[str, str] = {
    "model_files": "its model files",
    "engine_version": "its engine version",
    "gpus": "its GPUs",
    "configuration": "its configuration",
}


def measure_panel(report: ComparisonReport) -> None:
    """A popover in the head: by what the arms are compared, and the smallest difference that matters."""
    label = f"{report.objective.title}, ±{format_margin(report.margin)}"
    with st.popover(markdown_text(label), icon=":material/straighten:", key="compare-measure-panel"):
        _objective_picker(report)
        _workload_picker(report)
        _margin_input(report)


def _objective_picker(report: ComparisonReport) -> None:
    """The objective; the workload proposes one."""
    options = list(report.objectives)
    if report.objective not in options:
        options.append(report.objective)
    selected = st.selectbox(
        "Compared by",
        options,
        index=options.index(report.objective),
        format_func=lambda objective: objective.title,
        help=report.objective.terms.meaning,
        width=OBJECTIVE_PX,
    )
    if selected != report.objective:
        url_params.set_objective(selected)
        st.rerun()


def _workload_picker(report: ComparisonReport) -> None:
    """The workload whose loads are compared, if the runs share several."""
    if report.workload is None or len(report.workloads) < 2:
        return
    titles, options = workload_titles(report.workloads), list(report.workloads)
    meaning = "Only the loads of this workload are compared; others on the same server starts do not count."
    index = options.index(report.workload)
    selected = st.selectbox("Workload", options, index=index, format_func=titles.__getitem__, help=meaning)
    if selected != report.workload:
        url_params.set_workload(selected)
        st.rerun()


def _margin_input(report: ComparisonReport) -> None:
    """The smallest difference that matters."""
    meaning = "The smallest difference that matters: an arm is better or worse beyond it, and the same within it."
    low, high, current = (100 * share for share in (MIN_MARGIN, MAX_MARGIN, report.margin))
    percent = st.number_input("Smallest difference, %", low, high, current, 0.5, format="%g", help=meaning, width=180)
    if abs(percent - current) > 1e-6:
        url_params.set_margin(percent / 100)
        st.rerun()


def show_earlier(report: ComparisonReport) -> None:
    """The earlier runs whose spread is used for arms with a single start; guests see their number only."""
    if report.earlier:
        names = ", ".join(dict.fromkeys(run.name for run in report.earlier))
        origin = names if is_member() else f"{len(report.earlier)} runs"
        caption = f"The spread between starts is taken from earlier repeats under the same load: {origin}."
        st.caption(markdown_text(caption))


def offer_repeats(report: ComparisonReport, runs: Sequence[Run]) -> None:
    """Stored runs that repeat an arm and are not selected; one click adds them."""
    offered = offered_repeats(services().store, runs, report)
    if not offered:
        return
    repeat_count = f"{len(offered)} more run{'s repeat' if len(offered) > 1 else ' repeats'} these configurations"
    text_column, button_column = st.columns([3, 1], vertical_alignment="center")
    text_column.caption(
        f"{repeat_count}. Adding {'them' if len(offered) > 1 else 'it'} bases the answer on more server starts."
    )
    if button_column.button("Add as repeats", icon=":material/library_add:"):
        st.query_params["run"] = [*(run.id for run in runs), *offered]
        st.rerun()


def settings_panel(report: ComparisonReport, options: ComparisonOptions, names: Mapping[str, str]) -> None:
    """Settings of the comparison: differences compared on purpose, repeats as separate arms, and excluded runs."""
    with st.popover("Repeats and comparison settings", icon=":material/tune:"):
        _declare(options)
        for arm in report.arms:
            _arm(arm, options, names)
        _move(report.arms, names)
        _undo(options, names)


def _declare(options: ComparisonOptions) -> None:
    selected = st.multiselect(
        "Intended differences",
        sorted(DECLARABLE, key=list(RowCode).index),
        default=sorted(options.declared, key=list(RowCode).index),
        format_func=TITLES.__getitem__,
        select_all=False,
        help="The answer then states them. Failures, warm-up, loops, starvation and forced acceptance never can be.",
    )
    if frozenset(selected) != options.declared:
        url_params.set_declared(selected)
        st.rerun()


def _arm(arm: Arm, options: ComparisonOptions, names: Mapping[str, str]) -> None:
    st.markdown(f"**{markdown_text(arm.name)}** \u2013 {_starts(len(arm.starts))}")
    if arm.unknown and len(arm.runs) > 1:
        missing = ", ".join(UNKNOWN_WORDS[name] for name in arm.unknown)
        st.caption(f"These runs count as one arm by machine, path and settings. Not known: {missing}.")
    ids = [run.run_id for run in arm.runs]
    if len(ids) > 1:
        apart_ids = st.multiselect(
            "Split into separate arms", ids, format_func=names.__getitem__, key=f"apart-{arm.id}", select_all=False
        )
        if apart_ids:
            url_params.set_apart([*options.apart, *apart_ids])
            st.rerun()
    _leave_out(arm, names)


def _move(arms: Sequence[Arm], names: Mapping[str, str]) -> None:
    """Count a run as a repeat of another arm."""
    if len(arms) < 2:
        return
    run_ids = [run.run_id for arm in arms for run in arm.runs]
    arm_names = {arm.id: arm.name for arm in arms}
    with st.form("join", border=False):
        run_id = st.selectbox("Count this run as a repeat", run_ids, format_func=names.__getitem__)
        target_id = st.selectbox("of", list(arm_names), format_func=arm_names.__getitem__)
        reason = st.text_input("Because", placeholder="the reason is shown beside the answer", max_chars=200)
        if st.form_submit_button("Count it there") and reason.strip() and run_id != target_id:
            url_params.join(run_id, target_id, reason.strip())
            st.rerun()


def _undo(options: ComparisonOptions, names: Mapping[str, str]) -> None:
    """Undo splits and declared repeats."""
    for run_id in sorted(options.apart & names.keys()):
        st.caption(f"{markdown_text(names[run_id])} is an arm of its own.")
        if st.button("Join it again", key=f"whole-{run_id}"):
            url_params.set_apart(sorted(options.apart - {run_id}))
            st.rerun()
    for run_id, repeat in options.joined.items():
        if run_id in names and repeat.target_id in names:
            target = markdown_text(names[repeat.target_id])
            st.caption(f"{markdown_text(names[run_id])} counts as a repeat of {target}: {markdown_text(repeat.reason)}")
            if st.button("Undo", key=f"unjoin-{run_id}"):
                url_params.undo_join(run_id)
                st.rerun()


def _leave_out(arm: Arm, names: Mapping[str, str]) -> None:
    for run_id, reason in arm.left_out.items():
        st.caption(f"{markdown_text(names[run_id])} does not count: {markdown_text(reason)}")
        if st.button("Count it again", key=f"in-{run_id}"):
            url_params.count_again(run_id)
            st.rerun()
    if len(arm.runs) < 2:
        return
    with st.form(f"out-{arm.id}", border=False):
        run_id = st.selectbox("Leave out", [run.run_id for run in arm.runs], format_func=names.__getitem__)
        reason = st.text_input("Because", placeholder="the reason is shown beside the answer", max_chars=200)
        if st.form_submit_button("Leave it out") and reason.strip():
            url_params.leave_out(run_id, reason.strip())
            st.rerun()


def _starts(count: int) -> str:
    return "1 start" if count == 1 else f"{count} starts"
