"""`./pitwall study`: carry a study to its answer, without a browser.

A running Pitwall runs the study; if none runs, or it dies meanwhile, this command owns the store until the study has
its answer. If it is killed, calling it again with the same file continues the study.
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
    from settings import Settings

LOOK_EVERY_S = 0.5
OWN_EVERY_S = 2.0
STATUS = {"winner": DONE, "same": DONE, "measured": DONE, "unknown": NOT_KNOWN, "failed": REFUSED}


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall study run`, `add` and `list` to the parser."""
    words = "answer a question about configurations by as few server starts as it takes"
    study = commands.add_parser("study", help=words, description=words)
    actions = study.add_subparsers(dest="action", required=True, metavar="ACTION")
    run_it = actions.add_parser("run", help="carry the study of a file to its answer")
    run_it.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="TOML: question, arms, workload, budget; or a YAML recipe of vLLM's perf-eval",
    )
    run_it.add_argument(
        "--without", action="append", default=[], metavar="PART", help="of a recipe: leave out a block, or BLOCK.NAME"
    )
    run_it.add_argument("--lm-eval", metavar="PROGRAM", help="of a recipe: lm-eval on this machine; else the PATH's")
    run_it.add_argument("--bfcl", metavar="PYTHON", help="of a recipe: a Python that has bfcl-eval")
    run_it.add_argument("--json", action="store_true", help="print one JSON object at the end")
    run_it.add_argument("--again", action="store_true", help="begin anew, though this study has begun or ended already")
    run_it.set_defaults(run=run)
    study_add.add_to(actions)
    listed = actions.add_parser("list", help="the studies of the store")
    listed.add_argument("--json", action="store_true", help="print one JSON array")
    listed.set_defaults(run=list_studies)


def run(arguments: argparse.Namespace) -> int:
    """DONE with a winner or a tie, NOT_KNOWN where the starts do not say; raises PitwallError."""
    from launcher.remote.hosts import HostBook
    from settings import load_settings
    from studies.plan_check import check_plan

    plan, settings = _read(arguments), load_settings()
    check_plan(plan, HostBook(settings.hosts_path))
    for note in plan.notes if not arguments.json else ():
        print(note, file=sys.stderr)
    with ExitStack() as opened:
        study = _carry(settings, plan, arguments.again, opened, is_quiet=arguments.json)
    answer = study.answer or {}
    print(json.dumps(answer) if arguments.json else as_text(study))
    return STATUS.get(str(answer.get("answer")), REFUSED)


def _read(arguments: argparse.Namespace) -> StudyPlan:
    """The plan of a study's file or of a recipe; raises StudyFileError."""
    from commands.recipe.quality import Tools
    from commands.recipe.recipe_study import is_recipe, study_of_recipe
    from commands.study_file import StudyFileError, study_of_text, text_of_file

    text, name = text_of_file(arguments.file), arguments.file.stem
    if is_recipe(text):
        return study_of_recipe(text, name, Tools(arguments.lm_eval or "lm_eval", arguments.bfcl), arguments.without)
    if arguments.without or arguments.lm_eval or arguments.bfcl:
        raise StudyFileError(f"{name} is no recipe: --without, --lm-eval and --bfcl are for one.")
    return study_of_text(text, name)


def list_studies(arguments: argparse.Namespace) -> int:
    """Print the studies of the published file by their ids; raises StoreError when there is none."""
    from settings import load_settings
    from storage.ask.study_queries import study_outcomes
    from storage.published import Published
    from storage.published_query import published_query

    with published_query(load_settings().published_path) as query:
        found = study_outcomes(Published(query))
    if arguments.json:
        print(json.dumps(found))
    else:
        for one in found:
            outcome = " ".join(filter(None, [one["answer"], one["winner"]]))
            print(f"{one['study_id']}  {one['state']:<8} {outcome:<28} {one['title']}")
    return DONE


def _carry(settings: Settings, plan: StudyPlan, is_new: bool, opened: ExitStack, is_quiet: bool) -> Study:
    """Wait for the answer, owning the store whenever nobody else does."""
    from collectors.imports.inbox import inbox_folder
    from domain import utc_now
    from storage.store import Store
    from studies.hand_in import hand_in

    owner = _Owner(settings, opened)
    owner.try_to_own()
    study_id = None if is_new else _known(settings, owner.store, plan)
    study_id = study_id or hand_in(inbox_folder(settings.data_dir), plan, utc_now())
    last = ""
    while True:
        owner.try_to_own()
        store: Store | None = owner.store
        study = next((one for one in _studies(settings, store) if one.id == study_id), None)
        if study and study.state == "ended":
            return study
        if study and not is_quiet and (words := progress(study)) != last:
            last = words
            print(last, file=sys.stderr, flush=True)
        time.sleep(LOOK_EVERY_S)


