"""Run: one run whole: what was asked, what happened, what was measured, and the log that proves it."""

from __future__ import annotations

import streamlit as st

from web import places, run_page
from web.context import services
from web.facts import facts_of

run_id = next(iter(st.query_params.get_all("run")), "")
run = services().store.run(run_id) if run_id else None
if run is None:
    st.warning(f"No run has the id `{run_id}`." if run_id else "The address names no run: `/run?run=<id>`.")
    st.page_link(places.RUNS, label="All runs")
    st.stop()

facts = facts_of([run])[0]
run_page.header(facts)
run_page.cause(run)
run_page.numbers(facts)
left, right = st.columns([1, 1])
with left:
    run_page.timeline(run)
    run_page.requests(facts)
with right:
    run_page.configuration(run)
run_page.log(run)
