"""The Streamlit script behind every page: page set-up, navigation, and the shared style."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

PAGES = Path(__file__).resolve().parent.parent / "pages"
STYLE = Path(__file__).resolve().parent / "static" / "pitwall.css"

st.set_page_config(page_title="Pitwall", page_icon=":material/speed:", layout="wide")
st.html(f"<style>{STYLE.read_text()}</style>")

st.navigation(
    [
        st.Page(PAGES / "runs.py", title="Runs", url_path="runs", default=True),
        st.Page(PAGES / "live.py", title="Live", url_path="live"),
        st.Page(PAGES / "launch.py", title="Launch", url_path="launch"),
        st.Page(PAGES / "compare.py", title="Compare", url_path="compare"),
        st.Page(PAGES / "run.py", title="Run", url_path="run", visibility="hidden"),
    ],
    position="top",
).run()
