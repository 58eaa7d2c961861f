"""What a page shows, kept under a name: the address says it all, so a view is a name for an address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from urllib.parse import parse_qs, urlencode

import streamlit as st
from pydantic import ValidationError

from analysis.note_changes import refusal
from notes import SavedView
from storage.ask.note_queries import saved_views
from web import audit
from web.access.roles import current_person
from web.actions import Once, is_editor, is_member, require_editor
from web.context import services
from web.kept import address_button
from web.markup import markdown_text

Page = Literal["runs", "explore"]


def view_list(page: Page) -> None:
    """The views of this page to go to, and what keeps and removes them; for editors."""
    if not is_member():
        return
    views = saved_views(services().store, page)
    for view in views:
        address_button(markdown_text(view.name), f"{page}-go-{view.name}", parse_qs(view.query))
    if not is_editor():
        return
    with st.popover("Views", icon=":material/bookmark:"):
        _keep_form(page)
        for view in views:
            label = f"Remove {markdown_text(view.name)}"
            st.button(label, key=f"{page}-view-{view.name}", on_click=Once(_remove), args=(view,), type="tertiary")


def _keep_form(page: Page) -> None:
    with st.form(f"{page}-keep-view", border=False):
        name = st.text_input("Name", max_chars=60, placeholder="a name for what is shown now")
        st.caption(
            "A name that is there already gets the new view; its earlier versions stay in the store. "
            "Whoever may sign in here sees the same at this page's address: send it as it is."
        )
        if not st.form_submit_button("Save this view", type="primary") or not name.strip():
            return
    try:
        keep_view(page, name.strip(), _query())
    except ValidationError as error:
        st.error(markdown_text(refusal(error)))
        return
    st.rerun()


def _query() -> str:
    """The query of the page's address now."""
    pairs: list[tuple[str, Sequence[str]]] = [(name, st.query_params.get_all(name)) for name in st.query_params]
    return urlencode(pairs, doseq=True)


def keep_view(page: Page, name: str, query: str) -> None:
    """Keep a view, or the next version of one. Raises pydantic.ValidationError for what is too long."""
    require_editor()
    services().store.saved_views.keep(SavedView(page=page, name=name, query=query), current_person())
    audit.record("save view", detail=f"{name} of {page}")


def _remove(view: SavedView) -> None:
    require_editor()
    services().store.saved_views.keep(view.model_copy(update={"is_removed": True}), current_person())
    audit.record("remove view", detail=f"{view.name} of {view.page}")
