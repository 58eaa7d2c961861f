"""Data of a report on some runs: the comparison as Compare shows it, and facts about each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from analysis.compare_arms import ArmComparison
from analysis.comparison.facts import RunFacts
from analysis.decide.frontier import FrontierPoint
from analysis.decide.rank import Ranking
from analysis.guard import RowCode
from commands.study_file import RESULTS, StudyPlan
from domain import Run, Study
from redaction import mask_json, mask_text
from reports.arms.accuracy import AccuracyRow, accuracy_rows
from reports.arms.arm_metrics import ArmMetrics, arm_metrics
from reports.arms.comparison import ComparisonOptions, ComparisonReport, comparison_of, rung_answers
from reports.arms.depth_claims import SuiteDepths, suite_depths
from reports.arms.facts import facts_of
from reports.arms.load_curve import load_curve
from reports.arms.other_loads import without_loads
from reports.arms.published_table import PublicationTable, published_tables
from reports.arms.viewpoints import rankings, viewpoint_inputs
from reports.people import People, people_of
from reports.runs.evidence import Evidence, evidence_of
from reports.runs.metric_inputs import metrics_of_runs
from reports.runs.physics import Physics, physics_of
from reports.runs.prices import prices_of
from reports.runs.run_metrics import RunMetrics
from reports.runs.run_report import RunReport, report_on
from storage.masking import MaskedStore
from storage.queries import run_data
from storage.queries.machine_queries import machines
from storage.queries.run_data import Queryable
from storage.queries.run_queries import runs_of


@dataclass(frozen=True, slots=True)
class ReportProvenance:
    """Author, time and Pitwall version of a report."""

    by: str
    at: datetime
    version: str


@dataclass(frozen=True, slots=True)
class ReportData:
    """Everything that a report shows, before formatting. Texts are masked."""

    provenance: ReportProvenance
    comparison: ComparisonReport
    reports: tuple[RunReport, ...]  # in the requested order
    facts: Mapping[str, RunFacts]  # by run id, as every mapping here
    metrics: Mapping[str, RunMetrics]
    physics: Mapping[str, Physics]
    evidence: tuple[Evidence, ...]
    events: Mapping[str, run_data.Events]
    people: Mapping[str, People]
    rungs: Sequence[Sequence[ArmComparison]] = ()
    rankings: Sequence[Ranking] = ()  # of the arms by each viewpoint
    curve: Sequence[FrontierPoint] = ()  # speed per user and per GPU, by arm and concurrency
    options: ComparisonOptions = field(default_factory=ComparisonOptions)
    study: Study | None = None
    machines: Mapping[str, str] = field(default_factory=dict)  # machine id -> its title, no host name
    accuracies: Sequence[AccuracyRow] = ()  # of the arms by task
    depths: Sequence[SuiteDepths] = ()  # until which suites of checks hold
    arm_metrics: ArmMetrics = field(default_factory=dict)  # by arm id
    published_tables: Sequence[PublicationTable] = ()

    @property
    def runs(self) -> list[Run]:
        return [report.run for report in self.reports]


def report_data(
    store: Queryable,
    run_ids: Sequence[str],
    provenance: ReportProvenance,
    prices_path: Path,
    options: ComparisonOptions | None = None,
    study: Study | None = None,
) -> ReportData:
    """Return the data of a report on these runs; unknown ids are ignored. Raises WorkloadNotSharedError.

    options: None for those of the study, or the defaults.
    """
    masked = MaskedStore(store, mask_text)
    runs, choices = runs_of(masked, run_ids), options or (study_options(study) if study else ComparisonOptions())
    comparison, reports = comparison_of(masked, runs, choices), report_on(masked, runs)
    facts = {run_facts.run_id: run_facts for arm in comparison.arms for run_facts in arm.runs}  # as they are compared
    facts |= {
        run_facts.run_id: run_facts for run_facts in facts_of(masked, [run for run in runs if run.id not in facts])
    }
    inputs = viewpoint_inputs(masked, comparison, runs, prices_path)
    physics = {
        report.run.id: inputs.physics.get(report.run.id)
        or physics_of(masked, report, facts[report.run.id], prices_of(prices_path, report.run.machine_id))
        for report in reports
    }
    metrics = metrics_of_runs(
        masked, [without_loads(report, comparison.other_loads.get(report.run.id, ())) for report in reports], facts
    )
    numbers_of_arms = arm_metrics(comparison, metrics)
    accuracies = accuracy_rows(comparison, inputs.outcomes, inputs.item_pairs)
    return ReportData(
        provenance,
        comparison,
        tuple(reports),
        facts,
        metrics,
        physics,
        tuple(evidence_of(masked, runs)),
        {run.id: run_data.events(masked, run.id) for run in runs},
        people_of(store, runs),
        rung_answers(comparison),
        rankings(inputs) if comparison.answers else (),
        load_curve(inputs) if comparison.answers else (),
        choices,
        study and study.model_copy(update={n: mask_json(getattr(study, n)) for n in ("title", "plan", "answer")}),
        {machine.machine_id: machine.title(shows_host=False) for machine in machines(masked)},
        accuracies,
        suite_depths(comparison.arms),
        numbers_of_arms,
        published_tables(comparison, numbers_of_arms, inputs.outcomes, accuracies),
    )


def study_options(study: Study) -> ComparisonOptions:
    """Return a study's margin, its objective if runs have it, and declared hardware if it names several hosts."""
    plan = StudyPlan.model_validate(study.plan)
    objective = None if plan.objective in RESULTS else plan.priced_objective
    declared = {RowCode.HARDWARE} if len({arm.host for arm in plan.arms}) > 1 else ()
    return ComparisonOptions(objective, frozenset(declared), margin=plan.margin)
