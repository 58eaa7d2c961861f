"""Imports results of other tools as loads of an existing or a new run. A file is imported whole or not at all."""

from __future__ import annotations

import secrets
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from collectors.imports.log_file import ImportRefusedError, Report
from collectors.imports.log_import import Outcome, Wish
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.folder import look_into
from collectors.imports.results.readers import TEXTS, reader_of
from collectors.imports.results.source import CHUNK_BYTES, Source
from collectors.imports.results.values import after
from commands.naming import KnownRuns, RunBook
from domain import Config, Run, RunState, new_run_id
from engines import ENGINES
from engines.base import ParsedSample
from engines.parse import recognise
from load_records import DRIVEN, LoadPhase, RequestRecord
from redaction import mask_text
from samples import REFUSED, Batch, Event, Sample

KINDS = {
    "RequestRecord": "requests",
    "LoadPhase": "phases",
    "Result": "results",
    "Check": "checks",
    "Accuracy": "accuracies",
    "AccuracyItem": "items",
}


CUT = "The tool was cancelled: what it had written whole until then was taken in."
ONE = {"accuracies": "accuracy"}  # what is not called by its plural less an s


class ResultStore(RunBook, Protocol):
    """What an import needs of the store."""

    def run(self, run_id: str) -> Run | None: ...

    def runs_of_source(self, sha256: str) -> list[str]:
        """The ids of the runs whose loads were imported from the file of this hash, in hex."""
        ...

    def write(self, batch: Batch) -> Future[None]:
        """Queue samples, which are committed together; the future is done then."""
        ...

    def save_run_with(self, run: Run, batch: Batch) -> Future[None]:
        """Queue a run and its samples, which are committed together; the future is done then."""
        ...


class Given(NamedTuple):
    """What was handed in, and how it is read."""

    sha256: str
    read: Callable[[Ticket], list[LoadBuilder]]


