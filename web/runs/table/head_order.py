"""Sorting by column heads in the table of Runs: a press sorts all runs, a second press reverses the order."""

from __future__ import annotations

import streamlit as st

from web.runs.table.run_filters import ORDERS, is_ascending

# Other orders have the name of their column.
COLUMN_ORDERS = {"when": "newest", "when_exact": "newest", "when_utc": "newest"}


def head_arrow(column: str) -> str:
    """Return the arrow of the head that the runs are sorted by, upwards if it ascends; '' for other heads."""
    order = st.query_params.get("order", "newest")
    if COLUMN_ORDERS.get(column, column) != (order if order in ORDERS else "newest"):
        return ""
    return " \u2191" if is_ascending(order, st.query_params.get("reversed") == "1") else " \u2193"


def follow_heads(table: str) -> None:
    """Write the order to the URL if a head was pressed since the last rerun. table: its widget key.

    Streamlit reports the selected head; a second press on it reports no selection.
    """
    selected_heads, state_key = st.session_state[table]["selection"]["columns"], f"{table}-head"
    selected, previous = (selected_heads[0] if selected_heads else None), st.session_state.get(state_key)
    if selected == previous:
        return
    st.session_state[state_key] = selected
    column = str(selected or previous)
    order = COLUMN_ORDERS.get(column, column)
    if order in ORDERS:
        is_same_order = st.query_params.get("order", "newest") == order
        st.query_params.from_dict(_order_params(order, is_same_order and "reversed" not in st.query_params))


def _order_params(order: str, is_reversed: bool) -> dict[str, list[str]]:
    other_params = {
        name: st.query_params.get_all(name) for name in st.query_params if name not in ("order", "reversed")
    }
    return (
        other_params | ({} if order == "newest" else {"order": [order]}) | ({"reversed": ["1"]} if is_reversed else {})
    )
