"""What was given out, who is signed in, what programs may do and who changed what, for the operator."""

from __future__ import annotations

import streamlit as st

from web import markup
from web.actions import is_operator
from web.context import services
from web.kept import fold
from web.moments import moment_html
from web.sharing.session_list import own_sign_in, session_list
from web.sharing.share_dialog import share_list
from web.sharing.token_list import token_list

NEWEST = 50


def links_and_changes() -> None:
    """A closed section: open links, signed-in browsers, tokens, the newest changes; others see their own sign-in."""
    if not is_operator():
        own_sign_in()
        return
    with fold("Links and changes", "changes", "runs"):
        share_list(services().shares.all())
        session_list()
        token_list()
        entries = services().store.audit(NEWEST)
        rows = [[moment_html(e.ts), *map(markup.text, (e.action, e.role, e.run_id or "", e.detail))] for e in entries]
        if rows:
            st.html(markup.table(["when", "what", "who", "run", ""], rows))
        else:
            st.caption("Nothing has been changed yet.")
