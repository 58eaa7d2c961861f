"""Shapes of the agent sessions of a run, to be replayed on any server."""

from __future__ import annotations

from analysis.sessions.agent_shape import AgentShape
from analysis.sessions.recorded_shape import shape_of
from analysis.sessions.turns import turns_of
from domain import Run
from storage.queries import load_queries, run_data

RECORDED = "recorded"  # workload of a recording's requests; those of replays have parts too


def agent_shape(store: run_data.Queryable, run: Run, load_id: str | None = None) -> AgentShape | None:
    """Return the shape of a run's recordings, or of one load; None if no request has the parts of its prompt."""
    requests = load_queries.recorded_requests(store, [run.id])[run.id]
    if load_id is not None:
        requests = [request for request in requests if request.load_id == load_id]
    else:
        requests = [request for request in requests if request.workload == RECORDED] or requests
    names = sorted({request.load_id for request in requests if request.load_id})
    shape = shape_of(turns_of(requests), f"run {run.id}, load {', '.join(names)}")
    return shape if shape.requests else None
