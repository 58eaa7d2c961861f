"""Loads kept under a name, for every form that asks for one."""

from __future__ import annotations

import streamlit as st

from web.actions import require_editor
from web.launch.loads.load_choice import kept_loads
from web.markup import markdown_text
from workloads.saved_loads import SavedLoad


def keep_load(load: SavedLoad) -> None:
    """A popover that keeps what is set under a name, or forgets one that was kept."""
    with st.popover("Keep it under a name", icon=":material/bookmark:"):
        name = st.text_input("Name", key="keep-load-name", placeholder="8K context, 4 users")
        if st.button("Keep", key="keep-load", disabled=not name.strip()):
            _keep(name.strip(), load)
        if known := list(kept_loads().all()):
            gone = st.selectbox("Kept so far", known, index=None, key="kept-loads", placeholder="choose one to forget")
            if gone and st.button("Forget it", key="forget-load"):
                require_editor()
                kept_loads().delete(gone)
                st.rerun()


def _keep(name: str, load: SavedLoad) -> None:
    require_editor()
    try:
        kept_loads().save(name, load)
    except (ValueError, OSError) as refusal:
        st.error(markdown_text(str(refusal)))
        return
    st.success(f"Kept as {markdown_text(name)}: it is among the loads now.")
