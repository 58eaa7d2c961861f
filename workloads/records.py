"""The lines of requests.jsonl: one RequestRecord each, its fields by name, times in ISO 8601 UTC."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter

from samples import RequestRecord

RECORD = TypeAdapter(RequestRecord)


def append_record(path: Path, record: RequestRecord) -> None:
    """Append the record's line with a single write, so that it is there whole or not at all.

    Raises OSError, also where a full disk took only a part of the line.
    """
    line = (json.dumps(asdict(record) | {"sent_at": record.sent_at.isoformat()}) + "\n").encode()
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        if os.write(handle, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    finally:
        os.close(handle)


def read_records(lines: Iterable[str]) -> Iterator[RequestRecord]:
    """The records of these lines, blank ones passed over; raises pydantic's ValidationError on any other text."""
    return (RECORD.validate_json(line) for line in lines if line.strip())
