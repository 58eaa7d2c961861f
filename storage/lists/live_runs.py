"""Which runs go on: their samples come all the time, and no list of runs that have ended changes by them."""

from __future__ import annotations

from collections.abc import Set

from domain import NOT_OVER, Run
from storage.published_query import Query
from storage.rows import SAMPLE_TABLES

SAMPLED = {*SAMPLE_TABLES.values(), "tail_positions"}


class LiveRuns:
    """The runs that have not ended, as they were saved last; safe from any thread."""

    def __init__(self, query: Query) -> None:
        not_over = "SELECT id FROM raw.runs WHERE list_contains(?, state)"
        self._ids: set[str] = set(query(not_over, [[str(state) for state in NOT_OVER]])["id"].to_pylist())

    def noted(self, run: Run) -> Run:
        """The run, before it is committed: what is sampled of it after its end is a change of what is said of it."""
        (self._ids.discard if run.state.is_final else self._ids.add)(run.id)
        return run

    def only_sampled(self, tables: Set[str], run_ids: Set[str]) -> bool:
        """Whether rows of these tables and runs are no more than samples of runs that go on."""
        return tables <= SAMPLED and run_ids <= self._ids
