"""The heat map of Explore and the runs of a cell: one is opened, several are listed, which the address keeps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

import streamlit as st

from analysis.marks import Mark
from reports.runs.run_line import lines_of
from storage.ask.run_queries import runs_of
from web import markup
from web.charts import still_chart
from web.compare.kept_reports import reports_on
from web.context import services
from web.explore.choices import Chosen
from web.explore.heat_figure import heat_of, place_of
from web.kept import go_to
from web.machines.machine_titles import machine_titles
from web.runs.table.run_listing import choices_of
from web.runs.table.run_table import proposed_columns, run_table, shown_columns

CELL = "cell"  # of the address: the values of its column, its row and, of small maps, its map


def heat_map(marks: Sequence[Mark], chosen: Chosen, title: str) -> None:
    """The map, and beneath it the runs of the cell that was pressed."""
    if pressed := still_chart(heat_of(marks, chosen), title, "explore-heat", opens=True):
        place = json.loads(pressed[0])
        if (found := _at(marks, place)) and len(found.run_ids) == 1:
            go_to(markup.run_link("run", found.run_ids))
        elif found:
            st.query_params[CELL] = place
    if found := _at(marks, st.query_params.get_all(CELL)):
        _list_runs(found, chosen)


def _at(marks: Sequence[Mark], place: list[str]) -> Mark | None:
    return next((mark for mark in marks if place_of(mark) == place), None)


def _list_runs(cell: Mark, chosen: Chosen) -> None:
    store = services().store
    runs = runs_of(store, cell.run_ids)
    fields = (chosen.view.x, chosen.view.color, chosen.view.facet)
    words = ", ".join(f"{chosen.titles[field]} {value}" for field, value in zip(fields, place_of(cell), strict=False))
    lines = lines_of(store, runs, partial(reports_on, store))
    choices = choices_of(store)
    columns = shown_columns(proposed_columns(choices), choices, lines)
    said = markup.markdown_text(f"{len(runs):,} of the cell {words}")
    run_table(runs, lines, columns, machine_titles(store), said, has_order=False)
