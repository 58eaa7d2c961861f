"""Giving runs or a study to a teammate: the Share button, its dialog, and the list of what was given out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import streamlit as st

from domain import Run, Share, Study
from settings import Settings
from web import audit, places
from web.access.access_rules import LOOPBACK_NAMES
from web.access.roles import current_person
from web.actions import Once, is_operator, require_operator
from web.context import services
from web.markup import markdown_text
from web.moments import in_utc, moment, utc_moment

DAYS = 7
MOST_DAYS = 90
IS_OPEN = "share-dialog-is-open"  # holds the key of the button that opened it
REPORTED = ("run", "compare", "studies")  # pages of which a report can be made
THE_PAGE, THE_REPORT = "this page", "its report, one HTML page"


@dataclass(frozen=True, slots=True)
class Given:
    """What is given away: a dialog is run again by itself and must not hold on to a state of long ago."""

    page: str
    runs: Sequence[tuple[str, str]] = ()  # id and name
    study: Study | None = None
    query: str | None = None  # what the address says beside the runs


def share_button(runs: Sequence[Run], page: str, query: str | None = None) -> None:
    """The operator's button that gives these runs away as they are seen on `page`; `query` as domain.Share has it."""
    if runs:
        _button(Given(page, [(run.id, run.name) for run in runs], query=query), f"share-{page}")


def share_study_button(study: Study) -> None:
    """The operator's button that gives a study away, with its runs."""
    _button(Given("studies", study=study), f"share-{study.id}")


def _button(given: Given, key: str) -> None:
    if is_operator() and st.button("Share", key=key, icon=":material/share:"):
        st.session_state[IS_OPEN] = key
        title = "Share this study" if given.study else "Share these runs"
        st.dialog(title, width="medium", on_dismiss=_closed)(_dialog)(given)
    elif st.session_state.get(IS_OPEN) == key:  # the page's next run closes it, whatever that is for
        _closed()


def is_sharing() -> bool:
    """Whether the dialog is open on the page that is being run."""
    return bool(st.session_state.get(IS_OPEN))


def _closed() -> None:
    st.session_state[IS_OPEN] = None


def _dialog(given: Given) -> None:
    names = "this study and all its runs" if given.study else ", ".join(markdown_text(n) for _, n in given.runs)
    st.markdown(f"Whoever has the link sees {names} and nothing else, live and afterwards, and can change nothing.")
    with st.form("share", border=False):
        opens = THE_PAGE
        if given.page in REPORTED:
            opens = st.radio("It opens", [THE_PAGE, THE_REPORT], horizontal=True)
        left, right = st.columns([1, 2])
        days = left.number_input("Days", min_value=1, max_value=MOST_DAYS, value=DAYS)
        note = right.text_input("For whom", placeholder="a note for the list of links")
        pressed = st.form_submit_button("Make a link", type="primary")
    if pressed:
        page = places.REPORT if opens == THE_REPORT else given.page
        share = give(replace(given, page=page), int(days), note.strip() or None)
        st.code(services().shares.link(share), language=None, wrap_lines=True)
        words = f"Until {moment(share.expires_at)}. {how_to_reach(services().settings)}"
        st.caption(words, help=in_utc(until=share.expires_at))
    ids = {run_id for run_id, _ in given.runs}
    studies = {given.study.id} if given.study else set()
    share_list([one for one in services().shares.all() if ids & set(one.run_ids) or one.study_id in studies])


def give(given: Given, days: int, note: str | None) -> Share:
    """Make the share and write it down; for the operator only."""
    require_operator()
    ids, lasts = [run_id for run_id, _ in given.runs], timedelta(days=days)
    share = services().shares.make(ids, given.page, lasts, current_person(), note, study=given.study, query=given.query)
    study = f" to study {share.study_id}" if share.study_id else ""
    audit.record("share", share.run_ids, f"link {share.id}{study} until {utc_moment(share.expires_at)}")
    return share


def _revoke(share_id: str) -> None:
    require_operator()
    share = services().shares.revoke(share_id)
    audit.record("revoke", share.run_ids, f"link {share.id}")


def share_list(shares: Sequence[Share]) -> None:
    """The open links among these, each with its end, its runs, and a button that revokes it."""
    book = services().shares
    open_ones = [share for share in shares if book.is_open(share)]
    if open_ones:
        st.markdown("**Links that are open**")
    for share in open_ones:
        with st.container(horizontal=True, vertical_alignment="center", key=f"link-{share.id}"):
            st.markdown(_described(share), help=in_utc(made=share.created_at, until=share.expires_at))
            st.button("Revoke", key=f"revoke-{share.id}", on_click=Once(_revoke), args=(share.id,))
            with st.popover("Link"):
                st.code(book.link(share), language=None, wrap_lines=True)


def _described(share: Share) -> str:
    note = f"{markdown_text(share.note)}: " if share.note else ""
    runs = "a study" if share.study_id else f"{len(share.run_ids)} run" + ("s" if len(share.run_ids) > 1 else "")
    made = f"made {moment(share.created_at)} by the {share.created_by}"
    return f"{note}{runs} on {share.page.title()}, {made}, until {moment(share.expires_at)}"


def how_to_reach(settings: Settings) -> str:
    """What a teammate needs besides the link, in Markdown; nothing where others reach us anyway."""
    if settings.public_url or settings.host not in LOOPBACK_NAMES:
        return ""
    tunnel = f"ssh -N -L {settings.port}:127.0.0.1:{settings.port} <this machine>"
    return (
        "Pitwall listens on this machine only. A teammate with a login here opens the link after "
        f"`{tunnel}`; for others start Pitwall with `PITWALL_HOST=0.0.0.0`, or put it behind a reverse proxy and set "
        "`PITWALL_PUBLIC_URL` (docs/reverse-proxy.md)."
    )
