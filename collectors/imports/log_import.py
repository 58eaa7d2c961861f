"""Imports a log as a run: copies it, recognises its engine, and reads it with the reader of live logs."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from collectors.base import Clock
from collectors.imports.log_file import ImportRefusedError, ReportProgress, append_new, is_same_log, unpack
from collectors.imports.log_recognition import recognise_log
from collectors.imports.pasted_command import read_command_above
from collectors.imports.quoted_logs import without_records
from collectors.imports.results.prose.document import has_figures
from collectors.imports.results.readers import unknown_file_reason
from collectors.imports.results.source import ResultFile
from collectors.imports.results.unread_lines import unread_note
from collectors.imports.timestamps import ImportTimes, TimePlan, ends_of, plan_times
from collectors.logs.failure_cause import first_cause
from collectors.logs.log_collector import LogReader
from collectors.logs.tail import CHUNK_BYTES
from collectors.logs.tail_collector import FollowCollector, PositionedSample
from collectors.value_limits import without_impossible
from commands.naming import RunBook, RunNaming
from commands.secrets import take_secrets
from domain import STARTUP_FACTS, Config, JsonValue, Run, RunState, new_run_id, unknown_machine_id
from engines import ENGINES
from engines.base import Engine, LogGrammar, ParsedLine
from engines.line_filter import LineFilter
from engines.lines import LineSplitter
from engines.recognition import unread_reason
from engines.wrapped_records import join_open_record, may_go_on
from machine.private_files import make_private, private_folder
from redaction import mask_text
from samples import Batch, Event, LogSample, TailPosition

POLL_S = 0.1
_MOST_ARGUMENT_BYTES = 1 << 16  # of one record with arguments
AT_REST = timedelta(seconds=10)  # the last line of a file that is unchanged for this long is complete, even without LF
PLAN_NAME = "import.json"
MOST_BYTES_OF_POST = 1 << 16  # a log may be as short as a text that shows some lines of one
DRAFT_PREFIX = ".import-"  # of the folder of a draft, next to the runs
UNPACKING, RECOGNISING = 0.2, 0.2  # approximate shares of the work
UNKNOWABLE = (
    "From its log alone: no steps per second, no time to first token, no GPU or host samples, no Pitwall load; "
    "the machine and the exit code are unknown."
)


class ImportStore(RunBook, Protocol):
    """Part of the store that a log import needs."""

    def run(self, run_id: str) -> Run | None: ...

    def log_paths(self) -> Mapping[str, str]:
        """Return the log paths by run id, newest run first."""
        ...

    def save_run(self, run: Run) -> Any:
        """Store the run after everything written before; durable when it returns."""
        ...

    def write(self, batch: Batch) -> Future[None]:
        """Queue samples and positions, which are committed together; the future is done then."""
        ...

    def tail_position(self, run_id: str, path: str) -> TailPosition | None:
        """Return the position in the file up to which its samples are committed."""
        ...


class ImportOptions(NamedTuple):
    """The user's settings for an import; None: derived from the file."""

    shown_name: str  # of the file
    name: str | None = None  # of the run
    zone: str | None = None
    file_date: datetime | None = None  # of the last change, if the file on the disk is only a copy
    run_id: str | None = None  # of the run that results belong to; None: a new one
    command: tuple[str, ...] | None = None  # that wrote the results, if Pitwall ran it
    is_cut: bool = False  # the tool was stopped before it finished
    tool_options: Mapping[str, JsonValue] | None = None  # that the user set for the tool
    is_resumed: bool = False  # another process began this import and ended


class ImportResult(NamedTuple):
    """Runs that a file became, and one sentence about the import."""

    run_ids: tuple[str, ...]
    text: str
    loads: tuple[str, ...] = ()  # ids of the imported loads
    row_counts: Mapping[str, int] = {}  # by kind


