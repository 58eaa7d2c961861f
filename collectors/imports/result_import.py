"""Imports results of other tools as loads of an existing or a new run. A file is imported completely or not at all."""

from __future__ import annotations

import secrets
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from collectors.imports.log_file import ImportRefusedError, ReportProgress
from collectors.imports.log_import import ImportOptions, ImportResult
from collectors.imports.quoted_logs import (
    compares_excerpts,
    is_log,
    without_log_lines,
    without_quoted_logs,
    words_of_post,
    writes_lines,
)
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.folder import open_folder
from collectors.imports.results.looks import is_json
from collectors.imports.results.prose import document, records
from collectors.imports.results.prose.document import has_benchmark, has_figures
from collectors.imports.results.prose.llama_timings import has_timings, is_of_client
from collectors.imports.results.readers import RECORDS, TEXTS, reader_of, unknown_file_reason
from collectors.imports.results.source import CHUNK_BYTES, ResultFile
from collectors.imports.results.tool_readers import ResultReader
from collectors.imports.results.unread_lines import MAX_BYTES, unread_note
from collectors.imports.results.values import after
from commands.naming import RunBook, RunNaming
from domain import Config, JsonValue, Run, RunState, new_run_id, unknown_machine_id
from engines import ENGINES
from engines.base import Engine, first_match
from engines.recognition import OVERLAP_BYTES
from load_records import DRIVER_OPTIONS, LoadPhase, RequestRecord
from redaction import mask_json, mask_text
from samples import REFUSED, Batch, Event, Sample

KINDS = {
    "RequestRecord": "requests",
    "LoadPhase": "phases",
    "Result": "results",
    "SuiteCheck": "checks",
    "Accuracy": "accuracies",
    "AccuracyItem": "items",
}


ORIGINS = {document.TOOL: "its text states the numbers", records.TOOL: "its records state the numbers"}
CUT_SHORT_NOTE = "The tool was cancelled: what it had written completely by then was imported."
SINGULARS = {"accuracies": "accuracy"}  # irregular


class ResultStore(RunBook, Protocol):
    """Part of the store that a result import needs."""

    def run(self, run_id: str) -> Run | None: ...

    def runs_of_source(self, sha256: str) -> list[str]:
        """Return the ids of the runs with loads imported from the file of this hash (hex)."""
        ...

    def write(self, batch: Batch) -> Future[None]:
        """Queue samples, which are committed together; the future is done then."""
        ...

    def save_run_with(self, run: Run, batch: Batch) -> Future[None]:
        """Queue a run and its samples, which are committed together; the future is done then."""
        ...


class ResultInput(NamedTuple):
    """Hash and reader of a submitted file or folder."""

    sha256: str
    read: Callable[[Ticket], list[LoadBuilder]]


