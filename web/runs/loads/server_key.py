"""The key that a server asks for which somebody else started: typed in for one load, and stored nowhere."""

from __future__ import annotations

import streamlit as st

from domain import Run
from redaction import SERVER_API_KEY

LABEL = "API key of the server, if it asks for one (not stored)"


def ask_key(run: Run, key: str) -> dict[str, str]:
    """What goes into the environment of who sends to it; of a server that we started its key is known."""
    if run.kind != "attached":
        return {}
    given = st.text_input(LABEL, type="password", key=key)
    return {SERVER_API_KEY: given} if given else {}
