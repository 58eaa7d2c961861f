"""Trend for an upgrade study: the same configuration across all engine versions that ran on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.comparison.workload import restrict_to_name
from analysis.evidence.objectives import parse_objective
from analysis.study.trend import VersionStarts, starts_by_version
from analysis.verdict.mean import interval_of_mean, mean_of
from commands.study_file import SOLVED, StudyPlan
from domain import JsonValue, RunState
from reports.arms.facts import facts_of
from reports.studies.parts import WorkloadPlan, workload_plans
from reports.studies.study import StudyStatus
from storage.queries.run_data import Queryable
from storage.queries.run_queries import same_setting

MOST_EARLIER = 60  # earlier runs that are read


def with_versions(
    store: Queryable, plan: StudyPlan, statuses: Sequence[StudyStatus], answer: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Return the answer with `versions` under each workload; unchanged for any other question."""
    if plan.question != "upgrade":
        return dict(answer)
    versions = [_versions(store, *pair) for pair in zip(workload_plans(plan.per_workload()), statuses, strict=True)]
    answers_by_workload = answer.get("workloads")
    if not isinstance(answers_by_workload, list):
        return {**answer, "versions": versions[0]}
    return {
        **answer,
        "workloads": [
            {**workload_answer, "versions": workload_versions}
            for workload_answer, workload_versions in zip(answers_by_workload, versions, strict=True)
        ],
    }


def _versions(store: Queryable, workload_plan: WorkloadPlan, status: StudyStatus) -> list[JsonValue]:
    own_runs = [run for arm_runs in status.runs.values() for run in arm_runs if run.state is RunState.FINISHED]
    if not (own_runs and status.objective) or status.objective == SOLVED:
        return []
    objective = workload_plan.plan.priced_objective or parse_objective(status.objective)
    earlier = same_setting(store, own_runs, MOST_EARLIER)
    facts = [
        restrict_to_name(run_facts, workload_plan.plan.workload, workload_plan.params)
        for run_facts in facts_of(store, [*own_runs, *earlier])
    ]
    return [_as_json(version) for version in starts_by_version(facts, facts[: len(own_runs)], objective)]


def _as_json(version: VersionStarts) -> JsonValue:
    interval = interval_of_mean(version.values)
    return {
        "version": version.version,
        "starts": len(version.values),
        "mean": mean_of(version.values),
        "interval": None if interval is None else list(interval),
        "first_at": version.first_at.isoformat() if version.first_at else None,
    }
