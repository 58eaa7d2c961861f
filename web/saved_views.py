"""Saved views: names for a page's URL query, which holds everything the page shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from urllib.parse import parse_qs, urlencode

import streamlit as st
from pydantic import ValidationError

from analysis.note_changes import refusal_text
from notes import SavedView
from storage.queries.note_queries import saved_views
from web import audit
from web.access.roles import current_person
from web.actions import Once, is_editor, is_member, require_editor
from web.context import services
from web.markup import markdown_text
from web.url_state import address_button, open_popover

Page = Literal["runs", "explore"]


def view_list(page: Page) -> None:
    """Links to this page's saved views, and for editors the forms that save and remove them."""
    if not is_member():
        return
    store = services().store
    views = store.query_cache.get(("saved views", page), lambda: saved_views(store, page))
    for view in views:
        address_button(markdown_text(view.name), f"{page}-go-{view.name}", parse_qs(view.query))
    if not is_editor():
        return
    popover = open_popover("Views", f"{page}-views", ":material/bookmark:")
    if not popover:
        return
    with popover:
        _keep_form(page)
        for view in views:
            label = f"Remove {markdown_text(view.name)}"
            st.button(label, key=f"{page}-view-{view.name}", on_click=Once(_remove), args=(view,), type="tertiary")


def _keep_form(page: Page) -> None:
    with st.form(f"{page}-keep-view", border=False):
        name = st.text_input("Name", max_chars=60, placeholder="a name for the current view")
        st.caption(
            "An existing name gets the new view; its earlier versions stay in the store. "
            "To share a view, send this page's address: anyone who can sign in here sees the same."
        )
        if not st.form_submit_button("Save this view", type="primary") or not name.strip():
            return
    try:
        keep_view(page, name.strip(), _query())
    except ValidationError as error:
        st.error(markdown_text(refusal_text(error)))
        return
    st.rerun()


def _query() -> str:
    """The current query of the page's URL."""
    pairs: list[tuple[str, Sequence[str]]] = [(name, st.query_params.get_all(name)) for name in st.query_params]
    return urlencode(pairs, doseq=True)


def keep_view(page: Page, name: str, query: str) -> None:
    """Save a view or its next version. Raises pydantic.ValidationError if it is too long."""
    require_editor()
    services().store.saved_views.save(SavedView(page=page, name=name, query=query), current_person())
    audit.record("save view", detail=f"{name} of {page}")


def _remove(view: SavedView) -> None:
    require_editor()
    services().store.saved_views.save(view.model_copy(update={"is_removed": True}), current_person())
    audit.record("remove view", detail=f"{view.name} of {view.page}")
