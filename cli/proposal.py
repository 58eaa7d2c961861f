"""`./pitwall proposal list|accept|reject`: the operator's yes or no to what a program proposes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from cli.answers import Answer, add_command, audit_user
from cli.exit_status import DONE, REFUSED

if TYPE_CHECKING:
    from service.proposals import LoadProposal, Proposal, ProposalBook
    from settings import Settings


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall proposal list`, `accept` and `reject` to the parser."""
    help_text = "list, accept or reject the loads and studies that programs propose through `mcp`"
    proposal = commands.add_parser("proposal", help=help_text, description=help_text)
    orders = proposal.add_subparsers(dest="order", required=True, metavar="ORDER")
    add_command(orders, "list", list_all, "print what waits for a decision, with every command that it would run")
    for name, answer, help_text in (
        ("accept", accept, "start the proposed load or study"),
        ("reject", reject, "remove the proposal"),
    ):
        command = add_command(orders, name, answer, help_text)
        command.add_argument("id", metavar="ID", help="a proposal's id, as the list shows it")


def list_all(arguments: argparse.Namespace) -> Answer:
    """List the open proposals in full: what is accepted must have been seen."""
    from settings import load_settings

    proposals = _book(load_settings()).all()
    fields = [proposal.model_dump(mode="json") for proposal in proposals]
    return Answer("\n\n".join(map(_text, proposals)) or "There are no proposals.", {"proposals": fields})


def accept(arguments: argparse.Namespace) -> Answer:
    """Start what was proposed; raises ProposalError, StudyFileError, HostError, UnknownLoadError, StoreError."""
    from settings import load_settings

    settings = load_settings()
    proposal = _book(settings).find(arguments.id)
    if proposal.load:
        state, text = _start_load(settings, proposal.load)
        if state != "done":
            return Answer(text, {"id": proposal.id, "state": state, "text": text}, REFUSED)
        study_id = None
    else:
        study_id = _start_study(settings, proposal)
        state, text = "done", f"The study {study_id} starts as soon as Pitwall runs; `./pitwall study list` shows it."
    _book(settings).remove(proposal.id, "accept proposal", audit_user())
    return Answer(text, {"id": proposal.id, "state": state, "text": text, "study_id": study_id}, DONE)


def reject(arguments: argparse.Namespace) -> Answer:
    """Remove a proposal; raises ProposalError, OSError."""
    from settings import load_settings

    proposal = _book(load_settings()).remove(arguments.id, "reject proposal", audit_user())
    return Answer(f"Rejected: {proposal.describe()}.", {"id": proposal.id, "state": "rejected"})


def _start_load(settings: Settings, load: LoadProposal) -> tuple[str, str]:
    """Put the load through the inbox, and return the job's state and its sentence."""
    from cli.data.inbox_owner import InboxOwner
    from collectors.imports.inbox import LoadStartJob, inbox_folder, new_job_id, submit_job
    from domain import utc_now

    with InboxOwner(settings) as owner:
        owner.try_to_own()
        job = LoadStartJob(
            id=new_job_id(utc_now()), run=load.run_id, workload=load.workload, params=load.params, by=audit_user()
        )
        submit_job(inbox_folder(settings.data_dir), job)
        status = owner.wait_for_job(job.id)
    return status.state, status.text


def _start_study(settings: Settings, proposal: Proposal) -> str:
    from launcher.remote.hosts import HostBook
    from service.proposals import submit_proposed_study

    return submit_proposed_study(proposal, settings.data_dir, HostBook(settings.hosts_path))


def _book(settings: Settings) -> ProposalBook:
    from service.proposals import ProposalBook

    return ProposalBook(settings.proposals_path)


def _text(proposal: Proposal) -> str:
    """Return the proposal with its parameters or its whole study; control characters of a terminal are left out."""
    lines = [
        f"{proposal.id}  {proposal.describe()}, proposed by {proposal.proposed_by}, "
        f"{proposal.proposed_at:%Y-%m-%d %H:%M} UTC",
        *([f"  why: {proposal.why}"] if proposal.why else []),
        *(f"  {line}" for line in proposal.contents.splitlines()),
    ]
    return "\n".join("".join(filter(str.isprintable, line)) for line in lines)
