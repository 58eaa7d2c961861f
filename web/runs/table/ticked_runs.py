"""The runs that are ticked in the tables of runs, kept while their viewer changes pages and filters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from domain import Run

TICKED = "ticked-runs"  # session state: ids of the ticked runs


def ticked_ids() -> frozenset[str]:
    """Return the ids of the ticked runs, whether they are listed or not."""
    ids: frozenset[str] = st.session_state.get(TICKED, frozenset())
    return ids


def set_ticked(run_ids: Iterable[str], is_ticked: bool) -> None:
    """Tick these runs, or remove their ticks; the tables that show them follow."""
    st.session_state[TICKED] = ticked_ids().union(run_ids) if is_ticked else ticked_ids().difference(run_ids)


def clear_ticks() -> None:
    """Remove the tick of every run."""
    st.session_state[TICKED] = frozenset()


def table_key(name: str, runs: Sequence[Run]) -> str:
    """Return the key of the table `name`: a new one if its ticks were changed elsewhere, so that it shows them.

    They change by the selection bar, by the box of a group, or by another table that has the same run.
    """
    count = f"{name}-remounts"
    key = _key(name)
    if key in st.session_state and set(_selected_rows(key)) != set(_ticked_rows(runs)):
        st.session_state[count] = st.session_state.get(count, 0) + 1
        key = _key(name)
    return key


def ticks_on_arrival(key: str, runs: Sequence[Run]) -> list[int]:
    """Return the rows that were ticked when the table of this key appeared; Streamlit reports them until it is used."""
    if key not in st.session_state:
        st.session_state[f"{key}-before"] = _ticked_rows(runs)
    rows: list[int] = st.session_state[f"{key}-before"]
    return rows


def follow_ticks(key: str, run_ids: Sequence[str]) -> None:
    """Take over the ticks of the table of this key before the page is drawn again. run_ids: those of its rows."""
    selected = {run_ids[row] for row in _selected_rows(key) if row < len(run_ids)}
    st.session_state[TICKED] = ticked_ids().difference(run_ids).union(selected)


def _key(name: str) -> str:
    return f"{name}.{st.session_state.get(f'{name}-remounts', 0)}"


def _selected_rows(key: str) -> list[int]:
    rows: list[int] = st.session_state[key]["selection"]["rows"]
    return rows


def _ticked_rows(runs: Sequence[Run]) -> list[int]:
    ids = ticked_ids()
    return [row for row, run in enumerate(runs) if run.id in ids]
