"""Groups many runs into arms by their configurations and loads, without reading any request."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparison.arms import Arm, arms_of
from analysis.comparison.facts import RunFacts
from analysis.evidence.loads import LoadRecord
from domain import Run
from reports.arms.facts import processes_of
from reports.arms.served_config import served_by
from reports.runs.effective_config import effective_configs
from reports.runs.measured_loads import comparable_loads
from storage.queries.load_queries import read_loads
from storage.queries.run_data import Queryable


def run_arms(store: Queryable, runs: Sequence[Run]) -> list[Arm]:
    """Return the arms of these runs; they equal Compare's if the GPUs were recorded at the start of the server."""
    effective, loads_by_run = effective_configs(store, runs), read_loads(store, [run.id for run in runs])
    processes = processes_of(store, runs)
    facts = [
        RunFacts(
            run.id,
            run.name,
            served_by(run, effective[run.id], ()),
            workload=run.workload.name if run.workload else None,
            loads=tuple(comparable_loads([LoadRecord(run.id, load.load_id, load) for load in loads_by_run[run.id]])),
            began_at=run.began_at,
            processes=processes[run.id],
        )
        for run in runs
    ]
    return arms_of(facts)
