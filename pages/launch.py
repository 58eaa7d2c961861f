"""Launch: paste any command, see how it is read, put it under a workload; or watch a server that already runs."""

from __future__ import annotations

import streamlit as st

from web import attach_form, launch_form
from web.actions import is_operator

if not is_operator():
    st.info("Only the operator may launch or attach.")
    st.stop()

paste, attach = st.tabs(["Paste a command", "Watch a running server"])
with paste:
    left, right = st.columns([3, 2])
    with left:
        explanation = launch_form.paste_box()
    with right:
        launch_form.reading(explanation)
    launch_form.launch(explanation)
with attach:
    st.subheader("Running on this machine")
    attach_form.found_servers()
    st.subheader("Anywhere else")
    attach_form.by_url()
