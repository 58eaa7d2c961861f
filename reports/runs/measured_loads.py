"""Loads of a run over which its speed is measured, and the time spans of these loads and of its start-up."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from analysis.evidence.loads import LoadRecord
from analysis.guard.load import DECLARED
from analysis.runs.conditions import Conditions, Span
from domain import Run
from load_records import AGENT_TASK, FIDELITY
from workloads.process.load_book import TOOL

KNOWN_TOOLS = (TOOL, DECLARED, AGENT_TASK)


def comparable_loads(loads: Sequence[LoadRecord]) -> list[LoadRecord]:
    """Return the loads that runs are compared by: Pitwall's own, or else those of a tool whose prompts are known.

    A fidelity load measures no speed.
    """
    timed_loads = [load for load in loads if load.plan is None or load.plan.workload != FIDELITY]
    own_loads = [load for load in timed_loads if load.plan is None or load.plan.tool in KNOWN_TOOLS]
    return own_loads or [load for load in timed_loads if load.plan and load.plan.prompt_set_hash]


def measured_span(load: LoadRecord) -> Span | None:
    """Return the span from the first measured request to the end of the last; None if nothing was measured."""
    requests = load.measured
    if not requests:
        return None
    ended = max(r.sent_at + timedelta(milliseconds=r.total_ms or 0.0) for r in requests)
    return Span(load.run_id, min(r.sent_at for r in requests), ended, load.load_id)


def mean_w(loads: Sequence[LoadRecord], load_conditions: Sequence[Conditions]) -> float | None:
    """Return the mean watts of all its GPUs over the loads' measured spans. load_conditions: those of each span."""
    spans = [span for load in loads if (span := measured_span(load))]
    seconds = sum(span.seconds for span in spans)
    energies = [condition.energy_j for condition in load_conditions if condition.energy_j is not None]
    return sum(energies) / seconds if seconds and energies and len(energies) == len(spans) else None


def startup_span(run: Run) -> Span | None:
    """Return the span from launch to ready; None if Pitwall did not launch the server or it never became ready."""
    if run.kind != "launched" or not run.started_at or not run.ready_at:
        return None
    return Span(run.id, run.started_at, run.ready_at)
