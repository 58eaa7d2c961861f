"""Accuracies of the arms by task, with their differences from the first arm in percentage points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import streamlit as st

from analysis.comparison.arms import Arm
from analysis.loads.agent_tasks import SolvedDifference
from analysis.loads.paired_accuracy import PairedDifference
from reports.arms.accuracy import AccuracyComparison, AccuracyRow, accuracy_rows, read_item_pairs
from reports.arms.comparison import ComparisonReport
from reports.arms.depth_claims import SuiteDepths, suite_depths
from storage.queries.load_queries import outcomes
from storage.queries.run_data import Queryable
from web import markup
from web.compare.answer.guard_words import TITLES
from web.compare.answer.overview import Colors
from web.loads.depth_words import ABOUT_DEPTHS, depth_text
from web.theme import DASH
from web.words import reason_text

ABOUT = (
    "Right answers in per cent, and the difference from the first arm in percentage points on the items that were "
    "scored for both, with a 95 % interval (Newcombe's for paired shares, jointly for all arms) and the p value of "
    "McNemar's exact test. Repeats of an agent task are not paired: Newcombe's interval for independent shares, and "
    "Fisher's exact test."
)


def accuracy_section(store: Queryable, report: ComparisonReport, colors: Colors) -> list[AccuracyRow]:
    """Show the table if an arm was scored; return its rows."""
    load_outcomes = outcomes(store, [run.run_id for arm in report.arms for run in arm.runs])
    rows = accuracy_rows(report, load_outcomes, read_item_pairs(store, report.arms, load_outcomes))
    if rows:
        st.subheader("Accuracy")
        st.caption(ABOUT)
        st.html(accuracy_table(report.arms, rows, colors))
    for line in depth_lines(report.arms, suite_depths(report.arms)):
        st.markdown(markup.markdown_text(line), help=ABOUT_DEPTHS)
    return rows


def depth_lines(arms: Sequence[Arm], suites: Sequence[SuiteDepths]) -> list[str]:
    """Return a sentence per suite: 'Tool calls on A hold until 100k tokens; on B hold until 32k tokens, break ...'."""
    return [
        f"{suite.suite.capitalize()} "
        + "; ".join(f"on {arm.name} {depth_text(suite.by_arm[arm.id])}" for arm in arms if arm.id in suite.by_arm)
        + "."
        for suite in suites
    ]


def accuracy_table(arms: Sequence[Arm], rows: Sequence[AccuracyRow], colors: Colors) -> str:
    """Return the table as markup, one column per arm; '' without rows."""
    head = ["Task", *(markup.colored_name(arm.name, colors[arm.id]) for arm in arms)]
    body = [[markup.text(cell) for cell in cells] for cells in accuracy_cells(arms, rows)]
    return markup.table(head, body, wraps=True) if rows else ""


def accuracy_cells(arms: Sequence[Arm], rows: Sequence[AccuracyRow]) -> Iterator[list[str]]:
    """Yield the cells of each row: the task, then one per arm."""
    for row in rows:
        yield [row.title, *(_cell(row, arm) for arm in arms)]


def _cell(row: AccuracyRow, arm: Arm) -> str:
    accuracy, comparison = row.accuracies.get(arm.id), row.comparisons.get(arm.id)
    if accuracy is None or accuracy.value is None:
        return DASH
    return f"{100 * accuracy.value:.1f} %{f', {difference_text(comparison)}' if comparison else ''}"


def difference_text(comparison: AccuracyComparison) -> str:
    """Return '-2.3 points (-2.9 to -1.7), 82 lost and 13 won of 3,000 items, p < 0.001', or why it is as seen."""
    points = f"{comparison.points:+.1f} points"
    refused = "".join(f", not ranked: {TITLES[row.code]}" for row in comparison.refused[:1])
    tested = comparison.difference
    if tested is None:
        return f"{points} as seen: {reason_text(comparison.reason)}{refused}"
    p_value = "p < 0.001" if tested.p_value < 0.001 else f"p = {tested.p_value:.2g}"
    return f"{points} ({tested.low:+.1f} to {tested.high:+.1f}), {_counts_text(tested)}, {p_value}{refused}"


def _counts_text(difference: PairedDifference | SolvedDifference) -> str:
    if isinstance(difference, PairedDifference):
        items = difference.items
        return f"{items.lost:,} lost and {items.won:,} won of {items.n:,} items"
    baseline, contender = difference.counts
    return f"{contender.solved} of {contender.n} solved against {baseline.solved} of {baseline.n}"
