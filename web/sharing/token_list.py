"""The tokens of programs and people: what each opens and until when, how one is made, and how it is ended."""

from __future__ import annotations

from datetime import timedelta

import streamlit as st

from domain import NOT_OVER, utc_now
from errors import PitwallError
from redaction import mask_text
from web.access.roles import current_session_id
from web.access.tokens import MOST_DAYS, SIGN_IN_AS, ApiToken, Scope
from web.actions import Once, require_operator
from web.context import services
from web.markup import markdown_text
from web.moments import in_utc, moment

DAYS = 90
OPENS = {
    Scope.SQL: "read everything by SQL",
    Scope.LAKE: "read all machines' runs by SQL, where there is a lake",
    Scope.LIVE: "watch every run live",
    Scope.AGENT: "send GPU and host samples of one run, from another machine of it",
    Scope.VIEWER: "sign a person in who sees every run and changes nothing",
    Scope.EDITOR: "sign a person in who also writes notes, tags and views, and puts loads on servers",
}


def token_list() -> None:
    """Each open token with a button that revokes it, and one that makes another."""
    st.markdown("**Tokens of programs and people**")
    now = utc_now()
    for token in services().tokens.all():
        if token.why_over(now) is None:
            with st.container(horizontal=True, vertical_alignment="center", key=f"token-{token.id}"):
                st.markdown(_described(token), help=_in_utc(token))
                st.button("Revoke", key=f"revoke-token-{token.id}", on_click=Once(_revoke), args=(token.id,))
    if st.button("Make a token", key="make-token"):
        _dialog()


@st.dialog("Make a token", width="medium", on_dismiss="rerun")
def _dialog() -> None:
    scope = st.selectbox("It may", list(OPENS), format_func=OPENS.__getitem__, key="token-scope")
    run_id = _run_picked() if scope is Scope.AGENT else None
    with st.form("token", border=False):
        left, right = st.columns([1, 2])
        days = left.number_input("Days", min_value=1, max_value=MOST_DAYS, value=DAYS)
        note = right.text_input(
            "For whom or what", max_chars=80, placeholder="the person's name, or a note for the list"
        )
        pressed = st.form_submit_button("Make it", type="primary", disabled=scope is Scope.AGENT and not run_id)
    if pressed and scope:
        _show(scope, run_id, int(days), note.strip())


def _run_picked() -> str | None:
    names = {run.id: run.name for run in services().store.runs(NOT_OVER)}
    if not names:
        st.caption("No run is live or waits: a token is made for one that is.")
    return st.selectbox("Run", list(names), format_func=lambda run_id: f"{names[run_id]} ({run_id})", key="token-run")


def _show(scope: Scope, run_id: str | None, days: int, note: str) -> None:
    """Make it and show its text, this once; for the operator only."""
    require_operator()
    try:
        token, text = services().tokens.make([scope], run_id, timedelta(days=days), mask_text(note), _who())
    except (PitwallError, OSError) as refusal:
        st.error(markdown_text(str(refusal)))
        return
    is_link = scope in SIGN_IN_AS
    st.code(f"{services().settings.url}/?token={text}" if is_link else text, language=None, wrap_lines=True)
    st.caption(
        f"Copy it now: Pitwall keeps its hash alone. Until {moment(token.expires_at)}.",
        help=in_utc(until=token.expires_at),
    )


def _revoke(token_id: str) -> None:
    require_operator()
    services().tokens.revoke(token_id, _who())


def _who() -> str:
    """For the audit: the operator, and which of the browsers that are signed in."""
    return f"operator ({(current_session_id() or 'unknown')[:8]})"


def _in_utc(token: ApiToken) -> str:
    return in_utc(made=token.created_at, last_used=token.last_used_at, until=token.expires_at)


def _described(token: ApiToken) -> str:
    note = f"{markdown_text(token.note)}: " if token.note else ""
    run = f" of run {markdown_text(token.run_id)}" if token.run_id else ""
    used = f"last used {moment(token.last_used_at)}" if token.last_used_at else "not used yet"
    made = f"made {moment(token.created_at)} by {markdown_text(token.made_by)}"
    scopes = ", ".join(token.scopes)
    return f"{note}`{token.id}` {scopes}{run}, {made}, {used}, until {moment(token.expires_at)}"
