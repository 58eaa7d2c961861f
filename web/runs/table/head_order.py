"""Sorting by column heads in the table of Runs: a press sorts all runs, a second press reverses the order."""

from __future__ import annotations

import streamlit as st

from web.runs.table.run_filters import ORDERS, is_ascending
from web.url_presses import change_url_params

# Other orders have the name of their column.
COLUMN_ORDERS = {"when": "newest", "when_exact": "newest", "when_utc": "newest"}
_PRESSES = "head-presses"  # session state: by their number; a dictionary's setdefault is atomic


def head_arrow(column: str) -> str:
    """Return the arrow of the head that the runs are sorted by, upwards if it ascends; '' for other heads."""
    order = st.query_params.get("order", "newest")
    if COLUMN_ORDERS.get(column, column) != (order if order in ORDERS else "newest"):
        return ""
    return " \u2191" if is_ascending(order, st.query_params.get("reversed") == "1") else " \u2193"


def head_presses() -> int:
    """How many heads were pressed; a table is shown under a new key after each press, with no head selected."""
    return len(_handled_presses())


def follow_heads(table: str, presses: int) -> None:
    """Write the order to the URL if a head was pressed, unless that press was handled, maybe by another thread.

    table: its widget key. presses: `head_presses()` when the table was shown.
    """
    selected_heads = st.session_state[table]["selection"]["columns"]
    order = COLUMN_ORDERS.get(selected_heads[0], selected_heads[0]) if selected_heads else None
    if order not in ORDERS:
        return
    press = object()
    if _handled_presses().setdefault(presses, press) is press:
        is_reversed = st.query_params.get("order", "newest") == order and "reversed" not in st.query_params
        change_url_params({"order": [] if order == "newest" else [order], "reversed": ["1"] if is_reversed else []})


def _handled_presses() -> dict[int, object]:
    presses: dict[int, object] = st.session_state.setdefault(_PRESSES, {})
    return presses
