"""How the rows of a question are shown and whose runs it asks: words of the address, kept with a saved question.

What was saved is what an address means that does not say otherwise: so `?query=name` alone shows the chart again, and
opening it adds nothing to the browser's history.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import streamlit as st

from web.fleet import SCOPE
from web.kept import FOLD

DRAWN = ("draw", "x", "y", "color")  # what the address says of the chart
WORDS = (SCOPE, *DRAWN)
VIEW = "view"
BESIDE = (FOLD, VIEW)  # what the address says of the schema and the lists beside the question, whatever is asked
_SAVED = "sql-saved-words"


def take_saved(words: Mapping[str, list[str]]) -> None:
    """Keep the words of the saved question that is shown from now on."""
    st.session_state[_SAVED] = known_words(words)


def known_words(words: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Without those that are no choice of this page: a file may hold anything."""
    return {name: values for name, values in words.items() if name in WORDS}


def shown_now() -> dict[str, list[str]]:
    """What the address says, or means where it says nothing."""
    asked = {name: st.query_params.get_all(name) for name in WORDS if name in st.query_params}
    return {**_saved(), **asked}


def saved_one(name: str, options: Collection[str], default: str) -> str:
    """What was saved of a choice with one value, where that is among the options."""
    return next((one for one in _saved().get(name, []) if one in options), default)


def saved_some(name: str, options: Collection[str], default: list[str]) -> list[str]:
    """What was saved of a choice of several, as far as they are among the options."""
    return [one for one in dict.fromkeys(_saved().get(name, [])) if one in options] or default


def _saved() -> dict[str, list[str]]:
    found: dict[str, list[str]] = st.session_state.get(_SAVED, {})
    return found