class LogImporter:
    """Imports logs into a store; several threads may at once."""

    def __init__(self, store: ImportStore, runs_dir: Path, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._runs_dir = runs_dir
        self._clock = clock
        self._naming = threading.Lock()  # two imports at once choose no equal names, and create a log's run once
        self._taking = threading.Lock()
        self._read_run_ids = set[str]()  # whose logs are read now, each by one import

    def delete_leftovers(self) -> None:
        """Delete the drafts of imports that were killed; only for the process that owns the store."""
        for folder in self._runs_dir.glob(f"{DRAFT_PREFIX}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def import_log(self, source: Path, options: ImportOptions, report: ReportProgress) -> ImportResult:
        """Import a log as a new run, or continue the known run of this log where it ended.

        Raises ImportRefusedError or OSError; the next try continues what was imported by then.
        """
        file_date = options.file_date or datetime.fromtimestamp(source.stat().st_mtime, UTC)
        is_whole = options.file_date is not None or self._clock() - file_date > AT_REST
        private_folder(self._runs_dir)
        with ExitStack() as reading:
            with tempfile.TemporaryDirectory(prefix=DRAFT_PREFIX, dir=self._runs_dir) as folder:
                draft = Path(folder) / "server.log"
                if unpack(source, draft, lambda share: report(UNPACKING * share)) == 0:
                    raise ImportRefusedError(f"{options.shown_name} is empty.")
                run, is_new = self._run_of(draft, options, file_date, report, reading)
                if run.kind != "imported":
                    text = f"{options.shown_name} is the log of {run.name}, which Pitwall recorded live."
                    return ImportResult((run.id,), text)
                gained_bytes = _log_of(run).stat().st_size if is_new else append_new(_log_of(run), draft)
            earlier_share = UNPACKING + RECOGNISING
            count = self._read(run, is_whole, lambda share: report(earlier_share + (1 - earlier_share) * share))
        what_was_read = _what_was_read(_log_of(run), count) if is_new else ""
        return ImportResult((run.id,), f"{_result_text(run, options, gained_bytes, is_new)}{what_was_read}")

    def _run_of(
        self, draft: Path, options: ImportOptions, file_date: datetime, report: ReportProgress, reading: ExitStack
    ) -> tuple[Run, bool]:
        """Return the run of this log and whether it is new; until `reading` is closed, no other import reads it."""
        run = self._find_run(draft)
        new_run = None if run else self._new_run(draft, options, file_date, report, reading)
        run = run or new_run or self._find_run(draft)  # another import of the same log may have begun meanwhile
        assert run is not None
        if new_run or run.kind != "imported":
            return run, new_run is not None
        while not self._try_to_read_alone(run.id, reading):
            report(UNPACKING)
            time.sleep(POLL_S)
        return self._store.run(run.id) or run, False

    def _try_to_read_alone(self, run_id: str, reading: ExitStack) -> bool:
        with self._taking:
            if run_id in self._read_run_ids:
                return False
            self._read_run_ids.add(run_id)
        reading.callback(self._read_run_ids.discard, run_id)
        return True

    def _find_run(self, draft: Path) -> Run | None:
        """Return the newest run whose log is a prefix of this one, or of which this one is a prefix."""
        logs = self._store.log_paths().items()
        run_id = next((run_id for run_id, path in logs if is_same_log(Path(path), draft)), None)
        return self._store.run(run_id) if run_id else None

    def _new_run(
        self, draft: Path, options: ImportOptions, file_date: datetime, report: ReportProgress, reading: ExitStack
    ) -> Run | None:
        """Create a new run with its log in place; its state is final so that no supervisor adopts it.

        None if the run of this log was created meanwhile. It is read alone until `reading` is closed.
        """
        engine = _engine_of(draft, options, lambda share: report(UNPACKING + RECOGNISING * share))
        config = read_config(draft, engine)
        plan = plan_times(draft, file_date, options.zone)
        requested_name = options.name or (None if config.model else f"{engine.title}, {options.shown_name}")
        run_id = new_run_id(self._clock())
        with self._naming:
            if self._find_run(draft):
                return None
            self._try_to_read_alone(run_id, reading)
            return self._save_new_run(run_id, draft, config, plan, requested_name, options.shown_name)

    def _save_new_run(
        self, run_id: str, draft: Path, config: Config, plan: TimePlan, requested_name: str | None, shown_name: str
    ) -> Run:
        naming, now = RunNaming(self._store), self._clock()
        log_path = self._runs_dir / run_id / draft.name
        run = Run(
            id=run_id,
            name=naming.choose_name(config, requested_name),
            color=naming.choose_color(config),
            kind="imported",
            state=RunState.FINISHED,
            config=config,
            machine_id=unknown_machine_id(run_id),
            log_path=str(log_path),
            created_at=now,
            started_at=plan.began_at,
            note=f"Imported from {shown_name}. {plan.words} {UNKNOWABLE}",
        )
        private_folder(log_path.parent)
        (log_path.parent / PLAN_NAME).write_text(plan.model_dump_json())
        make_private(draft)
        draft.rename(log_path)
        self._store.save_run(run)
        return run

    def _read(self, run: Run, is_whole: bool, report: ReportProgress) -> int:
        """Store what the store lacks of the run's log, then the run as the log describes it.

        Returns the number of its statistics.
        """
        log = _log_of(run)
        plan = TimePlan.model_validate_json((log.parent / PLAN_NAME).read_bytes())
        grammar = next(engine.log for engine in ENGINES if engine.name == run.config.engine)
        assert grammar is not None
        reader, size = RunLogReader(grammar, plan), log.stat().st_size
        ticks = itertools.count(0.0, 60.0)  # the passing time makes the reader release what it holds back
        clock = Clock(lambda: plan.file_date, lambda: next(ticks))
        follower = FollowCollector("import", _log_of, lambda run: reader, self._store.tail_position, clock)
        commits, count = [], 0
        for number, batch in enumerate(follower.finish(run) if is_whole else follower.collect(run), 1):
            if batch.samples or batch.positions:
                commits.append(self._store.write(without_impossible(batch)[0]))
            count += sum(isinstance(sample, LogSample) for sample in batch.samples)
            report(min(number * CHUNK_BYTES / size, 1.0))
        follower.forget(run.id)
        for future in commits:
            future.result()
        self._store.save_run(reader.complete(run, ends_of(log).last))
        event = Event(run.id, self._clock(), "collector", f"imported from its log, {size:,} bytes so far", data={})
        self._store.write(Batch((event,))).result()
        return count


class RunLogReader(LogReader):
    """Log reader that also collects what the record of its run needs."""

    def __init__(self, grammar: LogGrammar, plan: TimePlan) -> None:
        self._began_at = plan.began_at
        self._times = ImportTimes(plan)
        super().__init__(grammar, self._times)
        self._ready_at: datetime | None = None
        self._failures: dict[str, str | None] = {}
        self._facts: list[tuple[str, JsonValue]] = []

    def feed(self, data: bytes, run: Run, now: datetime) -> Iterable[PositionedSample]:
        """Read as LogReader, and note when the server became ready, its startup facts and its failures."""
        return self._note_events(super().feed(data, run, now))

    def close(self, run: Run, now: datetime) -> Iterable[PositionedSample]:
        """Close as LogReader, noting the same."""
        return self._note_events(super().close(run, now))

    def _note_events(self, samples: Iterable[PositionedSample]) -> Iterable[PositionedSample]:
        for _, sample in samples:
            if isinstance(sample, Event) and sample.data.get("mark") == "ready":
                self._ready_at = self._ready_at or sample.ts
            elif isinstance(sample, Event) and sample.kind == "failure":
                self._failures.setdefault(sample.text, sample.data["evidence"])
            elif isinstance(sample, Event) and sample.kind == "startup" and sample.data["key"] in STARTUP_FACTS:
                self._facts.append((sample.data["key"], sample.data["value"]))
        return samples

    def complete(self, run: Run, last: ParsedLine | None) -> Run:
        """Return the run as the log describes it so far; it ends with the last line that has a time."""
        reading = self.reading()
        if last:
            self._times(last.stamp, last.elapsed_s, run, self._began_at)
        for key, value in self._facts:
            run = run.with_fact(key, value)
        cause, line = first_cause(reading.errors, self._failures) or (None, None)
        return run.model_copy(
            update={
                "state": RunState.FAILED if cause else RunState.FINISHED,
                "config": run.config.model_copy(
                    update={"engine_version": reading.version or run.config.engine_version}
                ),
                "ready_at": self._ready(reading.startup.get("time_to_ready_s")),
                "ended_at": self._times.last or run.started_at,
                "cause": mask_text(cause) if cause else None,
                "cause_line": mask_text(line) if line else None,
            }
        )

    def _ready(self, after_s: float | None) -> datetime | None:
        """Return the ready time from the log's own count, else from its line; None if no line has a time."""
        if after_s is not None:
            return self._began_at + timedelta(seconds=after_s)
        return self._ready_at if self._times.last else None


def read_config(log: Path, engine: Engine) -> Config:
    """Return the config that the log states, else that of a command above it; literal secrets are masked."""
    stated_config = _read_stated_config(log, engine)
    command = read_command_above(log, engine)
    if command is None:
        return stated_config
    fields = {name: value for name, value in stated_config if value not in (None, {}, [], ())}
    return command.model_copy(update={**fields, "argv": ()})


def _read_stated_config(log: Path, engine: Engine) -> Config:
    if engine.arguments is None or engine.commands is None:
        return Config(engine=engine.name, launcher="import")
    splitter = LineSplitter(LineFilter(engine.arguments.NEEDLES))
    with log.open("rb") as file:
        lines = [line for data in iter(lambda: file.read(CHUNK_BYTES), b"") for line in splitter.feed(data)]
        lines += splitter.close()
        ends = dict(itertools.pairwise(sorted({line.offset for line in lines})))
        texts = [_whole_text(line, file, ends.get(line.offset)) for line in lines]
    reading = engine.commands.read_command(engine.arguments.read_arguments(texts), {})
    flags = reading.unknown_flags
    return take_secrets(Config(engine=engine.name, launcher="import", unknown_flags=flags, **reading.fields))[0]


def _whole_text(line: ParsedLine, file: BinaryIO, end: int | None) -> str:
    """Return the line's text, with the lines of `file` before the offset `end` if a terminal wrapped it."""
    if not may_go_on(line.text):
        return line.text
    file.seek(line.offset)
    splitter = LineSplitter()
    data = file.read(_MOST_ARGUMENT_BYTES if end is None else min(_MOST_ARGUMENT_BYTES, end - line.offset))
    lines = itertools.chain(splitter.feed(data), splitter.close())  # most records end long before the data
    return join_open_record(itertools.dropwhile(lambda other: other.text != line.text, lines)) or line.text


def _engine_of(log: Path, options: ImportOptions, report: ReportProgress) -> Engine:
    writer = recognise_log(log, report)
    if writer.router is not None:
        raise ImportRefusedError(
            f"{options.shown_name} is the log of a router ({writer.router.title}), which runs no model: "
            "import the logs of the servers behind it."
        )
    if writer.engine is None:
        reason = unread_reason(writer, options.shown_name, log.stat().st_size, ENGINES)
        raise ImportRefusedError(
            reason if writer.other else f"{reason} {unknown_file_reason(ResultFile(log, options.shown_name))}"
        )
    return writer.engine


def _log_of(run: Run) -> Path:
    assert run.log_path
    return Path(run.log_path)


def _what_was_read(log: Path, count: int) -> str:
    """Return sentences on the statistics of a log, and on the speeds and times that a short text states beside them."""
    statistics = f" It has {count:,} {'line' if count == 1 else 'lines'} of statistics." if count else ""
    if log.stat().st_size > MOST_BYTES_OF_POST:
        return statistics
    words = without_records(log.read_text("utf-8", "replace"))
    note = unread_note(words, []) if has_figures(words) else None
    return f"{statistics} It was read as a log, its other lines were not. {note}" if note else statistics


def _result_text(run: Run, options: ImportOptions, gained_bytes: int, is_new: bool) -> str:
    if is_new or (options.is_resumed and gained_bytes == 0):
        return f"{options.shown_name} was imported as the run {run.name} ({run.id})."
    if gained_bytes == 0:
        return f"{options.shown_name} was already imported as the run {run.name} ({run.id}); it has nothing new."
    return f"{options.shown_name} was imported into the run {run.name} ({run.id}), continued by {gained_bytes:,} bytes."
