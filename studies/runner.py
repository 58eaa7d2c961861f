"""Runs studies: launches the next round when the last one has ended, until the answer is known.

All state is in the store, so that studies continue after Pitwall is killed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from datetime import datetime
from pathlib import Path
from typing import Protocol

from analysis.study import RaceEnd
from analysis.study.proposal import OptunaMissingError, Setting, Trial, propose_combination
from commands.study_change import with_addition, with_choice
from commands.study_file import Budget, StudyArm, StudyFileError, StudyPlan
from commands.write import CommandError
from domain import AuditEntry, JsonValue, Run, RunState, Study, WorkloadSpec, new_run_id, utc_now
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest
from launcher.runs.rounds import round_orders
from launcher.runs.run_factory import SilentStoreError
from launcher.runs.supervisor import Supervisor
from reports.studies.study import StudyStatus, next_arms, starts_by_arm, study_statuses
from reports.studies.trend import with_versions
from storage.queries.run_data import Queryable
from storage.queries.run_queries import runs_of_batch
from studies.answer import answer_of, ended_answer
from studies.plan_check import SpecFor, UnknownLoadError, load_specs, required_specs
from studies.submissions import (
    ADDITION,
    STUDY,
    SubmittedAddition,
    SubmittedStudy,
    addition_entry,
    awaits_results,
    read_submissions,
)

LOG = logging.getLogger(__name__)
TICK_S = 0.5


class StudyStore(Queryable, Protocol):
    """The store as used by the runner."""

    def studies(self) -> list[Study]:
        """Return all studies, including ended ones, newest first."""
        ...

    def save_study(self, study: Study) -> None:
        """Store the current state of a study; durable on return."""
        ...

    def record(self, entries: Iterable[AuditEntry]) -> Future[None]:
        """Queue audit entries; the future is done when they are durable."""
        ...


class StudyRunner:
    """A thread that advances all open studies; `spec_for(name, params)` returns a workload's spec."""

    def __init__(
        self,
        store: StudyStore,
        supervisor: Supervisor,
        folder: Path,
        spec_for: SpecFor,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._store, self._supervisor, self._folder = store, supervisor, folder
        self._spec_for, self._clock = spec_for, clock
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._open_studies: dict[str, Study] | None = None  # None: not read yet
        self._reported_faults: dict[str, str] = {}  # study id -> its last reported error
        self._thread = threading.Thread(target=self._run, name="studies", daemon=True)

    def start(self) -> None:
        """Start the thread; studies left open by an earlier process continue."""
        self._thread.start()

    def close(self, timeout_s: float | None = None) -> None:
        """Launch nothing more; running servers continue, and so do studies at the next start."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def begin(self, plan: StudyPlan) -> Study:
        """Start a study."""
        return self._add_study(new_run_id(self._clock()), plan)

    def set_state(self, study_id: str, state: str) -> None:
        """Pause a study after its round, or resume it; raises KeyError if it has ended."""
        with self._lock:
            study = self._all_open()[study_id]
            self._save(study.model_copy(update={"state": state}))

    def change(self, study_id: str, change: Callable[[StudyPlan], StudyPlan]) -> None:
        """Change the plan from the next round on; raises KeyError if the study has ended."""
        with self._lock:
            study = self._all_open()[study_id]
            plan = change(StudyPlan.model_validate(study.plan))
            self._save(study.model_copy(update={"plan": plan.model_dump(mode="json")}))

    def end(self, study_id: str) -> None:
        """End a study now with its current answer, and cancel its queued runs. Raises KeyError if it has ended."""
        with self._lock:
            study = self._all_open()[study_id]
            plan = StudyPlan.model_validate(study.plan)
            for run in self._runs(study):
                if run.state is RunState.QUEUED:
                    self._supervisor.cancel(run.id)
            self._conclude(
                study, plan, study_statuses(self._store, plan, self._runs(study)), ["It was ended by a user."]
            )

    def _run(self) -> None:
        while not self._closing.wait(TICK_S):
            try:
                self.tick()
            except Exception:  # the other studies depend on this thread
                LOG.exception("could not advance the studies")

    def tick(self) -> None:
        """Process submissions and advance each running study once."""
        for path, submission in read_submissions(self._folder, STUDY, SubmittedStudy):
            self._accept(submission)
            path.unlink(missing_ok=True)
        for path, addition in read_submissions(self._folder, ADDITION, SubmittedAddition):
            self._add(addition)
            path.unlink(missing_ok=True)
        with self._lock:
            for study in list(self._all_open().values()):
                if study.state == "running":
                    self._try_step(study)

    def _try_step(self, study: Study) -> None:
        """Advance a study; an error does not block other studies, is retried, and is logged once."""
        try:
            self._step(study)
        except Exception as fault:
            if self._reported_faults.get(study.id) != repr(fault):
                LOG.exception("could not advance the study %s", study.id)
            self._reported_faults[study.id] = repr(fault)
        else:
            self._reported_faults.pop(study.id, None)

    def _accept(self, submission: SubmittedStudy) -> None:
        if submission.id not in {study.id for study in self._store.studies()}:
            self._add_study(submission.id, submission.plan)

    def _add(self, submission: SubmittedAddition) -> None:
        """Add arms; a refusal is logged, and the submitter sees that the study lacks them."""
        try:
            self.change(submission.study_id, lambda plan: with_addition(plan, submission.more))
        except (KeyError, StudyFileError) as refusal:
            reason = "there is no such study" if isinstance(refusal, KeyError) else refusal
            LOG.warning("study %s refused the added arms: %s", submission.study_id, reason)
            return
        self._store.record(
            [addition_entry(submission.study_id, submission.more, submission.by, self._clock())]
        ).result()

    def _add_study(self, study_id: str, plan: StudyPlan) -> Study:
        now = self._clock()
        study = Study(
            id=study_id,
            title=plan.title,
            question=plan.question,
            created_at=now,
            updated_at=now,
            plan=plan.model_dump(mode="json"),
        )
        with self._lock:
            self._all_open()
            self._save(study)
        return study

    def _all_open(self) -> dict[str, Study]:
        """The open studies by id."""
        if self._open_studies is None:
            self._open_studies = {study.id: study for study in self._store.studies() if study.state != "ended"}
        return self._open_studies

    def _save(self, study: Study) -> None:
        study = study.model_copy(update={"updated_at": self._clock()})
        self._store.save_study(study)
        open_studies = self._all_open()
        open_studies[study.id] = study
        if study.state == "ended":
            del open_studies[study.id]

    def _runs(self, study: Study) -> list[Run]:
        """The study's runs; starting ones may not be stored yet."""
        live = [*self._supervisor.live_runs(), *self._supervisor.queued_runs()]
        runs_by_id = {run.id: run for run in runs_of_batch(self._store, study.id)}
        runs_by_id |= {run.id: run for run in live if run.batch_id == study.id}
        return list(runs_by_id.values())

    def _step(self, study: Study) -> None:
        """Start the next round or end the study, unless its runs are still active."""
        runs = self._runs(study)
        if any(not run.state.is_final for run in runs) or awaits_results(self._folder, {run.id for run in runs}):
            return None
        plan = StudyPlan.model_validate(study.plan)
        statuses = study_statuses(self._store, plan, runs)
        if all(status.race.end is not None for status in statuses):
            return self._conclude(study, plan, statuses, [])
        if reason := self._spent_reason(study, plan, statuses):
            return self._conclude(study, plan, statuses, [reason])
        if statuses[0].trials is not None:
            return self._propose(study, plan, statuses, statuses[0].trials)
        return self._launch(study, plan, statuses)

    def _propose(self, study: Study, plan: StudyPlan, statuses: Sequence[StudyStatus], trials: Sequence[Trial]) -> None:
        """Add one proposed combination as an arm; the next tick starts it."""
        settings = [Setting(len(setting.values), _is_ordered(setting.values)) for setting in plan.vary]
        try:
            choice = propose_combination(settings, trials, plan.seed)
            assert choice, "there are at most as many trials as combinations"
            extended_plan = with_choice(plan, choice)
        except (OptunaMissingError, CommandError) as refusal:
            return self._conclude(study, plan, statuses, [str(refusal)], RaceEnd.FAILED)
        self._save(study.model_copy(update={"plan": extended_plan.model_dump(mode="json")}))
        return None

    def _spent_reason(self, study: Study, plan: StudyPlan, statuses: Sequence[StudyStatus]) -> str | None:
        """Why the budget allows no further round; None if it does."""
        undecided = [status for status in statuses if status.race.end is None]
        start_count, next_starts = sum(starts_by_arm(statuses).values()), len(next_arms(statuses))
        rounds_done = max(seat.starts for status in undecided for seat in status.race.seats)
        age_h = (self._clock() - study.created_at).total_seconds() / 3600
        return spent_reason(plan.budget, start_count, next_starts, rounds_done, age_h)

    def _launch(self, study: Study, plan: StudyPlan, statuses: Sequence[StudyStatus]) -> None:
        """Launch a round: each arm starts once and runs every undecided workload."""
        self._save(study.model_copy(update={"answer": answer_of(plan, statuses)}))
        try:
            launch_requests = self._round(plan, statuses, self._specs(plan, statuses))
            self._supervisor.launch_round(launch_requests, study.id)
        except SilentStoreError as silence:
            LOG.warning("study %s delays its round: %s", study.id, silence)
        except (LaunchRefusedError, UnknownLoadError) as refusal:
            self._conclude(study, plan, statuses, [str(refusal)], RaceEnd.FAILED)

    def _specs(self, plan: StudyPlan, statuses: Sequence[StudyStatus]) -> list[WorkloadSpec]:
        """The loads of the next starts: of undecided workloads, and those that measure what the plan requires."""
        all_specs = load_specs(plan.per_workload(), self._spec_for)
        undecided = [spec for spec, status in zip(all_specs, statuses, strict=True) if status.race.end is None]
        return [*undecided, *required_specs(plan, self._spec_for)]

    def _round(
        self, plan: StudyPlan, statuses: Sequence[StudyStatus], specs: Sequence[WorkloadSpec]
    ) -> list[LaunchRequest]:
        """One start of each remaining arm, in an order that rotates by the study's seed."""
        starts, next_names = starts_by_arm(statuses), next_arms(statuses)
        number = 1 + max(starts.values())
        order = round_orders(len(plan.arms), number, plan.seed)[number - 1]
        arms = [plan.arms[index] for index in order if plan.arms[index].name in next_names]
        return [self._request(plan, arm, specs, starts[arm.name] + 1) for arm in arms]

    @staticmethod
    def _request(plan: StudyPlan, arm: StudyArm, specs: Sequence[WorkloadSpec], number: int) -> LaunchRequest:
        return LaunchRequest(
            arm.config,
            f"{arm.name} #{number}",
            specs[0],
            tuple(specs[1:]),
            base_url=arm.base_url,
            on_host=arm.host,
            ready_timeout_s=plan.ready_timeout_s,
            arm=arm.name,
            round=number,
            round_seed=plan.seed,
        )

    def _conclude(
        self,
        study: Study,
        plan: StudyPlan,
        statuses: Sequence[StudyStatus],
        reasons: Sequence[str],
        end: RaceEnd | None = None,
    ) -> None:
        answer = with_versions(self._store, plan, statuses, ended_answer(plan, statuses, reasons, end))
        self._save(study.model_copy(update={"state": "ended", "answer": answer}))


def _is_ordered(values: Sequence[JsonValue]) -> bool:
    """Whether the values are ascending numbers, so that neighbours are similar."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return len(numbers) == len(values) and sorted(numbers) == numbers


def spent_reason(budget: Budget, start_count: int, next_starts: int, rounds_done: int, age_h: float) -> str | None:
    """Return why no further round may start, as a sentence; None if one may.

    start_count: server starts so far. next_starts: starts of the next round, which runs completely or not at all.
    """
    if start_count >= budget.runs:
        return f"The budget of {budget.runs} runs is spent."
    if start_count + next_starts > budget.runs:
        runs_left = budget.runs - start_count
        return f"The budget of {budget.runs} runs has {runs_left} left, and the next round takes {next_starts}."
    if rounds_done >= budget.rounds:
        return f"The budget of {budget.rounds} rounds is spent."
    return f"The budget of {budget.hours:g} hours is spent." if budget.hours and age_h >= budget.hours else None
