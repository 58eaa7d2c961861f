"""A link in a box, with a button that copies it."""

from __future__ import annotations

import streamlit as st

from web.assets import STATIC

_component = st.components.v2.component(
    "pitwall_copy_link", js=(STATIC / "copy_link.js").read_text(), isolate_styles=False
)


def show_link(link: str, key: str) -> None:
    """Show the link and *Copy link*."""
    st.code(link, language=None, wrap_lines=True)
    _component(key=f"copy-{key}", data={"link": link})
