"""Jobs of the inbox end with a sentence and store everything once, whoever is killed or gives the same twice."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collectors.imports import inbox as inbox_module
from collectors.imports.inbox import (
    AnyJob,
    DeletionJob,
    ImportJob,
    Inbox,
    Status,
    cancel_job,
    inbox_folder,
    job_status,
    new_job_id,
    submit_job,
)
from collectors.imports.log_import import ImportOptions, LogImporter
from collectors.imports.result_import import ResultImporter
from domain import Config, Run, RunState
from machine.private_files import write_private
from service.inbox import inbox_of
from settings import Settings
from storage.store import Store
from storage.transfer.bundle_import import import_bundle
from tests.collectors.imports.captured import captured
from tests.demo_engine import ROOT
from tests.storage.transfer.test_bundle import bundle as bundle
from tests.storage.transfer.test_bundle import elsewhere as elsewhere
from tests.storage.transfer.test_bundle import honest as honest

FIXTURES = ROOT / "tests/fixtures"
NGRAM = FIXTURES / "vllm/0.32-ngram.log"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
PATIENCE_S = 60.0
MEET_SHARE = 0.2  # of an import: the file is unpacked or read by then, and nothing is stored yet


@pytest.fixture
def folder(settings: Settings) -> Path:
    return inbox_folder(settings.data_dir)


@contextmanager
def opened_inbox(store: Store, settings: Settings) -> Iterator[Inbox]:
    inbox = inbox_of(store, settings)
    inbox.start()
    try:
        yield inbox
    finally:
        inbox.close()


def import_job(path: Path, **fields: object) -> ImportJob:
    return ImportJob(id=new_job_id(datetime.now(UTC)), path=path, shown_name=path.name, **fields)  # type: ignore[arg-type]


def outcome(folder: Path, job: AnyJob) -> Status:
    return outcome_of(folder, job.id)


def outcome_of(folder: Path, job_id: str) -> Status:
    end_s = time.monotonic() + PATIENCE_S
    while not (status := job_status(folder, job_id)).is_over:
        assert time.monotonic() < end_s, status
        time.sleep(0.02)
    return status


def wait_until(holds: Callable[[], object]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end_s
        time.sleep(0.02)


# --- a job that waits ends with a sentence ----------------------------------------------------------------------------
def test_job_that_somebody_removed_ends_with_a_sentence(folder: Path) -> None:
    job = import_job(NGRAM)
    submit_job(folder, job)
    assert job_status(folder, job.id).state == "waiting"
    (folder / f"{job.id}.job.json").unlink()
    assert job_status(folder, job.id).text.startswith("This job left the inbox before it had an outcome")


def test_cancelled_job_ends_with_a_sentence(folder: Path) -> None:
    job = import_job(NGRAM)
    submit_job(folder, job)
    cancel_job(folder, job.id)
    assert job_status(folder, job.id).state == "refused"


def test_entry_that_is_no_file_is_refused_to_whom_waits(store: Store, settings: Settings, folder: Path) -> None:
    folder.mkdir(parents=True)
    os.mkfifo(folder / "odd.job.json")
    (folder / "odd.job.json.refused").mkdir()  # of an earlier one
    (folder / "odd.job.json.refused" / "x").touch()
    with opened_inbox(store, settings):
        status = outcome_of(folder, "odd")
        wait_until(lambda: not os.path.lexists(folder / "odd.job.json"))
    assert (status.state, "a pipe" in status.text) == ("refused", True), status


@pytest.mark.parametrize("content", [b"", b"{", b'{"state": "over"}', b'{"state": "done", "added_later": 1}'])
def test_unreadable_status_is_none_yet(store: Store, settings: Settings, folder: Path, content: bytes) -> None:
    job = import_job(NGRAM)
    submit_job(folder, job)
    write_private(folder / f"{job.id}.status.json", content)
    assert job_status(folder, job.id).state == "waiting"
    with opened_inbox(store, settings):
        assert outcome(folder, job).state == "done"


# --- owners that end or are killed ------------------------------------------------------------------------------------
def test_job_whose_outcome_is_written_is_not_done_again(store: Store, settings: Settings, folder: Path) -> None:
    """Its owner was killed after it wrote the outcome, and before it removed the job."""
    upload = folder / "1.upload"
    job = import_job(upload, is_upload=True)
    submit_job(folder, job)
    upload.write_bytes(NGRAM.read_bytes())
    status = Status(state="done", share=1.0, text="It was imported.")
    write_private(folder / f"{job.id}.status.json", status.model_dump_json().encode())
    with opened_inbox(store, settings):
        wait_until(lambda: not (folder / f"{job.id}.job.json").exists())
    assert not upload.exists()
    assert outcome(folder, job) == status
    assert store.runs() == []


def test_upload_stays_for_the_next_owner(
    store: Store, settings: Settings, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pitwall ends while it imports an uploaded file."""
    upload = folder / "1.upload"
    job = import_job(upload, is_upload=True, dated=NOW)
    submit_job(folder, job)
    upload.write_bytes(NGRAM.read_bytes())
    inbox = inbox_of(store, settings)
    reading, ending = threading.Event(), threading.Event()

    def import_log(
        importer: LogImporter, source: Path, options: ImportOptions, report: Callable[[float], None]
    ) -> None:
        reading.set()
        ending.wait(PATIENCE_S)
        report(0.5)

    with monkeypatch.context() as patch:
        patch.setattr(LogImporter, "import_log", import_log)
        inbox.start()
        assert reading.wait(PATIENCE_S)
        closing = threading.Thread(target=inbox.close)
        closing.start()
        wait_until(inbox._closing.is_set)
        ending.set()
        closing.join(PATIENCE_S)
    assert job_status(folder, job.id).state == "reading"
    with opened_inbox(store, settings):
        assert outcome(folder, job).state == "done"
        wait_until(lambda: not upload.exists())


