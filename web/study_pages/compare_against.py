"""On Launch: a study of the configuration being edited against an earlier run."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from domain import Config
from web import page_paths
from web.actions import require_operator
from web.launch import draft
from web.launch.draft import LaunchDraft
from web.launch.host_choice import chosen_host
from web.markup import markdown_text
from web.study_pages import study_draft
from web.study_pages.arm_sources import ArmSource, arm_of_command, run_sources, with_arms


def show_compare_against() -> None:
    """Show the choice of an earlier run, and the button that opens a study of both."""
    edited_draft = draft.current()
    config = edited_draft.config
    with st.popover("Compare against", icon=":material/compare_arrows:", disabled=config is None):
        if config is None:
            return
        sources = run_sources()
        if not sources:
            st.caption("There is no earlier run yet.")
            return
        key = f"compare-against-{edited_draft.generation}"
        label = st.selectbox("Earlier run", list(sources), _base_index(sources, edited_draft.base), key=key)
        st.caption("A study starts both in turn, under the earlier run's load, until one is proven better.")
        if names := list(edited_draft.secrets_in_use):
            st.caption(markdown_text(f"A study stores no secret: set {', '.join(names)} in Pitwall's environment."))
        if st.button("Open the study", type="primary", key="compare-against-open"):
            _open_study(sources[label], edited_draft, config)


def _base_index(sources: Mapping[str, ArmSource], base: Config | None) -> int:
    """Return the place of the run from which the draft was taken, or else of the newest run."""
    fingerprints = [source.config.fingerprint for source in sources.values()]
    return fingerprints.index(base.fingerprint) if base and base.fingerprint in fingerprints else 0


def _open_study(source: ArmSource, edited_draft: LaunchDraft, config: Config) -> None:
    require_operator()
    name = arm_of_command(edited_draft.text, ()).name
    edited_arm = ArmSource(name, config, chosen_host()).arm
    study_draft.begin_with(with_arms([], [source.arm, edited_arm]), source.workload)
    st.switch_page(page_paths.STUDIES)
