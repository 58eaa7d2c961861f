"""The harness's one page: the component with the runs of the URL; its button makes a rerun that tells it news."""

from __future__ import annotations

import streamlit as st

from web.access.auth import current_role
from web.live.component import live_plot

st.set_page_config(layout="wide", page_title="Live harness")
st.caption(f"role: {current_role()}")
st.session_state.reruns = st.session_state.get("reruns", 0) + st.button("Rerun")
live_plot(
    {run_id: color for color, run_id in enumerate(st.query_params.get_all("run"))},
    not_comparable={"ghost-0": f"asked {st.session_state.reruns} times"} if st.session_state.reruns else {},
)
