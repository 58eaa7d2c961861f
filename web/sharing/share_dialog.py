"""Giving runs to a teammate: the Share button, its dialog, and the list of what was given out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import streamlit as st

from domain import Run, Share
from settings import Settings
from web import audit
from web.access.access_rules import LOOPBACK_NAMES
from web.actions import is_operator, require_operator
from web.context import services
from web.markup import markdown_text

DAYS = 7
MOST_DAYS = 90
IS_OPEN = "share-dialog-is-open"


def share_button(runs: Sequence[Run], page: str) -> None:
    """The operator's button that gives these runs away as they are seen on `page`."""
    pressed = bool(runs) and is_operator() and st.button("Share", key=f"share-{page}", icon=":material/share:")
    st.session_state[IS_OPEN] = pressed  # the page's next run closes it, whatever that is for
    if pressed:
        _dialog([(run.id, run.name) for run in runs], page)


def is_sharing() -> bool:
    """Whether the dialog is open on the page that is being run."""
    return bool(st.session_state.get(IS_OPEN))


def _closed() -> None:
    st.session_state[IS_OPEN] = False


@st.dialog("Share these runs", width="medium", on_dismiss=_closed)
def _dialog(runs: Sequence[tuple[str, str]], page: str) -> None:
    """`runs` as (id, name): a dialog is run again by itself and must not hold on to a state of long ago."""
    names = ", ".join(markdown_text(name) for _, name in runs)
    st.markdown(f"Whoever has the link sees {names} and nothing else, live and afterwards, and can change nothing.")
    with st.form("share", border=False):
        left, right = st.columns([1, 2])
        days = left.number_input("Days", min_value=1, max_value=MOST_DAYS, value=DAYS)
        note = right.text_input("For whom", placeholder="a note for the list of links")
        pressed = st.form_submit_button("Make a link", type="primary")
    if pressed:
        share = give([run_id for run_id, _ in runs], page, int(days), note.strip() or None)
        st.code(services().shares.link(share), language=None, wrap_lines=True)
        st.caption(f"Until {moment(share.expires_at)}. {how_to_reach(services().settings)}")
    ids = {run_id for run_id, _ in runs}
    share_list([share for share in services().shares.all() if ids & set(share.run_ids)])


def give(run_ids: Sequence[str], page: str, days: int, note: str | None) -> Share:
    """Make the share and write it down; for the operator only."""
    require_operator()
    share = services().shares.make(run_ids, page, timedelta(days=days), "operator", note)
    audit.record("share", share.run_ids, f"link {share.id} until {moment(share.expires_at)}")
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
            st.markdown(_described(share))
            st.button("Revoke", key=f"revoke-{share.id}", on_click=_revoke, args=(share.id,))
            with st.popover("Link"):
                st.code(book.link(share), language=None, wrap_lines=True)


def _described(share: Share) -> str:
    note = f"{markdown_text(share.note)}: " if share.note else ""
    runs = f"{len(share.run_ids)} run" + ("s" if len(share.run_ids) > 1 else "")
    made = f"made {share.created_at:%d %b %H:%M} by the {share.created_by}"
    return f"{note}{runs} on {share.page.title()}, {made}, until {moment(share.expires_at)}"


def moment(at: datetime) -> str:
    return f"{at:%d %b %H:%M} UTC"


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
