"""Results of other tools side by side on Compare: as each tool reported them, which nothing is ranked by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import streamlit as st

from analysis.comparison.arms import Arm
from analysis.loads.load_results import DEFINITION
from load_records import Result
from storage.queries.load_queries import outcomes
from storage.queries.run_data import Queryable
from web import markup
from web.compare.answer.overview import Colors
from web.loads.panels.load_results import COLUMNS, Column
from web.theme import DASH
from web.url_state import url_expander

TITLE = "Reported by other tools"
NOTE = (
    "As each tool reported it, by its own definition. Pitwall did not send these loads, so nothing is ranked by them; "
    "results of different tools stand in different rows. Of repeats, the lowest and the highest."
)
MAX_ROWS = 60
Place = tuple[str, str]  # definition and point
Cells = dict[tuple[str, str, str], Result]  # a load's results of one point, by point, metric and statistic
ToolResults = dict[Place, dict[str, Cells]]  # of an arm, by load id


class ToolResultRow(NamedTuple):
    """What a row of the table shows: a tool's metric at one measured point."""

    definition: str
    point: str
    column: Column


def tool_results_section(store: Queryable, arms: Sequence[Arm], colors: Colors, is_open: bool) -> None:
    """Show the results of other tools; nothing if no arm has any. is_open: unfold the section at first."""
    results_by_arm = tool_results(store, arms)
    rows = result_rows(results_by_arm)
    if not rows:
        return
    with url_expander(TITLE, "tools", "compare", is_open=is_open):
        head = ["", *(markup.colored_name(arm.name, colors[arm.id]) for arm in arms)]
        cells = [[_title(row), *(_cell(results_by_arm[arm.id], row) for arm in arms)] for row in rows[:MAX_ROWS]]
        st.html(markup.table(head, cells, is_numeric=True))
        hidden = len(rows) - MAX_ROWS
        st.caption(
            NOTE + (f" {hidden} more rows are left out: each run's page has all of its own." if hidden > 0 else "")
        )


def tool_results(store: Queryable, arms: Sequence[Arm]) -> dict[str, ToolResults]:
    """Return the results that other tools than Pitwall reported, by arm id."""
    arm_ids = {run.run_id: arm.id for arm in arms for run in arm.runs}
    results_by_arm: dict[str, ToolResults] = {arm.id: {} for arm in arms}
    for run_id, outcomes_of_run in outcomes(store, list(arm_ids)).items():
        for result in (result for outcome in outcomes_of_run.values() for result in outcome.results):
            if result.definition != DEFINITION:
                loads = results_by_arm[arm_ids[run_id]].setdefault((result.definition, result.point), {})
                loads.setdefault(result.load_id, {})[result.point, result.metric, result.statistic] = result
    return results_by_arm


def result_rows(results_by_arm: Mapping[str, ToolResults]) -> list[ToolResultRow]:
    """Return the rows that any arm has a value for: by tool, then by concurrency, then as the tool lists its points."""
    levels = {
        place: next(iter(cells.values())).concurrency or 0
        for results in results_by_arm.values()
        for place, loads in results.items()
        for cells in loads.values()
    }
    places = sorted(levels, key=lambda place: (place[0], levels[place]))
    rows = [ToolResultRow(definition, point, column) for definition, point in places for column in COLUMNS]
    return [row for row in rows if _has_content(row, [_values(results, row) for results in results_by_arm.values()])]


def _has_content(row: ToolResultRow, values_by_arm: Sequence[Sequence[float]]) -> bool:
    """Return whether an arm has a value in a row; that no request failed anywhere is no content."""
    return any(any(values) if row.column.metric == "failed_requests" else values for values in values_by_arm)


def _values(results: ToolResults, row: ToolResultRow) -> list[float]:
    """Return the values of an arm's loads in a row, from the statistic that the row shows of each."""
    loads = results.get((row.definition, row.point), {})
    shown_results = (row.column.result(cells, row.point, is_own_load=False) for cells in loads.values())
    return [result.value for result in shown_results if result is not None and result.value is not None]


def _title(row: ToolResultRow) -> str:
    return f'{row.column.title} <span class="pw-muted">{markup.text(f"{row.point} · {row.definition}")}</span>'


def _cell(results: ToolResults, row: ToolResultRow) -> str:
    values = _values(results, row)
    if not values:
        return DASH
    lowest, highest = (row.column.text(value) for value in (min(values), max(values)))
    return lowest if lowest == highest else f"{lowest} to {highest}"
