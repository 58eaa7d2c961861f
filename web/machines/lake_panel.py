"""What of this Pitwall is in the lake, what waits, and the last error."""

from __future__ import annotations

import streamlit as st

from service.lake_shipping import ShippingState
from web import markup
from web.actions import is_operator
from web.context import services
from web.kept import fold
from web.markup import markdown_text
from web.moments import SECONDS, moment_html
from web.theme import DASH

NOT_YET = "the lake has not answered since the start"


def lake_panel() -> None:
    """A closed section, only where a lake is configured; open by its title where something is wrong."""
    shipping = services().shipping
    if not is_operator() or shipping is None or not shipping.state.is_configured:
        return
    state = shipping.state
    with fold("Lake: the last try failed" if state.failure else "Lake", "lake", "runs"):
        if state.failure:
            st.warning(f"{markdown_text(state.failure)} It is tried again, and nothing waits for it.")
        for sentence in state.in_clear:
            st.warning(markdown_text(sentence))
        st.html(markup.tiles(_tiles(state)))
        st.caption("`./pitwall lake status` says more, and how others read it.")


def _tiles(state: ShippingState) -> list[tuple[str, str]]:
    nothing = markup.number(DASH, why="nothing was shipped since the start")
    waiting = DASH if state.waiting_parts is None else f"{state.waiting_parts:,}"
    return [
        ("Last commit", moment_html(state.last_shipped_at, SECONDS) if state.last_shipped_at else nothing),
        ("Parts shipped since the start", markup.number(f"{state.shipped_parts:,}", f"{state.shipped_rows:,} rows")),
        ("Parts that wait", markup.number(waiting, f"of {state.waiting_runs or 0:,} runs", why=NOT_YET)),
    ]
