"""Launch: a preset, a pasted command or an earlier run, edited and put under a workload; or a server that runs."""

from __future__ import annotations

import streamlit as st

from web.actions import is_operator
from web.kept import kept_one
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


def configure() -> None:
    """One configuration, as a form and as its exact command, and what this machine lacks for it."""
    source_picker.follow_address()
    source_picker.pick_source()
    editor.command_box()
    editor.notes()
    with st.container(key="launch-columns"):
        left, right = st.columns([3, 2], gap="large")
    with left:
        editor.form()
    with right:
        # The form has a place of its own: were it moved by what appears above, it would forget what is being typed.
        above, form = st.container(), st.container()
        with above:
            host_choice.choose_host()
            launch_check.exact_command()
            launch_check.lacks()
            command_gotchas()
        with form:
            launch_form.launch()
        launch_check.changes()
        launch_check.keep_as_preset()


def attach() -> None:
    """Servers that run already; the form for any other is there while this machine is searched."""
    here = st.container()
    st.subheader("Anywhere else")
    attach_form.by_url()
    with here:
        st.subheader("Running on this machine")
        attach_form.found_servers()


CONFIGURE = "Configure and launch"
TABS = {
    CONFIGURE: configure,
    "Sweep": sweep_form.sweep,
    "Watch a running server": attach,
    "Import": import_form.import_form,
}

if not is_operator():
    st.info("Only the operator may launch or attach.")
    st.stop()

kept = kept_one("tab", "launch-tab", list(TABS), CONFIGURE)
begun = kept.take()
tabs = st.tabs(list(TABS), default=begun, on_change="rerun", key=kept.key)
kept.keep(st.session_state[kept.key])
for tab, (title, body) in zip(tabs, TABS.items(), strict=True):
    if tab.open or title == CONFIGURE:  # a form that is not drawn would forget what was typed into it
        with tab:
            body()
