"""Beside the form: the exact command, what this machine lacks for it, what was changed, and keeping it as a preset."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from analysis.comparison.config_diff import differing_fields
from collectors.machine.gpu_now import look_at_gpus
from commands.presets import Needs, PresetError, save_preset
from domain import Config
from launcher.checks.machine_check import check_here, files_named
from launcher.remote.orders import Lacks
from storage.store import Store
from web import audit, markup
from web.actions import require_operator
from web.context import services
from web.launch import draft
from web.launch.draft import Draft
from web.launch.host_choice import HERE, chosen_host, lacks_there, show_lacks
from web.launch.source_picker import shelf
from web.markup import markdown_text
from web.picker import labels

LOOKED_S = 10.0  # how long a look at the machine holds
NEWEST = 100


def exact_command() -> None:
    """The words that will be run, live: file patterns as the files that they match on this machine now."""
    config = draft.current().config
    if config is None:
        return
    config = config if chosen_host() else files_named(config, Path.cwd())
    st.markdown("**This will run**")
    st.code(draft.text_of(config), language="bash", wrap_lines=True)


def lacks() -> None:
    """What the preset still asks for, what this machine lacks, and what nobody can know before the start."""
    edited = draft.current()
    if edited.config is None:
        return
    for path, why in edited.still_required.items():
        st.error(f"**{path}** is required. {markdown_text(why)}")
    config = edited.config.model_copy(update={"model": None}) if edited.makes_model else edited.config
    if label := chosen_host():
        lacks_there(label, config, edited.needs)
    else:
        show_lacks(_look(config.model_dump_json(), edited.needs.model_dump_json()), HERE)


@st.cache_data(ttl=LOOKED_S, show_spinner=False)
def _look(config: str, needs: str) -> Lacks:
    stated, wanted, here = Config.model_validate_json(config), Needs.model_validate_json(needs), Path.cwd()
    return check_here(stated, wanted, look_at_gpus, here, services().supervisor.live_runs())


def changes() -> None:
    """The fields that differ from what the draft was taken from, or from any other configuration."""
    edited = draft.current()
    if edited.config is None:
        return
    with st.expander("What differs from another configuration", expanded=edited.base is not None):
        others = _others(edited, services().store)
        name = st.selectbox("Held against", list(others), key=f"against-{edited.generation}")
        if name is None:
            st.caption("There is no other configuration yet.")
            return
        other = others[name]
        rows = differing_fields([other.model_dump(mode="json"), edited.config.model_dump(mode="json")])
        if not rows:
            st.caption("Nothing differs.")
            return
        body = [[markup.text(path), _cell(before), _cell(after)] for path, (before, after) in rows.items()]
        st.html(markup.table(["field", "there", "here"], body))


def _others(edited: Draft, store: Store) -> dict[str, Config]:
    own = {f"What it was taken from: {edited.origin}": edited.base} if edited.base else {}
    presets = {preset.name: preset.config for preset in shelf().presets.values()}
    runs = store.runs(limit=NEWEST)
    lines = labels(runs)
    return {**own, **{lines[run.id]: run.config for run in runs}, **presets}


def _cell(value: object) -> str:
    return markup.text("not stated" if value is None else value)


def keep_as_preset() -> None:
    """Save what is edited into the user's own presets."""
    edited = draft.current()
    with st.popover("Save as preset", disabled=edited.config is None), st.form("save-preset", border=False):
        name = st.text_input("Name of the preset")
        pressed = st.form_submit_button("Save")
    if not pressed or edited.config is None:
        return
    require_operator()
    try:
        path = save_preset(services().settings.presets_dir, name, edited.config)
    except PresetError as problem:
        st.error(markdown_text(str(problem)))
        return
    audit.record("save a preset", detail=name)
    st.success(markdown_text(f"Saved as {path}."))
