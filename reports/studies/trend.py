"""What a study of an upgrade shows beside its answer: the same configuration over all versions that ran here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.comparison.workload import under_name
from analysis.evidence.objectives import parse_objective
from analysis.study.trend import OfVersion, over_versions
from analysis.verdict.mean import interval_of_mean, mean_of
from commands.study_file import StudyPlan
from domain import JsonValue, RunState
from reports.arms.facts import facts_of
from reports.studies.parts import Part, parts_of
from reports.studies.study import StudyStanding
from storage.ask.queries import Asked
from storage.ask.run_queries import same_setting

MOST = 60  # earlier runs that are looked at


def with_versions(
    store: Asked, plan: StudyPlan, standings: Sequence[StudyStanding], answer: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """The answer with `versions` under each workload; as it is of any other question."""
    if plan.question != "upgrade":
        return dict(answer)
    versions = [_versions(store, *pair) for pair in zip(parts_of(plan.under_each()), standings, strict=True)]
    parts = answer.get("workloads")
    if not isinstance(parts, list):
        return {**answer, "versions": versions[0]}
    return {**answer, "workloads": [{**one, "versions": its} for one, its in zip(parts, versions, strict=True)]}


def _versions(store: Asked, part: Part, standing: StudyStanding) -> list[JsonValue]:
    mine = [run for its in standing.runs.values() for run in its if run.state is RunState.FINISHED]
    if not (mine and standing.objective):
        return []
    earlier = same_setting(store, mine, MOST)
    facts = [under_name(one, part.plan.workload, part.params) for one in facts_of(store, [*mine, *earlier])]
    return [_as_json(one) for one in over_versions(facts, facts[: len(mine)], parse_objective(standing.objective))]


def _as_json(one: OfVersion) -> JsonValue:
    interval = interval_of_mean(one.values)
    return {
        "version": one.version,
        "starts": len(one.values),
        "mean": mean_of(one.values),
        "interval": None if interval is None else list(interval),
        "first_at": one.first_at.isoformat() if one.first_at else None,
    }
