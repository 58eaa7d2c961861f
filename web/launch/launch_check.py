"""Beside the Launch form: the exact command, what the machine lacks, the changes, and saving a preset."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from analysis.comparison.config_diff import differing_fields
from collectors.machine.gpu_status import read_gpu_status
from commands.presets import Needs, PresetError, save_preset
from domain import Config
from launcher.checks.check_result import MachineCheckResult
from launcher.checks.machine_check import check_here, config_with_files
from storage.store import Store
from web import audit, markup
from web.actions import require_operator
from web.context import services
from web.launch import draft
from web.launch.context_limit import context_sentence
from web.launch.draft import LaunchDraft
from web.launch.host_choice import THIS_MACHINE, chosen_host, show_host_lacks, show_lacks
from web.launch.source_picker import read_shelf
from web.markup import markdown_text
from web.picker import run_labels

CHECK_CACHE_S = 10.0  # how long a check of the machine is cached
MAX_PICKER_RUNS = 100


def show_exact_command() -> None:
    """Show the command that will run, with file patterns expanded to this machine's files."""
    config = draft.current().config
    if config is None:
        return
    config = config if chosen_host() else config_with_files(config, Path.cwd())
    st.markdown("**This will run**")
    st.code(draft.text_of(config), language="bash", wrap_lines=True)


def show_all_lacks() -> None:
    """Show what the preset still requires, what the machine lacks, and what cannot be known before the start."""
    edited_draft = draft.current()
    if edited_draft.config is None:
        return
    for path, reason in edited_draft.still_required.items():
        st.error(f"**{path}** is required. {markdown_text(reason)}")
    config = _checked_config(edited_draft.config, edited_draft)
    if label := chosen_host():
        show_host_lacks(label, config, edited_draft.needs)
    else:
        show_lacks(_check_machine(config.model_dump_json(), edited_draft.needs.model_dump_json()), THIS_MACHINE)
        if sentence := _context_sentence(config.model_dump_json()):
            st.caption(markdown_text(sentence))


def lacks_text() -> str | None:
    """Return how much of what the command names this machine lacks, for the button's side; None if nothing is known."""
    edited_draft = draft.current()
    if edited_draft.config is None or chosen_host():
        return None
    config = _checked_config(edited_draft.config, edited_draft)
    lacks = _check_machine(config.model_dump_json(), edited_draft.needs.model_dump_json()).lacks
    return f"This machine lacks {len(lacks)} thing{'s' * (len(lacks) > 1)} that it needs." if lacks else None


def _checked_config(config: Config, edited_draft: LaunchDraft) -> Config:
    """Return the configuration without a model that the command makes itself."""
    return config.model_copy(update={"model": None}) if edited_draft.makes_model else config


@st.cache_data(ttl=CHECK_CACHE_S, show_spinner=False)
def _check_machine(config: str, needs: str) -> MachineCheckResult:
    config_to_run, needs_to_meet, folder = (
        Config.model_validate_json(config),
        Needs.model_validate_json(needs),
        Path.cwd(),
    )
    return check_here(config_to_run, needs_to_meet, read_gpu_status, folder, services().supervisor.live_runs())


@st.cache_data(ttl=CHECK_CACHE_S, show_spinner=False)
def _context_sentence(config: str) -> str | None:
    return context_sentence(Config.model_validate_json(config))


def show_changes() -> None:
    """Show the fields that differ from the draft's source or from any other configuration."""
    edited_draft = draft.current()
    if edited_draft.config is None:
        return
    with st.expander("Differences from another configuration", expanded=edited_draft.base is not None):
        references = _reference_configs(edited_draft, services().store)
        name = st.selectbox("Compared with", list(references), key=f"against-{edited_draft.generation}")
        if name is None:
            st.caption("There is no other configuration yet.")
            return
        reference = references[name]
        rows = differing_fields([reference.model_dump(mode="json"), edited_draft.config.model_dump(mode="json")])
        if not rows:
            st.caption("Nothing differs.")
            return
        body = [[markup.text(path), _cell(before), _cell(after)] for path, (before, after) in rows.items()]
        st.html(markup.table(["field", "other", "this one"], body))


def _reference_configs(edited_draft: LaunchDraft, store: Store) -> dict[str, Config]:
    origin = {f"Its source: {edited_draft.origin}": edited_draft.base} if edited_draft.base else {}
    presets = {preset.name: preset.config for preset in read_shelf().presets.values()}
    runs = store.runs(limit=MAX_PICKER_RUNS)
    labels_by_run = run_labels(runs)
    return {**origin, **{labels_by_run[run.id]: run.config for run in runs}, **presets}


def _cell(value: object) -> str:
    return markup.text("not stated" if value is None else value)


def keep_as_preset() -> None:
    """Save the draft as one of the user's own presets."""
    edited_draft = draft.current()
    with st.popover("Save as preset", disabled=edited_draft.config is None), st.form("save-preset", border=False):
        name = st.text_input("Name of the preset")
        pressed = st.form_submit_button("Save")
    if not pressed or edited_draft.config is None:
        return
    require_operator()
    try:
        path = save_preset(services().settings.presets_dir, name, edited_draft.config)
    except PresetError as problem:
        st.error(markdown_text(str(problem)))
        return
    audit.record("save a preset", detail=name)
    st.success(markdown_text(f"Saved as {path}."))
