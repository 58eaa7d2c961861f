"""The browsers that are signed in, and how each is signed out."""

from __future__ import annotations

import streamlit as st

from web import audit
from web.access.roles import current_session_id, person
from web.access.sessions import Session
from web.actions import Once, require_operator
from web.context import services
from web.markup import markdown_text
from web.moments import in_utc, moment


def session_list() -> None:
    """Each open session with its browser and times, a button that ends it, and one that ends all."""
    st.markdown("**Browsers that are signed in**")
    ours = current_session_id()
    for session in services().sessions.all():
        is_ours = session.id == ours
        with st.container(horizontal=True, vertical_alignment="center", key=f"session-{session.id[:12]}"):
            st.markdown(_described(session, is_ours), help=_in_utc(session))
            label = "Sign out here" if is_ours else "Sign out"
            st.button(label, key=f"sign-out-{session.id[:12]}", on_click=Once(_end), args=(session,))
    st.button("Sign out everywhere", on_click=Once(_end_all), help="This browser too; the links above stay open.")


def own_sign_in() -> None:
    """Show an editor or a viewer as whom this browser is signed in, and the way out."""
    ours = next((one for one in services().sessions.all() if one.id == current_session_id()), None)
    if ours is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="own-sign-in"):
        st.caption(f"You are signed in as {markdown_text(person(ours.role, ours.name))}.")
        st.button("Sign out", key="sign-out-own", on_click=Once(_leave), args=(ours,))


def _leave(session: Session) -> None:
    audit.record("sign out", detail=session.browser)
    services().sessions.end(session.id)


def _end(session: Session) -> None:
    require_operator()
    audit.record("sign out", detail=session.browser)
    services().sessions.end(session.id)


def _end_all() -> None:
    require_operator()
    audit.record("sign out", detail="every browser")
    services().sessions.end_all()


def _in_utc(session: Session) -> str:
    return in_utc(since=session.created_at, last_used=session.last_used_at, until=session.until)


def _described(session: Session, is_ours: bool) -> str:
    here = " (this one)" if is_ours else ""
    times = f"since {moment(session.created_at)}, last used {moment(session.last_used_at)}"
    who = person(session.role, session.name)
    until = f", until {moment(session.until)} at the latest" if session.until else ""
    return f"{markdown_text(who)}, {markdown_text(session.browser)}{here}: {times}{until}"
