"""What is handed in through the folder of whoever owns the store: a study, or arms more for one that goes on."""

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
MOST_BYTES = 1 << 20
STUDY, ADDITION = ".study.json", ".addition.json"


class HandedIn(BaseModel):
    """A study as somebody hands it in."""

    id: str
    plan: StudyPlan


class HandedAddition(BaseModel):
    """Arms more, of which study, and who says so."""

    study_id: str
    more: Addition
    by: str


def addition_entry(study_id: str, more: Addition, by: str, now: datetime) -> AuditEntry:
    """What the audit says of it."""
    return AuditEntry(now, by, "study arm", detail=f"{study_id}: {', '.join(arm.name for arm in more.arms)}")


def hand_in(folder: Path, plan: StudyPlan, now: datetime) -> str:
    """Leave a study where whoever owns the store finds it; its id."""
    given = HandedIn(id=new_run_id(now), plan=plan)
    _leave(folder / f"{given.id}{STUDY}", given)
    return given.id


def hand_in_addition(folder: Path, study_id: str, more: Addition, by: str, now: datetime) -> Path:
    """Leave arms more likewise; the file is gone when they were taken, or refused."""
    path = folder / f"{new_run_id(now)}{ADDITION}"
    _leave(path, HandedAddition(study_id=study_id, more=more, by=by))
    return path


def awaits_results(folder: Path, run_ids: Collection[str]) -> bool:
    """Whether results of these runs lie there that have not been taken in yet."""
    for path in folder.glob("*.job.json"):
        try:
            if read_object(path, MOST_BYTES).get("run") in run_ids:
                return True
        except (OSError, ValueError):  # it was taken in meanwhile, or is no job
            continue
    return False


def handed(folder: Path, suffix: str, kind: type[Kind]) -> list[tuple[Path, Kind]]:
    """What lies there, the oldest first; what cannot be read is reported and taken away."""
    found = []
    for path in sorted(folder.glob(f"*{suffix}")):
        try:
            found.append((path, kind.model_validate_json(path.read_bytes())))
        except (ValidationError, OSError):
            LOG.warning("%s is nothing that was handed in for a study", path.name)
            path.unlink(missing_ok=True)
    return found


def _leave(path: Path, given: BaseModel) -> None:
    private_folder(path.parent)
    write_private(path, given.model_dump_json().encode())
