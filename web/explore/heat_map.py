"""Explore's heat map; a press on a cell opens its run, or lists its runs, which the URL keeps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

import streamlit as st

from analysis.chart_points import ChartMark
from reports.runs.run_line import lines_of
from storage.queries.run_queries import runs_of
from web import markup
from web.charts import still_chart
from web.compare.cached_reports import reports_on
from web.context import services
from web.explore.controls import ExploreSelection
from web.explore.heat_figure import cell_key, heat_figure
from web.machines.machine_titles import machine_titles
from web.redirects import go_to
from web.runs.table.run_listing import choices_of
from web.runs.table.run_table import proposed_columns, run_table, shown_columns
from web.runs.table.selection_bar import selection_bar
from web.runs.undo_notice import undo_notice

CELL = "cell"  # URL parameter: the values of the cell's column, row and facet


def heat_map(marks: Sequence[ChartMark], selection: ExploreSelection, title: str) -> None:
    """Show the map, and below it the runs of the pressed cell."""
    if pressed := still_chart(heat_figure(marks, selection), title, "explore-heat", opens=True):
        pressed_cell = json.loads(pressed[0])
        if (mark := _find_mark(marks, pressed_cell)) and len(mark.run_ids) == 1:
            go_to(markup.run_link("run", mark.run_ids))
        elif mark:
            st.query_params[CELL] = pressed_cell
    if mark := _find_mark(marks, st.query_params.get_all(CELL)):
        _list_runs(mark, selection)


def _find_mark(marks: Sequence[ChartMark], key: list[str]) -> ChartMark | None:
    return next((mark for mark in marks if cell_key(mark) == key), None)


def _list_runs(cell: ChartMark, selection: ExploreSelection) -> None:
    store = services().store
    runs = runs_of(store, cell.run_ids)
    fields = (selection.view.x, selection.view.color, selection.view.facet)
    cell_title = ", ".join(
        f"{selection.titles[field]} {value}" for field, value in zip(fields, cell_key(cell), strict=False)
    )
    lines = lines_of(store, runs, partial(reports_on, store))
    choices = choices_of(store)
    columns = shown_columns(proposed_columns(choices), choices, lines)
    caption = markup.markdown_text(f"{len(runs):,} in the cell {cell_title}")
    run_table(runs, lines, columns, machine_titles(store), caption, has_order=False)
    selection_bar(store, cell.run_ids)
    undo_notice()
