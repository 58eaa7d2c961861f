"""Ids of live runs: their samples arrive constantly and do not affect lists of ended runs."""

from __future__ import annotations

from collections.abc import Set

from domain import OPEN_STATES, Run
from storage.published_query import QueryFunction
from storage.rows import SAMPLE_TABLES

SAMPLED_TABLES = {*SAMPLE_TABLES.values(), "tail_positions"}


class LiveRunIds:
    """The ids of runs that have not ended, by their last saved state; thread-safe."""

    def __init__(self, query: QueryFunction) -> None:
        open_runs_sql = "SELECT id FROM raw.runs WHERE list_contains(?, state)"
        self._ids: set[str] = set(query(open_runs_sql, [[str(state) for state in OPEN_STATES]])["id"].to_pylist())

    def track(self, run: Run) -> Run:
        """Record a run's state before its commit, and return the run; samples after its end count as changes."""
        (self._ids.discard if run.state.is_final else self._ids.add)(run.id)
        return run

    def is_sampling_only(self, tables: Set[str], run_ids: Set[str]) -> bool:
        """Whether rows of these tables and runs are only samples of live runs."""
        return tables <= SAMPLED_TABLES and run_ids <= self._ids
