"""Imports a log as a run: it is copied, its engine is recognised, and the reader of live logs reads it."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from collectors.base import Clock
from collectors.imports.log_file import ImportRefusedError, Report, append_rest, is_same_log, unpack
from collectors.imports.timestamps import ImportTimes, TimePlan, ends_of, plan_times
from collectors.logs.failure_cause import first_cause
from collectors.logs.log_collector import LogReader
from collectors.logs.tail import CHUNK_BYTES
from collectors.logs.tail_collector import FollowCollector, Placed
from collectors.plausible import without_impossible
from commands.naming import KnownRuns, RunBook
from commands.secrets import take_secrets
from domain import TOLD_FACTS, Config, JsonValue, Run, RunState, new_run_id
from engines import ENGINES
from engines.base import Engine, Line, LogGrammar
from engines.line_filter import LineFilter
from engines.lines import LineSplitter
from engines.parse import recognise
from machine.private_files import make_private, private_folder
from redaction import mask_text
from samples import Batch, Event, TailPosition

AT_REST = timedelta(seconds=10)  # a file unchanged for so long has its last line whole, with LF or without
PLAN_NAME = "import.json"
UNPACKING = 0.3  # of the work, about
UNKNOWABLE = (
    "Known by its log alone: no steps per second, no time to first token, no GPU or host, no workload of ours; "
    "the machine and the exit code are not known."
)


class RunStore(RunBook, Protocol):
    """What an import needs of the store."""

    def run(self, run_id: str) -> Run | None: ...

    def log_paths(self) -> Mapping[str, str]:
        """Where the logs of runs are, by the run's id, the newest run first."""
        ...

    def save_run(self, run: Run) -> Any:
        """Store the run after all that was written before; durable when it returns."""
        ...

    def write(self, batch: Batch) -> Future[None]:
        """Queue samples and positions, which are committed together; the future is done then."""
        ...

    def tail_position(self, run_id: str, path: str) -> TailPosition | None:
        """How far the file had been taken in when its last samples were committed."""
        ...


class Wish(NamedTuple):
    """What a person says of a file; None leaves it to the file."""

    shown_name: str  # the file's own
    name: str | None = None  # of the run
    zone: str | None = None
    dated: datetime | None = None  # of the last change, where the file on the disk is only a copy
    run: str | None = None  # the id of the run that results belong to; None: a new one
    command: tuple[str, ...] | None = None  # that wrote the results, where Pitwall ran it
    is_cut: bool = False  # it was ended before it was through
    asked: Mapping[str, JsonValue] | None = None  # what a person set of that tool


class Outcome(NamedTuple):
    """Which runs a file became, and what was done in one sentence."""

    run_ids: tuple[str, ...]
    text: str
    loads: tuple[str, ...] = ()  # ids of the loads that results became
    rows: Mapping[str, int] = {}  # how many of each kind


