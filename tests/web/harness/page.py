"""The harness's one page: the component with the runs of the URL; one button makes a rerun that tells it news."""

from __future__ import annotations

import streamlit as st

from web.access.roles import current_role
from web.live.component import show_live_charts

st.set_page_config(layout="wide", page_title="Live harness")
st.caption(f"role: {current_role()}")
ids = st.query_params.get_all("run")
st.session_state.reruns = st.session_state.get("reruns", 0) + st.button("Rerun")
if st.button("Add a word to the address"):
    st.query_params["word"] = "said"
show_live_charts(
    {run_id: color for color, run_id in enumerate(ids)},
    not_comparable={"ghost-0": f"asked {st.session_state.reruns} times"} if st.session_state.reruns else {},
    names={run_id: f"name of {run_id}" for run_id in ids},
)
