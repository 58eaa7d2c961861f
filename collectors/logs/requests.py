"""Collects the records that a run's load writes, one JSON object per line; each line is stored exactly once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from collectors.base import Clock, Positions
from collectors.logs.tail_collector import FollowCollector, PositionedSample, SampleReader
from domain import Run
from samples import Event
from workloads.requests.records import parse_line


def requests_path(run: Run) -> Path | None:
    """Return the file to which a run's load writes its requests; None without a run folder."""
    return Path(run.run_dir) / "workload" / "requests.jsonl" if run.run_dir else None


def request_collector(positions: Positions, clock: Clock | None = None) -> FollowCollector:
    """Return the collector of every run's requests."""
    return FollowCollector("requests", requests_path, _reader, positions, clock)


def _reader(run: Run) -> SampleReader:
    return RequestReader()


class RequestReader:
    """Parses JSON lines to records; an invalid line becomes a warning."""

    def __init__(self) -> None:
        self._partial = b""
        self._offset = 0  # where the partial line starts
        self._line = 1

    def feed(self, data: bytes, run: Run, now: datetime) -> Iterable[PositionedSample]:
        """Return the records of the lines that end within these bytes; a partial line waits for its end."""
        *lines, partial = (self._partial + data).split(b"\n")
        samples = []
        for line in lines:
            samples += self._read(line, run, now)
            self._offset += len(line) + 1
            self._line += 1
        self._partial = partial
        return samples

    def idle(self, run: Run, now: datetime) -> Iterable[PositionedSample]:
        """Return nothing: a line without LF may still grow."""
        return ()

    def close(self, run: Run, now: datetime) -> Iterable[PositionedSample]:
        """Return the record of a last line without LF, or a warning if it is invalid."""
        return self._read(self._partial, run, now)

    def settled_offset(self) -> int:
        """Return the offset of the first line without LF."""
        return self._offset

    def _read(self, line: bytes, run: Run, now: datetime) -> list[PositionedSample]:
        if not line.strip():
            return []
        try:
            record = parse_line(line)
            if record.run_id == run.id:
                return [PositionedSample(self._offset, record)]
            reason = f"it belongs to run {record.run_id}"
        except ValidationError as problem:
            first = problem.errors(include_url=False)[0]
            reason = f"{'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}"
        except KeyError as unknown_kind:
            reason = f"unknown record kind {unknown_kind}"
        text = f"line {self._line} of the workload's requests was not understood: {reason}"
        return [PositionedSample(self._offset, Event(run.id, now, "warning", text, self._line, self._offset))]
