"""The protocol with a sandboxed process: JSON to it, a status line and an Arrow stream back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Self

import pyarrow as pa

from errors import PitwallError

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """What one query may use; `most_bytes` counts the answer, `memory_bytes` what DuckDB works with."""

    seconds: float = 20.0
    memory_bytes: int = 512 * MIB
    most_rows: int = 100_000
    most_bytes: int = 64 * MIB
    at_once: int = 2
    wait_s: float = 10.0  # for a turn, while as many others are being answered


@dataclass(frozen=True, slots=True)
class Job:
    """One statement for the file at `published`, whose sealed rows are below `parquet_dir`.

    `lake`: for the lake of this configuration instead, as JSON; a role and a key that may only read.
    """

    sql: str
    published: str
    parquet_dir: str
    limits: Limits
    lake: str | None = None

    def encode(self) -> bytes:
        """The job as JSON, for the standard input of the process that answers it."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The job that `encode` wrote; it comes from Pitwall alone, so nothing in it is checked."""
        said = json.loads(data)
        return cls(**{**said, "limits": Limits(**said["limits"])})


class Fault(StrEnum):
    """Why there is no answer."""

    STATEMENT = "statement"  # it may not be run, or DuckDB found a mistake in it
    LIMIT = "limit"  # time, memory or size
    BUSY = "busy"  # too many others ask
    UNAVAILABLE = "unavailable"  # nothing is published


class SqlRefusedError(PitwallError):
    """No answer; the message is one sentence for a person."""

    def __init__(self, fault: Fault, sentence: str) -> None:
        super().__init__(sentence)
        self.fault = fault


def memory_spent(limits: Limits) -> str:
    """The sentence for a query that ran out of memory; it names the limit in MiB."""
    return f"The query needed more memory than it may use ({limits.memory_bytes // MIB} MiB): filter or aggregate more."


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a statement; `truncated` says that there were more than the limits let through."""

    table: pa.Table
    elapsed_ms: float
    truncated: bool


def encode_answer(answer: Answer) -> list[bytes | pa.Buffer]:
    """One line of JSON, then the rows as an Arrow stream."""
    head = {"elapsed_ms": answer.elapsed_ms, "truncated": answer.truncated}
    return [json.dumps(head).encode() + b"\n", arrow_stream(answer.table)]


def arrow_stream(table: pa.Table) -> pa.Buffer:
    """The rows in Arrow's IPC stream format, all of them in memory."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def encode_refusal(refusal: SqlRefusedError) -> list[bytes | pa.Buffer]:
    """One line of JSON with the fault and its sentence, and no rows behind it."""
    return [json.dumps({"fault": refusal.fault, "sentence": str(refusal)}).encode() + b"\n"]


def decode_answer(output: bytes) -> Answer:
    """The answer that the sandboxed process gave; raises the SqlRefusedError that it wrote."""
    head, _, rows = output.partition(b"\n")
    said = json.loads(head)
    if "fault" in said:
        raise SqlRefusedError(Fault(said["fault"]), said["sentence"])
    return Answer(pa.ipc.open_stream(rows).read_all(), said["elapsed_ms"], said["truncated"])
