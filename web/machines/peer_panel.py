"""The other Pitwalls whose live runs are watched here: how it stands with each, and who may be one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

import streamlit as st
from pydantic import ValidationError

from domain import utc_now
from errors import PitwallError
from machine.identity import machine_id
from storage.ask.machine_queries import MachineRow
from storage.ask.queries import Asked
from web import audit, markup
from web.access.roles import current_person
from web.actions import Once, is_member, is_operator, require_operator
from web.context import services
from web.kept import fold
from web.live.elsewhere.peer_look import PeerState
from web.live.elsewhere.peers import Peer, PeerError, in_words
from web.machines.machine_titles import known_machines
from web.markup import markdown_text
from web.moments import moment_html
from web.theme import DASH

REFRESH_S = 5.0
HEAD = ["name", "address", "state", "asked", "confirmed"]
NOT_A_NAME = "A name has 1 to 40 letters, digits, '.', '_' or '-'."
NO_TOKEN = "The other Pitwall's token is missing: make one there, of live:read."
CONFIRMED = "peer-confirmed"  # of the session: the form is emptied by the next run of the script
TOKEN = "peer-token"


def peer_panel(asked: Asked) -> None:
    """A closed section for members; the operator also confirms and removes. `asked`: this store, or the lake."""
    if not is_member():
        return
    with fold("Other Pitwalls", "peers", "runs"):
        _states()
        if is_operator():
            _proposals(asked)
            _form()


@st.fragment(run_every=REFRESH_S)
def _states() -> None:
    """A line a peer, drawn anew while it is looked at."""
    elsewhere = services().elsewhere
    peers, states = elsewhere.peers.all(), elsewhere.states()
    if not peers:
        st.caption("No other Pitwall is watched.")
        return
    st.html(markup.table(HEAD, [_row(peer, states.get(peer.name)) for peer in peers], wraps=True))
    if is_operator():
        with st.container(horizontal=True):
            for peer in peers:
                label = f"Remove {markdown_text(peer.name)}"
                st.button(label, key=f"remove-peer-{peer.name}", on_click=Once(remove), args=(peer.name,))


def _row(peer: Peer, state: PeerState | None) -> list[str]:
    said = markup.number(DASH, why="it was not asked yet")
    if state:
        said = markup.text(f"{state.standing}: {state.why}" if state.why else state.standing)
    asked = f"{moment_html(state.asked_at)}, {state.took_s:.1f} s" if state else ""
    confirmed = f"{moment_html(peer.confirmed_at)} by {markup.text(peer.confirmed_by)}"
    return [markup.text(peer.name), markup.text(peer.url), said, asked, confirmed]


def _proposals(asked: Asked) -> None:
    """Machines of the lake that are no peers; a press fills in the form and asks nobody."""
    if asked is services().store:
        fleet = services().fleet
        if fleet is not None and fleet.is_configured:
            st.caption("With runs of all machines shown above, the machines of the lake are proposed here.")
        return
    for row in proposed(known_machines(asked), services().elsewhere.peers.all()):
        with st.container(horizontal=True, vertical_alignment="center", key=f"proposed-{row.machine_id}"):
            places = ", ".join(filter(None, [row.host_name, *(row.addresses or ())]))
            st.markdown(f"Proposed by the lake: {markdown_text(row.title())} ({markdown_text(places)})")
            st.button("Fill in", key=f"propose-{row.machine_id}", on_click=_fill_in, args=(row,))


def proposed(known: Sequence[MachineRow], peers: Sequence[Peer], own_id: str | None = None) -> list[MachineRow]:
    """Other machines that report themselves, as those with a Pitwall do, and that no peer's address names."""
    here, hosts = own_id or machine_id(), {urlsplit(peer.url).hostname for peer in peers}
    return [
        row
        for row in known
        if row.seen_at and row.host_name and row.machine_id != here
        and not hosts & {one.lower() for one in (row.host_name, *(row.addresses or ()))}
        and not hosts & {urlsplit(row.url or "").hostname or row.host_name.lower()}
    ]  # fmt: skip


def _fill_in(row: MachineRow) -> None:
    st.session_state["peer-name"] = re.sub(r"[^\w.-]+", "-", row.title())[:40]
    st.session_state["peer-url"] = row.url or f"https://{row.host_name}"


def _form() -> None:
    if st.session_state.pop(CONFIRMED, False):
        for key in ("peer-name", "peer-url", TOKEN):
            st.session_state[key] = ""
    with st.form("peer", border=False):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            name = st.text_input("Name", max_chars=40, placeholder="as Live calls it", key="peer-name", width=200)
            url = st.text_input("Address", placeholder="https://box-2.example.org", key="peer-url", width=320)
            token = st.text_input("Token", type="password", placeholder="of live:read", key=TOKEN, width=240)
            pressed = st.form_submit_button("Confirm it")
        st.caption(
            "https, or http on this machine. The token is made there (`./pitwall token make live:read`) and goes to "
            "this address alone. For certificates of your own: `./pitwall peer add --ca FILE`."
        )
    if pressed:
        confirm(name.strip(), url.strip(), token.strip())


def confirm(name: str, url: str, token: str) -> None:
    """Watch this Pitwall from now on, or say why not; for the operator only."""
    require_operator()
    try:
        if not token:
            raise PeerError(NO_TOKEN)
        peer = Peer(name=name, url=url, token=token, confirmed_by=current_person(), confirmed_at=utc_now())
        services().elsewhere.peers.confirm(peer)
    except ValidationError:
        st.error(NOT_A_NAME)
        return
    except (PitwallError, OSError) as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("confirm peer", detail=in_words(peer))
    st.session_state[CONFIRMED] = True
    st.rerun()


def remove(name: str) -> None:
    """Watch it no longer; for the operator only."""
    require_operator()
    try:
        gone = services().elsewhere.peers.forget(name)
    except (PitwallError, OSError) as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("remove peer", detail=in_words(gone))
