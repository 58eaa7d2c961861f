"""Inbox: a folder through which other processes submit files and notes to the process that owns the store.

A job stays there until its result has been written, so that a Pitwall that was killed resumes it.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from collectors.imports.log_file import ImportRefusedError, ReportProgress
from collectors.imports.log_import import ImportOptions, ImportResult, LogImporter
from collectors.imports.result_import import ResultImporter
from collectors.imports.results.readers import unknown_file_reason
from collectors.imports.results.source import ResultFile
from domain import JsonValue, new_run_id, utc_now
from machine.private_files import private_folder, write_private
from machine.regular_file import NotRegularError, open_regular, pin_path
from machine.secret_pipe import NoSecretError, receive_secret
from notes import NoteEdit, RunNote

LOG = logging.getLogger(__name__)
POLL_S = 0.5
LARGE_BYTES = 16 * 1024 * 1024  # of a file whose import the others pass
MOST_SENTENCE_CHARS = 2000  # of an outcome
MOST_JOB_BYTES = 4 * 1024 * 1024
MOST_STATUS_BYTES = 64 * 1024 * 1024  # a bundle names all of its runs
ZIP_MAGIC = b"PK\x03\x04"
REPORT_STEP = 0.01  # share of the work between two status updates
_INTERNAL_ERROR = "An internal error of Pitwall ended this import; see the server's output."
_NO_OUTCOME = (
    "This job left the inbox before it had an outcome: it was cancelled, or its file was deleted or replaced. What it "
    "had stored by then stays; give it to Pitwall again."
)


def inbox_folder(data_dir: Path) -> Path:
    """Return the inbox of a data folder."""
    return data_dir / "inbox"


def is_bundle(path: Path) -> bool:
    """Return whether a file is a Pitwall bundle, complete or not; raises NotRegularError or OSError."""
    with open_regular(pin_path(path)) as file:
        return file.read(len(ZIP_MAGIC)) == ZIP_MAGIC


JobId = Annotated[str, Field(max_length=200)]  # part of a file's name
Name = Annotated[str, Field(max_length=1000)]  # the answer to a job repeats it


class ImportJob(BaseModel):
    """A file to import; `is_upload` files are temporary copies and deleted afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: JobId
    path: Path
    shown_name: Name
    name: Name | None = None
    zone: Name | None = None
    dated: datetime | None = None
    is_upload: bool = False
    run: Name | None = None  # of results: id of the run that they belong to
    command: tuple[str, ...] | None = None  # of results: the tool's command line, if Pitwall ran it
    is_cut: bool = False  # of results: the tool was stopped before it finished
    asked: dict[str, JsonValue] | None = None  # of results: options that the user set for the tool


class NoteJob(BaseModel):
    """A note on a run from the command line; secrets are masked before it is submitted."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: JobId
    run: Name
    said_at: datetime
    by: str = Field(max_length=100)  # for the audit
    edit: NoteEdit


class DeletionJob(BaseModel):
    """Runs to delete from the command line; they can be restored for a day."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: JobId
    deleted_runs: tuple[Name, ...] = Field(min_length=1, max_length=10_000)  # ids
    by: str = Field(max_length=100)  # for the audit


class LoadStartJob(BaseModel):
    """A load to put on the server of a live run; the process that submits it may offer the server's key in a pipe."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: JobId
    run: Name
    workload: Name
    params: dict[str, JsonValue]
    by: str = Field(max_length=100)  # for the audit
    offers_key: bool = False


AnyJob = ImportJob | NoteJob | DeletionJob | LoadStartJob
_ANY_JOB: TypeAdapter[AnyJob] = TypeAdapter(AnyJob)


class Status(BaseModel):
    """State of a job; `share`: completed share of the work, 0..1."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    state: Literal["waiting", "reading", "done", "refused"] = "waiting"
    share: float = 0.0
    text: str = ""
    run_ids: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    rows: dict[str, int] = {}
    note: RunNote | None = None  # of a completed NoteJob: the run's note now

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "refused")


def submit_job(folder: Path, job: AnyJob) -> None:
    """Submit a job; the process that owns the store finds it within a second."""
    private_folder(folder)
    _write(_job_path(folder, job.id), job)


def key_pipe(folder: Path, job_id: str) -> Path:
    """Return the path of the pipe through which a job offers a key."""
    return folder / f"{job_id}.key"


def cancel_job(folder: Path, job_id: str) -> None:
    """Cancel a job that waits or is being processed; what it has stored stays, and a next import continues there."""
    _job_path(folder, job_id).unlink(missing_ok=True)
    delete_status(folder, job_id)


def new_job_id(now: datetime) -> str:
    """Return an id that sorts by time, so that jobs are processed in order."""
    return new_run_id(now)


def job_status(folder: Path, job_id: str) -> Status:
    """Return the state of a submitted job; refused with a sentence if it is gone and has no outcome."""
    is_submitted = os.path.lexists(_job_path(folder, job_id))  # looked at first: it is removed after its outcome
    status = read_status(folder, job_id)
    return status if status.is_over or is_submitted else Status(state="refused", text=_NO_OUTCOME)


