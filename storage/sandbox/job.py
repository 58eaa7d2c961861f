"""The protocol with a sandboxed process: a JSON job to it, a status line and an Arrow stream back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Self

import pyarrow as pa

from errors import PitwallError

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """The limits of a query; `most_bytes` applies to the result, `memory_bytes` to DuckDB's working memory."""

    seconds: float = 20.0
    memory_bytes: int = 512 * MIB
    most_rows: int = 100_000
    most_bytes: int = 64 * MIB
    at_once: int = 2
    wait_s: float = 10.0  # for a free slot


@dataclass(frozen=True, slots=True)
class SandboxJob:
    """One statement for the file at `published`, with sealed rows below `parquet_dir`.

    `lake`: run it on the lake with this configuration instead (JSON with a read-only role and key).
    """

    sql: str
    published: str
    parquet_dir: str
    limits: SandboxLimits
    lake: str | None = None

    def encode(self) -> bytes:
        """The job as JSON, for the standard input of the sandboxed process."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The job written by `encode`; it only comes from Pitwall, so it is not validated."""
        fields = json.loads(data)
        return cls(**{**fields, "limits": SandboxLimits(**fields["limits"])})


class Fault(StrEnum):
    """Why a statement has no result."""

    STATEMENT = "statement"  # not allowed, or an error in it
    LIMIT = "limit"  # time, memory or size
    BUSY = "busy"  # too many concurrent queries
    UNAVAILABLE = "unavailable"  # no published file


class SqlRefusedError(PitwallError):
    """A statement was refused or failed; the message is one sentence for the user."""

    def __init__(self, fault: Fault, sentence: str) -> None:
        super().__init__(sentence)
        self.fault = fault


def memory_spent(limits: SandboxLimits) -> str:
    """The sentence for a query that ran out of memory, with the limit in MiB."""
    return f"The query exceeded its memory limit of {limits.memory_bytes // MIB} MiB: filter or aggregate more."


@dataclass(frozen=True, slots=True)
class SqlAnswer:
    """The rows of a statement; `truncated`: the limits cut off further rows."""

    table: pa.Table
    elapsed_ms: float
    truncated: bool


def encode_answer(answer: SqlAnswer) -> list[bytes | pa.Buffer]:
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
    """One line of JSON with the fault and its sentence, without rows."""
    return [json.dumps({"fault": refusal.fault, "sentence": str(refusal)}).encode() + b"\n"]


def decode_answer(output: bytes) -> SqlAnswer:
    """Return the answer of the sandboxed process; raises the SqlRefusedError that it reported."""
    head, _, rows = output.partition(b"\n")
    fields = json.loads(head)
    if "fault" in fields:
        raise SqlRefusedError(Fault(fields["fault"]), fields["sentence"])
    return SqlAnswer(pa.ipc.open_stream(rows).read_all(), fields["elapsed_ms"], fields["truncated"])
