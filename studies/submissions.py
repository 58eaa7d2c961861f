"""Submissions of studies and of additional arms, through a folder of the process that owns the store."""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from commands.study_change import Addition
from commands.study_file import StudyPlan
from domain import AuditEntry, new_run_id
from machine.json_object import read_object
from machine.private_files import private_folder, write_private
from machine.regular_file import NotRegularError, open_regular

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
    _write(study_path(folder, submission.id), submission)
    return submission.id


def study_path(folder: Path, study_id: str) -> Path:
    """Return the file of a submitted study, which disappears when the study is in the store, or was refused."""
    return folder / f"{study_id}{STUDY}"


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
        except (OSError, ValueError, RuntimeError, NotRegularError):  # imported meanwhile, or not a job
            continue
    return False


def read_submissions(folder: Path, suffix: str, kind: type[Kind]) -> list[tuple[Path, Kind]]:
    """Return the submissions in the folder, oldest first; others are logged once, and removed or set aside."""
    submissions = []
    for path in sorted(folder.glob(f"*{suffix}")):
        try:
            with open_regular(path) as file:
                submissions.append((path, kind.model_validate_json(file.read(MAX_JOB_BYTES))))
        except FileNotFoundError:
            continue
        except ValidationError:
            LOG.warning("%s is not a valid study submission", path.name)
            path.unlink(missing_ok=True)
        except (NotRegularError, OSError) as problem:
            _set_aside(path, problem)
    return submissions


def _set_aside(path: Path, problem: Exception) -> None:
    """Rename an entry that is no readable file, so that it is reported once and holds up no study."""
    LOG.warning("not a study submission, renamed to %s.refused: %s", path.name, problem)
    with suppress(OSError):
        path.rename(path.with_name(f"{path.name}.refused"))


def _write(path: Path, submission: BaseModel) -> None:
    private_folder(path.parent)
    write_private(path, submission.model_dump_json().encode())