class _Owner:
    """Carries the studies of a store that nobody else owns."""

    def __init__(self, settings: Settings, opened: ExitStack) -> None:
        self._settings, self._opened = settings, opened
        self._tried_s = 0.0
        self.store: Any = None

    def try_to_own(self) -> None:
        """Asked often, tried now and then; raises StoreError if the store is unusable."""
        from service.core import opened_core
        from storage.database import StoreInUseError

        now_s = time.monotonic()
        if self.store is not None or (self._tried_s and now_s - self._tried_s < OWN_EVERY_S):
            return
        self._tried_s = now_s
        try:
            self.store = self._opened.enter_context(opened_core(self._settings)).store
        except StoreInUseError:
            return


def _studies(settings: Settings, store: Any) -> list[Study]:
    """From the store that is ours, else from the published file; none while that is not there yet."""
    from storage.ask.study_queries import studies
    from storage.database import StoreError
    from storage.published import Published
    from storage.published_query import published_query

    if store is not None:
        found: list[Study] = store.studies()
        return found
    try:
        with published_query(settings.published_path) as query:
            return studies(Published(query))
    except StoreError:
        return []


def _known(settings: Settings, store: Any, plan: StudyPlan) -> str | None:
    """The study of this very plan that has not ended, whatever arms it was given or has proposed since."""
    from commands.study_change import is_grown_from
    from commands.study_file import StudyPlan

    going = [one for one in _studies(settings, store) if one.state != "ended"]
    alike = [one for one in going if is_grown_from(StudyPlan.model_validate(one.plan), plan)]
    return alike[0].id if alike else None


def progress(study: Study) -> str:
    """'7 runs: a 1.00x racing, b 1.31x racing, c out'."""
    answer = study.answer or {}
    arms = [f"{arm['name']} {_ratio(arm)}{arm['state']}" for arm in answer.get("arms", [])]
    return f"{answer.get('runs', 0)} runs: {', '.join(arms)}" if arms else "The first round begins."


def _ratio(arm: dict[str, Any]) -> str:
    return "" if arm["ratio"] is None else f"{arm['ratio']:#.3g}x "


def as_text(study: Study) -> str:
    """The answer in words, then a line an arm."""
    from web.study_pages.race_words import state_words, version_rows

    answer = study.answer or {}
    heads = {
        "winner": f"{answer.get('winner')} is best.",
        "same": "They are the same.",
        "unknown": "Not known yet.",
        "failed": "The study failed.",
        "measured": "It is measured.",
    }
    by = f", by {answer['objective']}" if answer.get("objective") else ""
    lines = [f"{heads[str(answer.get('answer'))]} {answer.get('runs')} server starts{by}."]
    for part in answer.get("workloads") or [answer]:
        by = f", {part['objective']}" if part["answer"] == "measured" else ""
        head = f"Under {part.get('workload')}{by}: {part['answer']} {part['winner'] or ''}".rstrip()
        lines += [head] * ("workload" in part)
        lines += [f"  {arm['name']:<24} {_arm_words(arm, state_words(part, arm)[0])}" for arm in part.get("arms", [])]
        lines += [f"  version {row[0]}: {row[2]} ({row[3]}), {row[1]} starts" for row in version_rows(part)]
    return "\n".join([*lines, *map(str, answer.get("reasons", []))])


def _arm_words(arm: dict[str, Any], state: str) -> str:
    """'1.31x (1.28x to 1.34x) best, 3 runs'; of a predicted arm that it was not started."""
    if arm["state"] == "predicted":
        return "predicted, not started"
    if "mean" in arm:
        return _mean(arm)
    low, high = arm["interval"] or (1.0, 1.0)
    between = f"({low:#.3g}x to {high:#.3g}x) " if low != high else ""
    return f"{_ratio(arm)}{between}{state}, {arm['runs']} runs"


def _mean(arm: dict[str, Any]) -> str:
    """'812 (801 to 823), 3 runs'."""
    if arm["mean"] is None:
        return f"no value, {arm['runs']} runs"
    low, high = arm["mean_interval"] or (arm["mean"], arm["mean"])
    between = f" ({low:.4g} to {high:.4g})" if low != high else ""
    return f"{arm['mean']:.4g}{between}, {arm['runs']} runs"
