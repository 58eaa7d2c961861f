"""`./pitwall study add STUDY`: adds arms, or values of the varied setting, to a running study.

The owner of the store adds them: Pitwall, or a `study run`. If there is none, this command writes them itself and
starts no server.
"""

from __future__ import annotations

import argparse
import getpass
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cli.exit_status import DONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from commands.study_change import Addition
    from commands.study_file import StudyPlan
    from domain import Study
    from settings import Settings

    ReadAddition = Callable[[StudyPlan], Addition]

POLL_S = 0.2
RETRY_OWN_S = 2.0
TAKEN_WITHIN_S = 30.0  # accepted arms reach the published file after a few seconds


def add_to(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `add` and its flags to the actions of `pitwall study`."""
    add = actions.add_parser("add", help="add arms or values to a running or paused study")
    add.add_argument("study", metavar="STUDY", help="its id, as `study list` prints it")
    source = add.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="TOML with only [[arm]], as in the study's file"
    )
    source.add_argument("--values", metavar="TEXT", help="values of the setting that it varies: '3, 5..7'")
    add.add_argument("--json", action="store_true", help="print one JSON object")
    add.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Add the arms; raises StudyFileError if the study cannot take them, StoreError, OSError."""
    from commands.study_change import read_added_arms, read_added_values
    from commands.study_file import read_arms
    from settings import load_settings

    arms, values = read_arms(arguments.file) if arguments.file else [], arguments.values
    read_addition: ReadAddition = (
        (lambda plan: read_added_arms(plan, arms)) if arms else (lambda plan: read_added_values(plan, values))
    )
    plan, names = _add(load_settings(), arguments.study, read_addition)
    report = {"study_id": arguments.study, "added": names, "arms": [arm.name for arm in plan.arms]}
    print(json.dumps(report) if arguments.json else f"Added from the next round on: {', '.join(names)}.")
    return DONE


def _add(settings: Settings, study_id: str, read_addition: ReadAddition) -> tuple[StudyPlan, list[str]]:
    """Return the extended plan and the new names; written if nobody owns the store, else submitted and awaited."""
    from collectors.imports.inbox import inbox_folder
    from commands.study_change import with_addition
    from domain import utc_now
    from studies.submissions import submit_addition

    if result := _write_as_owner(settings, study_id, read_addition):
        return result
    plan = _plan_of(_published_studies(settings), study_id)
    addition = read_addition(plan)
    with_addition(plan, addition)  # refuses an impossible addition with its reason
    path = submit_addition(inbox_folder(settings.data_dir), study_id, addition, _audit_user(), utc_now())
    tried_s = time.monotonic()
    while path.exists():
        time.sleep(POLL_S)
        if time.monotonic() - tried_s > RETRY_OWN_S:  # the owner of the store may have died
            tried_s = time.monotonic()
            if result := _write_as_owner(settings, study_id, read_addition, path):
                return result
    return _wait_until_taken(settings, study_id, [arm.name for arm in addition.arms])


def _write_as_owner(
    settings: Settings, study_id: str, read_addition: ReadAddition, submitted: Path | None = None
) -> tuple[StudyPlan, list[str]] | None:
    """Write the addition to the store, which starts no server; None if another process owns it or a Pitwall starts."""
    from commands.study_change import with_addition
    from domain import utc_now
    from storage.claim import is_store_claimed
    from storage.database import StoreInUseError
    from storage.store import Store
    from studies.submissions import addition_entry

    if is_store_claimed(settings):
        return None
    try:
        store = Store.open(settings)
    except StoreInUseError:
        return None
    try:
        study = _find_open_study(store.studies(), study_id)
        plan = _plan_of([study], study_id)
        addition = read_addition(plan)
        extended = with_addition(plan, addition)
        changes = {"plan": extended.model_dump(mode="json"), "updated_at": utc_now()}
        store.save_study(study.model_copy(update=changes))
        store.record([addition_entry(study_id, addition, _audit_user(), utc_now())]).result()
        if submitted:  # last: taken twice it is refused, removed too early it is lost
            submitted.unlink(missing_ok=True)
    finally:
        store.close()
    return extended, [arm.name for arm in addition.arms]


def _audit_user() -> str:
    """Return the current user, for the audit."""
    return f"{getpass.getuser()}, in a shell"


def _wait_until_taken(settings: Settings, study_id: str, names: list[str]) -> tuple[StudyPlan, list[str]]:
    """Wait until the published file has the arms; raises StudyFileError if the owner has refused them."""
    from commands.study_file import StudyFileError

    deadline_s = time.monotonic() + TAKEN_WITHIN_S
    while time.monotonic() < deadline_s:
        plan = _plan_of(_published_studies(settings), study_id)
        if {arm.name for arm in plan.arms} >= set(names):
            return plan, names
        time.sleep(POLL_S)
    raise StudyFileError(f"The study {study_id} did not accept {', '.join(names)}: it was changed in the meantime.")


def _published_studies(settings: Settings) -> list[Study]:
    from storage.published import PublishedStore
    from storage.published_query import published_query
    from storage.queries.study_queries import studies

    with published_query(settings.published_path) as query:
        return studies(PublishedStore(query))


def _plan_of(studies: list[Study], study_id: str) -> StudyPlan:
    from commands.study_file import StudyPlan

    return StudyPlan.model_validate(_find_open_study(studies, study_id).plan)


def _find_open_study(studies: list[Study], study_id: str) -> Study:
    """Return the running or paused study; raises StudyFileError."""
    from commands.study_file import StudyFileError

    study = next((candidate for candidate in studies if candidate.id == study_id), None)
    if study is None or study.state == "ended":
        raise StudyFileError(f"There is no study {study_id}." if study is None else f"The study {study_id} has ended.")
    return study
