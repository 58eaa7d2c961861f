"""The status of shipping this Pitwall's data to the lake: the last commit, waiting parts and the last error."""

from __future__ import annotations

from functools import partial

import streamlit as st

from service.lake_shipping import ShippingState
from web import markup
from web.actions import is_operator
from web.context import services
from web.markup import markdown_text
from web.sections import PageSection
from web.theme import DASH
from web.times import SECONDS, time_html

NOT_YET = "the lake has not responded since Pitwall started"


def lake_section() -> PageSection | None:
    """Return the operator's section if a lake is configured; its title says if the last attempt failed."""
    shipping = services().shipping
    if not is_operator() or shipping is None or not shipping.state.is_configured:
        return None
    title = "Lake: the last attempt failed" if shipping.state.failure else "Lake"
    return PageSection("lake", title, partial(_show, shipping.state))


def _show(state: ShippingState) -> None:
    if state.failure:
        st.warning(f"{markdown_text(state.failure)} Pitwall retries; nothing else waits for it.")
    for sentence in state.in_clear:
        st.warning(markdown_text(sentence))
    st.html(markup.tiles(_tiles(state)))
    st.caption("`./pitwall lake status` shows more, and how others can read the lake.")


def _tiles(state: ShippingState) -> list[tuple[str, str]]:
    nothing = markup.number(DASH, why="nothing has been shipped since Pitwall started")
    waiting = DASH if state.waiting_parts is None else f"{state.waiting_parts:,}"
    return [
        ("Last commit", time_html(state.last_shipped_at, SECONDS) if state.last_shipped_at else nothing),
        ("Parts shipped since the start", markup.number(f"{state.shipped_parts:,}", f"{state.shipped_rows:,} rows")),
        ("Parts waiting", markup.number(waiting, f"of {state.waiting_runs or 0:,} runs", why=NOT_YET)),
    ]
