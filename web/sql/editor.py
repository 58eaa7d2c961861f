"""The SQL page's editor, a Streamlit component around CodeMirror with its browser side in web/static/sql_editor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from web.assets import STATIC, assets_url

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
    """Replace the editor's text by this statement."""
    st.session_state[_TEXT] = sql
    st.session_state[_VERSION] = st.session_state.get(_VERSION, 0) + 1


def current_text() -> str:
    """Return the editor's text as last reported, which happens when it loses focus or runs the statement."""
    state = st.session_state.get(KEY) or {}
    return next(
        (text for name in ("run", "said") if (text := _reported_text(state.get(name)))), st.session_state.get(_TEXT, "")
    )


def show_sql_editor(schema: Mapping[str, Sequence[str]], on_run: Callable[[], None]) -> None:
    """Show the editor; `schema`: columns by view, for the completion; `on_run` is called on Ctrl+Enter."""
    st.session_state[_TEXT] = current_text()
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


def _reported_text(report: Any) -> str | None:
    """Return the text if it is based on the one that the page set last."""
    if not report or report.get("version") != st.session_state.get(_VERSION):
        return None
    return str(report.get("text", ""))
