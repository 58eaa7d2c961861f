"""Loads and studies that a program proposes: nothing starts until the operator accepts it.

A proposal waits in the data folder's proposals.json; the page Runs and `./pitwall proposal` list, accept and reject it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from collectors.imports.inbox import inbox_folder
from commands.study_file import StudyFileError, StudyPlan, study_of_text
from domain import AuditEntry, JsonValue, Run, utc_now
from errors import PitwallError
from launcher.remote.hosts import HostBook
from launcher.runs.supervised_runs.run_loads import check_can_load
from machine.named_list import EntryListKind, NamedList, Record
from redaction import mask_text
from studies.plan_check import check_plan
from studies.submissions import submit_study
from workloads import REGISTRY
from workloads.forecast import refusal_of_context

MOST_OPEN = 20
MOST_STUDY_CHARS = 64 * 1024
MOST_PARAMS = 50
PROMPT_FILE = "file"  # the parameter that names a file of this machine
HAS_SECRET = "The study contains what looks like a secret: let its command name an environment variable instead."
NO_FILES = "A proposed load may not send prompts from a file on this machine: the operator starts it on the Run page."


class ProposalError(PitwallError):
    """A proposal that cannot be made, found or accepted, in one sentence."""


class LoadProposal(BaseModel):
    """A load for the server of a live run."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run_id: str = Field(max_length=200)
    workload: str = Field(max_length=200)
    params: dict[str, JsonValue] = Field(default_factory=dict)


class Proposal(BaseModel):
    """A load or a study that waits for the operator."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    proposed_by: str  # the token, or the shell that started the MCP server
    proposed_at: datetime
    why: str = Field("", max_length=500)  # the program's words
    load: LoadProposal | None = None
    study: str | None = None  # the text of its file

    def describe(self) -> str:
        """Return the proposal in a few words, for lists and the audit."""
        if self.load:
            return f"load {self.load.workload} on run {self.load.run_id}"
        try:
            return f"study {plan_of_proposal(self).title!r}"
        except StudyFileError:  # somebody edited the file
            return "study that cannot be read"

    @property
    def contents(self) -> str:
        """The parameters of the load, or the whole file of the study, without characters that control a terminal."""
        body = str(self.load.params) if self.load else self.study or ""
        return "\n".join("".join(filter(str.isprintable, line)) for line in body.splitlines())


_KIND = EntryListKind(
    Proposal,
    key="proposals",
    name="id",
    max_entries=MOST_OPEN,
    refusal=ProposalError,
    unreadable_message="No proposal can be accepted",
    invalid_message="{} is not a list of proposals.",
    too_many="{} proposals wait already: the operator must accept or reject some first.",
)


class ProposalBook:
    """The open proposals of a data folder, in proposals.json with mode 0600."""

    def __init__(self, path: Path) -> None:
        self._list = NamedList(path, _KIND)

    def all(self) -> list[Proposal]:
        """Return the open proposals, the oldest first; an invalid file is logged and gives none."""
        return self._list.all()

    def find(self, proposal_id: str) -> Proposal:
        """Return an open proposal; raises ProposalError."""
        match = next((proposal for proposal in self.all() if proposal.id == proposal_id), None)
        if match is None:
            raise ProposalError(_missing(proposal_id))
        return match

    def propose_load(self, run: Run, load: LoadProposal, why: str, by: str) -> Proposal:
        """Add a load for a live run; raises ProposalError, LaunchRefusedError if it could not be started, OSError."""
        _check_load(run, load)
        return self._add(Proposal(id=_new_id(), proposed_by=by, proposed_at=utc_now(), why=_plain(why), load=load))

    def propose_study(self, text: str, why: str, by: str) -> Proposal:
        """Add a study by the text of its file; raises ProposalError, StudyFileError if it is invalid, OSError."""
        if len(text) > MOST_STUDY_CHARS:
            raise ProposalError(f"A proposed study has at most {MOST_STUDY_CHARS} characters.")
        if mask_text(text) != text:
            raise ProposalError(HAS_SECRET)
        proposal = Proposal(id=_new_id(), proposed_by=by, proposed_at=utc_now(), why=_plain(why), study=text)
        plan_of_proposal(proposal)
        return self._add(proposal)

    def remove(self, proposal_id: str, action: str, user: str) -> Proposal:
        """Remove a proposal that was accepted or rejected, with an audit entry. Raises ProposalError, OSError."""
        return self._list.drop(proposal_id, _missing(proposal_id), lambda proposal: _entry(action, proposal, user))

    def record_audit(self, record: Record) -> None:
        """Copy audit entries into the store; raises PitwallError, OSError."""
        self._list.record_audit(record)

    def _add(self, proposal: Proposal) -> Proposal:
        self._list.keep(proposal, _entry("propose", proposal, proposal.proposed_by))
        return proposal


def plan_of_proposal(proposal: Proposal) -> StudyPlan:
    """Return the plan of a proposed study; raises StudyFileError."""
    return study_of_text(proposal.study or "", f"proposal-{proposal.id}")


def submit_proposed_study(proposal: Proposal, data_dir: Path, hosts: HostBook) -> str:
    """Submit the study of a proposal to the owner of the store, and return its id.

    Raises StudyFileError, HostError, OSError.
    """
    plan = plan_of_proposal(proposal)
    check_plan(plan, hosts)
    return submit_study(inbox_folder(data_dir), plan, utc_now())


def _check_load(run: Run, load: LoadProposal) -> None:
    check_can_load(run)
    if load.workload not in REGISTRY:
        raise ProposalError(f"There is no workload {load.workload!r}; the workloads are {', '.join(REGISTRY)}.")
    _check_params(load.params)
    try:
        refusal = refusal_of_context(load.workload, load.params, run.config.max_model_len)
    except ValidationError as error:
        location, message = ".".join(map(str, error.errors()[0]["loc"])), error.errors()[0]["msg"]
        raise ProposalError(f"The workload {load.workload} is invalid: {location}: {message}.") from error
    if refusal:
        raise ProposalError(refusal)


def _check_params(params: Mapping[str, JsonValue]) -> None:
    if params.get(PROMPT_FILE):
        raise ProposalError(NO_FILES)
    if len(params) > MOST_PARAMS or len(str(params)) > MOST_STUDY_CHARS:
        raise ProposalError("The load has too many parameters.")


def _new_id() -> str:
    return secrets.token_hex(4)


def _plain(why: str) -> str:
    """Return the program's reason as one printable line, cut to its longest length, with secrets masked."""
    text = "".join(character if character.isprintable() else " " for character in why)
    return mask_text(text)[:500]


def _missing(proposal_id: str) -> str:
    return f"No proposal {proposal_id[:40]} waits: it was accepted or rejected, or never made."


def _entry(action: str, proposal: Proposal, user: str) -> AuditEntry:
    run_id = proposal.load.run_id if proposal.load else None
    return AuditEntry(utc_now(), user, action, run_id, f"{proposal.id}: {proposal.describe()}")
