"""The operator's section of shared links, signed-in browsers, API tokens and the newest changes."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from domain import AuditEntry
from web import markup
from web.actions import is_operator
from web.context import services
from web.sections import PageSection
from web.sharing.session_list import show_session_list
from web.sharing.share_dialog import show_share_list
from web.sharing.token_list import show_token_list
from web.times import time_html

MAX_ENTRIES = 50


def links_and_changes() -> PageSection | None:
    """Return the section; None for viewers other than the operator."""
    return PageSection("changes", "Links and changes", _show) if is_operator() else None


def _show() -> None:
    show_share_list(services().shares.all())
    show_session_list()
    show_token_list()
    _show_changes(services().store.audit(MAX_ENTRIES))


def _show_changes(entries: Sequence[AuditEntry]) -> None:
    rows = [[time_html(e.ts), *map(markup.text, (e.action, e.role, e.run_id or "", e.detail))] for e in entries]
    if rows:
        st.html(markup.table(["when", "what", "who", "run", ""], rows))
    else:
        st.caption("No changes yet.")
