"""The section with loads and studies that agents propose: the operator accepts or rejects each."""

from __future__ import annotations

import streamlit as st

from collectors.imports.inbox import LoadStartJob, new_job_id
from collectors.imports.log_file import ImportRefusedError
from domain import utc_now
from errors import PitwallError
from launcher.remote.hosts import HostBook
from service.inbox import put_load
from service.proposals import Proposal, ProposalBook, submit_proposed_study
from web.access.roles import current_person
from web.actions import Once, is_operator, require_operator
from web.context import services
from web.markup import markdown_text
from web.times import format_time

TITLE = "Proposed by agents"
REFRESH_S = 5.0


def show_proposals() -> None:
    """Show the open proposals to the operator; nothing if none waits."""
    if is_operator():
        _show_open()


@st.fragment(run_every=REFRESH_S)
def _show_open() -> None:
    proposals = _book().all()
    if not proposals:
        return
    st.subheader(TITLE)
    for proposal in proposals:
        _show_proposal(proposal)


def _show_proposal(proposal: Proposal) -> None:
    """Show who proposes what and why, everything that it would run, and the two buttons."""
    by, at = markdown_text(proposal.proposed_by), format_time(proposal.proposed_at)
    st.markdown(f"**{markdown_text(proposal.describe().capitalize())}**, proposed by {by}, {at}")
    if proposal.why:
        st.caption(markdown_text(proposal.why))
    st.code(proposal.contents, language=None, wrap_lines=True)
    with st.container(horizontal=True):
        for label, act in (("Accept", accept_proposal), ("Reject", reject_proposal)):
            key = f"{label.lower()}-proposal-{proposal.id}"
            st.button(f"{label} {proposal.id}", key=key, on_click=Once(act), args=(proposal.id,))


def accept_proposal(proposal_id: str) -> None:
    """Start the proposed load, or submit the study; a refusal is a toast and leaves the proposal."""
    require_operator()
    try:
        sentence = _start(_book().find(proposal_id))
        _book().remove(proposal_id, "accept proposal", current_person())
    except (PitwallError, ImportRefusedError, OSError) as refusal:
        st.toast(markdown_text(str(refusal)), icon=":material/error:")
    else:
        st.toast(markdown_text(sentence))


def reject_proposal(proposal_id: str) -> None:
    """Remove the proposal."""
    require_operator()
    try:
        _book().remove(proposal_id, "reject proposal", current_person())
    except (PitwallError, OSError) as refusal:
        st.toast(markdown_text(str(refusal)), icon=":material/error:")


def _start(proposal: Proposal) -> str:
    settings = services().settings
    if proposal.load is None:
        study_id = submit_proposed_study(proposal, settings.data_dir, HostBook(settings.hosts_path))
        return f"The study {study_id} starts; Studies shows it."
    load, job_id = proposal.load, new_job_id(utc_now())
    job = LoadStartJob(id=job_id, run=load.run_id, workload=load.workload, params=load.params, by=current_person())
    return put_load(services().store, services().supervisor.start_load, job)


def _book() -> ProposalBook:
    return ProposalBook(services().settings.proposals_path)