KILLED_AFTER_DELETION = """
import os, signal, sys, time
from pathlib import Path
import service.inbox
from settings import Settings
from storage.store import Store

delete_runs = service.inbox.delete_runs

def delete_and_die(store, job):
    delete_runs(store, job)
    os.kill(os.getpid(), signal.SIGKILL)

service.inbox.delete_runs = delete_and_die
settings = Settings(data_dir=Path(sys.argv[1]))
store = Store.open(settings)
service.inbox.inbox_of(store, settings).start()
time.sleep(60)
"""


@pytest.mark.wide
def test_kill_between_deletion_and_its_status_deletes_once(store: Store, settings: Settings, folder: Path) -> None:
    state = {"state": RunState.FINISHED, "started_at": NOW, "ended_at": NOW}
    for run_id in ("r1", "r2"):
        store.save_run(Run(id=run_id, name=run_id, color=0, config=Config(), machine_id="m", created_at=NOW, **state))
    store.close()
    job = DeletionJob(id=new_job_id(NOW), deleted_runs=("r1",), by="ann, in a shell")
    submit_job(folder, job)
    argv = [sys.executable, "-c", KILLED_AFTER_DELETION, str(settings.data_dir)]
    assert subprocess.run(argv, cwd=ROOT, timeout=PATIENCE_S).returncode == -signal.SIGKILL
    assert not job_status(folder, job.id).is_over
    again = Store.open(settings)
    with opened_inbox(again, settings):
        status = outcome(folder, job)
    assert (status.state, status.text) == ("done", "It was deleted before; Runs can restore it for a day after that.")
    assert [run.id for run in again.runs()] == ["r2"]
    assert len([entry for entry in again.audit(100) if entry.action == "delete"]) == 1
    again.close()


# --- the same twice at once -------------------------------------------------------------------------------------------
def long_log(path: Path, copies: int = 40) -> Path:
    """A log of some 100 KB whose last change is long ago."""
    path.write_bytes(NGRAM.read_bytes() * copies)
    past_s = (datetime.now(UTC) - timedelta(days=1)).timestamp()
    os.utime(path, (past_s, past_s))
    return path


