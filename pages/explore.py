"""Explore: any metric against any, over any set of the runs that have ended."""

from __future__ import annotations

import streamlit as st

from storage.ask.explore_queries import result_metrics
from web.actions import is_member
from web.context import services
from web.explore.choices import PAGE, choose, which_runs
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

results, titles = result_metrics(store), machine_titles(store)
with st.container(horizontal=True, vertical_alignment="center"):
    view_list("explore")
chosen = choose(results)
with which_runs(filters_in_use(choices, titles, PAGE)):
    wanted = run_filters(choices, titles, PAGE, has_order=False)
show_view(wanted, chosen, results)
