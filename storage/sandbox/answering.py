"""The sandboxed process: reads one job from stdin, confines itself, and writes the rows to stdout."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from itertools import chain, count
from pathlib import Path

import duckdb
import pyarrow as pa

from storage.files.manifest import current_files
from storage.queries.literals import quoted
from storage.sandbox.confinement import confine_files, limit_resources
from storage.sandbox.job import (
    Fault,
    SandboxJob,
    SandboxLimits,
    SqlAnswer,
    SqlRefusedError,
    encode_answer,
    encode_refusal,
    memory_spent,
)
from storage.sandbox.priority import yield_when_long
from storage.sandbox.statement import check_statement

ROWS_PER_BATCH = 2048
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,  # the calling thread, which is confined
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}


def answer_job(job: SandboxJob, open_connection: Callable[[], duckdb.DuckDBPyConnection]) -> SqlAnswer:
    """Run a job's statement; `open_connection` also confines this process. Raises SqlRefusedError, and its errors."""
    connection = open_connection()
    yield_when_long(time.process_time() if job.lake else 0.0)  # a lake's views are not the statement's time
    started_s = time.monotonic()
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
    return SqlAnswer(table, (time.monotonic() - started_s) * 1e3, truncated)


def open_locked(job: SandboxJob) -> duckdb.DuckDBPyConnection:
    """Open the published file read-only, in a DuckDB that can read only it and its sealed files.

    The order matters: the allowed paths are set before the settings are locked. The kernel's confinement comes after
    the file is open, because a newer file may replace it at any time.
    """
    published, parquet_dir = Path(job.published), Path(job.parquet_dir)
    config = {**CONFIG, "memory_limit": f"{job.limits.memory_bytes}B"}
    connection = duckdb.connect(str(published), read_only=True, config=config)
    paths = ", ".join(quoted(str(parquet_dir / path)) for path in current_files(connection))
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


def _rows(connection: duckdb.DuckDBPyConnection, sql: str, limits: SandboxLimits) -> tuple[pa.Table, bool]:
    """The first rows within the limits, and whether there were more."""
    reader = connection.execute(sql).to_arrow_reader(ROWS_PER_BATCH)
    batches: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in reader:
        selected = batch.slice(0, limits.most_rows - rows)
        size += selected.nbytes
        if size > limits.most_bytes:
            return _table(batches, reader.schema), True
        batches.append(selected)
        rows += selected.num_rows
        if selected.num_rows < batch.num_rows:
            return _table(batches, reader.schema), True
    return _table(batches, reader.schema), False


def _table(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The rows with unique column names, which every output format needs."""
    return pa.Table.from_batches(batches, schema).rename_columns(unique_names(schema.names))


def unique_names(names: Sequence[str]) -> list[str]:
    """['a', 'a', 'b'] as ['a', 'a_2', 'b']."""
    used_names: dict[str, None] = {}
    for name in names:
        spellings = chain([name], (f"{name}_{number}" for number in count(2)))
        used_names[next(spelling for spelling in spellings if spelling not in used_names)] = None
    return list(used_names)


def _refusal(message: str, limits: SandboxLimits) -> SqlRefusedError:
    """DuckDB's message with its hint, without the excerpt of the statement."""
    if message.startswith("Out of Memory Error"):
        return SqlRefusedError(Fault.LIMIT, memory_spent(limits))
    return SqlRefusedError(Fault.STATEMENT, " ".join(message.split("\n\n")[0].split()))


def answer_stdin() -> None:
    """Run the whole process."""
    job = SandboxJob.decode(sys.stdin.buffer.read())
    limit_resources(job.limits)
    try:
        write_output(encode_answer(answer_job(job, lambda: open_locked(job))))
    except SqlRefusedError as refusal:
        write_output(encode_refusal(refusal))


def write_output(parts: Sequence[bytes | pa.Buffer]) -> None:
    """Write the parts to stdout."""
    for part in parts:
        sys.stdout.buffer.write(part)
