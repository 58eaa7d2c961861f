"""The URL parameters for the chart and the scope of a query, which are stored with a saved query.

Saved values are the defaults of the address: `?query=name` alone shows the chart again, and opening it adds nothing to
the browser's history.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import streamlit as st

from web.fleet import SCOPE
from web.url_state import FOLD

CHART_PARAMS = ("draw", "x", "y", "color")  # the chart's parameters
URL_PARAMS = (SCOPE, *CHART_PARAMS)
VIEW = "view"
PANEL_PARAMS = (FOLD, VIEW)  # parameters of the schema and the lists beside the query, the same for all queries
_SAVED = "sql-saved-words"


def take_saved(params: Mapping[str, list[str]]) -> None:
    """Use the parameters of the saved query shown from now on as defaults."""
    st.session_state[_SAVED] = known_params(params)


def known_params(params: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return only this page's parameters: a file may contain anything."""
    return {name: values for name, values in params.items() if name in URL_PARAMS}


def current_params() -> dict[str, list[str]]:
    """Return the parameters of the address, with the saved values as defaults."""
    from_url = {name: st.query_params.get_all(name) for name in URL_PARAMS if name in st.query_params}
    return {**_saved(), **from_url}


def saved_choice(name: str, options: Collection[str], default: str) -> str:
    """Return the saved value of a single choice if it is an option, else the default."""
    return next((value for value in _saved().get(name, []) if value in options), default)


def saved_choices(name: str, options: Collection[str], default: list[str]) -> list[str]:
    """Return the saved values of a multiple choice that are options, or the default if there are none."""
    return [value for value in dict.fromkeys(_saved().get(name, [])) if value in options] or default


def _saved() -> dict[str, list[str]]:
    saved: dict[str, list[str]] = st.session_state.get(_SAVED, {})
    return saved
