"""The input for the API key of an attached server, used for one load and not stored."""

from __future__ import annotations

import streamlit as st

from domain import Run
from redaction import SERVER_API_KEY

LABEL = "API key of the server, if it needs one (not stored)"


def ask_key(run: Run, key: str) -> dict[str, str]:
    """Return the load generator's environment variable with the key; empty for launched runs, whose key is known."""
    if run.kind != "attached":
        return {}
    typed_key = st.text_input(LABEL, type="password", key=key)
    return {SERVER_API_KEY: typed_key} if typed_key else {}
