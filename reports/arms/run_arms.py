"""The arms of a long list of runs: by what was asked of their servers and loads, without reading a single request."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparison.arms import Arm, arms_of
from analysis.comparison.facts import RunFacts
from analysis.evidence.loads import LoadRecord
from domain import Run
from reports.arms.facts import evidence_of, processes_of
from reports.arms.served import served_by
from reports.runs.effective_config import effective_configs
from storage.ask.load_queries import asked_loads
from storage.ask.queries import Asked


def run_arms(store: Asked, runs: Sequence[Run]) -> list[Arm]:
    """The arms of these runs, as Compare finds them where the GPUs are known from the start of the server."""
    effective, asked = effective_configs(store, runs), asked_loads(store, [run.id for run in runs])
    processes = processes_of(store, runs)
    facts = [
        RunFacts(
            run.id,
            run.name,
            served_by(run, effective[run.id], ()),
            workload=run.workload.name if run.workload else None,
            loads=tuple(evidence_of([LoadRecord(run.id, one.load_id, one) for one in asked[run.id]])),
            began_at=run.started_at or run.created_at,
            processes=processes[run.id],
        )
        for run in runs
    ]
    return arms_of(facts)
