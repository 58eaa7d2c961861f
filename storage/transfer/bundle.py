"""Exports one run or several as one file: their samples, records and logs, with secrets masked."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from domain import Run
from machine.regular_file import opened
from notes import RunNote
from storage.ask.note_queries import gotchas, note_versions
from storage.published import Published
from storage.published_query import Query
from storage.rows import TIME_COLUMNS, run_of
from storage.transfer import bundled_gotchas
from storage.transfer.archive import ArchiveError, ArchiveWriter, written_archive

SUFFIX = ".pitwall.zip"
MASKED_COLUMNS_NOT = frozenset({"run_id", "definition", "request_id", "machine_id", "gpu_uuid", "prompt_hash"})
LOCAL = {"log_path": None, "run_dir": None}  # lead nowhere on another machine, and name its user
_NAMES = "|".join(TIME_COLUMNS)
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
NAMES = re.compile(
    rf"runs/(?P<run_id>{RUN_ID.pattern})/(?:run\.json|notes\.json|gotchas\.json|server\.log|(?P<table>{_NAMES})\.parquet)"
)
NOTES = TypeAdapter(list[RunNote])  # notes.json

Mask = Callable[[str], str]


def export_runs(query: Query, run_ids: Sequence[str], target: Path, now: datetime, mask: Mask) -> None:
    """Write a bundle of runs that are over; `mask` takes the secrets out of a text. Raises ArchiveError or OSError.

    It queries views only, so the published file suffices while Pitwall runs.
    """
    runs = [_run(query, run_id) for run_id in run_ids]
    number = query("SELECT max(number) AS number FROM raw.migrations")["number"][0].as_py()
    said = gotchas(Published(query))
    with written_archive(target, "bundle", number, now, dict.fromkeys(run.id for run in runs)) as archive:
        for run in {run.id: run for run in runs}.values():
            _add_run(archive, query, run, mask)
            if member := bundled_gotchas.member_of(portable(run, mask), said, mask):
                archive.add(f"runs/{run.id}/{bundled_gotchas.MEMBER}", member)


def _run(query: Query, run_id: str) -> Run:
    rows = query("SELECT * FROM raw.runs WHERE id = ?", [run_id]).to_pylist()
    if not rows:
        raise ArchiveError(f"There is no run {run_id}.")
    run = run_of(rows[0])
    if not run.state.is_final:
        raise ArchiveError(f"{run.name} ({run.id}) is {run.state}: a bundle is made of a run that is over.")
    return run


def _add_run(archive: ArchiveWriter, query: Query, run: Run, mask: Mask) -> None:
    folder = f"runs/{run.id}"
    archive.add(f"{folder}/run.json", portable(run, mask).model_dump_json(indent=1).encode())
    if notes := note_versions(Published(query), [run.id]):
        masked = _masked([note.model_dump(mode="json") for note in notes], mask)
        archive.add(f"{folder}/notes.json", NOTES.dump_json(NOTES.validate_python(masked), indent=1))
    for table, time_column in TIME_COLUMNS.items():
        rows = query(f"SELECT * FROM {table} WHERE run_id = ? ORDER BY {time_column}", [run.id])
        if rows.num_rows:
            buffer = io.BytesIO()
            pq.write_table(masked_table(rows, mask), buffer, compression="zstd")
            archive.add(f"{folder}/{table}.parquet", buffer.getvalue())
    if run.log_path and Path(run.log_path).is_file():
        archive.add_chunks(f"{folder}/server.log", masked_log(Path(run.log_path), mask))


def portable(run: Run, mask: Mask) -> Run:
    """The record of a run as it may leave this machine."""
    return Run.model_validate(_masked(run.model_dump(mode="json"), mask) | LOCAL)


def masked_table(rows: pa.Table, mask: Mask) -> pa.Table:
    """The rows with every text masked; a text that is JSON stays JSON."""
    for index, field in enumerate(rows.schema):
        if pa.types.is_string(field.type) and field.name not in MASKED_COLUMNS_NOT:
            texts = [text and _masked_text(text, mask) for text in rows[field.name].to_pylist()]
            rows = rows.set_column(index, pa.field(field.name, pa.string()), pa.array(texts, pa.string()))
    return rows


def _masked_text(text: str, mask: Mask) -> str:
    if text[0] not in "{[":
        return mask(text)
    try:
        return json.dumps(_masked(json.loads(text), mask))
    except ValueError:
        return mask(text)


def _masked(value: Any, mask: Mask) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {key: _masked_under(key, item, mask) for key, item in value.items()}
    return [_masked(item, mask) for item in value] if isinstance(value, list) else value


def _masked_under(name: str, value: Any, mask: Mask) -> Any:
    """A text is judged by the name that it stands under, too."""
    if not isinstance(value, str):
        return _masked(value, mask)
    head = f"{name}="
    masked = mask(head + value)
    return masked.removeprefix(head) if masked.startswith(head) else mask(value)


def masked_log(path: Path, mask: Mask) -> Iterator[bytes]:
    """The log line by line; bytes that are no UTF-8 stay what they are."""
    with opened(path) as file:
        yield from _lines_masked(file, mask)


def _lines_masked(lines: Iterable[bytes], mask: Mask) -> Iterator[bytes]:
    for line in lines:
        yield mask(line.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
