"""Compare as a decision sheet: the answer and whether it may be said, what it is made of, then every number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from analysis.compare import compare_arms
from analysis.evidence.objectives import Kind
from domain import Run
from reports.comparison import Asking, ComparisonReport, named
from reports.run_metrics import metrics_of
from reports.run_report import RunReport
from storage.ask import queries
from web import markup
from web.compare.answer_cards import Colors, answer_cards
from web.compare.guard_card import guard_card
from web.compare.metric_table import metric_sections
from web.compare.part_table import class_table, rung_table
from web.context import services
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
    parts = class_table(report.arms, report.answers, colors) + _rungs(report, asking, colors)
    if parts:
        st.html(parts)


def _rungs(report: ComparisonReport, asking: Asking, colors: Colors) -> str:
    """Every concurrency that the loads share, where one of them is what is compared by."""
    if report.objective.kind is not Kind.OUTPUT_TPS:
        return ""
    rungs = sorted(one for one in report.objectives if one.kind is Kind.OUTPUT_TPS)
    told = [compare_arms(report.arms, one, declared=asking.declared, margin=asking.margin) for one in rungs]
    return rung_table(report.arms, told, colors)


def all_numbers(report: ComparisonReport, reports: Sequence[RunReport], colors: Colors) -> None:
    """The table that folds; a ratio stands only beside arms that may be held against the first."""
    of_run = {one.run.id: one for one in reports}
    started = queries.startup_facts(services().store, list(of_run))
    metrics = {
        facts.run_id: metrics_of(of_run[facts.run_id], facts, {row.key: row.value for row in started[facts.run_id]})
        for arm in report.arms
        for facts in arm.runs
    }
    ranked = {answer.pair.other.id for answer in report.answers if answer.is_ranked}
    st.html(metric_sections(report.arms, metrics, ranked, colors))


def arm_line(report: ComparisonReport, colors: Colors) -> str:
    """The arms with their repeats: 'plain ×3 (baseline), n-gram ×3'."""
    told = [
        f"{markup.named(arm.name, colors[arm.id])} ×{len(arm.runs)}{' (baseline)' if place == 0 else ''}"
        for place, arm in enumerate(report.arms)
    ]
    return f'<p class="pw-legend">{"".join(f"<span>{one}</span>" for one in told)}</p>'
