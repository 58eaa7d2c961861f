"""Carries studies on: launches the next round when the last one has ended, and ends when the answer is known.

All that it knows stands in the store, so that a Pitwall that is killed goes on where it was.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from datetime import datetime
from pathlib import Path
from typing import Protocol

from analysis.study import End
from analysis.study.proposal import OptunaMissingError, Setting, Trial, propose
from commands.study_change import with_addition, with_choice
from commands.study_file import StudyArm, StudyFileError, StudyPlan
from commands.write import CommandError
from domain import AuditEntry, JsonValue, Run, RunState, Study, WorkloadSpec, new_run_id, utc_now
from launcher.checks.preflight import LaunchRefusedError, LaunchRequest
from launcher.runs.making import SilentStoreError
from launcher.runs.rounds import rounds
from launcher.runs.supervisor import Supervisor
from reports.studies.study import StudyStanding, next_arms, standings_of, starts_by_arm
from reports.studies.trend import with_versions
from storage.ask.queries import Asked
from storage.ask.run_queries import runs_of_batch
from studies.answer import answer_of, ended_answer
from studies.budget import spent
from studies.hand_in import (
    ADDITION,
    STUDY,
    HandedAddition,
    HandedIn,
    addition_entry,
    awaits_results,
    handed,
)
from studies.plan_check import SpecFor, UnknownLoadError, load_specs

LOG = logging.getLogger(__name__)
LOOK_EVERY_S = 0.5


class StudyStore(Asked, Protocol):
    """What it needs of the store."""

    def studies(self) -> list[Study]:
        """All studies, also those that have ended, the newest first."""
        ...

    def save_study(self, study: Study) -> None:
        """Store a study as it now stands; durable when it returns."""
        ...

    def record(self, entries: Iterable[AuditEntry]) -> Future[None]:
        """Queue what somebody did for the audit; the future is done when it is durable."""
        ...


class StudyRunner:
    """A thread that looks at every study which has not ended; `spec_for(name, params)` makes a workload's spec."""

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
        self._open: dict[str, Study] | None = None  # None: not asked yet
        self._faults: dict[str, str] = {}  # study -> what its last look broke off with
        self._thread = threading.Thread(target=self._run, name="studies", daemon=True)

    def start(self) -> None:
        """Begin to look, in a thread; the studies that an earlier Pitwall left open go on."""
        self._thread.start()

    def close(self, timeout_s: float | None = None) -> None:
        """Launch nothing more; what runs goes on, and so does the study at the next start."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def begin(self, plan: StudyPlan) -> Study:
        """Take a study up."""
        return self._take_up(new_run_id(self._clock()), plan)

    def set_state(self, study_id: str, state: str) -> None:
        """Pause a study after its round, or let it go on; raises KeyError for one that has ended."""
        with self._lock:
            study = self._all()[study_id]
            self._save(study.model_copy(update={"state": state}))

    def change(self, study_id: str, change: Callable[[StudyPlan], StudyPlan]) -> None:
        """Go on with another plan from the next round on; raises KeyError for a study that has ended."""
        with self._lock:
            study = self._all()[study_id]
            plan = change(StudyPlan.model_validate(study.plan))
            self._save(study.model_copy(update={"plan": plan.model_dump(mode="json")}))

    def end(self, study_id: str) -> None:
        """End a study now, with what is known; its queued runs are cancelled. Raises KeyError where it has ended."""
        with self._lock:
            study = self._all()[study_id]
            plan = StudyPlan.model_validate(study.plan)
            for run in self._runs(study):
                if run.state is RunState.QUEUED:
                    self._supervisor.cancel(run.id)
            self._conclude(study, plan, standings_of(self._store, plan, self._runs(study)), ["It was ended by hand."])

    def _run(self) -> None:
        while not self._closing.wait(LOOK_EVERY_S):
            try:
                self.tick()
            except Exception:  # the other studies depend on this thread
                LOG.exception("a look at the studies broke off")

    def tick(self) -> None:
        """Look once, and do what is due."""
        for path, given in handed(self._folder, STUDY, HandedIn):
            self._take(given)
            path.unlink(missing_ok=True)
        for path, addition in handed(self._folder, ADDITION, HandedAddition):
            self._add(addition)
            path.unlink(missing_ok=True)
        with self._lock:
            for study in list(self._all().values()):
                if study.state == "running":
                    self._try_step(study)

    def _try_step(self, study: Study) -> None:
        """One study that breaks off keeps no other from its round; it is tried again, and a fault is reported once."""
        try:
            self._step(study)
        except Exception as fault:
            if self._faults.get(study.id) != repr(fault):
                LOG.exception("a look at the study %s broke off", study.id)
            self._faults[study.id] = repr(fault)
        else:
            self._faults.pop(study.id, None)

    def _take(self, given: HandedIn) -> None:
        if given.id not in {study.id for study in self._store.studies()}:
            self._take_up(given.id, given.plan)

    def _add(self, given: HandedAddition) -> None:
        """Where it cannot be any more, it is said: whoever handed it in sees that the study has not got it."""
        try:
            self.change(given.study_id, lambda plan: with_addition(plan, given.more))
        except (KeyError, StudyFileError) as refusal:
            LOG.warning("study %s takes no arm more: %s", given.study_id, refusal)
            return
        self._store.record([addition_entry(given.study_id, given.more, given.by, self._clock())]).result()

    def _take_up(self, study_id: str, plan: StudyPlan) -> Study:
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
            self._all()
            self._save(study)
        return study

    def _all(self) -> dict[str, Study]:
        """Those that have not ended, by id."""
        if self._open is None:
            self._open = {study.id: study for study in self._store.studies() if study.state != "ended"}
        return self._open

    def _save(self, study: Study) -> None:
        study = study.model_copy(update={"updated_at": self._clock()})
        self._store.save_study(study)
        open_studies = self._all()
        open_studies[study.id] = study
        if study.state == "ended":
            del open_studies[study.id]

    def _runs(self, study: Study) -> list[Run]:
        """As they are now; those that start may not be stored yet."""
        live = [*self._supervisor.live_runs(), *self._supervisor.queued_runs()]
        known = {run.id: run for run in runs_of_batch(self._store, study.id)}
        known |= {run.id: run for run in live if run.batch_id == study.id}
        return list(known.values())

    def _step(self, study: Study) -> None:
        """Nothing while its runs go on; else the next round, or the end."""
        runs = self._runs(study)
        if any(not run.state.is_final for run in runs) or awaits_results(self._folder, {run.id for run in runs}):
            return None
        plan = StudyPlan.model_validate(study.plan)
        standings = standings_of(self._store, plan, runs)
        if all(one.race.end is not None for one in standings):
            return self._conclude(study, plan, standings, [])
        if reason := self._spent(study, plan, standings):
            return self._conclude(study, plan, standings, [reason])
        if standings[0].trials is not None:
            return self._propose(study, plan, standings, standings[0].trials)
        return self._launch(study, plan, standings)

    def _propose(
        self, study: Study, plan: StudyPlan, standings: Sequence[StudyStanding], trials: Sequence[Trial]
    ) -> None:
        """One combination more is kept as an arm; the next look starts it."""
        settings = [Setting(len(one.values), _is_ordered(one.values)) for one in plan.vary]
        try:
            choice = propose(settings, trials, plan.seed)
            assert choice, "as many trials as combinations are the most"
            longer = with_choice(plan, choice)
        except (OptunaMissingError, CommandError) as refusal:
            return self._conclude(study, plan, standings, [str(refusal)], End.FAILED)
        self._save(study.model_copy(update={"plan": longer.model_dump(mode="json")}))
        return None

    def _spent(self, study: Study, plan: StudyPlan, standings: Sequence[StudyStanding]) -> str | None:
        """Why the budget lets no further round begin; None while it does."""
        going = [one for one in standings if one.race.end is None]
        started, due = sum(starts_by_arm(standings).values()), len(next_arms(standings))
        rounds_done = max(seat.starts for one in going for seat in one.race.seats)
        age_h = (self._clock() - study.created_at).total_seconds() / 3600
        return spent(plan.budget, started, due, rounds_done, age_h)

    def _launch(self, study: Study, plan: StudyPlan, standings: Sequence[StudyStanding]) -> None:
        """A round: each arm starts once, and is put under every workload that is not decided."""
        self._save(study.model_copy(update={"answer": answer_of(plan, standings)}))
        try:
            every = load_specs(plan.under_each(), self._spec_for)
            specs = [spec for spec, standing in zip(every, standings, strict=True) if standing.race.end is None]
            self._supervisor.launch_round(self._round(plan, standings, specs), study.id)
        except SilentStoreError as silence:
            LOG.warning("study %s begins its round later: %s", study.id, silence)
        except (LaunchRefusedError, UnknownLoadError) as refusal:
            self._conclude(study, plan, standings, [str(refusal)], End.FAILED)

    def _round(
        self, plan: StudyPlan, standings: Sequence[StudyStanding], specs: Sequence[WorkloadSpec]
    ) -> list[LaunchRequest]:
        """One start of each arm that goes on, in an order that rotates by the study's seed."""
        starts, due = starts_by_arm(standings), next_arms(standings)
        number = 1 + max(starts.values())
        order = rounds(len(plan.arms), number, plan.seed)[number - 1]
        arms = [plan.arms[index] for index in order if plan.arms[index].name in due]
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
        standings: Sequence[StudyStanding],
        reasons: Sequence[str],
        end: End | None = None,
    ) -> None:
        answer = with_versions(self._store, plan, standings, ended_answer(plan, standings, reasons, end))
        self._save(study.model_copy(update={"state": "ended", "answer": answer}))


def _is_ordered(values: Sequence[JsonValue]) -> bool:
    """Numbers that rise: neighbours are alike."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    return len(numbers) == len(values) and sorted(numbers) == numbers
