"""`./pitwall study`: runs a study until it has an answer, without a browser.

A running Pitwall runs the study; if none is running, or it dies meanwhile, this command owns the store until the study
has its answer. If it is killed, calling it again with the same file continues the study.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.exit_status import DONE, NOT_KNOWN, REFUSED
from cli.results import study_add

if TYPE_CHECKING:
    from commands.study_file import StudyPlan
    from domain import Study
    from errors import PitwallError
    from settings import Settings

POLL_S = 0.5
RETRY_OWN_S = 2.0
LISTED_WITHIN_S = 120.0  # a study is in the published file by then, even on a busy machine
HANDED_OVER = "Pitwall starts: it takes the store over, and goes on with this study."
EXIT_STATUSES = {"winner": DONE, "same": DONE, "measured": DONE, "unknown": NOT_KNOWN, "failed": REFUSED}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall study run`, `add` and `list` to the parser."""
    help_text = "answer a question about configurations with as few server starts as possible"
    study = commands.add_parser("study", help=help_text, description=help_text)
    actions = study.add_subparsers(dest="action", required=True, metavar="ACTION")
    run_command = actions.add_parser("run", help="run the study in a file until it has an answer")
    run_command.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="TOML: question, arms, workload, budget; or a YAML recipe of vLLM's perf-eval",
    )
    run_command.add_argument(
        "--without", action="append", default=[], metavar="PART", help="for a recipe: leave out a block, or BLOCK.NAME"
    )
    run_command.add_argument(
        "--lm-eval", metavar="PROGRAM", help="for a recipe: lm-eval on this machine (default: from the PATH)"
    )
    run_command.add_argument("--bfcl", metavar="PYTHON", help="for a recipe: a Python with bfcl-eval")
    run_command.add_argument("--json", action="store_true", help="print one JSON object at the end")
    run_command.add_argument(
        "--again", action="store_true", help="start over, even if this study has already begun or ended"
    )
    run_command.set_defaults(run=run)
    study_add.add_to(actions)
    list_command = actions.add_parser("list", help="print the studies in the store")
    list_command.add_argument("--json", action="store_true", help="print one JSON array")
    list_command.set_defaults(run=list_studies)


def run(arguments: argparse.Namespace) -> int:
    """Return DONE with a winner or a tie, NOT_KNOWN if the starts do not decide; raises PitwallError."""
    from launcher.remote.hosts import HostBook
    from settings import load_settings
    from studies.plan_check import check_plan

    plan, settings = _read(arguments), load_settings()
    check_plan(plan, HostBook(settings.hosts_path))
    for note in plan.notes if not arguments.json else ():
        print(note, file=sys.stderr)
    with ExitStack() as resources:
        study = _wait_for_answer(settings, plan, arguments.again, resources, is_quiet=arguments.json)
    answer = study.answer or {}
    print(json.dumps(answer) if arguments.json else as_text(study))
    return EXIT_STATUSES.get(str(answer.get("answer")), REFUSED)


def _read(arguments: argparse.Namespace) -> StudyPlan:
    """Read the plan of a study file or of a recipe; raises StudyFileError."""
    from commands.recipe.quality import QualityTools
    from commands.recipe.recipe_study import is_recipe, study_of_recipe
    from commands.study_file import StudyFileError, study_of_text, text_of_file

    text, name = text_of_file(arguments.file), arguments.file.stem
    if is_recipe(text):
        return study_of_recipe(
            text, name, QualityTools(arguments.lm_eval or "lm_eval", arguments.bfcl), arguments.without
        )
    if arguments.without or arguments.lm_eval or arguments.bfcl:
        raise StudyFileError(f"{name} is not a recipe: --without, --lm-eval and --bfcl are only for recipes.")
    return study_of_text(text, name)


def list_studies(arguments: argparse.Namespace) -> int:
    """Print the studies of the published file; raises StoreError if there is no such file."""
    from settings import load_settings
    from storage.published import PublishedStore
    from storage.published_query import published_query
    from storage.queries.study_queries import study_outcomes

    with published_query(load_settings().published_path) as query:
        outcomes = study_outcomes(PublishedStore(query))
    if arguments.json:
        print(json.dumps(outcomes))
    else:
        for row in outcomes:
            outcome = " ".join(filter(None, [row["answer"], row["winner"]]))
            print(f"{row['study_id']}  {row['state']:<8} {outcome:<28} {row['title']}")
    return DONE


def _wait_for_answer(settings: Settings, plan: StudyPlan, is_new: bool, resources: ExitStack, is_quiet: bool) -> Study:
    """Wait for the answer, owning the store whenever no other process does.

    Raises StudyFileError if the study is neither submitted nor in the store.
    """
    from collectors.imports.inbox import inbox_folder
    from domain import utc_now
    from storage.store import Store
    from studies.submissions import study_path, submit_study

    owner = _StudyOwner(settings, resources)
    owner.try_to_own()
    study_id = None if is_new else _find_open_study(settings, owner.store, plan)
    study_id = study_id or submit_study(inbox_folder(settings.data_dir), plan, utc_now())
    submission, present_s = study_path(inbox_folder(settings.data_dir), study_id), time.monotonic()
    last_progress = ""
    while True:
        owner.try_to_own()
        store: Store | None = owner.store
        study = next((candidate for candidate in _studies(settings, store) if candidate.id == study_id), None)
        if study and study.state == "ended":
            return study
        present_s = time.monotonic() if study or submission.exists() else present_s
        if time.monotonic() - present_s > LISTED_WITHIN_S:
            raise _lost_study(study_id)
        if study and not is_quiet and (progress_text := progress(study)) != last_progress:
            last_progress = progress_text
            print(last_progress, file=sys.stderr, flush=True)
        time.sleep(POLL_S)


