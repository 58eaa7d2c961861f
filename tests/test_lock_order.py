"""The order in which locks are taken, watched on a whole service as app.py opens it, and on what pages ask.

docs/threads-and-locks.md has the order; a thread that holds a lock takes only one that stands below it.
"""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest

from collectors.imports.log_import import ImportOptions, LogImporter
from collectors.imports.result_import import ResultImporter
from commands.study_file import study_of_text
from domain import Config, Run, RunState, utc_now
from machine.private_files import write_private
from machine.run_with_timeout import run_bounded
from notes import Gotcha, SavedView
from redaction import mask_text
from reports.cache.run_cache import ReportCache
from service.agents import AgentIntake
from service.core import Core, opened_core
from service.fleet import Fleet
from settings import Settings
from storage.sandbox.client import Sandbox
from storage.sandbox.job import SqlAnswer
from storage.store import Store
from storage.transfer.bundle import export_runs
from storage.transfer.bundle_import import import_bundle
from tests.collectors.agents.conftest import NOW, batch, message
from tests.launcher.servers import marked, request_for, wait_for
from tests.studies.test_study_run import study
from tests.test_architecture import product_files
from tests.test_threads_document import LOCK_TYPES, LOCKS, lock_lines, rows_of
from web.access.sessions import SessionBook
from web.access.tokens import Scope, TokenBook
from web.actions import Once
from web.context import provided_services
from web.live.hub import LiveHub
from web.live.log_reads import LogReads
from web.live.reader import StoreReader
from web.sql.data_source import OWN_RUNS
from web.sql.history import QueryHistory
from web.sql.sql_request import SqlRequest

pytestmark = pytest.mark.publishes

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "tests/captures/llmperf/summary.json"
FLOORS = {  # 'Class.attribute' -> the row of the document's table; two of one row are not held together either
    name: floor for floor, row in enumerate(rows_of(LOCKS)) for name in row
}
MADE_AT_IMPORT = {"_SyntaxParser._lock"}  # before anything is watched; nothing else is called while it is held
LET_GO_ELSEWHERE = {"DetachedCalls._free"}  # by the thread that was begun


@cache
def sites() -> dict[tuple[str, int], str]:
    """File and line that makes it -> 'Class.attribute'; not read while tests are collected, which each worker does."""
    return {
        (str(path.relative_to(ROOT)), line): name
        for path in product_files()
        for line, name in lock_lines(ast.parse(path.read_text()))
        if name in FLOORS
    }


class Watch:
    """Which of our locks each thread holds, and every pair of which the second was taken while the first was held."""

    def __init__(self) -> None:
        self.held = threading.local()
        self.seen: set[str] = set()
        self.pairs: set[tuple[str, str]] = set()

    def taken(self, name: str, is_let_go_elsewhere: bool) -> None:
        texts: list[str] = getattr(self.held, "names", [])
        self.seen.add(name)
        self.pairs |= {(before, name) for before in texts if before != name}
        if not is_let_go_elsewhere:
            self.held.names = [*texts, name]

    def let_go(self, name: str) -> None:
        with suppress(ValueError):
            held = list(getattr(self.held, "names", []))
            held.reverse()
            held.remove(name)
            held.reverse()
            self.held.names = held


class WatchedLock:
    """A lock that says when it is taken; everything else is the real one's."""

    def __init__(self, lock: Any, name: str, watch: Watch) -> None:
        self._lock, self._name, self._watch = lock, name, watch

    def acquire(self, *args: Any, **kwargs: Any) -> Any:
        done = self._lock.acquire(*args, **kwargs)
        if done:
            self._watch.taken(self._name, is_let_go_elsewhere=self._name in LET_GO_ELSEWHERE)
        return done

    def release(self) -> None:
        self._watch.let_go(self._name)
        self._lock.release()

    def __enter__(self) -> Any:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)


def _site() -> str | None:
    """Which of our locks is made here."""
    frame = sys._getframe(2)
    path = Path(frame.f_code.co_filename)
    return sites().get((str(path.relative_to(ROOT)), frame.f_lineno)) if path.is_relative_to(ROOT) else None


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()

    def watched(make: Callable[..., Any]) -> Callable[..., Any]:
        def watched_lock(*args: Any) -> Any:
            site = _site()
            return WatchedLock(make(*args), site, watch) if site else make(*args)

        watched_lock.__init__ = make.__init__  # type: ignore[method-assign]  # BoundedSemaphore calls that of Semaphore by its name
        return watched_lock

    for name in LOCK_TYPES:
        monkeypatch.setattr(threading, name, watched(getattr(threading, name)))
    return watch


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture
def core(watch: Watch, settings: Settings) -> Iterator[Core]:
    reports = ReportCache()

    def prepare(store: Store) -> None:
        store.on_commit(LiveHub(StoreReader(lambda: store)).on_commit)
        store.on_commit(reports.invalidate)

    with opened_core(settings, prepare, reports) as core:
        yield core
        core.supervisor.close(stop_servers=True)
        for run in core.store.runs():
            for process in marked(run.id):
                process.kill()


def ended(store: Store, run: Run) -> bool:
    known = store.run(run.id)
    return known is not None and known.state.is_final