class ResultImporter:
    """Imports result files and folders into a store; several threads may at once."""

    def __init__(self, store: ResultStore, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock
        self._storing = threading.Lock()  # two imports of the same file at once store it once

    def recognises(self, path: Path, shown_name: str) -> bool:
        """Return whether a file is a tool's result; a log is not, even if it contains tables.

        A text that quotes logs between its own words is none, unless it compares short excerpts; a report that ends
        with a few lines of one is a result, and so is a post whose own words beside them state speeds. A text of lines
        alone, which names an engine, is one if they state speeds.
        """
        source = ResultFile(path, shown_name)
        reader = reader_of(source)
        if reader is RECORDS:  # an engine may log in JSON
            return not _is_log(source)
        if reader is not TEXTS:
            return reader is not None
        if has_benchmark(source.head) or has_benchmark(source.tail):
            return True  # the engine's own messages around it make no server's log of it
        if is_of_client(source.head) or (has_timings(source.head) and compares_excerpts(source.head)):
            return True
        words = without_quoted_logs(source.head)
        if words is not None:
            return TEXTS.recognise(words) and not is_log(words)
        reports = () if source.tail else (without_log_lines(source.head), words_of_post(source.head))
        if any(report and TEXTS.recognise(report) and has_figures(report) for report in reports):
            return True
        return not _is_log(source) and (has_figures(source.head) or _engine_of(source) is None)

    def import_results(self, path: Path, options: ImportOptions, report: ReportProgress) -> ImportResult:
        """Import the file's loads into a run. Raises ImportRefusedError, NotRegularError or OSError."""
        target_run = self._target_run(options)
        result_input = _result_input(path, options)
        if known_run_ids := self._store.runs_of_source(result_input.sha256):
            return self._known_result(known_run_ids, target_run, options)
        report(0.1)
        run_id = target_run.id if target_run else new_run_id(self._clock())
        file_date = options.file_date or datetime.fromtimestamp(path.stat().st_mtime, UTC)
        ticket = Ticket(
            run_id, secrets.token_hex(4), mask_text(options.shown_name), result_input.sha256, file_date, options.is_cut
        )
        loads = result_input.read(ticket)
        has_several_models = len({load.model for load in loads if load.model}) > 1
        for load in loads:
            load.params |= {"model": load.model} if has_several_models and load.model else {}
            load.command = shlex.split(mask_text(shlex.join(options.command))) if options.command else None
            load.params |= {DRIVER_OPTIONS: dict(options.tool_options)} if options.tool_options else {}
        report(0.6)
        with self._storing:
            if known_run_ids := self._store.runs_of_source(result_input.sha256):  # imported meanwhile
                return self._known_result(known_run_ids, target_run, options)
            run = target_run or self._new_run(run_id, loads, options)
            batch = Batch(tuple(self._samples(run, loads, options)))
            # The record of an existing run may change meanwhile and belongs to its supervisor.
            (self._store.write(batch) if target_run else self._store.save_run_with(run, batch)).result()
        rows = Counter(KINDS[type(row).__name__] for load in loads for row in load.rows)
        summary = _summary(run, options, loads, rows, is_new=target_run is None)
        return ImportResult((run.id,), summary, tuple(load.load_id for load in loads), dict(rows))

    def report_refused(self, run_id: str, path: Path, shown_name: str, reason: str) -> None:
        """Record on a run that its load's results were refused, the reason, and where the files are."""
        run = self._store.run(run_id)
        if run is None:
            return
        folder = Path(run.run_dir or path.parent)
        relative_path = path.relative_to(folder) if path.is_relative_to(folder) else Path(path.name)
        text = mask_text(f"{shown_name} were refused: {reason} The files are in the run's folder: {relative_path}.")
        self._store.write(Batch((Event(run_id, self._clock(), REFUSED, text),))).result()

    def _target_run(self, options: ImportOptions) -> Run | None:
        if options.run_id is None:
            return None
        run = self._store.run(options.run_id)
        if run is None:
            raise ImportRefusedError(f"There is no run {options.run_id}.")
        return run

    def _known_result(
        self, known_run_ids: Sequence[str], target_run: Run | None, options: ImportOptions
    ) -> ImportResult:
        if target_run and target_run.id not in known_run_ids:
            raise ImportRefusedError(f"{options.shown_name} was already imported into the run {known_run_ids[0]}.")
        return ImportResult(tuple(known_run_ids[:1]), f"{options.shown_name} was already imported; it has nothing new.")

    def _new_run(self, run_id: str, loads: Sequence[LoadBuilder], options: ImportOptions) -> Run:
        naming, first_load = RunNaming(self._store), loads[0]
        models = list(dict.fromkeys(load.model for load in loads if load.model))
        model = models[0] if len(models) == 1 else None  # of several, each load's parameters have its own
        config = Config(launcher="import", model=model and mask_text(model), **mask_json(_server_config(loads)))
        origin = ORIGINS.get(first_load.tool, f"measured by {first_load.definition}")
        requested_name = options.name or f"{first_load.tool}, {_short_model(config.model) or options.shown_name}"
        started_at, ended_at = _span(loads)
        url = next((load.base_url for load in loads if load.base_url), None)
        return Run(
            id=run_id, name=naming.choose_name(config, mask_text(requested_name)),
            color=naming.choose_color(config), kind="imported", state=RunState.FINISHED, config=config,
            machine_id=unknown_machine_id(run_id),
            created_at=self._clock(), started_at=started_at, ended_at=ended_at, base_url=url and mask_text(url),
            note=f"Imported from {mask_text(options.shown_name)}: {origin}. "
            "The server's log, counters, machine and command are unknown.",
        )  # fmt: skip

    def _samples(self, run: Run, loads: Sequence[LoadBuilder], options: ImportOptions) -> list[Sample]:
        notes = [note for load in loads for note in load.notes] + ([CUT_SHORT_NOTE] if options.is_cut else [])
        text = f"results of {loads[0].definition} imported from {mask_text(options.shown_name)}"
        event = Event(run.id, self._clock(), "workload", text, data={"notes": list(map(mask_text, notes))})
        return [row for load in loads for row in (load.load(), *load.rows)] + [event]


def _result_input(path: Path, options: ImportOptions) -> ResultInput:
    if path.is_dir():
        folder = open_folder(path, options.is_cut)
        return ResultInput(folder.sha256, lambda ticket: folder.read(folder.files, ticket))
    source = ResultFile(path, options.shown_name, options.is_cut)
    reader = reader_of(source)
    if reader is None:
        raise ImportRefusedError(f"This is no known result file. {unknown_file_reason(source)}")
    return ResultInput(source.sha256, lambda ticket: _read_file(reader, source, ticket))


def _read_file(reader: ResultReader, source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the loads of a file; the first has a note on the lines of a text that were not read."""
    loads = reader.read(source, ticket)
    text = "" if is_json(source) else source.beginning(MAX_BYTES + 1)
    note = unread_note(text, loads) if len(text) <= MAX_BYTES else None
    loads[0].notes += [note] if note else []
    return loads


def _engine_of(source: ResultFile) -> Engine | None:
    """Return the first engine that a line names, whether or not it wrote the text."""
    tail = b""
    with source.open() as file:
        while data := file.read(CHUNK_BYTES):
            if engine := first_match(ENGINES, (tail + data).decode("utf-8", "replace")):
                return engine
            tail = data[-OVERLAP_BYTES:]
    return None


def _is_log(source: ResultFile) -> bool:
    """Return whether an engine wrote a line of it: one with a time or a sample. Quoted log lines have no time."""
    engine = _engine_of(source)
    with source.open() as file:
        return writes_lines(engine, iter(lambda: file.read(CHUNK_BYTES), b""))


def _short_model(model: str | None) -> str | None:
    """Return the file name of a model that is a path; a repository's name stays as it is."""
    return model.rsplit("/", 1)[-1] if model and model.startswith(("/", ".", "~")) else model


def _server_config(loads: Sequence[LoadBuilder]) -> dict[str, JsonValue]:
    """Return the settings of the server on which all loads of a file agree."""
    configs = [load.server_config | _engine_config(load) for load in loads]
    return {name: value for name, value in configs[0].items() if all(config.get(name) == value for config in configs)}


def _engine_config(load: LoadBuilder) -> dict[str, JsonValue]:
    """Return the engine that a load's tool alone measures, or that its parameters name ('vLLM 0.11.0')."""
    title, _, version = str(load.params.get("engine") or "").partition(" ")
    of_tool = next((engine for engine in ENGINES if load.tool in engine.own_benchmarks), None)
    engine = of_tool or next((engine for engine in ENGINES if engine.title == title), None)
    if engine is None:
        return {}
    return {"engine": engine.name} | ({"engine_version": version} if version and engine.title == title else {})


def _span(loads: Sequence[LoadBuilder]) -> tuple[datetime, datetime]:
    """Return the first start and the last end of the loads."""
    started_at = min(load.ts for load in loads)
    ends = [load.ts for load in loads]
    for row in (row for load in loads for row in load.rows):
        if isinstance(row, LoadPhase):
            ends.append(row.ts)
        elif isinstance(row, RequestRecord):
            ends.append(after(row.sent_at, 1e-3 * (row.total_ms or 0.0)))
    return started_at, max(ends)


def _summary(run: Run, options: ImportOptions, loads: Sequence[LoadBuilder], rows: Counter[str], is_new: bool) -> str:
    counts = ", ".join(
        f"{count:,} {SINGULARS.get(kind, kind[:-1]) if count == 1 else kind}" for kind, count in rows.items()
    )
    tools = ", ".join(dict.fromkeys(load.definition for load in loads))
    target = f"the new run {run.name} ({run.id})" if is_new else f"{run.name} ({run.id})"
    notes = " ".join(dict.fromkeys(note for load in loads for note in load.notes[:5]))
    return f"{options.shown_name}: {counts} of {tools} imported into {target}.{f' {notes}' if notes else ''}"
