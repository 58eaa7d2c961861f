"""Gotchas on the Launch page: those saved here and those published by others, by the command's flags."""

from __future__ import annotations

import streamlit as st

from analysis.gotchas import gotchas_of_command
from reference.statements import failures_of_flag
from storage.queries.note_queries import gotchas
from web.context import services
from web.launch import draft
from web.markup import markdown_text
from web.run_notes.gotcha_panel import show_gotchas
from web.run_notes.known_failures import warnings


def command_gotchas() -> None:
    """Show the gotchas of the command's flags; nothing if there are none."""
    config = draft.current().config
    if config is None:
        return
    show_gotchas(gotchas_of_command(gotchas(services().store), config), "launch")
    for warning in warnings(failures_of_flag(" ".join(config.argv))):
        st.info(markdown_text(warning))
