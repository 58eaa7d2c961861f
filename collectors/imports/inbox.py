"""The inbox: a folder through which other processes hand files and notes to the owner of the store.

A job stays there until its outcome has been written, so a Pitwall that is killed resumes it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from collectors.imports.log_file import ImportRefusedError, Report
from collectors.imports.log_import import LogImporter, Outcome, Wish
from collectors.imports.result_import import ResultImporter
from domain import JsonValue, new_run_id
from machine.private_files import private_folder, write_private
from machine.regular_file import NotRegularError, opened, pinned
from notes import NoteEdit, RunNote

LOOK_EVERY_S = 0.5
ZIP_MAGIC = b"PK\x03\x04"
REPORT_STEP = 0.01  # of the work, between two words about it
_OURS = "An error of Pitwall's own ended this import; the server's output tells it."


def inbox_folder(data_dir: Path) -> Path:
    """Where the jobs of a data folder lie."""
    return data_dir / "inbox"


def is_bundle(path: Path) -> bool:
    """Whether a file is a bundle of Pitwall's, whole or not, and no log; raises NotRegularError or OSError."""
    with opened(pinned(path)) as file:
        return file.read(len(ZIP_MAGIC)) == ZIP_MAGIC


class Job(BaseModel):
    """One file to be imported; `is_upload` files are ours and deleted afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    path: Path
    shown_name: str
    name: str | None = None
    zone: str | None = None
    dated: datetime | None = None
    is_upload: bool = False
    run: str | None = None  # of results: the run that they belong to
    command: tuple[str, ...] | None = None  # of results: the words that made them, where Pitwall ran a tool
    is_cut: bool = False  # of results: the tool was ended before it was through
    asked: dict[str, JsonValue] | None = None  # of results: what a person set of the tool that Pitwall ran


class NoteJob(BaseModel):
    """What a person says of a run in a shell; secrets are masked before it is handed in."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    run: str
    said_at: datetime
    by: str = Field(max_length=100)  # for the audit
    edit: NoteEdit


_ANY_JOB: TypeAdapter[Job | NoteJob] = TypeAdapter(Job | NoteJob)


