"""The list of runs that have ended, asked and computed once for all who look at it while nothing has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from analysis.runs.run_line import RunLine
from domain import Run
from notes import RunNote
from reports.runs.run_line import in_order, lines_of
from storage.ask import run_queries
from storage.ask.note_queries import notes
from storage.ask.queries import Asked
from storage.ask.run_queries import RunChoices, RunFilter
from web.actions import is_member
from web.compare.kept_reports import reports_on
from web.context import services
from web.fleet import away_ids
from web.machines.machine_titles import machine_titles

Answer = TypeVar("Answer")
# Of the newest runs: after an update of the formulas, or of many that were imported, the rest would hold up the page
# for as long as a minute, and is computed in the background (service/run_lines.py).
COMPUTED_NOW = 24
WAITS = "not computed yet; it comes by itself"


class Listing(NamedTuple):
    """Runs in their order, and what is said of each whose numbers are in this store.

    matching: how many the filter lets through, these and those beyond the most that were asked for.
    """

    runs: Sequence[Run]
    lines: Mapping[str, RunLine]
    matching: int


def choices_of(scope: Asked) -> RunChoices:
    """What the runs can be filtered by."""
    return _shared(scope, "choices", lambda: run_queries.run_choices(scope))


def titles_of(scope: Asked) -> Mapping[str, str]:
    """Machine id -> what it is called for whoever looks."""
    return _shared(scope, ("machines", is_member()), lambda: machine_titles(scope))


def listing(scope: Asked, wanted: RunFilter, most: int) -> Listing:
    """The runs that the filter lets through, at most so many."""
    return _shared(scope, ("listing", wanted, most), lambda: _listing(scope, wanted, most))


def notes_on(runs: Sequence[Run]) -> Mapping[str, RunNote]:
    """What people say of these runs here."""
    store, run_ids = services().store, tuple(run.id for run in runs)
    return store.answers.of(("notes", run_ids), lambda: notes(store, run_ids))


def _listing(scope: Asked, wanted: RunFilter, most: int) -> Listing:
    store, found = services().store, run_queries.find_runs(scope, wanted, most)
    away = set[str]() if scope is store else away_ids(found)
    here = sorted((run for run in found if run.id not in away), key=lambda run: run.started_at or run.created_at)
    lines = lines_of(store, here[::-1], partial(reports_on, store), COMPUTED_NOW)
    matching = run_queries.count_runs(scope, wanted) if len(found) == most else len(found)
    return Listing(in_order(found, lines, wanted.order_by, wanted.is_reversed), lines, matching)


def _shared(scope: Asked, question: object, compute: Callable[[], Answer]) -> Answer:
    """Share answers about this store only: nothing reports when the lake changes."""
    store = services().store
    return store.answers.of(question, compute) if scope is store else compute()
