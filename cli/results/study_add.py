"""`./pitwall study add STUDY`: add arms, or values of the varied setting, to a running study.

The owner of the store adds them: Pitwall, or a `study run`. If there is none, this command writes them itself and
starts nothing.
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

    Read = Callable[[StudyPlan], Addition]

LOOK_EVERY_S = 0.2
OWN_EVERY_S = 2.0
SEEN_WITHIN_S = 30.0  # what was taken stands in the published file after a few seconds


def add_to(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `add` and its flags to the actions of `pitwall study`."""
    add = actions.add_parser("add", help="give a study that goes on an arm more, or a value")
    add.add_argument("study", metavar="STUDY", help="its id, as `study list` prints it")
    what = add.add_mutually_exclusive_group(required=True)
    what.add_argument("file", nargs="?", type=Path, metavar="FILE", help="TOML: [[arm]] alone, as in the study's file")
    what.add_argument("--values", metavar="TEXT", help="of the setting that it varies: '3, 5..7'")
    add.add_argument("--json", action="store_true", help="print one JSON object")
    add.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """DONE when the study has them; raises StudyFileError where it cannot take them, StoreError, OSError."""
    from commands.study_change import arms_more, values_more
    from commands.study_file import read_arms
    from settings import load_settings

    given, values = read_arms(arguments.file) if arguments.file else [], arguments.values
    read: Read = (lambda plan: arms_more(plan, given)) if given else (lambda plan: values_more(plan, values))
    plan, added = _carry(load_settings(), arguments.study, read)
    report = {"study_id": arguments.study, "added": added, "arms": [arm.name for arm in plan.arms]}
    print(json.dumps(report) if arguments.json else f"From the next round on: {', '.join(added)}.")
    return DONE


def _carry(settings: Settings, study_id: str, read: Read) -> tuple[StudyPlan, list[str]]:
    """The plan with them, and their names: written where nobody owns the store, else handed in and waited for."""
    from collectors.imports.inbox import inbox_folder
    from commands.study_change import with_addition
    from domain import utc_now
    from studies.hand_in import hand_in_addition

    if mine := _written(settings, study_id, read):
        return mine
    plan = _plan_of(_published(settings), study_id)
    more = read(plan)
    with_addition(plan, more)  # what cannot be is refused here, in its own words
    path = hand_in_addition(inbox_folder(settings.data_dir), study_id, more, _who(), utc_now())
    tried_s = time.monotonic()
    while path.exists():
        time.sleep(LOOK_EVERY_S)
        if time.monotonic() - tried_s > OWN_EVERY_S:  # whoever owned the store may have died
            tried_s = time.monotonic()
            if mine := _written(settings, study_id, read, path):
                return mine
    return _seen(settings, study_id, [arm.name for arm in more.arms])


def _written(
    settings: Settings, study_id: str, read: Read, handed: Path | None = None
) -> tuple[StudyPlan, list[str]] | None:
    """By ourselves, which starts no server; None where somebody else owns the store."""
    from commands.study_change import with_addition
    from domain import utc_now
    from storage.database import StoreInUseError
    from storage.store import Store
    from studies.hand_in import addition_entry

    try:
        store = Store.open(settings)
    except StoreInUseError:
        return None
    try:
        study = _going(store.studies(), study_id)
        plan = _plan_of([study], study_id)
        more = read(plan)
        longer = with_addition(plan, more)
        changes = {"plan": longer.model_dump(mode="json"), "updated_at": utc_now()}
        store.save_study(study.model_copy(update=changes))
        store.record([addition_entry(study_id, more, _who(), utc_now())]).result()
        if handed:  # last: it is refused where it is taken twice, and lost where it is thrown away too early
            handed.unlink(missing_ok=True)
    finally:
        store.close()
    return longer, [arm.name for arm in more.arms]


def _who() -> str:
    """For the audit."""
    return f"{getpass.getuser()}, in a shell"


def _seen(settings: Settings, study_id: str, names: list[str]) -> tuple[StudyPlan, list[str]]:
    """When they stand in the published file; raises StudyFileError where the owner has refused them."""
    from commands.study_file import StudyFileError

    until_s = time.monotonic() + SEEN_WITHIN_S
    while time.monotonic() < until_s:
        plan = _plan_of(_published(settings), study_id)
        if {arm.name for arm in plan.arms} >= set(names):
            return plan, names
        time.sleep(LOOK_EVERY_S)
    raise StudyFileError(f"The study {study_id} has not taken {', '.join(names)}: it was changed meanwhile.")


def _published(settings: Settings) -> list[Study]:
    from storage.ask.study_queries import studies
    from storage.published import Published
    from storage.published_query import published_query

    with published_query(settings.published_path) as query:
        return studies(Published(query))


def _plan_of(studies: list[Study], study_id: str) -> StudyPlan:
    from commands.study_file import StudyPlan

    return StudyPlan.model_validate(_going(studies, study_id).plan)


def _going(studies: list[Study], study_id: str) -> Study:
    """The study while it goes on or pauses; raises StudyFileError."""
    from commands.study_file import StudyFileError

    found = next((one for one in studies if one.id == study_id), None)
    if found is None or found.state == "ended":
        raise StudyFileError(f"There is no study {study_id}." if found is None else f"The study {study_id} has ended.")
    return found
