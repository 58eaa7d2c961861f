"""What a page does when its link or its session is over: it gives way to the access check's page that says so."""

from __future__ import annotations

import streamlit as st

from web.server.assets import STATIC

_component = st.components.v2.component("pitwall_share_end", js=(STATIC / "share_end.js").read_text())


def watch_sign_in() -> None:
    """Look every few seconds whether the access check still lets this browser in; nothing is shown."""
    base = st.get_option("server.baseUrlPath").strip("/")
    with st.container(key="unseen"):  # takes no room: web/static/pitwall.css
        _component(key="share-end", data={"health": f"/{base}/_stcore/health" if base else "/_stcore/health"})
