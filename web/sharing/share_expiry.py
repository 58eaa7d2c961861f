"""Replaces an open page by the access check's refusal once its link or session has ended."""

from __future__ import annotations

import streamlit as st

from web.assets import STATIC

_component = st.components.v2.component("pitwall_share_end", js=(STATIC / "share_end.js").read_text())


def watch_sign_in() -> None:
    """Check every few seconds whether the access check still admits this browser; shows nothing."""
    base = st.get_option("server.baseUrlPath").strip("/")
    with st.container(key="unseen"):  # takes no room: web/static/pitwall.css
        _component(key="share-end", data={"health": f"/{base}/_stcore/health" if base else "/_stcore/health"})
