"""Explore: any metric against any, over any set of the runs that have ended."""

from __future__ import annotations

import streamlit as st

from storage.ask.explore_queries import ids_found, result_metrics
from web.actions import is_member
from web.context import services
from web.explore.choices import PAGE, choose, chosen_metrics, which_runs
from web.explore.view import show_view
from web.machines.machine_titles import machine_titles
from web.picker import nothing_yet
from web.runs.table.run_filters import filters_in_use, run_filters
from web.runs.table.run_listing import choices_of
from web.saved_views import view_list

if not is_member():
    st.info("A link that was shared shows its runs alone.")
    st.stop()

store = services().store
choices = choices_of(store)
if not choices.runs:
    nothing_yet("Any metric of your runs is drawn here against any other metric or setting.")
    st.stop()

titles = machine_titles(store)
with st.container(horizontal=True, vertical_alignment="center"):
    view_list("explore")
axes = st.container()  # they offer what the runs that are chosen beneath have
with which_runs(filters_in_use(choices, titles, PAGE)):
    wanted = run_filters(choices, titles, PAGE, has_order=False)
run_ids = ids_found(store, wanted)
results = result_metrics(store, run_ids, chosen_metrics())
with axes:
    chosen = choose(results)
show_view(wanted, run_ids, chosen, results)
