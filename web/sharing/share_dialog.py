"""Sharing runs or a study with a teammate: the Share button, its dialog, and the list of active links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import streamlit as st

from domain import Run, Share, Study
from settings import Settings
from web import audit, page_paths
from web.access.access_rules import LOOPBACK_NAMES
from web.access.roles import current_person
from web.actions import Once, is_operator, require_operator
from web.context import services
from web.markup import markdown_text
from web.sharing.link_box import show_link
from web.times import format_time, format_utc, utc_help

DAYS = 7
MOST_DAYS = 90
OPEN_DIALOG = "share-dialog-is-open"  # holds the key of the button that opened the dialog
PAGES_WITH_REPORT = ("run", "compare", "studies")
THE_PAGE, THE_REPORT = "this page", "its report, one HTML page"


@dataclass(frozen=True, slots=True)
class SharedContent:
    """The content of a link; a copy, because a dialog reruns on its own and must not use outdated runs."""

    page: str
    runs: Sequence[tuple[str, str]] = ()  # id and name
    study: Study | None = None
    query: str | None = None  # the address's other parameters


def show_share_button(runs: Sequence[Run], page: str, query: str | None = None) -> None:
    """Show the operator's button that shares these runs as seen on `page`; `query` as in domain.Share."""
    if runs:
        _button(SharedContent(page, [(run.id, run.name) for run in runs], query=query), f"share-{page}")


def show_study_share_button(study: Study) -> None:
    """Show the operator's button that shares a study with its runs."""
    _button(SharedContent("studies", study=study), f"share-{study.id}")


def _button(content: SharedContent, key: str) -> None:
    if is_operator() and st.button("Share", key=key, icon=":material/share:"):
        st.session_state[OPEN_DIALOG] = key
        title = "Share this study" if content.study else "Share these runs"
        st.dialog(title, width="medium", on_dismiss=_close)(_dialog)(content)
    elif st.session_state.get(OPEN_DIALOG) == key:  # any next run of the page closes the dialog
        _close()


def is_sharing() -> bool:
    """Whether the dialog is open on the running page."""
    return bool(st.session_state.get(OPEN_DIALOG))


def _close() -> None:
    st.session_state[OPEN_DIALOG] = None


def _dialog(content: SharedContent) -> None:
    names = "this study and all its runs" if content.study else ", ".join(markdown_text(n) for _, n in content.runs)
    st.markdown(
        f"Anyone with the link can see {names} and nothing else, live and afterwards, and cannot change anything."
    )
    with st.form("share", border=False):
        target = THE_PAGE
        if content.page in PAGES_WITH_REPORT:
            target = st.radio("It opens", [THE_PAGE, THE_REPORT], horizontal=True)
        narrow, wide = st.columns([1, 2])
        days = narrow.number_input("Days", min_value=1, max_value=MOST_DAYS, value=DAYS)
        note = wide.text_input("For whom", placeholder="a note for the list of links")
        pressed = st.form_submit_button("Make a link", type="primary")
    if pressed:
        page = page_paths.REPORT if target == THE_REPORT else content.page
        share = create_share(replace(content, page=page), int(days), note.strip() or None)
        show_link(services().shares.link(share), "new")
        text = f"Until {format_time(share.expires_at)}. {how_to_reach(services().settings)}"
        st.caption(text, help=utc_help(until=share.expires_at))
    ids = {run_id for run_id, _ in content.runs}
    studies = {content.study.id} if content.study else set()
    show_share_list(
        [entry for entry in services().shares.all() if ids & set(entry.run_ids) or entry.study_id in studies]
    )


def create_share(content: SharedContent, days: int, note: str | None) -> Share:
    """Create the share with an audit entry; only for the operator."""
    require_operator()
    ids, lasts = [run_id for run_id, _ in content.runs], timedelta(days=days)
    share = services().shares.make(
        ids, content.page, lasts, current_person(), note, study=content.study, query=content.query
    )
    study = f" to study {share.study_id}" if share.study_id else ""
    audit.record("share", share.run_ids, f"link {share.id}{study} until {format_utc(share.expires_at)}")
    return share


def _revoke(share_id: str) -> None:
    require_operator()
    share = services().shares.revoke(share_id)
    audit.record("revoke", share.run_ids, f"link {share.id}")


def show_share_list(shares: Sequence[Share]) -> None:
    """Show the active links among these, each with its end, its runs and a button that revokes it."""
    book = services().shares
    open_ones = [share for share in shares if book.is_open(share)]
    if open_ones:
        st.markdown("**Active links**")
    for share in open_ones:
        with st.container(horizontal=True, vertical_alignment="center", key=f"link-{share.id}"):
            st.markdown(_description(share), help=utc_help(made=share.created_at, until=share.expires_at))
            st.button("Revoke", key=f"revoke-{share.id}", on_click=Once(_revoke), args=(share.id,))
            with st.popover("Link"):
                show_link(book.link(share), share.id)


def _description(share: Share) -> str:
    note = f"{markdown_text(share.note)}: " if share.note else ""
    runs = "a study" if share.study_id else f"{len(share.run_ids)} run" + ("s" if len(share.run_ids) > 1 else "")
    origin = f"made {format_time(share.created_at)} by the {share.created_by}"
    return f"{note}{runs} on {share.page.title()}, {origin}, until {format_time(share.expires_at)}"


def how_to_reach(settings: Settings) -> str:
    """Return in Markdown what a teammate needs besides the link; '' if others can reach Pitwall anyway."""
    if settings.public_url or settings.host not in LOOPBACK_NAMES:
        return ""
    tunnel = f"ssh -N -L {settings.port}:127.0.0.1:{settings.port} <this machine>"
    return (
        "Pitwall listens on this machine only. A teammate with a login here opens the link after "
        f"`{tunnel}`; for others start Pitwall with `PITWALL_HOST=0.0.0.0`, or put it behind a reverse proxy and set "
        "`PITWALL_PUBLIC_URL` (docs/reverse-proxy.md)."
    )
