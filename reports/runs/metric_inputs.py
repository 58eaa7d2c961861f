"""Reads what the metrics of runs are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.comparison.facts import RunFacts
from analysis.evidence.loads import LoadRecord
from analysis.loads.load_results import DEFINITION
from analysis.metrics.registry import MetricId
from analysis.runs.conditions import Conditions
from load_records import Result
from reports.runs.agent_tasks import solved_tasks
from reports.runs.measured_loads import comparable_loads, measured_span, startup_span
from reports.runs.run_metrics import MetricInputs, MetricValue, run_metrics
from reports.runs.run_report import RunReport
from storage.queries import load_queries, run_data
from storage.queries.concurrency import query_pool
from storage.queries.condition_queries import conditions


def metrics_of_runs(
    store: run_data.Queryable, reports: Sequence[RunReport], facts: Mapping[str, RunFacts] | None = None
) -> dict[str, dict[MetricId, MetricValue]]:
    """Return run id -> its metrics, with one query per kind of row for all runs.

    facts: of the runs, restricted to the compared workload; None: of all their loads.
    """
    run_ids = [report.run.id for report in reports]
    with query_pool() as pool:
        memory_query = pool.submit(run_data.gpu_memory_peaks, store, run_ids)
        startup_query = pool.submit(run_data.startups, store, run_ids)
        loads, load_conditions = _loads(store, run_ids) if facts is None else _loads_of_facts(facts)
        results = _results(store, [run_id for run_id in run_ids if not any(load.measured for load in loads[run_id])])
        solved = (
            solved_tasks(store, loads)
            if facts is None
            else {run_id: run_facts.solved for run_id, run_facts in facts.items()}
        )
    gpu_memory_gib, startups = memory_query.result(), startup_query.result()
    return {
        report.run.id: run_metrics(
            MetricInputs(
                report,
                loads[report.run.id],
                results.get(report.run.id, ()),
                load_conditions[report.run.id],
                startups[report.run.id],
                span.seconds if (span := startup_span(report.run)) else None,
                gpu_memory_gib.get(report.run.id),
                solved.get(report.run.id, {}),
            )
        )
        for report in reports
    }


def _loads(
    store: run_data.Queryable, run_ids: Sequence[str]
) -> tuple[Mapping[str, Sequence[LoadRecord]], Mapping[str, Sequence[Conditions]]]:
    loads = {run_id: comparable_loads(run_loads) for run_id, run_loads in load_queries.loads(store, run_ids).items()}
    spans = [span for run_loads in loads.values() for load in run_loads if (span := measured_span(load))]
    all_conditions = conditions(store, spans) if spans else []
    return loads, {run_id: [c for c in all_conditions if c.run_id == run_id] for run_id in run_ids}


def _results(store: run_data.Queryable, run_ids: Sequence[str]) -> dict[str, list[Result]]:
    """Return the results of Pitwall's own loads by run."""
    outcomes = load_queries.outcomes(store, run_ids) if run_ids else {}
    return {
        run_id: [
            result for outcome in by_load.values() for result in outcome.results if result.definition == DEFINITION
        ]
        for run_id, by_load in outcomes.items()
    }


def _loads_of_facts(
    facts: Mapping[str, RunFacts],
) -> tuple[Mapping[str, Sequence[LoadRecord]], Mapping[str, Sequence[Conditions]]]:
    return (
        {run_id: run_facts.loads for run_id, run_facts in facts.items()},
        {run_id: run_facts.conditions for run_id, run_facts in facts.items()},
    )