def read_status(folder: Path, job_id: str) -> Status:
    """Return the state that the owner of the store has written for a job, 'waiting' until there is a readable one."""
    try:
        with open_regular(_status_path(folder, job_id)) as file:
            return Status.model_validate_json(file.read(MOST_STATUS_BYTES))
    except (FileNotFoundError, NotRegularError, ValidationError):
        return Status()


def delete_status(folder: Path, job_id: str) -> None:
    """Delete the status of a job after it was read."""
    _status_path(folder, job_id).unlink(missing_ok=True)


class Inbox:
    """Processes the jobs of a folder one after another; a thread polls for new ones."""

    def __init__(
        self,
        folder: Path,
        logs: LogImporter,
        results: ResultImporter,
        bundles: Callable[[Path, ReportProgress], tuple[tuple[str, ...], str]],
        notes: Callable[[NoteJob], tuple[RunNote, str]],
        deletions: Callable[[DeletionJob], str],
        refusals: tuple[type[Exception], ...] = (),
        *,
        loads: Callable[[LoadStartJob, str | None], str] | None = None,
    ) -> None:
        """`refusals`: exceptions of `bundles`, `notes` and the store whose message is a sentence for the user.

        loads: starts a load, with the key of its server, and returns a sentence; None where no server is supervised.
        """
        self._folder = folder
        self._logs = logs
        self._results = results
        self._bundles = bundles
        self._notes = notes
        self._deletions = deletions
        self._loads = loads
        self._refusals: tuple[type[Exception], ...] = (
            ImportRefusedError, NoSecretError, NotRegularError, OSError, *refusals,
        )  # fmt: skip
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="inbox", daemon=True)
        self._large_import: tuple[Path, threading.Thread] | None = None

    def start(self) -> None:
        """Delete what killed imports left, and start polling; returns at once."""
        self._logs.delete_leftovers()
        self._thread.start()

    def close(self, timeout_s: float | None = None) -> None:
        """Accept no further jobs; a job that does not finish in time is resumed at the next start."""
        self._closing.set()
        self._thread.join(timeout_s)
        if self._large_import is not None:
            self._large_import[1].join(timeout_s)

    def _run(self) -> None:
        while not self._closing.wait(POLL_S):
            for path in self._waiting_jobs():
                if self._is_in_large_import(path):
                    continue
                if _imports_large_file(path):
                    self._begin_large(path)
                else:
                    self._begin(path).join()

    def _is_in_large_import(self, path: Path) -> bool:
        """Whether this job is processed already, even if its file is gone or has shrunk meanwhile."""
        return self._large_import is not None and self._large_import[0] == path and self._large_import[1].is_alive()

    def _begin(self, path: Path) -> threading.Thread:
        """Process a job in a thread of its own: a bug is reported with its traceback and ends only this job."""
        worker = threading.Thread(target=self._process_file, args=(path,), name="import", daemon=True)
        worker.start()
        return worker

    def _begin_large(self, path: Path) -> None:
        """Process a large file beside the other jobs, one at a time; until then it waits."""
        if self._large_import is None or not self._large_import[1].is_alive():
            self._large_import = path, self._begin(path)

    def _waiting_jobs(self) -> list[Path]:
        return sorted(self._folder.glob("*.job.json"))

    def _process_file(self, path: Path) -> None:
        try:
            content = _read_job(path)
        except (NotRegularError, OSError) as problem:
            return self._set_aside(path, problem)
        job = _job_of(content)
        if read_status(self._folder, _job_id(path)).is_over:  # the last owner was killed before it removed the job
            return _remove(path, job)
        status = Status(state="refused", text=_INTERNAL_ERROR)
        try:
            status = (
                self._process(job) if job else Status(state="refused", text=f"{path.name} is not a job of Pitwall.")
            )
        finally:
            self._finish(path, job, status)

    def _finish(self, path: Path, job: AnyJob | None, status: Status) -> None:
        """Write the outcome of a job and then remove it; one that was stopped by the end of this process stays."""
        if not path.exists():  # cancelled
            delete_status(self._folder, _job_id(path))
        elif not self._closing.is_set() or status.state == "done":
            self._report_to_run(job, status)
            _write(_status_path(self._folder, _job_id(path)), status)
            _remove(path, job)

    def _set_aside(self, path: Path, problem: Exception) -> None:
        """Rename an entry that is no readable file, so that it is reported once and holds up no job."""
        if isinstance(problem, FileNotFoundError):
            return
        LOG.warning("not a job of the inbox, renamed to %s.refused: %s", path.name, problem)
        _write(_status_path(self._folder, _job_id(path)), Status(state="refused", text=_sentence(problem)))
        aside = path.with_name(f"{path.name}.refused")
        path.rename(aside.with_name(f"{new_job_id(utc_now())}.{aside.name}") if os.path.lexists(aside) else aside)

    def _stop_if_unwanted(self, job: AnyJob) -> None:
        """Raise ImportRefusedError if the job was cancelled, or if this process ends and the next one resumes it."""
        if self._closing.is_set():
            raise ImportRefusedError("Pitwall is ending; the import continues at its next start.")
        if not _job_path(self._folder, job.id).exists():
            raise ImportRefusedError("The import was cancelled.")

    def _report_to_run(self, job: AnyJob | None, status: Status) -> None:
        """Record refused results of a tool that Pitwall ran on their run, since nobody waits for this job."""
        if isinstance(job, ImportJob) and job.command and job.run and status.state == "refused":
            self._results.report_refused(job.run, job.path, job.shown_name, status.text)

    def _process(self, job: AnyJob) -> Status:
        report = _StatusReporter(_status_path(self._folder, job.id), lambda: self._stop_if_unwanted(job))
        try:
            self._stop_if_unwanted(job)
            is_resumed = read_status(self._folder, job.id).state == "reading"
            report(0.0)
            if isinstance(job, NoteJob):
                note, text = self._notes(job)
                return Status(state="done", share=1.0, text=text, run_ids=(job.run,), note=note)
            if isinstance(job, DeletionJob):
                return Status(state="done", share=1.0, text=self._deletions(job), run_ids=job.deleted_runs)
            if isinstance(job, LoadStartJob):
                return Status(state="done", share=1.0, text=self._start_load(job), run_ids=(job.run,))
            outcome = self._import(job, report, is_resumed)
        except self._refusals as refusal:
            return Status(state="refused", text=_sentence(refusal))
        return Status(
            state="done", share=1.0, text=outcome.text, run_ids=outcome.run_ids, loads=outcome.loads,
            rows=dict(outcome.row_counts),
        )  # fmt: skip

    def _start_load(self, job: LoadStartJob) -> str:
        if self._loads is None:
            raise ImportRefusedError("Only a running Pitwall can put a load on a server: start it, and try again.")
        return self._loads(job, receive_secret(key_pipe(self._folder, job.id)) if job.offers_key else None)

    def _import(self, job: ImportJob, report: ReportProgress, is_resumed: bool) -> ImportResult:
        options = ImportOptions(
            job.shown_name, job.name, job.zone, job.dated, job.run, job.command, job.is_cut, job.asked, is_resumed
        )
        if job.path.is_dir() or self._results.recognises(job.path, job.shown_name):
            return self._results.import_results(job.path, options, report)
        if job.run:
            raise ImportRefusedError(
                f"{job.shown_name} is not a known result file; logs and bundles become runs of their own. "
                f"{unknown_file_reason(ResultFile(job.path, job.shown_name))}"
            )
        if is_bundle(job.path):
            return ImportResult(*self._bundles(job.path, report))
        return self._logs.import_log(job.path, options, report)


