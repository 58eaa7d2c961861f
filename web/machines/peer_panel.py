"""The section with the other Pitwalls whose live runs are watched here: their state, removal and confirmation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from urllib.parse import urlsplit

import streamlit as st
from pydantic import ValidationError

from domain import utc_now
from errors import PitwallError
from machine.identity import machine_id
from storage.queries.machine_queries import MachineRow
from storage.queries.run_data import Queryable
from web import audit, markup
from web.access.roles import current_person
from web.actions import Once, is_member, is_operator, require_operator
from web.context import services
from web.live.peers.peer_look import PeerState
from web.live.peers.peers import Peer, PeerError, describe
from web.machines.machine_titles import known_machines
from web.markup import markdown_text
from web.sections import PageSection
from web.theme import DASH
from web.times import time_html

REFRESH_S = 5.0
HEAD = ["name", "address", "state", "last request", "confirmed"]
NOT_A_NAME = "A name has 1 to 40 letters, digits, '.', '_' or '-'."
NO_TOKEN = "The other Pitwall's token is missing: create one there with the scope live:read."
CONFIRMED = "peer-confirmed"  # session state: the next script run clears the form
TOKEN = "peer-token"


def peer_section(store: Queryable) -> PageSection | None:
    """Return the section for members; the operator can also confirm and remove. `store`: this store or the lake."""
    return PageSection("peers", "Other Pitwalls", partial(_show, store)) if is_member() else None


def _show(store: Queryable) -> None:
    _show_states()
    if is_operator():
        _show_proposals(store)
        _show_form()


@st.fragment(run_every=REFRESH_S)
def _show_states() -> None:
    """Show one row per peer, refreshed while the page is open."""
    relay = services().peer_relay
    peers, states = relay.peers.all(), relay.states()
    if not peers:
        st.caption("No other Pitwall is being watched.")
        return
    st.html(markup.table(HEAD, [_row(peer, states.get(peer.name)) for peer in peers], wraps=True))
    if is_operator():
        with st.container(horizontal=True):
            for peer in peers:
                label = f"Remove {markdown_text(peer.name)}"
                st.button(label, key=f"remove-peer-{peer.name}", on_click=Once(remove_peer), args=(peer.name,))


def _row(peer: Peer, state: PeerState | None) -> list[str]:
    status = markup.number(DASH, why="not contacted yet")
    if state:
        status = markup.text(f"{state.status}: {state.why}" if state.why else state.status)
    last_request = f"{time_html(state.asked_at)}, {state.took_s:.1f} s" if state else ""
    confirmed = f"{time_html(peer.confirmed_at)} by {markup.text(peer.confirmed_by)}"
    return [markup.text(peer.name), markup.text(peer.url), status, last_request, confirmed]


def _show_proposals(store: Queryable) -> None:
    """Suggest machines of the lake that are not peers; a press fills in the form and contacts nobody."""
    if store is services().store:
        fleet = services().fleet
        if fleet is not None and fleet.is_configured:
            st.caption("While Runs shows all machines, the lake's machines are suggested here.")
        return
    for row in proposed_machines(known_machines(store), services().peer_relay.peers.all()):
        with st.container(horizontal=True, vertical_alignment="center", key=f"proposed-{row.machine_id}"):
            addresses = ", ".join(filter(None, [row.host_name, *(row.addresses or ())]))
            st.markdown(f"Proposed by the lake: {markdown_text(row.title())} ({markdown_text(addresses)})")
            st.button("Fill in", key=f"propose-{row.machine_id}", on_click=_fill_in, args=(row,))


def proposed_machines(
    machines: Sequence[MachineRow], peers: Sequence[Peer], own_id: str | None = None
) -> list[MachineRow]:
    """Return other machines that report themselves, as machines with a Pitwall do, and are no peer's host."""
    local_id, hosts = own_id or machine_id(), {urlsplit(peer.url).hostname for peer in peers}
    return [
        row
        for row in machines
        if row.seen_at and row.host_name and row.machine_id != local_id
        and not hosts & {host.lower() for host in (row.host_name, *(row.addresses or ()))}
        and not hosts & {urlsplit(row.url or "").hostname or row.host_name.lower()}
    ]  # fmt: skip


def _fill_in(row: MachineRow) -> None:
    st.session_state["peer-name"] = re.sub(r"[^\w.-]+", "-", row.title())[:40]
    st.session_state["peer-url"] = row.url or f"https://{row.host_name}"


def _show_form() -> None:
    if st.session_state.pop(CONFIRMED, False):
        for key in ("peer-name", "peer-url", TOKEN):
            st.session_state[key] = ""
    with st.form("peer", border=False):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            name = st.text_input("Name", max_chars=40, placeholder="shown on Live", key="peer-name", width=200)
            url = st.text_input("Address", placeholder="https://box-2.example.org", key="peer-url", width=320)
            token = st.text_input("Token", type="password", placeholder="with live:read", key=TOKEN, width=240)
            pressed = st.form_submit_button("Confirm")
        st.caption(
            "Use https, or http on this machine. Create the token there (`./pitwall token make live:read`); it is sent "
            "only to this address. For your own certificates: `./pitwall peer add --ca FILE`."
        )
    if pressed:
        confirm_peer(name.strip(), url.strip(), token.strip())


def confirm_peer(name: str, url: str, token: str) -> None:
    """Watch this Pitwall from now on, or show why not; only for the operator."""
    require_operator()
    try:
        if not token:
            raise PeerError(NO_TOKEN)
        peer = Peer(name=name, url=url, token=token, confirmed_by=current_person(), confirmed_at=utc_now())
        services().peer_relay.peers.confirm(peer)
    except ValidationError:
        st.error(NOT_A_NAME)
        return
    except (PitwallError, OSError) as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("confirm peer", detail=describe(peer))
    st.session_state[CONFIRMED] = True
    st.rerun()


def remove_peer(name: str) -> None:
    """Stop watching a peer; only for the operator."""
    require_operator()
    try:
        peer = services().peer_relay.peers.forget(name)
    except (PitwallError, OSError) as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("remove peer", detail=describe(peer))
