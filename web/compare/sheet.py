"""The decision sheet of Compare: answers, guard, breakdown and the table of all numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import streamlit as st

from domain import Run
from reports.arms.arm_metrics import ArmMetrics, arm_metrics
from reports.arms.comparison import ComparisonReport, rankable_arms, run_names, rung_answers
from reports.arms.other_loads import without_loads
from reports.runs.metric_inputs import metrics_of_runs
from reports.runs.run_report import RunReport
from storage.queries.note_queries import notes
from storage.queries.run_data import Queryable
from web.compare.answer.answer_cards import answer_cards
from web.compare.answer.dots import page_span
from web.compare.answer.guard_card import guard_card
from web.compare.answer.metric_table import TableColumns, metric_sections
from web.compare.answer.overview import Colors
from web.compare.answer.part_table import class_table, rung_table
from web.compare.verdicts import verdict_section
from web.theme import distinct_hues


def colors_of(report: ComparisonReport, runs: Sequence[Run]) -> Colors:
    """Return run id -> colour; an arm has that of its first run, and no two arms share one."""
    color_by_run = {run.id: run.color for run in runs}
    arm_colors = distinct_hues([color_by_run[arm.id] for arm in report.arms])
    return {run.run_id: color for arm, color in zip(report.arms, arm_colors, strict=True) for run in arm.runs}


def in_arm_color(run_report: RunReport, report: ComparisonReport, colors: Colors) -> RunReport:
    """Return the report with its run in the colour of its arm; a run without an arm keeps its own."""
    return replace(
        run_report, run=run_report.run.model_copy(update={"color": colors.get(run_report.run.id, run_report.run.color)})
    )


def decision_sheet(report: ComparisonReport, colors: Colors, show_notes: Callable[[], None]) -> None:
    """Show the answers, the guard beside them, the notes, and the breakdown by kind of prompt or concurrency."""
    names, is_any_ranked = run_names(report.arms), any(answer.is_ranked for answer in report.answers)
    rungs = rung_answers(report) if is_any_ranked else []
    span = page_span(report.answers, rungs)
    st.html(
        f'<div class="pw-sheet"><div>{answer_cards(report.answers, names, colors, span)}</div>'
        f"{guard_card(report.answers, names, colors)}</div>"
    )
    show_notes()
    if not is_any_ranked:
        return
    parts = class_table(report.arms, report.answers, colors, span) + rung_table(report.arms, rungs, colors, span)
    if parts:
        st.html(parts)


def numbers_of_arms(store: Queryable, report: ComparisonReport, reports: Sequence[RunReport]) -> ArmMetrics:
    """Return arm id -> its metrics, without the loads that are not compared."""
    facts = {run_facts.run_id: run_facts for arm in report.arms for run_facts in arm.runs}
    compared_reports = [
        without_loads(run_report, report.other_loads.get(run_report.run.id, ()))
        for run_report in reports
        if run_report.run.id in facts
    ]
    return arm_metrics(report, metrics_of_runs(store, compared_reports, facts))


def all_numbers(store: Queryable, report: ComparisonReport, metrics: ArmMetrics, colors: Colors) -> None:
    """Show the table of all numbers and people's verdicts; only arms ranked against the first get ratios."""
    ranked_arms = cache(partial(rankable_arms, report))
    numbers = metric_sections(TableColumns(report.arms, ranked_arms, colors, report.margin), metrics)
    run_ids = [run_facts.run_id for arm in report.arms for run_facts in arm.runs]
    st.html(numbers + verdict_section(report.arms, notes(store, run_ids), colors))