def _read_job(path: Path) -> bytes:
    """Return the content of a job, cut after its largest size; raises NotRegularError or OSError."""
    with open_regular(path) as file:
        return file.read(MOST_JOB_BYTES)


def _job_of(content: bytes) -> AnyJob | None:
    try:
        return _ANY_JOB.validate_json(content)
    except ValidationError:
        return None


def _remove(job_path: Path, job: AnyJob | None) -> None:
    """Remove a job that has its outcome, after the temporary copy that it names."""
    if isinstance(job, ImportJob) and job.is_upload:
        job.path.unlink(missing_ok=True)
    job_path.unlink(missing_ok=True)


def _imports_large_file(job_path: Path) -> bool:
    """Whether a job is the import of a file that takes long; False also for what is no job."""
    try:
        job = _job_of(_read_job(job_path))
        return isinstance(job, ImportJob) and job.path.stat().st_size > LARGE_BYTES
    except (NotRegularError, OSError):
        return False


class _StatusReporter:
    """Writes the status of a job at intervals; `check` raises to stop the job."""

    def __init__(self, path: Path, check: Callable[[], None]) -> None:
        self._path, self._check = path, check
        self._reported_share = -1.0

    def __call__(self, share: float) -> None:
        self._check()
        if share - self._reported_share >= REPORT_STEP:
            self._reported_share = share
            _write(self._path, Status(state="reading", share=share))


def _sentence(refusal: Exception) -> str:
    """Return the refusal as a sentence; a path or value of any length in it is cut."""
    if isinstance(refusal, OSError) and refusal.strerror:
        text = f"{Path(str(refusal.filename)).name if refusal.filename else 'The file'}: {refusal.strerror}."
    else:
        text = str(refusal)
    if len(text) > MOST_SENTENCE_CHARS:
        return f"{text[:MOST_SENTENCE_CHARS]}..."
    return text if text.endswith((".", "?")) else f"{text}."


def _job_path(folder: Path, job_id: str) -> Path:
    return folder / f"{job_id}.job.json"


def _status_path(folder: Path, job_id: str) -> Path:
    return folder / f"{job_id}.status.json"


def _job_id(path: Path) -> str:
    return path.name.removesuffix(".job.json")


def _write(path: Path, content: BaseModel) -> None:
    """Write a model as JSON, atomically."""
    write_private(path, content.model_dump_json().encode())
