"""The Launch page: start a preset, a pasted command or an earlier run under a workload, or watch a running server."""

from __future__ import annotations

import streamlit as st

from web.actions import is_operator
from web.launch import (
    attach_form,
    editor,
    host_choice,
    import_form,
    launch_check,
    launch_form,
    source_picker,
    sweep_form,
)
from web.launch.command_gotchas import command_gotchas
from web.page_head import page_head
from web.study_pages.compare_against import show_compare_against
from web.url_state import single_choice


def configure() -> None:
    """One configuration as a form and as its exact command, and what this machine lacks for it."""
    source_picker.follow_address()
    source_picker.pick_source()
    editor.show_command_box()
    editor.show_notes()
    with st.container(key="launch-columns"):
        form_column, start_column = st.columns([3, 2], gap="large")
    with form_column:
        editor.show_form()
    with start_column:
        # A fixed container: if content above moved the form, it would lose what is being typed.
        above, form = st.container(), st.container()
        with above:
            host_choice.choose_host()
            launch_check.show_exact_command()
            launch_check.show_all_lacks()
            command_gotchas()
        with form:
            launch_form.show_launch_form()
        launch_check.show_changes()
        launch_check.keep_as_preset()


def attach() -> None:
    """Servers that are already running; the URL form is usable while this machine is searched."""
    local_servers = st.container()
    st.subheader("Running anywhere else")
    attach_form.by_url()
    with local_servers:
        st.subheader("Running on this machine")
        attach_form.found_servers()


CONFIGURE = "Configure and launch"
TABS = {
    CONFIGURE: configure,
    "Sweep": sweep_form.show_sweep,
    "Watch a running server": attach,
    "Import": import_form.import_form,
}

if not is_operator():
    st.info("Only the operator may launch or attach.")
    st.stop()

with page_head("Launch"):
    show_compare_against()
tab_choice = single_choice("tab", "launch-tab", list(TABS), CONFIGURE)
initial_tab = tab_choice.initial_value()
tabs = st.tabs(list(TABS), default=initial_tab, on_change="rerun", key=tab_choice.key)
tab_choice.save(st.session_state[tab_choice.key])
for tab, (title, body) in zip(tabs, TABS.items(), strict=True):
    if tab.open or title == CONFIGURE:  # a form that is not rendered loses what was typed
        with tab:
            body()
