"""The Streamlit script behind every page: page set-up, navigation, and the shared style."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from web import places

STATIC = Path(__file__).resolve().parent / "static"

st.set_page_config(page_title="Pitwall", page_icon=str(STATIC / "icon.svg"), layout="wide")
st.html("<style>" + (STATIC / "pitwall.css").read_text() + "</style>")

st.navigation(
    [
        st.Page(places.RUNS, title="Runs", url_path="runs", default=True),
        st.Page(places.LIVE, title="Live", url_path="live"),
        st.Page(places.LAUNCH, title="Launch", url_path="launch"),
        st.Page(places.COMPARE, title="Compare", url_path="compare"),
        st.Page(places.RUN, title="Run", url_path="run", visibility="hidden"),
    ],
    position="top",
).run()
