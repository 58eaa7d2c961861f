"""Exports runs as one file: their samples, records and logs, with secrets masked."""

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
from machine.regular_file import open_regular
from notes import RunNote
from storage.published import PublishedStore
from storage.published_query import QueryFunction
from storage.queries.note_queries import gotchas, note_versions
from storage.rows import TIME_COLUMNS, run_of
from storage.transfer import bundled_gotchas
from storage.transfer.archive import ArchiveError, ArchiveWriter, write_archive

SUFFIX = ".pitwall.zip"
UNMASKED_COLUMNS = frozenset({"run_id", "definition", "request_id", "machine_id", "gpu_uuid", "prompt_hash"})
LOCAL_FIELDS = {"log_path": None, "run_dir": None}  # invalid on another machine, and they may contain the user's name
_NAMES = "|".join(TIME_COLUMNS)
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
NAMES = re.compile(
    rf"runs/(?P<run_id>{RUN_ID.pattern})/(?:run\.json|notes\.json|gotchas\.json|server\.log|(?P<table>{_NAMES})\.parquet)"
)
NOTES = TypeAdapter(list[RunNote])  # notes.json

Mask = Callable[[str], str]


def export_runs(query: QueryFunction, run_ids: Sequence[str], target: Path, now: datetime, mask: Mask) -> None:
    """Write a bundle of ended runs; `mask` removes the secrets from a text. Raises ArchiveError or OSError.

    It queries only views, so the published file suffices while Pitwall runs.
    """
    runs = [_run(query, run_id) for run_id in run_ids]
    number = query("SELECT max(number) AS number FROM raw.migrations")["number"][0].as_py()
    known_gotchas = gotchas(PublishedStore(query))
    with write_archive(target, "bundle", number, now, dict.fromkeys(run.id for run in runs)) as archive:
        for run in {run.id: run for run in runs}.values():
            _add_run(archive, query, run, mask)
            if member := bundled_gotchas.member_of(portable(run, mask), known_gotchas, mask):
                archive.add(f"runs/{run.id}/{bundled_gotchas.MEMBER}", member)


def _run(query: QueryFunction, run_id: str) -> Run:
    rows = query("SELECT * FROM raw.runs WHERE id = ?", [run_id]).to_pylist()
    if not rows:
        raise ArchiveError(f"There is no run {run_id}.")
    run = run_of(rows[0])
    if not run.state.is_final:
        raise ArchiveError(f"{run.name} ({run.id}) is {run.state}: only ended runs can be bundled.")
    return run


def _add_run(archive: ArchiveWriter, query: QueryFunction, run: Run, mask: Mask) -> None:
    folder = f"runs/{run.id}"
    archive.add(f"{folder}/run.json", portable(run, mask).model_dump_json(indent=1).encode())
    if notes := note_versions(PublishedStore(query), [run.id]):
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
    """The record of a run without secrets and local paths."""
    return Run.model_validate(_masked(run.model_dump(mode="json"), mask) | LOCAL_FIELDS)


def masked_table(rows: pa.Table, mask: Mask) -> pa.Table:
    """The rows with every text masked; JSON texts stay JSON."""
    for index, field in enumerate(rows.schema):
        if pa.types.is_string(field.type) and field.name not in UNMASKED_COLUMNS:
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
    """The masked value of a JSON key; a secret may be recognised by its key."""
    if not isinstance(value, str):
        return _masked(value, mask)
    head = f"{name}="
    masked = mask(head + value)
    return masked.removeprefix(head) if masked.startswith(head) else mask(value)


def masked_log(path: Path, mask: Mask) -> Iterator[bytes]:
    """Yield the masked lines of a log; bytes that are not UTF-8 stay unchanged."""
    with open_regular(path) as file:
        yield from _lines_masked(file, mask)


def _lines_masked(lines: Iterable[bytes], mask: Mask) -> Iterator[bytes]:
    for line in lines:
        yield mask(line.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
