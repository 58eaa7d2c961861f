"""However many open Runs at the same moment, the list of the runs is asked of the store once; a change is seen."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest

from domain import Config, Run
from reports.cache.run_cache import ReportCache
from reports.runs.run_line import PENDING
from service.run_lines import RunLineKeeper
from settings import Settings
from storage.queries.run_queries import RunFilter
from storage.store import Store
from tests.many_runs import many_runs
from tests.web.conftest import ProvideServices
from web.runs.table.run_listing import Listing, choices_of, listing, notes_on, titles_of
from web.runs.table.run_table import name_link

VIEWERS = 50


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Store]:
    opened = Store.open(Settings(data_dir=tmp_path / "data"))
    many_runs(opened)
    provide_services(SimpleNamespace(store=opened, fleet=None, reports=ReportCache()))
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "operator")
    yield opened
    opened.close()


def look(store: Store, run_filter: RunFilter) -> Listing:
    choices_of(store)
    titles_of(store)
    actual_listing = listing(store, run_filter, 200)
    notes_on(actual_listing.runs)
    return actual_listing


def statements(store: Store, patch: pytest.MonkeyPatch) -> list[str]:
    asked, ask = list[str](), store.query

    def query(sql: str, params: Any = None) -> pa.Table:
        asked.append(sql)
        return ask(sql, params)

    patch.setattr(store, "query", query)
    return asked


def test_fifty_at_once_ask_what_one_asks(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    look(store, RunFilter())  # what is known of ended runs is kept from here on
    store.label_machine("m1", "a box")
    requested_statements = statements(store, monkeypatch)
    alone = look(store, RunFilter())
    by_one = sorted(requested_statements)
    assert len(by_one) > 3
    store.label_machine("m1", "box")
    requested_statements.clear()
    together = threading.Barrier(VIEWERS)

    def view() -> Listing:
        together.wait(60)
        return look(store, RunFilter())

    with ThreadPoolExecutor(VIEWERS) as pool:
        told = [one.result(60) for one in [pool.submit(view) for _ in range(VIEWERS)]]
    assert sorted(requested_statements) == sorted(by_one)
    assert all(one == alone for one in told) and len(alone.runs) == 20


def test_other_filter_or_change_is_queried_anew(store: Store) -> None:
    newest = look(store, RunFilter()).runs[0]
    assert [run.id for run in look(store, RunFilter(words=("fp8",))).runs] != [
        run.id for run in look(store, RunFilter()).runs
    ]
    store.save_run(newest.model_copy(update={"name": "renamed"}))
    assert look(store, RunFilter()).runs[0].name == "renamed"
    store.notes.change([newest.id], "operator", lambda note: note.model_copy(update={"text": "said"}))
    assert notes_on(look(store, RunFilter()).runs)[newest.id].text == "said"


def test_page_computes_newest_and_awaits_the_rest(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an update nothing is kept of any run: a page that computed all of them would come after a minute."""
    monkeypatch.setattr("web.runs.table.run_listing.MAX_COMPUTED", 3)
    actual_look = look(store, RunFilter())
    waiting = [run for run in actual_look.runs if actual_look.lines[run.id] is PENDING]
    runs = [run for run in actual_look.runs if run not in waiting]
    assert len(runs) == 3 < len(waiting)
    assert min(run.created_at for run in runs) > max(run.created_at for run in waiting)
    assert any(actual_look.lines[run.id]["stream_tps"] for run in runs)
    keeper = RunLineKeeper(store, ReportCache())
    while keeper.keep_next():
        pass
    assert PENDING not in look(store, RunFilter()).lines.values()


@pytest.mark.parametrize("name", ["fp8+mtp", "100 % GPU", "a%2Bb", "ngram k=4 #2", "a/b?c&d"])
def test_name_is_shown_as_it_is(name: str) -> None:
    run = Run(id="r1", name=name, color=0, config=Config(), machine_id="m", created_at=datetime.now(UTC))
    fragment = name_link(run).partition("#")[2]
    assert unquote(fragment.replace("+", "%20")) == name, "as Streamlit's table decodes it"