def _lost_study(study_id: str) -> PitwallError:
    from commands.study_file import StudyFileError

    return StudyFileError(
        f"The study {study_id} is not in the store, and no longer in the inbox: it was refused, or its file was "
        "deleted. The output of Pitwall says more."
    )


class _StudyOwner:
    """Runs the studies of a store that no other process owns, and hands the store over to a Pitwall that starts."""

    def __init__(self, settings: Settings, resources: ExitStack) -> None:
        self._settings, self._opened = settings, resources
        self._tried_s = 0.0
        self.store: Any = None

    def try_to_own(self) -> None:
        """Own the store unless a Pitwall does or wants it, tried every RETRY_OWN_S; raises StoreError if unusable."""
        from service.core import opened_core
        from storage.claim import is_store_claimed
        from storage.database import StoreInUseError

        if is_store_claimed(self._settings):
            self._hand_over()
            return
        now_s = time.monotonic()
        if self.store is not None or (self._tried_s and now_s - self._tried_s < RETRY_OWN_S):
            return
        self._tried_s = now_s
        try:
            self.store = self._opened.enter_context(opened_core(self._settings)).store
        except StoreInUseError:
            return

    def _hand_over(self) -> None:
        """Close everything; servers stay running, and the Pitwall that starts goes on with them and with the study."""
        if self.store is not None:
            self.store = None
            self._opened.close()
            print(HANDED_OVER, file=sys.stderr, flush=True)


def _studies(settings: Settings, store: Any) -> list[Study]:
    """Return the studies of the owned store, else of the published file; none while there is no such file."""
    from storage.database import StoreError
    from storage.published import PublishedStore
    from storage.published_query import published_query
    from storage.queries.study_queries import studies

    if store is not None:
        own_studies: list[Study] = store.studies()
        return own_studies
    try:
        with published_query(settings.published_path) as query:
            return studies(PublishedStore(query))
    except StoreError:
        return []


def _find_open_study(settings: Settings, store: Any, plan: StudyPlan) -> str | None:
    """Return the id of the open study of this plan, including one whose arms were added or proposed since."""
    from commands.study_change import is_grown_from
    from commands.study_file import StudyPlan

    open_studies = [study for study in _studies(settings, store) if study.state != "ended"]
    matches = [study for study in open_studies if is_grown_from(StudyPlan.model_validate(study.plan), plan)]
    return matches[0].id if matches else None


def progress(study: Study) -> str:
    """Return '7 runs: a 1.00x racing, b 1.31x racing, c out'."""
    answer = study.answer or {}
    arms = [f"{arm['name']} {_ratio(arm)}{arm['state']}" for arm in answer.get("arms", [])]
    return f"{answer.get('runs', 0)} runs: {', '.join(arms)}" if arms else "The first round is starting."


def _ratio(arm: dict[str, Any]) -> str:
    return "" if arm["ratio"] is None else f"{arm['ratio']:#.3g}x "


def as_text(study: Study) -> str:
    """Return the answer as a sentence, then one line per arm."""
    from web.study_pages.race_words import state_label, version_rows

    answer = study.answer or {}
    heads = {
        "winner": f"{answer.get('winner')} is best.",
        "same": "The arms are equal within the margin.",
        "unknown": "The answer is not known yet.",
        "failed": "The study failed.",
        "measured": "The measurement is complete.",
    }
    objective = f", by {answer['objective']}" if answer.get("objective") else ""
    lines = [f"{heads[str(answer.get('answer'))]} {answer.get('runs')} server starts{objective}."]
    for workload_answer in answer.get("workloads") or [answer]:
        objective = f", {workload_answer['objective']}" if workload_answer["answer"] == "measured" else ""
        outcome = f"{workload_answer['answer']} {workload_answer['winner'] or ''}".rstrip()
        head = f"Under {workload_answer.get('workload')}{objective}: {outcome}"
        lines += [head] * ("workload" in workload_answer)
        lines += [
            f"  {arm['name']:<24} {_arm_text(arm, state_label(workload_answer, arm)[0])}"
            for arm in workload_answer.get("arms", [])
        ]
        lines += [f"  version {row[0]}: {row[2]} ({row[3]}), {row[1]} starts" for row in version_rows(workload_answer)]
    return "\n".join([*lines, *map(str, answer.get("reasons", []))])


def _arm_text(arm: dict[str, Any], state: str) -> str:
    """Return '1.31x (1.28x to 1.34x) best, 3 runs'; for a predicted arm that it was not started."""
    from web.study_pages.race_words import solved_text

    if arm["state"] == "predicted":
        return "predicted, not started"
    if solved := arm.get("solved"):
        return f"{solved_text(solved)} {state}, {arm['runs']} runs"
    if "mean" in arm:
        return _mean(arm)
    low, high = arm["interval"] or (1.0, 1.0)
    interval_text = f"({low:#.3g}x to {high:#.3g}x) " if low != high else ""
    return f"{_ratio(arm)}{interval_text}{state}, {arm['runs']} runs"


def _mean(arm: dict[str, Any]) -> str:
    """Return '812 (801 to 823), 3 runs'."""
    if arm["mean"] is None:
        return f"no value, {arm['runs']} runs"
    low, high = arm["mean_interval"] or (arm["mean"], arm["mean"])
    interval_text = f" ({low:.4g} to {high:.4g})" if low != high else ""
    return f"{arm['mean']:.4g}{interval_text}, {arm['runs']} runs"
