"""What a sandboxed process does: takes one job from its stdin, confines itself, and answers on stdout."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from itertools import chain, count
from pathlib import Path

import duckdb
import pyarrow as pa

from storage.ask.literals import quoted
from storage.files.manifest import files_in_force
from storage.sandbox.confinement import confine_files, limit_resources
from storage.sandbox.job import Answer, Fault, Job, Limits, SqlRefusedError, encode_answer, encode_refusal, memory_spent
from storage.sandbox.priority import come_last_when_long
from storage.sandbox.statement import check_statement

ROWS_PER_BATCH = 2048
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,  # ours, the confined one
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


def answer(job: Job, opened: Callable[[], duckdb.DuckDBPyConnection]) -> Answer:
    """Run the statement of a job; `opened` confines this process too. Raises SqlRefusedError, and what it raises."""
    connection = opened()
    come_last_when_long(time.process_time() if job.lake else 0.0)  # a lake's views are not the statement's time
    begun = time.monotonic()
    try:
        check_statement(connection, job.sql)
        table, truncated = _rows(connection, job.sql, job.limits)
    except (duckdb.OutOfMemoryException, MemoryError):
        raise SqlRefusedError(Fault.LIMIT, memory_spent(job.limits)) from None
    except (
        duckdb.Error,
        pa.ArrowException,
        OSError,
    ) as error:  # in the middle of the rows Arrow wraps what DuckDB says
        raise _refusal(str(error), job.limits) from None
    return Answer(table, (time.monotonic() - begun) * 1e3, truncated)


def open_locked(job: Job) -> duckdb.DuckDBPyConnection:
    """The published file, read-only, in a DuckDB that reaches nothing but it and its sealed files.

    The order matters: what may be read is named while settings can still be changed, and their lock comes last. The
    kernel's confinement comes after the file is open, for a newer one may take its name at any moment.
    """
    published, parquet_dir = Path(job.published), Path(job.parquet_dir)
    config = {**CONFIG, "memory_limit": f"{job.limits.memory_bytes}B"}
    connection = duckdb.connect(str(published), read_only=True, config=config)
    paths = ", ".join(quoted(str(parquet_dir / path)) for path in files_in_force(connection))
    for setting in (
        "SET TimeZone = 'UTC'",
        "SET temp_directory = ''",
        f"SET allowed_paths = [{paths}]",
        "SET enable_external_access = false",
        "SET lock_configuration = true",
    ):
        connection.execute(setting)
    confine_files([published, *([parquet_dir] if parquet_dir.exists() else [])])
    return connection


def _rows(connection: duckdb.DuckDBPyConnection, sql: str, limits: Limits) -> tuple[pa.Table, bool]:
    """The first rows that the limits let through, and whether there were more."""
    reader = connection.execute(sql).to_arrow_reader(ROWS_PER_BATCH)
    batches: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in reader:
        kept = batch.slice(0, limits.most_rows - rows)
        size += kept.nbytes
        if size > limits.most_bytes:
            return _table(batches, reader.schema), True
        batches.append(kept)
        rows += kept.num_rows
        if kept.num_rows < batch.num_rows:
            return _table(batches, reader.schema), True
    return _table(batches, reader.schema), False


def _table(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """With names that are all different, which no format of ours does without."""
    return pa.Table.from_batches(batches, schema).rename_columns(unique_names(schema.names))


def unique_names(names: Sequence[str]) -> list[str]:
    """['a', 'a', 'b'] as ['a', 'a_2', 'b']."""
    taken: dict[str, None] = {}
    for name in names:
        spellings = chain([name], (f"{name}_{number}" for number in count(2)))
        taken[next(one for one in spellings if one not in taken)] = None
    return list(taken)


def _refusal(message: str, limits: Limits) -> SqlRefusedError:
    """DuckDB's message with its hint, without the excerpt of the statement."""
    if message.startswith("Out of Memory Error"):
        return SqlRefusedError(Fault.LIMIT, memory_spent(limits))
    return SqlRefusedError(Fault.STATEMENT, " ".join(message.split("\n\n")[0].split()))


def answer_stdin() -> None:
    """The whole life of the process."""
    job = Job.decode(sys.stdin.buffer.read())
    limit_resources(job.limits)
    try:
        say(encode_answer(answer(job, lambda: open_locked(job))))
    except SqlRefusedError as refusal:
        say(encode_refusal(refusal))


def say(parts: Sequence[bytes | pa.Buffer]) -> None:
    """To whoever asked."""
    for part in parts:
        sys.stdout.buffer.write(part)
