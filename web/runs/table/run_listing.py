"""The list of ended runs, queried and computed once for all viewers until the store changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from analysis.runs.run_line import RunLine
from domain import Run
from notes import RunNote
from reports.runs.run_line import lines_of, sort_runs
from storage.queries import run_queries
from storage.queries.note_queries import notes
from storage.queries.run_data import Queryable
from storage.queries.run_queries import RunChoices, RunFilter
from web.actions import is_member
from web.compare.cached_reports import reports_on
from web.context import services
from web.fleet import away_ids
from web.machines.machine_titles import machine_titles

Answer = TypeVar("Answer")
# Newest runs whose numbers are computed immediately. After a formula update or a large import, all of them could block
# the page for a minute, so the others are computed in the background (service/run_lines.py).
MAX_COMPUTED = 24
PENDING_NOTE = "not computed yet; it will appear by itself"


class Listing(NamedTuple):
    """Runs in order, and the lines of those whose numbers are in this store.

    matching: the number of runs that match the filter, including those beyond the limit.
    """

    runs: Sequence[Run]
    lines: Mapping[str, RunLine]
    matching: int


def choices_of(scope: Queryable) -> RunChoices:
    """Return the values by which the runs can be filtered."""
    return _shared(scope, "choices", lambda: run_queries.run_choices(scope))


def titles_of(scope: Queryable) -> Mapping[str, str]:
    """Return machine id -> title for the viewer."""
    return _shared(scope, ("machines", is_member()), lambda: machine_titles(scope))


def listing(scope: Queryable, run_filter: RunFilter, max_runs: int) -> Listing:
    """Return the runs that match the filter, at most `max_runs`."""
    return _shared(scope, ("listing", run_filter, max_runs), lambda: _listing(scope, run_filter, max_runs))


def notes_on(runs: Sequence[Run]) -> Mapping[str, RunNote]:
    """Return run id -> its note in this store."""
    store, run_ids = services().store, tuple(run.id for run in runs)
    return store.query_cache.get(("notes", run_ids), lambda: notes(store, run_ids))


def _listing(scope: Queryable, run_filter: RunFilter, max_runs: int) -> Listing:
    store, runs = services().store, run_queries.find_runs(scope, run_filter, max_runs)
    away_run_ids = set[str]() if scope is store else away_ids(runs)
    local_runs = sorted((run for run in runs if run.id not in away_run_ids), key=lambda run: run.began_at)
    lines = lines_of(store, local_runs[::-1], partial(reports_on, store), MAX_COMPUTED)
    matching = run_queries.count_runs(scope, run_filter) if len(runs) == max_runs else len(runs)
    return Listing(sort_runs(runs, lines, run_filter.order_by, run_filter.is_reversed), lines, matching)


def _shared(scope: Queryable, question: object, compute: Callable[[], Answer]) -> Answer:
    """Cache answers about this store only, since changes of the lake are not reported."""
    store = services().store
    return store.query_cache.get(question, compute) if scope is store else compute()
