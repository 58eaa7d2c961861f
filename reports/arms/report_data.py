"""What a report shows of some runs, put together once: the comparison as Compare has it, and what each run is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from analysis.comparison.compare import Comparison
from analysis.comparison.facts import RunFacts
from analysis.decide.frontier import Point
from analysis.decide.rank import Ranking
from analysis.evidence.objectives import parse_objective
from analysis.guard import RowCode
from commands.study_file import USERS_HELD, StudyPlan
from domain import Run, Study
from redaction import mask_json, mask_text
from reports.arms.comparison import Asking, ComparisonReport, comparison_of, rungs_of
from reports.arms.facts import facts_of
from reports.arms.load_curve import load_curve
from reports.arms.other_loads import apart_from
from reports.arms.viewpoints import known_of, rankings
from reports.people import People, people_of
from reports.runs.evidence import Evidence, evidence_of
from reports.runs.physics import Physics, physics_of
from reports.runs.prices import prices_of
from reports.runs.run_metrics import Values, metrics_of
from reports.runs.run_report import RunReport, report_on
from storage.ask import queries
from storage.ask.machine_queries import machines
from storage.ask.queries import Asked
from storage.ask.run_queries import runs_of
from storage.masked import Masked


@dataclass(frozen=True, slots=True)
class Made:
    """Who made a report, when, and with which Pitwall."""

    by: str
    at: datetime
    version: str


@dataclass(frozen=True, slots=True)
class ReportData:
    """Everything that a report shows, without words. Texts are masked."""

    made: Made
    comparison: ComparisonReport
    reports: tuple[RunReport, ...]  # of each run, in the order asked for
    facts: Mapping[str, RunFacts]  # by run id, as every other mapping here
    metrics: Mapping[str, Values]
    physics: Mapping[str, Physics]
    evidence: tuple[Evidence, ...]
    events: Mapping[str, queries.Events]
    people: Mapping[str, People]
    rungs: Sequence[Sequence[Comparison]] = ()
    rankings: Sequence[Ranking] = ()  # of the arms by each viewpoint
    curve: Sequence[Point] = ()  # speed of a user and of a GPU, by arm and concurrency
    asking: Asking = field(default_factory=Asking)
    study: Study | None = None
    machines: Mapping[str, str] = field(default_factory=dict)  # machine id -> its title, no host name

    @property
    def runs(self) -> list[Run]:
        return [one.run for one in self.reports]


def report_data(
    store: Asked,
    run_ids: Sequence[str],
    made: Made,
    prices_path: Path,
    asking: Asking | None = None,
    study: Study | None = None,
) -> ReportData:
    """The report on these runs; ids that no run has are passed over. Raises WorkloadNotSharedError as `comparison_of`.

    asking: None for what the study asks, or for what the workload proposes.
    """
    masked = Masked(store, mask_text)
    runs, asked = runs_of(masked, run_ids), asking or (asking_of(study) if study else Asking())
    comparison, reports = comparison_of(masked, runs, asked), report_on(masked, runs)
    facts = {one.run_id: one for arm in comparison.arms for one in arm.runs}  # as they are compared
    facts |= {one.run_id: one for one in facts_of(masked, [run for run in runs if run.id not in facts])}
    started = queries.startup_facts(masked, [run.id for run in runs])
    known = known_of(masked, comparison, runs, prices_path, asked.declared)
    physics = {
        one.run.id: known.physics.get(one.run.id)
        or physics_of(masked, one, facts[one.run.id], prices_of(prices_path, one.run.machine_id))
        for one in reports
    }
    return ReportData(
        made,
        comparison,
        tuple(reports),
        facts,
        {
            one.run.id: metrics_of(
                apart_from(one, comparison.other_loads.get(one.run.id, ())),
                facts[one.run.id],
                {row.key: row.value for row in started[one.run.id]},
            )
            for one in reports
        },
        physics,
        tuple(evidence_of(masked, runs)),
        {run.id: queries.events(masked, run.id) for run in runs},
        people_of(store, runs),
        rungs_of(comparison, asked),
        rankings(known) if comparison.answers else (),
        load_curve(known) if comparison.answers else (),
        asked,
        study and study.model_copy(update={n: mask_json(getattr(study, n)) for n in ("title", "plan", "answer")}),
        {one.machine_id: one.title(shows_host=False) for one in machines(masked)},
    )


def asking_of(study: Study) -> Asking:
    """Its margin, its objective where that is one of single runs, and that it compares machines where it names them."""
    plan = StudyPlan.model_validate(study.plan)
    is_of_runs = plan.objective and plan.objective != USERS_HELD
    objective = parse_objective(plan.objective) if is_of_runs and plan.objective else None
    declared = {RowCode.HARDWARE} if len({arm.host for arm in plan.arms}) > 1 else ()
    return Asking(objective, frozenset(declared), margin=plan.margin)
