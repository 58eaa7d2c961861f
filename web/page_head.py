"""The row below the header that every page begins with: the title at the left, the page's actions at the right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from web import markup
from web.sharing.guest_note import guest_note_html


@contextmanager
def page_head(title: str, parent: tuple[str, str] | None = None, color: int | None = None) -> Iterator[None]:
    """Show the title; what the block shows are the actions, in the order: primary, Share, Report, further ones.

    parent: path and name of the page that this one is part of. color: index of the run's or arm's colour.
    """
    with st.container(key="page-head", horizontal=True, vertical_alignment="center", gap="small"):
        st.html(title_html(title, parent, color))
        if note := guest_note_html():
            st.html(note, width="content")
        yield


def title_html(title: str, parent: tuple[str, str] | None = None, color: int | None = None) -> str:
    """Return the page's heading, with the page that it is part of before it."""
    crumb = ""
    if parent:
        path, name = parent
        link = f'<a class="pw-crumb" href="{path}" target="_self">{markup.text(name)}</a>'
        crumb = f'{link}<span class="pw-crumb">/</span>'
    swatch = "" if color is None else markup.swatch(color)
    return f'<h1 class="pw-title">{crumb}{swatch}<span>{markup.text(title)}</span></h1>'
