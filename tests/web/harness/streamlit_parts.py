"""One of each part of Streamlit that streamlit_dom.css and streamlit_dom.js take something for granted of."""

from __future__ import annotations

import time

import streamlit as st

from web.assets import STATIC

COUNT_S = 4.0

st.html(f"<style>{(STATIC / 'pitwall.css').read_text()}{(STATIC / 'streamlit_dom.css').read_text()}</style>")


def parts() -> None:
    """The page itself."""
    st.html('<a href="runs" target="_self">Watch side by side</a>')
    st.caption("A caption")
    st.code('{"number": 1, "boolean": true, "text": "x"}', language="json")
    st.tabs(["One", "Two"])
    st.segmented_control("Start from", ["a preset", "a command"], default="a preset")
    st.pills("More", ["Machines", "Deleted runs"], selection_mode="multi", default=["Machines"])
    st.multiselect("Runs", ["a", "b"], default=["a"])
    st.date_input("Day")
    st.text_area("Command")
    st.slider("Position")
    st.page_link("https://127.0.0.1/", label="All runs")
    st.page_link("https://127.0.0.1/", label="Compare them", disabled=True)
    with st.container(key="launch-columns"):
        left, right = st.columns([3, 2])
    left.write("the command")
    right.write("the form")
    with st.container(key="compare-head"):
        st.container(key="compare-arms", horizontal=True).write("the arms")
    st.container(key="unseen").write("a watcher")
    st.container(key="floating-bar").write("a bar")
    st.dataframe([{"a": 1}], hide_index=True)
    st.color_picker("Late")  # its code is kept back: what stands in its place stays
    st.container(key="live-status").write("1 running")
    st.write("The page is whole.")
    count()
    question()


@st.fragment(run_every=2 * COUNT_S)
def count() -> None:
    """A part that runs so long that Streamlit shows its status, and then rests."""
    time.sleep(COUNT_S)


@st.dialog("A question")
def question() -> None:
    """A dialog over the page."""
    st.write("Its words")


def second_page() -> None:
    """A second page, without which there is no navigation to fold away."""


st.logo(str(STATIC / "icon.svg"), size="small")
st.navigation([st.Page(parts, default=True), st.Page(second_page)], position="top").run()