@pytest.mark.wide
def test_locks_are_taken_in_order(
    watch: Watch, core: Core, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runs_come_and_go(core)
    a_study_goes_on(core, tmp_path)
    people_write(core.store)
    an_agent_sends(core)
    a_log_is_imported(core.store, settings)
    a_result_and_a_bundle_are_imported(core.store, settings, run)
    pages_ask(core.store, settings, run)
    a_page_reads_the_lake(core.store, settings, run, monkeypatch)
    pairs = {("Supervisor._lock", "Writer._changed"), ("StudyRunner._lock", "Supervisor._factory_lock")}
    pairs |= {("Book._lock", "Writer._changed"), ("AgentIntake._locks", "Writer._changed")}
    assert pairs | {("Fleet._lock", "Database._idle")} <= watch.pairs, "the watch sees pairs at all"
    assert {(held, taken) for held, taken in watch.pairs if FLOORS[held] >= FLOORS[taken]} == set()
    assert set(sites().values()) - watch.seen == MADE_AT_IMPORT, "each lock of the table is taken above"


def runs_come_and_go(core: Core) -> Run:
    """One that is stopped, one that is cancelled, one that is skipped."""
    store, supervisor = core.store, core.supervisor
    run = supervisor.launch(request_for())
    queued = supervisor.launch_batch([request_for(), request_for()], one_after_the_other=True)
    wait_for(lambda: (known := store.run(run.id)) and known.state is RunState.READY)
    supervisor.set_phase(run.id, "loading")
    supervisor.reorder_queue([queued[1].id])
    supervisor.cancel(queued[0].id)
    store.seal()
    store.publish()
    store.look_for_lost_files()
    Once(supervisor.stop)(run.id)
    wait_for(lambda: ended(store, run))
    supervisor.skip(queued[1].id)
    supervisor.stop(queued[1].id)
    wait_for(lambda: ended(store, queued[1]))
    return store.runs_of([run.id])[0]


def a_study_goes_on(core: Core, folder: Path) -> None:
    """A round is queued and cancelled; it never starts."""
    core.supervisor.hold_queue(True)
    begun = core.studies.begin(study_of_text(study(folder, 13.0, 10.0).read_text(), "w"))
    wait_for(core.supervisor.queued_runs)
    core.studies.set_state(begun.id, "paused")
    core.studies.end(begun.id)
    assert not core.supervisor.queued_runs()


def people_write(store: Store) -> None:
    store.notes.change([run.id for run in store.runs()], "operator", lambda note: note.model_copy(update={"text": "x"}))
    store.gotchas.save(Gotcha(id="g", engine="vllm", flag="--x", failure="f", workaround="w"), "operator")
    store.saved_views.save(SavedView(page="runs", name="v", query=""), "operator")


def an_agent_sends(core: Core) -> None:
    """Of a run on another machine."""
    run = Run(id="r1", name="r", color=0, config=Config(), machine_id="head", created_at=NOW, state=RunState.RUNNING)
    core.store.save_run(run)
    assert AgentIntake(core.store, core.clock.utc).store_message("r1", message(batch(1))).number == 1


def a_log_is_imported(store: Store, settings: Settings) -> None:
    log = ROOT / "tests/fixtures/vllm/0.32-ngram.log"
    LogImporter(store, settings.runs_dir, utc_now).import_log(log, ImportOptions(log.name), lambda share: None)


def a_result_and_a_bundle_are_imported(store: Store, settings: Settings, run: Run) -> None:
    ResultImporter(store, utc_now).import_results(RESULT, ImportOptions(RESULT.name), lambda share: None)
    bundle = settings.data_dir / "runs.pitwall.zip"
    export_runs(store.query, [run.id], bundle, NOW, mask_text)
    import_bundle(store, settings, bundle, lambda share: None)


def pages_ask(store: Store, settings: Settings, run: Run) -> None:
    a_statement_is_run(Sandbox(settings, run_bounded))
    assert store.query_cache.get("runs", lambda: len(store.runs()))
    assert LogReads().ends([run])[run.id]
    tokens = TokenBook(settings.tokens_path)
    kept, text = tokens.make([Scope.SQL], None, timedelta(days=1), "", "operator")
    assert tokens.find(text) == kept
    sessions = SessionBook(settings.sessions_path, is_token_open=tokens.is_open)
    cookies = [sessions.make("browser", token_id=kept.id) for _ in range(2)]
    assert all(map(sessions.use, cookies))
    sessions.end_all()


def a_statement_is_run(sandbox: Sandbox) -> None:
    history = QueryHistory()
    with provided_services(cast(Any, SimpleNamespace(sandbox=sandbox, lake_sandbox=None, sql_history=history))):
        outcome = SqlRequest("SELECT 1 AS one", OWN_RUNS).outcome()
    assert isinstance(outcome, SqlAnswer) and outcome.table.num_rows == 1
    assert [entry.sql for entry in history.entries("")] == ["SELECT 1 AS one"]


def a_page_reads_the_lake(store: Store, settings: Settings, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lake is a STAND-IN; what the page is given of it is not."""
    write_private(settings.lake_path, b'catalogue = "host=127.0.0.1 dbname=none"\ndata_path = "/nowhere"\n')

    @contextmanager
    def opened(*_: object) -> Iterator[Mock]:
        yield Mock(parts_of=lambda ids: {}, samples_of=lambda *_: (), **{"row_counts.return_value": {}})

    monkeypatch.setattr("storage.lake.lake_reader.opened_reader", opened)
    with closing(Fleet(settings, store)) as fleet:
        assert fleet.queryable_for([run.id, "away"]).query("FROM runs").num_rows > 0


def test_two_locks_of_one_file_are_told_apart() -> None:
    assert {"Supervisor._lock", "Supervisor._factory_lock"} <= set(sites().values())
