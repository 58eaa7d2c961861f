"""The harness's one page: the component alone, with the runs of the URL; the button makes a rerun."""

from __future__ import annotations

import streamlit as st

from web.auth import current_role
from web.live_plot import live_plot

st.set_page_config(layout="wide", page_title="Live harness")
st.caption(f"role: {current_role()}")
st.button("Rerun")
live_plot(st.query_params.get_all("run"))
