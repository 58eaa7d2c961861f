"""Submissions of studies and of additional arms, through a folder of the process that owns the store."""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from commands.study_change import Addition
from commands.study_file import StudyPlan
from domain import AuditEntry, new_run_id
from machine.json_object import read_object
from machine.private_files import private_folder, write_private

LOG = logging.getLogger(__name__)
Kind = TypeVar("Kind", bound=BaseModel)
MAX_JOB_BYTES = 1 << 20
STUDY, ADDITION = ".study.json", ".addition.json"


class SubmittedStudy(BaseModel):
    """A submitted study."""

    id: str
    plan: StudyPlan


class SubmittedAddition(BaseModel):
    """Additional arms for a study, and who submitted them."""

    study_id: str
    more: Addition
    by: str


def addition_entry(study_id: str, addition: Addition, by: str, now: datetime) -> AuditEntry:
    """The audit entry for added arms."""
    return AuditEntry(now, by, "study arm", detail=f"{study_id}: {', '.join(arm.name for arm in addition.arms)}")


def submit_study(folder: Path, plan: StudyPlan, now: datetime) -> str:
    """Submit a study to the owner of the store; return its id."""
    submission = SubmittedStudy(id=new_run_id(now), plan=plan)
    _write(folder / f"{submission.id}{STUDY}", submission)
    return submission.id


def submit_addition(folder: Path, study_id: str, addition: Addition, by: str, now: datetime) -> Path:
    """Submit additional arms; the file disappears when they were accepted or refused."""
    path = folder / f"{new_run_id(now)}{ADDITION}"
    _write(path, SubmittedAddition(study_id=study_id, more=addition, by=by))
    return path


def awaits_results(folder: Path, run_ids: Collection[str]) -> bool:
    """Whether the folder has results of these runs that are not imported yet."""
    for path in folder.glob("*.job.json"):
        try:
            if read_object(path, MAX_JOB_BYTES).get("run") in run_ids:
                return True
        except (OSError, ValueError):  # imported meanwhile, or not a job
            continue
    return False


def read_submissions(folder: Path, suffix: str, kind: type[Kind]) -> list[tuple[Path, Kind]]:
    """Return the submissions in the folder, oldest first; unreadable files are logged and removed."""
    submissions = []
    for path in sorted(folder.glob(f"*{suffix}")):
        try:
            submissions.append((path, kind.model_validate_json(path.read_bytes())))
        except (ValidationError, OSError):
            LOG.warning("%s is not a valid study submission", path.name)
            path.unlink(missing_ok=True)
    return submissions


def _write(path: Path, submission: BaseModel) -> None:
    private_folder(path.parent)
    write_private(path, submission.model_dump_json().encode())
