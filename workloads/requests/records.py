"""Lines of requests.jsonl, written by a load generator: one JSON object each, times in ISO 8601 UTC.

A line is a request unless its 'record' marks it as the load, a phase, counters between segments, a result, a check
or a position of a fidelity load.
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

from load_records import FidelityPosition, Load, LoadCounters, LoadPhase, RequestRecord, Result, SuiteCheck

Labelled = Load | LoadPhase | LoadCounters | Result | SuiteCheck | FidelityPosition
Line = RequestRecord | Labelled
KINDS: dict[str, type[Labelled]] = {
    "load": Load,
    "load_phase": LoadPhase,
    "load_counters": LoadCounters,
    "result": Result,
    "check": SuiteCheck,
    "fidelity": FidelityPosition,
}
NAMES = {kind: name for name, kind in KINDS.items()}
ADAPTERS: dict[type[Line], TypeAdapter[Line]] = {kind: TypeAdapter(kind) for kind in (RequestRecord, *KINDS.values())}


class RecordLabel(BaseModel):
    """The 'record' field of a line, which gives its kind; None for a request."""

    record: str | None = None


def append_record(path: Path, record: Line) -> None:
    """Append the record's line with a single write.

    Raises OSError, also if a full disk took only a part of the line.
    """
    name = NAMES.get(type(record))  # type: ignore[arg-type]  # None for a request
    labelled_record = ({"record": name} if name else {}) | asdict(record)
    line = (json.dumps(labelled_record, default=_iso_time) + "\n").encode()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if os.write(handle, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    finally:
        os.close(handle)


def parse_line(line: str | bytes) -> Line:
    """Parse a line; raises pydantic's ValidationError, or KeyError for an unknown kind."""
    name = RecordLabel.model_validate_json(line).record
    return ADAPTERS[KINDS[name] if name else RequestRecord].validate_json(line)


def parse_lines(lines: Iterable[str]) -> Iterator[Line]:
    """Parse lines; raises pydantic's ValidationError or KeyError for an invalid one."""
    return (parse_line(line) for line in lines if line.strip())


def read_records(lines: Iterable[str]) -> Iterator[RequestRecord]:
    """Return the requests of these lines; raises as parse_lines does."""
    return (record for record in parse_lines(lines) if isinstance(record, RequestRecord))


def _iso_time(value: object) -> str:
    assert isinstance(value, datetime)
    return value.isoformat()
