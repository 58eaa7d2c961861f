"""The editor of the SQL page, a Streamlit component around CodeMirror: web/static/sql_editor has its other end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from web.server.assets import STATIC, assets_url

KEY = "sql-editor"
LABEL = "SQL: one SELECT over the views"
_TEXT, _VERSION = "sql-text", "sql-version"
_component = st.components.v2.component(
    "pitwall_sql_editor",
    css=(STATIC / "sql_editor" / "sql_editor.css").read_text(),
    js=(STATIC / "component_loader.js").read_text(),
    isolate_styles=False,
)


def put_text(sql: str) -> None:
    """Have the editor show this statement in place of what stands in it."""
    st.session_state[_TEXT] = sql
    st.session_state[_VERSION] = st.session_state.get(_VERSION, 0) + 1


def text_now() -> str:
    """What stands in the editor, as far as it has reported it: it does when it is left, and when it is asked."""
    held = st.session_state.get(KEY) or {}
    return next(
        (text for name in ("run", "said") if (text := _current_text(held.get(name)))), st.session_state.get(_TEXT, "")
    )


def sql_editor(schema: Mapping[str, Sequence[str]], on_run: Callable[[], None]) -> None:
    """Show it; `schema`: what can be asked -> its columns, for the completion. on_run: at Ctrl+Enter."""
    st.session_state[_TEXT] = text_now()
    base = st.get_option("server.baseUrlPath").strip("/")
    _component(
        key=KEY,
        data={
            "assets": assets_url(f"/{base}" if base else ""),
            "module": "sql_editor/sql_editor.js",
            "label": LABEL,
            "schema": {name: list(columns) for name, columns in schema.items()},
            "text": st.session_state[_TEXT],
            "version": st.session_state[_VERSION],
        },
        on_run_change=on_run,
        on_said_change=lambda: None,  # without it nothing is reported
    )


def _current_text(said: Any) -> str | None:
    """The text, where it was made of the one that the page put there last."""
    if not said or said.get("version") != st.session_state.get(_VERSION):
        return None
    return str(said.get("text", ""))
