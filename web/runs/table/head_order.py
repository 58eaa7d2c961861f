"""A press on a head of the table of Runs puts the runs in the order of that column; another press reverses it."""

from __future__ import annotations

import streamlit as st

from web.runs.table.run_filters import ORDERS

OF_COLUMNS = {"when": "newest", "when_utc": "newest"}  # the other orders have the names of their columns


def follow_heads(table: str) -> None:
    """Put the order into the address where a head was pressed since the last look; `table` is its key.

    Streamlit reports the head that is selected: a second press on the same one reports none.
    """
    heads, place = st.session_state[table]["selection"]["columns"], f"{table}-head"
    now, before = (heads[0] if heads else None), st.session_state.get(place)
    if now == before:
        return
    st.session_state[place] = now
    pressed = str(now or before)
    order = OF_COLUMNS.get(pressed, pressed)
    if order in ORDERS:
        is_again = st.query_params.get("order", "newest") == order
        st.query_params.from_dict(_address(order, is_again and "reversed" not in st.query_params))


def _address(order: str, is_reversed: bool) -> dict[str, list[str]]:
    kept = {name: st.query_params.get_all(name) for name in st.query_params if name not in ("order", "reversed")}
    return kept | ({} if order == "newest" else {"order": [order]}) | ({"reversed": ["1"]} if is_reversed else {})
