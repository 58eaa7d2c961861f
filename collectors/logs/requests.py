"""Collects what a run's load writes, one JSON object per line; each line is stored exactly once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from collectors.base import Clock, Positions
from collectors.logs.tail_collector import FollowCollector, Placed, Reader
from domain import Run
from samples import Event
from workloads.requests.records import parse_line


def requests_path(run: Run) -> Path | None:
    """Where a run's workload writes its requests."""
    return Path(run.run_dir) / "workload" / "requests.jsonl" if run.run_dir else None


def request_collector(positions: Positions, clock: Clock | None = None) -> FollowCollector:
    """The collector of every run's requests."""
    return FollowCollector("requests", requests_path, _reader, positions, clock)


def _reader(run: Run) -> Reader:
    return RequestReader()


class RequestReader:
    """JSON lines to records; a line that is none becomes a warning and the next one is read."""

    def __init__(self) -> None:
        self._partial = b""
        self._offset = 0  # where the partial line starts
        self._line = 1

    def feed(self, data: bytes, run: Run, now: datetime) -> Iterable[Placed]:
        """The records of the lines that end within these bytes; a cut line waits for its rest."""
        *whole, rest = (self._partial + data).split(b"\n")
        placed = []
        for line in whole:
            placed += self._read(line, run, now)
            self._offset += len(line) + 1
            self._line += 1
        self._partial = rest
        return placed

    def idle(self, run: Run, now: datetime) -> Iterable[Placed]:
        """Nothing: a line without LF may still grow."""
        return ()

    def close(self, run: Run, now: datetime) -> Iterable[Placed]:
        """The record of a last line without LF, or the warning that it is none."""
        return self._read(self._partial, run, now)

    def settled_offset(self) -> int:
        """Where the line begins whose LF has not come yet."""
        return self._offset

    def _read(self, line: bytes, run: Run, now: datetime) -> list[Placed]:
        if not line.strip():
            return []
        try:
            record = parse_line(line)
            if record.run_id == run.id:
                return [Placed(self._offset, record)]
            why = f"it belongs to run {record.run_id}"
        except ValidationError as problem:
            first = problem.errors(include_url=False)[0]
            why = f"{'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}"
        except KeyError as kind:
            why = f"there is no record {kind}"
        text = f"line {self._line} of the workload's requests was not understood: {why}"
        return [Placed(self._offset, Event(run.id, now, "warning", text, self._line, self._offset))]
