"""The popover that saves a load under a name or deletes a saved one."""

from __future__ import annotations

import streamlit as st

from web.actions import require_editor
from web.loads.forms.load_choice import load_library
from web.markup import markdown_text
from workloads.saved_loads import SavedLoad


def show_saved_load_box(load: SavedLoad) -> None:
    """Show the popover for this load."""
    with st.popover("Save under a name", icon=":material/bookmark:"):
        name = st.text_input("Name", key="keep-load-name", placeholder="8K context, 4 users")
        if st.button("Save", key="keep-load", disabled=not name.strip()):
            _save(name.strip(), load)
        if names := list(load_library().all()):
            selected = st.selectbox(
                "Saved so far", names, index=None, key="kept-loads", placeholder="choose one to delete"
            )
            if selected and st.button("Delete", key="forget-load"):
                require_editor()
                load_library().delete(selected)
                st.rerun()


def _save(name: str, load: SavedLoad) -> None:
    require_editor()
    try:
        load_library().save(name, load)
    except (ValueError, OSError) as refusal:
        st.error(markdown_text(str(refusal)))
        return
    st.success(f"Saved as {markdown_text(name)}. It can now be chosen as a load.")
