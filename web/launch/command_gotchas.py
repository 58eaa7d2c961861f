"""On Launch: what people here kept, and what others published, about a flag of the command."""

from __future__ import annotations

import streamlit as st

from analysis.gotchas import gotchas_of_command
from reference.statements import failures_of_flag
from storage.ask.note_queries import gotchas
from web.context import services
from web.launch import draft
from web.markup import markdown_text
from web.runs.remarks.gotcha_panel import offer
from web.runs.remarks.known_failures import warnings


def command_gotchas() -> None:
    """Nothing where no flag of the command has a gotcha."""
    config = draft.current().config
    if config is None:
        return
    offer(gotchas_of_command(gotchas(services().store), config), "launch")
    for words in warnings(failures_of_flag(" ".join(config.argv))):
        st.info(markdown_text(words))