class Status(BaseModel):
    """How far a job is; `share` of the work, 0..1."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    state: Literal["waiting", "reading", "done", "refused"] = "waiting"
    share: float = 0.0
    text: str = ""
    run_ids: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    rows: dict[str, int] = {}
    note: RunNote | None = None  # of a NoteJob that is done: what is said of the run now

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "refused")


def drop(folder: Path, job: Job | NoteJob) -> None:
    """Hand a job in; whoever owns the store finds it within a second."""
    private_folder(folder)
    _write(_job_path(folder, job.id), job)


def new_job_id(now: datetime) -> str:
    """Sorts by time, so that what came first is done first."""
    return new_run_id(now)


def status_of(folder: Path, job_id: str) -> Status:
    """How far a job is; one that nobody has looked at is waiting."""
    try:
        return Status.model_validate_json(_status_path(folder, job_id).read_bytes())
    except FileNotFoundError:
        return Status()


def forget(folder: Path, job_id: str) -> None:
    """Its outcome has been read."""
    _status_path(folder, job_id).unlink(missing_ok=True)


class Inbox:
    """Works off the jobs of a folder, one after the other; a thread looks for new ones."""

    def __init__(
        self,
        folder: Path,
        logs: LogImporter,
        results: ResultImporter,
        bundles: Callable[[Path, Report], tuple[tuple[str, ...], str]],
        notes: Callable[[NoteJob], tuple[RunNote, str]],
        refusals: tuple[type[Exception], ...] = (),
    ) -> None:
        """`refusals` are what `bundles`, `notes` and the store raise with a sentence for a person."""
        self._folder = folder
        self._logs = logs
        self._results = results
        self._bundles = bundles
        self._notes = notes
        self._refusals: tuple[type[Exception], ...] = (ImportRefusedError, NotRegularError, OSError, *refusals)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="inbox", daemon=True)

    def start(self) -> None:
        """Begin to look; returns at once."""
        self._thread.start()

    def close(self, timeout_s: float | None = None) -> None:
        """Take no further job; one that is being read goes on at the next start if it does not end in time."""
        self._closing.set()
        self._thread.join(timeout_s)

    def _run(self) -> None:
        while not self._closing.wait(LOOK_EVERY_S):
            for path in self._waiting():
                # In a thread of its own: an error of ours is reported with its trace and ends that job alone.
                one = threading.Thread(target=self._work, args=(path,), name="import", daemon=True)
                one.start()
                one.join()

    def _waiting(self) -> list[Path]:
        return sorted(self._folder.glob("*.job.json"))

    def _work(self, path: Path) -> None:
        status, job = Status(state="refused", text=_OURS), None
        try:
            job = _ANY_JOB.validate_json(path.read_bytes())
            status = self._done(job)
            if isinstance(job, Job) and job.is_upload:
                job.path.unlink(missing_ok=True)
        except ValidationError:
            status = Status(state="refused", text=f"{path.name} is no job of Pitwall's.")
        finally:
            if not self._closing.is_set() or status.state == "done":
                self._report_to_run(job, status)
                _write(_status_path(self._folder, _job_id(path)), status)
                path.unlink(missing_ok=True)

    def _report_to_run(self, job: Job | NoteJob | None, status: Status) -> None:
        """Nobody waits for what a tool that Pitwall ran left behind: where it is refused its run says so."""
        if isinstance(job, Job) and job.command and job.run and status.state == "refused":
            self._results.report_refused(job.run, job.path, job.shown_name, status.text)

    def _done(self, job: Job | NoteJob) -> Status:
        report = _Progress(_status_path(self._folder, job.id))
        report(0.0)
        try:
            if isinstance(job, NoteJob):
                note, text = self._notes(job)
                return Status(state="done", share=1.0, text=text, run_ids=(job.run,), note=note)
            outcome = self._take(job, report)
        except self._refusals as refusal:
            return Status(state="refused", text=_sentence(refusal))
        return Status(
            state="done", share=1.0, text=outcome.text, run_ids=outcome.run_ids, loads=outcome.loads,
            rows=dict(outcome.rows),
        )  # fmt: skip

    def _take(self, job: Job, report: Report) -> Outcome:
        wish = Wish(job.shown_name, job.name, job.zone, job.dated, job.run, job.command, job.is_cut, job.asked)
        if job.path.is_dir() or self._results.recognises(job.path, job.shown_name):
            return self._results.take(job.path, wish, report)
        if job.run:
            raise ImportRefusedError(
                f"{job.shown_name} is no result file that is known here: logs and bundles are runs of their own."
            )
        if is_bundle(job.path):
            return Outcome(*self._bundles(job.path, report))
        return self._logs.take(job.path, wish, report)


class _Progress:
    """Writes down how far a job is, now and then."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reported = -1.0

    def __call__(self, share: float) -> None:
        if share - self._reported >= REPORT_STEP:
            self._reported = share
            _write(self._path, Status(state="reading", share=share))


def _sentence(refusal: Exception) -> str:
    if isinstance(refusal, OSError) and refusal.strerror:
        return f"{Path(str(refusal.filename)).name if refusal.filename else 'The file'}: {refusal.strerror}."
    text = str(refusal)
    return text if text.endswith((".", "?")) else f"{text}."


def _job_path(folder: Path, job_id: str) -> Path:
    return folder / f"{job_id}.job.json"


def _status_path(folder: Path, job_id: str) -> Path:
    return folder / f"{job_id}.status.json"


def _job_id(path: Path) -> str:
    return path.name.removesuffix(".job.json")


def _write(path: Path, content: BaseModel) -> None:
    """Whole or not at all."""
    write_private(path, content.model_dump_json().encode())
