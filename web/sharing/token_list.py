"""The list of tokens of programs and people with their rights and end, and the dialog that creates one."""

from __future__ import annotations

from datetime import timedelta

import streamlit as st

from domain import OPEN_STATES, utc_now
from errors import PitwallError
from redaction import mask_text
from web.access.roles import current_session_id
from web.access.tokens import MOST_DAYS, SIGN_IN_AS, ApiToken, Scope
from web.actions import Once, require_operator
from web.context import services
from web.markup import markdown_text
from web.times import format_time, utc_help

DAYS = 90
RIGHTS = {
    Scope.SQL: "read everything with SQL",
    Scope.LAKE: "read the runs of all machines with SQL, if there is a lake",
    Scope.LIVE: "watch every run live",
    Scope.METRICS: "read the current numbers, for Prometheus",
    Scope.AGENT: "send GPU and host samples of one run from another of its machines",
    Scope.VIEWER: "sign in a person who sees every run and changes nothing",
    Scope.EDITOR: "sign in a person who also writes notes, tags and views, and runs loads on servers",
}


def show_token_list() -> None:
    """Show each valid token with a button that revokes it, and a button that creates another."""
    st.markdown("**Tokens of programs and people**")
    now = utc_now()
    for token in services().tokens.all():
        if token.why_expired(now) is None:
            with st.container(horizontal=True, vertical_alignment="center", key=f"token-{token.id}"):
                st.markdown(_description(token), help=_utc_help(token))
                st.button("Revoke", key=f"revoke-token-{token.id}", on_click=Once(_revoke), args=(token.id,))
    if st.button("Make a token", key="make-token"):
        _dialog()


@st.dialog("Make a token", width="medium", on_dismiss="rerun")
def _dialog() -> None:
    scope = st.selectbox("It may", list(RIGHTS), format_func=RIGHTS.__getitem__, key="token-scope")
    run_id = _pick_run() if scope is Scope.AGENT else None
    with st.form("token", border=False):
        narrow, wide = st.columns([1, 2])
        days = narrow.number_input("Days", min_value=1, max_value=MOST_DAYS, value=DAYS)
        note = wide.text_input(
            "For whom or what", max_chars=80, placeholder="the person's name, or a note for the list"
        )
        pressed = st.form_submit_button("Make it", type="primary", disabled=scope is Scope.AGENT and not run_id)
    if pressed and scope:
        _make_and_show(scope, run_id, int(days), note.strip())


def _pick_run() -> str | None:
    names = {run.id: run.name for run in services().store.runs(OPEN_STATES)}
    if not names:
        st.caption("No run is live or queued; this token needs one.")
    return st.selectbox("Run", list(names), format_func=lambda run_id: f"{names[run_id]} ({run_id})", key="token-run")


def _make_and_show(scope: Scope, run_id: str | None, days: int, note: str) -> None:
    """Create a token and show its text, only this once; only for the operator."""
    require_operator()
    try:
        token, text = services().tokens.make([scope], run_id, timedelta(days=days), mask_text(note), _operator_label())
    except (PitwallError, OSError) as refusal:
        st.error(markdown_text(str(refusal)))
        return
    is_link = scope in SIGN_IN_AS
    st.code(f"{services().settings.url}/?token={text}" if is_link else text, language=None, wrap_lines=True)
    st.caption(
        f"Copy it now: Pitwall stores only its hash. Valid until {format_time(token.expires_at)}.",
        help=utc_help(until=token.expires_at),
    )


def _revoke(token_id: str) -> None:
    require_operator()
    services().tokens.revoke(token_id, _operator_label())


def _operator_label() -> str:
    """Return the audit's label of the operator with the signed-in browser."""
    return f"operator ({(current_session_id() or 'unknown')[:8]})"


def _utc_help(token: ApiToken) -> str:
    return utc_help(made=token.created_at, last_used=token.last_used_at, until=token.expires_at)


def _description(token: ApiToken) -> str:
    note = f"{markdown_text(token.note)}: " if token.note else ""
    run = f" of run {markdown_text(token.run_id)}" if token.run_id else ""
    last_use = f"last used {format_time(token.last_used_at)}" if token.last_used_at else "not used yet"
    origin = f"made {format_time(token.created_at)} by {markdown_text(token.made_by)}"
    scopes = ", ".join(token.scopes)
    return f"{note}`{token.id}` {scopes}{run}, {origin}, {last_use}, until {format_time(token.expires_at)}"