class LogImporter:
    """Takes logs into a store, one at a time."""

    def __init__(self, store: RunStore, runs_dir: Path, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._runs_dir = runs_dir
        self._clock = clock

    def take(self, source: Path, wish: Wish, report: Report) -> Outcome:
        """The run that this log is: a new one, or the known one, continued where it ended.

        Raises ImportRefusedError or OSError; whatever had been taken in by then is continued by the next try.
        """
        file_date = wish.dated or datetime.fromtimestamp(source.stat().st_mtime, UTC)
        is_whole = wish.dated is not None or self._clock() - file_date > AT_REST
        private_folder(self._runs_dir)
        with tempfile.TemporaryDirectory(prefix=".import-", dir=self._runs_dir) as folder:
            draft = Path(folder) / "server.log"
            if unpack(source, draft, lambda share: report(UNPACKING * share)) == 0:
                raise ImportRefusedError(f"{wish.shown_name} is empty.")
            known = self._run_of(draft)
            if known and known.kind != "imported":
                return Outcome((known.id,), f"{wish.shown_name} is the log of {known.name}, which Pitwall has watched.")
            run = known or self._new_run(draft, wish, file_date)
            gained = append_rest(_log_of(run), draft) if known else _log_of(run).stat().st_size
        self._read(run, is_whole, lambda share: report(UNPACKING + (1 - UNPACKING) * share))
        return Outcome((run.id,), _outcome_words(run, wish, gained, is_new=known is None))

    def _run_of(self, draft: Path) -> Run | None:
        """The newest run whose log begins with this one, or that begins with its log."""
        logs = self._store.log_paths().items()
        run_id = next((run_id for run_id, path in logs if is_same_log(Path(path), draft)), None)
        return self._store.run(run_id) if run_id else None

    def _new_run(self, draft: Path, wish: Wish, file_date: datetime) -> Run:
        """The record of a new run with its log in place; it says it is over, for nobody may adopt it."""
        engine = _engine_of(draft, wish)
        config = read_config(draft, engine)
        plan = plan_times(draft, file_date, wish.zone)
        known, now = KnownRuns(self._store), self._clock()
        run_id = new_run_id(now)
        log_path = self._runs_dir / run_id / draft.name
        wanted = wish.name or (None if config.model else f"{engine.title}, {wish.shown_name}")
        run = Run(
            id=run_id,
            name=known.choose_name(config, wanted),
            color=known.choose_color(),
            kind="imported",
            state=RunState.FINISHED,
            config=config,
            machine_id=f"unknown-{run_id}",  # two unknown machines are not the same one
            log_path=str(log_path),
            created_at=now,
            started_at=plan.began_at,
            note=f"Imported from {wish.shown_name}. {plan.words} {UNKNOWABLE}",
        )
        private_folder(log_path.parent)
        (log_path.parent / PLAN_NAME).write_text(plan.model_dump_json())
        make_private(draft)
        draft.rename(log_path)
        self._store.save_run(run)
        return run

    def _read(self, run: Run, is_whole: bool, report: Report) -> None:
        """Everything the store does not have yet of the run's log, then the run as the log describes it."""
        log = _log_of(run)
        plan = TimePlan.model_validate_json((log.parent / PLAN_NAME).read_bytes())
        grammar = next(engine.log for engine in ENGINES if engine.name == run.config.engine)
        assert grammar is not None
        witness, size = Witness(grammar, plan), log.stat().st_size
        ticks = itertools.count(0.0, 60.0)  # a log at rest has been silent: what waits for a next line is given out
        clock = Clock(lambda: plan.file_date, lambda: next(ticks))
        follower = FollowCollector("import", _log_of, lambda run: witness, self._store.tail_position, clock)
        stored = []
        for number, batch in enumerate(follower.finish(run) if is_whole else follower.collect(run), 1):
            if batch.samples or batch.positions:
                stored.append(self._store.write(without_impossible(batch)[0]))
            report(min(number * CHUNK_BYTES / size, 1.0))
        follower.forget(run.id)
        for future in stored:
            future.result()
        self._store.save_run(witness.complete(run, ends_of(log).last))
        event = Event(run.id, self._clock(), "collector", f"imported from its log, {size:,} bytes so far", data={})
        self._store.write(Batch((event,))).result()


class Witness(LogReader):
    """A log's reader that also sees what the record of its run must say."""

    def __init__(self, grammar: LogGrammar, plan: TimePlan) -> None:
        self._began_at = plan.began_at
        self._times = ImportTimes(plan)
        super().__init__(grammar, self._times)
        self._ready_at: datetime | None = None
        self._failures: dict[str, str | None] = {}
        self._facts: list[tuple[str, JsonValue]] = []

    def feed(self, data: bytes, run: Run, now: datetime) -> Iterable[Placed]:
        """As the log's reader, noting when the server became ready, what it stated and why it failed."""
        return self._seen(super().feed(data, run, now))

    def close(self, run: Run, now: datetime) -> Iterable[Placed]:
        """What the last line says and what was held, noted in the same way."""
        return self._seen(super().close(run, now))

    def _seen(self, placed: Iterable[Placed]) -> Iterable[Placed]:
        for _, sample in placed:
            if isinstance(sample, Event) and sample.data.get("mark") == "ready":
                self._ready_at = self._ready_at or sample.ts
            elif isinstance(sample, Event) and sample.kind == "failure":
                self._failures.setdefault(sample.text, sample.data["evidence"])
            elif isinstance(sample, Event) and sample.kind == "startup" and sample.data["key"] in TOLD_FACTS:
                self._facts.append((sample.data["key"], sample.data["value"]))
        return placed

    def complete(self, run: Run, last: Line | None) -> Run:
        """The run as the log has described it so far; it ends with the last line that says a time."""
        reading = self.reading()
        if last:
            self._times(last.stamp, last.elapsed_s, run, self._began_at)
        for key, value in self._facts:
            run = run.with_fact(key, value)
        cause, line = first_cause(reading.errors, self._failures) or (None, None)
        return run.model_copy(
            update={
                "state": RunState.FAILED if cause else RunState.FINISHED,
                "config": run.config.model_copy(update={"engine_version": reading.version}),
                "ready_at": self._ready(reading.startup.get("time_to_ready_s")),
                "ended_at": self._times.last or run.started_at,
                "cause": mask_text(cause) if cause else None,
                "cause_line": mask_text(line) if line else None,
            }
        )

    def _ready(self, after_s: float | None) -> datetime | None:
        """As the log counts it, else when its line was written; unknown where no line says a time."""
        if after_s is not None:
            return self._began_at + timedelta(seconds=after_s)
        return self._ready_at if self._times.last else None


def read_config(log: Path, engine: Engine) -> Config:
    """The config that a log's own lines state; literal secrets are masked."""
    if engine.arguments is None or engine.commands is None:
        return Config(engine=engine.name, launcher="import")
    splitter = LineSplitter(LineFilter(engine.arguments.NEEDLES))
    with log.open("rb") as file:
        texts = [line.text for data in iter(lambda: file.read(CHUNK_BYTES), b"") for line in splitter.feed(data)]
    texts += [line.text for line in splitter.close()]
    reading = engine.commands.read_command(engine.arguments.read_arguments(texts), {})
    flags = reading.unknown_flags
    return take_secrets(Config(engine=engine.name, launcher="import", unknown_flags=flags, **reading.fields))[0]


def _engine_of(log: Path, wish: Wish) -> Engine:
    with log.open("rb") as file:
        engine = recognise(file, ENGINES)
        file.seek(0)
        parser = engine.log.log_parser() if engine and engine.log else None
        chunks = iter(lambda: file.read(CHUNK_BYTES), b"")
        says_anything = parser and (any(parser.feed(data) for data in chunks) or parser.close())
    if engine is None or not says_anything:  # the name of an engine alone makes no log
        titles = ", ".join(engine.title for engine in ENGINES)
        raise ImportRefusedError(f"{wish.shown_name} holds no line that only a known engine writes ({titles}).")
    return engine


def _log_of(run: Run) -> Path:
    assert run.log_path
    return Path(run.log_path)


def _outcome_words(run: Run, wish: Wish, gained: int, is_new: bool) -> str:
    if is_new:
        return f"{wish.shown_name} is the run {run.name} ({run.id})."
    if gained == 0:
        return f"{wish.shown_name} is known as the run {run.name} ({run.id}); nothing in it is new."
    return f"{wish.shown_name} is the run {run.name} ({run.id}), continued by {gained:,} bytes."
