"""Compare as a decision sheet: the answer and whether it may be said, what it is made of, then every number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial

import streamlit as st

from domain import Run
from reports.arms.comparison import Asking, ComparisonReport, named, ranked_by, rungs_of
from reports.arms.other_loads import apart_from
from reports.runs.run_metrics import metrics_of
from reports.runs.run_report import RunReport
from storage.ask import queries
from storage.ask.note_queries import notes
from storage.ask.queries import Asked
from web.compare.answer.answer_cards import Colors, answer_cards
from web.compare.answer.guard_card import guard_card
from web.compare.answer.metric_table import Shown, metric_sections
from web.compare.answer.part_table import class_table, rung_table
from web.compare.verdicts import verdict_section
from web.theme import colors_apart


def colors_of(report: ComparisonReport, runs: Sequence[Run]) -> Colors:
    """Run id -> colour; an arm has that of its first run, no two arms the same."""
    own = {run.id: run.color for run in runs}
    given = colors_apart([own[arm.id] for arm in report.arms])
    return {run.run_id: color for arm, color in zip(report.arms, given, strict=True) for run in arm.runs}


def as_its_arm(one: RunReport, report: ComparisonReport, colors: Colors) -> RunReport:
    """A run in the colour of its arm, so that repeats are seen as such; one that was left out stays as it is."""
    return replace(one, run=one.run.model_copy(update={"color": colors.get(one.run.id, one.run.color)}))


def decision_sheet(report: ComparisonReport, asking: Asking, colors: Colors) -> None:
    """The answers on the left, the guard on the right, and below them classes or rungs."""
    names = named(report.arms)
    st.html(
        f'<div class="pw-sheet"><div>{answer_cards(report.answers, names, colors)}</div>'
        f"{guard_card(report.answers, names, colors)}</div>"
    )
    if not any(answer.is_ranked for answer in report.answers):
        return
    parts = class_table(report.arms, report.answers, colors) + rung_table(report.arms, rungs_of(report, asking), colors)
    if parts:
        st.html(parts)


def all_numbers(asked: Asked, report: ComparisonReport, reports: Sequence[RunReport], colors: Colors) -> None:
    """The table that folds and what people say; a ratio stands only beside arms that may be held against the first."""
    of_run = {one.run.id: apart_from(one, report.other_loads.get(one.run.id, ())) for one in reports}
    started = queries.startup_facts(asked, list(of_run))
    metrics = {
        facts.run_id: metrics_of(of_run[facts.run_id], facts, {row.key: row.value for row in started[facts.run_id]})
        for arm in report.arms
        for facts in arm.runs
    }
    ranked = cache(partial(ranked_by, report))
    numbers = metric_sections(Shown(report.arms, ranked, colors, report.margin), metrics)
    st.html(numbers + verdict_section(report.arms, notes(asked, list(metrics)), colors))