class ResultImporter:
    """Takes result files, and folders of them, into a store, one at a time."""

    def __init__(self, store: ResultStore, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock

    def recognises(self, path: Path, shown_name: str) -> bool:
        """Whether a file is one of a tool's; a log is none, whatever tables it holds."""
        source = Source(path, shown_name)
        reader = reader_of(source)
        return reader is not None and (reader is not TEXTS or not _is_log(source))

    def take(self, path: Path, wish: Wish, report: Report) -> Outcome:
        """The run that the file's loads came to belong to. Raises ImportRefusedError, NotRegularError or OSError."""
        onto = self._wanted_run(wish)
        given = _given(path, wish)
        if known := self._store.runs_of_source(given.sha256):
            return self._known(known, onto, wish)
        report(0.1)
        run_id = onto.id if onto else new_run_id(self._clock())
        dated = wish.dated or datetime.fromtimestamp(path.stat().st_mtime, UTC)
        ticket = Ticket(run_id, secrets.token_hex(4), mask_text(wish.shown_name), given.sha256, dated, wish.is_cut)
        loads = given.read(ticket)
        for load in loads:
            load.command = shlex.split(mask_text(shlex.join(wish.command))) if wish.command else None
            load.params |= {DRIVEN: dict(wish.asked)} if wish.asked else {}
        report(0.6)
        run = onto or self._new_run(run_id, loads, wish)
        batch = Batch(tuple(self._samples(run, loads, wish)))
        # The record of a run that is known may change meanwhile, and is its owner's.
        (self._store.write(batch) if onto else self._store.save_run_with(run, batch)).result()
        rows = Counter(KINDS[type(row).__name__] for load in loads for row in load.rows)
        words = _words(run, wish, loads, rows, is_new=onto is None)
        return Outcome((run.id,), words, tuple(load.load_id for load in loads), dict(rows))

    def report_refused(self, run_id: str, path: Path, shown_name: str, why: str) -> None:
        """Say on a run that the results of its load were not taken in, why, and where the files lie."""
        run = self._store.run(run_id)
        if run is None:
            return
        folder = Path(run.run_dir or path.parent)
        place = path.relative_to(folder) if path.is_relative_to(folder) else Path(path.name)
        said = mask_text(f"{shown_name} were refused: {why} They lie in the run's folder as {place}.")
        self._store.write(Batch((Event(run_id, self._clock(), REFUSED, said),))).result()

    def _wanted_run(self, wish: Wish) -> Run | None:
        if wish.run is None:
            return None
        run = self._store.run(wish.run)
        if run is None:
            raise ImportRefusedError(f"There is no run {wish.run}.")
        return run

    def _known(self, known: Sequence[str], onto: Run | None, wish: Wish) -> Outcome:
        if onto and onto.id not in known:
            raise ImportRefusedError(f"{wish.shown_name} was imported before, onto the run {known[0]}.")
        return Outcome(tuple(known[:1]), f"{wish.shown_name} is known: nothing in it is new.")

    def _new_run(self, run_id: str, loads: Sequence[LoadBuilder], wish: Wish) -> Run:
        known, first = KnownRuns(self._store), loads[0]
        model = next((load.model for load in loads if load.model), None)
        config = Config(launcher="import", model=model and mask_text(model))
        wanted = wish.name or f"{first.tool}, {config.model or wish.shown_name}"
        began, ended = _span(loads)
        url = next((load.base_url for load in loads if load.base_url), None)
        return Run(
            id=run_id, name=known.choose_name(config, mask_text(wanted)),
            color=known.choose_color(), kind="imported", state=RunState.FINISHED, config=config,
            machine_id=f"unknown-{run_id}",  # two unknown machines are not the same one
            created_at=self._clock(), started_at=began, ended_at=ended, base_url=url and mask_text(url),
            note=f"Imported from {mask_text(wish.shown_name)}: what {first.definition} measured. "
            "The server's log and counters, its machine and its command are not known.",
        )  # fmt: skip

    def _samples(self, run: Run, loads: Sequence[LoadBuilder], wish: Wish) -> list[Sample]:
        notes = [note for load in loads for note in load.notes] + ([CUT] if wish.is_cut else [])
        said = f"results of {loads[0].definition} imported from {mask_text(wish.shown_name)}"
        event = Event(run.id, self._clock(), "workload", said, data={"notes": list(map(mask_text, notes))})
        return [row for load in loads for row in (load.load(), *load.rows)] + [event]


def _given(path: Path, wish: Wish) -> Given:
    if path.is_dir():
        folder = look_into(path, wish.is_cut)
        return Given(folder.sha256, lambda ticket: folder.read(folder.files, ticket))
    source = Source(path, wish.shown_name, wish.is_cut)
    reader = reader_of(source)
    if reader is None:
        raise ImportRefusedError(f"{wish.shown_name} is no result file that is known here.")
    return Given(source.sha256, lambda ticket: reader.read(source, ticket))


def _is_log(source: Source) -> bool:
    """Whether an engine wrote a line of it: with a time, or a sample. A text that quotes one has no time."""
    with source.opened() as file:
        engine = recognise(file, ENGINES)
    if engine is None or engine.log is None:
        return False
    parser = engine.log.log_parser()
    with source.opened() as file:
        events = (event for data in iter(lambda: file.read(CHUNK_BYTES), b"") for event in parser.feed(data))
        return any(isinstance(event, ParsedSample) or event.stamp for event in events)


def _span(loads: Sequence[LoadBuilder]) -> tuple[datetime, datetime]:
    """From the first beginning to the last end that the loads state."""
    began = min(load.ts for load in loads)
    ends = [load.ts for load in loads]
    for row in (row for load in loads for row in load.rows):
        if isinstance(row, LoadPhase):
            ends.append(row.ts)
        elif isinstance(row, RequestRecord):
            ends.append(after(row.sent_at, 1e-3 * (row.total_ms or 0.0)))
    return began, max(ends)


def _words(run: Run, wish: Wish, loads: Sequence[LoadBuilder], rows: Counter[str], is_new: bool) -> str:
    counts = ", ".join(f"{count:,} {ONE.get(kind, kind[:-1]) if count == 1 else kind}" for kind, count in rows.items())
    tools = ", ".join(dict.fromkeys(load.definition for load in loads))
    whose = f"the new run {run.name} ({run.id})" if is_new else f"{run.name} ({run.id})"
    notes = " ".join(note for load in loads for note in load.notes[:5])
    return f"{wish.shown_name} brought {counts} of {tools} to {whose}.{f' {notes}' if notes else ''}"
