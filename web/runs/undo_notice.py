"""The notice that says what was just done to runs, with the button that takes it back."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import streamlit as st

from web import markup
from web.actions import Once

VISIBLE_S = 20.0
REDRAW_S = 5.0
NOTICE = "undo-notice"  # session state: the offer


class UndoOffer(NamedTuple):
    """What was done, what takes it back, and when it was offered."""

    text: str
    undo: Callable[[], None]
    offered_at: float


def offer_undo(text: str, undo: Callable[[], None]) -> None:
    """Show this sentence with an Undo for some seconds, on whichever of the pages of runs is drawn next."""
    st.session_state[NOTICE] = UndoOffer(text, undo, time.monotonic())


def undo_notice() -> None:
    """Show the newest offer while it is fresh."""
    if _fresh_offer():
        _show_notice()


@st.fragment(run_every=REDRAW_S)
def _show_notice() -> None:
    """Redraw itself, so that the notice leaves without a press."""
    if offer := _fresh_offer():
        with st.container(key="floating-undo", horizontal=True, vertical_alignment="center", gap="small"):
            st.html(f'<p role="status">{markup.text(offer.text)}</p>', width="content")
            if st.button("Undo", key="undo", on_click=Once(_take_back), args=(offer,)):
                st.rerun()


def _fresh_offer() -> UndoOffer | None:
    offer: UndoOffer | None = st.session_state.get(NOTICE)
    return offer if offer and time.monotonic() - offer.offered_at < VISIBLE_S else None


def _take_back(offer: UndoOffer) -> None:
    del st.session_state[NOTICE]
    offer.undo()
