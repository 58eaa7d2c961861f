"""The list of signed-in browsers, with buttons to sign them out."""

from __future__ import annotations

import streamlit as st

from web import audit
from web.access.roles import current_session_id, person_label
from web.access.sessions import SignInSession
from web.actions import Once, require_operator
from web.context import services
from web.markup import markdown_text
from web.times import format_time, utc_help


def show_session_list() -> None:
    """Show each open session with its browser, its times and a sign-out button, and a button that ends them all."""
    st.markdown("**Signed-in browsers**")
    current_id = current_session_id()
    for session in services().sessions.all():
        is_current = session.id == current_id
        with st.container(horizontal=True, vertical_alignment="center", key=f"session-{session.id[:12]}"):
            st.markdown(_description(session, is_current), help=_utc_help(session))
            label = "Sign out here" if is_current else "Sign out"
            st.button(label, key=f"sign-out-{session.id[:12]}", on_click=Once(_end), args=(session,))
    st.button(
        "Sign out everywhere", on_click=Once(_end_all), help="Including this browser; the links above stay valid."
    )


def show_own_sign_in() -> None:
    """Show editors and viewers who is signed in in this browser, and the sign-out button."""
    session = next((candidate for candidate in services().sessions.all() if candidate.id == current_session_id()), None)
    if session is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="own-sign-in"):
        st.caption(f"You are signed in as {markdown_text(person_label(session.role, session.name))}.")
        st.button("Sign out", key="sign-out-own", on_click=Once(_leave), args=(session,))


def _leave(session: SignInSession) -> None:
    audit.record("sign out", detail=session.browser)
    services().sessions.end(session.id)


def _end(session: SignInSession) -> None:
    require_operator()
    audit.record("sign out", detail=session.browser)
    services().sessions.end(session.id)


def _end_all() -> None:
    require_operator()
    audit.record("sign out", detail="every browser")
    services().sessions.end_all()


def _utc_help(session: SignInSession) -> str:
    return utc_help(since=session.created_at, last_used=session.last_used_at, until=session.until)


def _description(session: SignInSession, is_current: bool) -> str:
    marker = " (this one)" if is_current else ""
    times = f"since {format_time(session.created_at)}, last used {format_time(session.last_used_at)}"
    person = person_label(session.role, session.name)
    until = f", until {format_time(session.until)} at the latest" if session.until else ""
    return f"{markdown_text(person)}, {markdown_text(session.browser)}{marker}: {times}{until}"