def packed(log: Path) -> Path:
    path = log.with_name(f"{log.name}.gz")
    path.write_bytes(gzip.compress(log.read_bytes()))
    os.utime(path, (log.stat().st_mtime, log.stat().st_mtime))
    return path


def sample_lines(store: Store) -> list[int]:
    return store.query("SELECT line FROM log_samples ORDER BY line")["line"].to_pylist()


@pytest.mark.wide
def test_same_log_in_both_lanes_is_one_run(
    store: Store, settings: Settings, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = long_log(tmp_path / "server.log")
    small = packed(log)
    monkeypatch.setattr(inbox_module, "LARGE_BYTES", small.stat().st_size)
    jobs = [import_job(log), import_job(small)]
    for job in jobs:
        submit_job(folder, job)
    with opened_inbox(store, settings):
        statuses = [outcome(folder, job) for job in jobs]
    assert [status.state for status in statuses] == ["done", "done"], statuses
    assert len(store.runs()) == 1
    assert statuses[0].run_ids == statuses[1].run_ids
    lines = sample_lines(store)
    assert lines == sorted(set(lines))
    assert len(lines) > 40


def at_once(*imports: Callable[[Callable[[float], None]], object]) -> list[object]:
    """Run imports whose reports wait for each other once, at this share or later."""
    outcomes: list[object] = []
    together = threading.Barrier(len(imports))

    def run(take: Callable[[Callable[[float], None]], object]) -> None:
        met: list[bool] = []

        def report(share: float) -> None:
            if not met and share >= MEET_SHARE:
                met.append(True)
                together.wait(PATIENCE_S)

        try:
            outcomes.append(take(report))
        except BaseException as problem:
            outcomes.append(problem)

    threads = [threading.Thread(target=run, args=(take,)) for take in imports]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    return outcomes


@pytest.mark.wide
def test_same_log_of_two_threads_is_one_run(store: Store, settings: Settings, tmp_path: Path) -> None:
    log = long_log(tmp_path / "server.log")
    importer = LogImporter(store, settings.runs_dir, lambda: NOW)
    options = ImportOptions(log.name)
    outcomes = at_once(*[lambda report: importer.import_log(log, options, report)] * 2)
    assert len(store.runs()) == 1, outcomes
    texts = sorted(result.text for result in outcomes)  # type: ignore[attr-defined]
    assert ["was already imported" in text for text in texts] == [True, False], texts
    lines = sample_lines(store)
    assert lines == sorted(set(lines))


def test_same_result_of_two_threads_is_one_load(store: Store) -> None:
    importer, path = ResultImporter(store, lambda: NOW), captured("llama-benchy/result.md")
    options = ImportOptions(path.name)
    outcomes = at_once(*[lambda report: importer.import_results(path, options, report)] * 2)
    assert len(store.runs()) == 1, outcomes
    assert store.query("SELECT count(*) AS n FROM loads")["n"].to_pylist() == [1]


def test_same_bundle_of_two_threads_is_added_once(elsewhere: tuple[Store, Settings], bundle: Path) -> None:
    store, settings = elsewhere
    outcomes = at_once(*[lambda report: import_bundle(store, settings, bundle, report)] * 2)
    assert len(store.runs()) == 1, outcomes
    texts = sorted(result.text for result in outcomes)  # type: ignore[attr-defined]
    assert ["already present" in text for text in texts] == [True, False], texts
    count = store.query("SELECT count(*) AS n, count(DISTINCT ts) AS times FROM counter_samples").to_pylist()[0]
    assert count["n"] == count["times"] > 0


def test_outcome_is_short_however_long_the_path(folder: Path, store: Store, settings: Settings) -> None:
    job = ImportJob(id="long", path=Path("/" + "a[" * 20_000), shown_name="long.json")
    with opened_inbox(store, settings):
        status = outcome(folder, job)
    assert status.state == "refused" and len(status.text) <= 2003 and status.text.endswith(".")
