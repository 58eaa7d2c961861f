"""The lines of requests.jsonl: what a load generator writes, one JSON object each, times in ISO 8601 UTC.

A line is a request unless its 'record' says that it is the load, a phase of it, the counters between its stretches,
a result or a check.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from load_records import Check, Load, LoadCounters, LoadPhase, RequestRecord, Result

Line = RequestRecord | Load | LoadPhase | LoadCounters | Result | Check
KINDS: dict[str, type[Load | LoadPhase | LoadCounters | Result | Check]] = {
    "load": Load,
    "load_phase": LoadPhase,
    "load_counters": LoadCounters,
    "result": Result,
    "check": Check,
}
NAMES = {kind: name for name, kind in KINDS.items()}
ADAPTERS: dict[type[Line], TypeAdapter[Line]] = {kind: TypeAdapter(kind) for kind in (RequestRecord, *KINDS.values())}


class Labelled(BaseModel):
    """A line's 'record', which says what the line is; None for a request."""

    record: str | None = None


def append_record(path: Path, record: Line) -> None:
    """Append the record's line with a single write, so that it is there whole or not at all.

    Raises OSError, also where a full disk took only a part of the line.
    """
    name = NAMES.get(type(record))  # type: ignore[arg-type]  # a request has none
    labelled = ({"record": name} if name else {}) | asdict(record)
    line = (json.dumps(labelled, default=_moment) + "\n").encode()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if os.write(handle, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    finally:
        os.close(handle)


def parse_line(line: str | bytes) -> Line:
    """The record of a line; raises pydantic's ValidationError, or KeyError for a kind that is not known."""
    name = Labelled.model_validate_json(line).record
    return ADAPTERS[KINDS[name] if name else RequestRecord].validate_json(line)


def parse_lines(lines: Iterable[str]) -> Iterator[Line]:
    """Raises pydantic's ValidationError, or KeyError, on any other text."""
    return (parse_line(line) for line in lines if line.strip())


def read_records(lines: Iterable[str]) -> Iterator[RequestRecord]:
    """The requests of these lines; raises as parse_lines does."""
    return (record for record in parse_lines(lines) if isinstance(record, RequestRecord))


def _moment(value: object) -> str:
    assert isinstance(value, datetime)
    return value.isoformat()
