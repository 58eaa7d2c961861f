"""The Explore page: any metric against any other, over any set of ended runs."""

from __future__ import annotations

import streamlit as st

from storage.queries.explore_queries import METRICS, View, drawn_value_counts, matching_ids, result_metrics
from web.actions import is_member
from web.context import services
from web.explore.controls import PAGE, choice_row, choose, choose_kind, metrics_in_address, runs_filter_section
from web.explore.view import show_view
from web.machines.machine_titles import machine_titles
from web.page_head import page_head
from web.picker import no_runs_yet
from web.runs.table.run_filters import RunFilters
from web.runs.table.run_listing import choices_of
from web.saved_views import view_list

if not is_member():
    st.info("A shared link shows only its own runs.")
    st.stop()

store = services().store
choices = choices_of(store)
if not choices.runs:
    with page_head("Explore"):
        pass
    no_runs_yet("This page plots any metric of your runs against any other metric or setting.")
    st.stop()

titles = machine_titles(store)
with page_head("Explore"):
    kind = choose_kind()
    view_list("explore")
axes, filter_place = choice_row()  # the axes are filled last: their options depend on the selected runs
filters = RunFilters(choices, titles, PAGE)
with filter_place, runs_filter_section(filters.active_count):
    run_filter = filters.show()
run_ids = matching_ids(store, run_filter)
results = result_metrics(store, run_ids, metrics_in_address())


def value_counts(view: View) -> dict[str, int]:
    """Return how many values each field has among the points of these axes."""
    return drawn_value_counts(store, run_filter, view, {**METRICS, **results}, run_ids)


with axes:
    selection = choose(kind, results, value_counts)
show_view(run_filter, run_ids, selection, results)
