"""Collects growing files exactly once: a file's position is committed with the samples that came from it.

After a restart the file is read from its first byte, because a reader's state depends on all bytes before; samples
that start before the committed position are not emitted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from collectors.base import Clock, Collector, Positions
from collectors.logs.tail import FileChange, FileGrowth, FileRemoval, FileReplacement, FileTail
from domain import Run
from samples import Batch, Event, Sample, TailPosition

# A position without samples is committed only now and then; it merely saves work after a restart.
POSITION_EVERY_BYTES = 1 << 16
SILENT_AFTER_S = 1.0
# Growth is polled, at microseconds per poll: events for 1,000 writes per second would cost a tenth of a core.
# Creation, move and deletion of a file are reported by events (collectors.file_watch).
PERIOD_S = 0.2


class PositionedSample(NamedTuple):
    """A sample and the byte offset of its line."""

    offset: int
    sample: Sample


class SampleReader(Protocol):
    """Converts bytes to samples; offsets and number of samples must not depend on how the bytes are split."""

    def feed(self, data: bytes, run: Run, now: datetime) -> Iterable[PositionedSample]:
        """Return the samples of the lines that end within these bytes; `now` is when they were read."""
        ...

    def idle(self, run: Run, now: datetime) -> Iterable[PositionedSample]:
        """Return what was held back, after the file has not grown for a while."""
        ...

    def close(self, run: Run, now: datetime) -> Iterable[PositionedSample]:
        """Return the samples of a last line without LF, and everything held back."""
        ...

    def settled_offset(self) -> int:
        """Return the offset before which all lines have produced their samples."""
        ...


@dataclass(slots=True)
class _FollowedFile:
    tail: FileTail
    reader: SampleReader
    committed: int
    grown_at_s: float | None = None  # monotonic time of the last bytes; None once `idle` was called
    read_bytes: int = 0  # bytes of this generation fed to the reader
    pending: list[PositionedSample] = field(default_factory=list)

    def release(self, new_samples: Iterable[PositionedSample], settled_offset: int) -> tuple[Sample, ...]:
        """Return the samples before `settled_offset`; later ones would be stored twice after a restart."""
        samples = [*self.pending, *(p for p in new_samples if p.offset >= self.committed)]
        self.pending = [p for p in samples if p.offset >= settled_offset]
        return tuple(p.sample for p in samples if p.offset < settled_offset)


class FollowCollector(Collector):
    """Follows one file per run and converts it with a reader."""

    def __init__(
        self,
        name: str,
        path_of: Callable[[Run], Path | None],
        reader_of: Callable[[Run], SampleReader],
        positions: Positions,
        clock: Clock | None = None,
        period_s: float = PERIOD_S,
    ) -> None:
        self.name = name
        self.period_s = period_s
        self._path_of = path_of
        self._reader_of = reader_of
        self._positions = positions
        self._clock = clock or Clock()
        self._files: dict[str, _FollowedFile] = {}

    def collect(self, run: Run) -> Iterator[Batch]:
        """Read what the file has gained since the last tick."""
        followed = self._follow(run)
        if followed is not None:
            for step in followed.tail.poll():
                yield self._apply_change(run, followed, step)
            yield self._release_idle(run, followed)

    def finish(self, run: Run) -> Iterator[Batch]:
        """Read the file to its end, including a last line without LF."""
        yield from self.collect(run)
        followed = self._files.get(run.id)
        if followed is not None and followed.read_bytes:
            samples = followed.reader.close(run, self._clock.utc())
            yield self._batch(run, followed, samples, followed.read_bytes, 1)

    def forget(self, run_id: str) -> None:
        """Close the run's file; a later tick reads it again and returns only what the store lacks."""
        followed = self._files.pop(run_id, None)
        if followed is not None:
            followed.tail.close()

    def unread_bytes(self, run_id: str) -> int | None:
        """Return the unread bytes of the run's file; None without a file."""
        followed = self._files.get(run_id)
        return followed.tail.unread_bytes if followed else None

    def paths(self, run: Run) -> Sequence[Path]:
        """Return the file that is followed for this run, if any."""
        path = self._path_of(run)
        return () if path is None else (path,)

    def _follow(self, run: Run) -> _FollowedFile | None:
        path = self._path_of(run)
        followed = self._files.get(run.id)
        if path is None or (followed is not None and followed.tail.path == path):
            return followed
        self.forget(run.id)
        position = self._positions(run.id, str(path))
        followed = _FollowedFile(FileTail(path, position), self._reader_of(run), position.offset if position else 0)
        self._files[run.id] = followed
        return followed

    def _apply_change(self, run: Run, followed: _FollowedFile, change: FileChange) -> Batch:
        match change:
            case FileGrowth(data):
                followed.read_bytes += len(data)
                followed.grown_at_s = self._clock.mono_s()
                samples = followed.reader.feed(data, run, self._clock.utc())
                return self._batch(run, followed, samples, followed.reader.settled_offset(), POSITION_EVERY_BYTES)
            case FileReplacement(reason):
                return self._restart(run, followed, reason)
            case FileRemoval():
                text = f"{followed.tail.path.name} was deleted; reading continues from the open file"
                return Batch(samples=(self._event(run, text),))

    def _release_idle(self, run: Run, followed: _FollowedFile) -> Batch:
        """Store what the reader held back for a next line that has not come."""
        if followed.grown_at_s is None or self._clock.mono_s() - followed.grown_at_s < SILENT_AFTER_S:
            return Batch()
        followed.grown_at_s = None
        samples = followed.reader.idle(run, self._clock.utc())
        return self._batch(run, followed, samples, followed.reader.settled_offset(), POSITION_EVERY_BYTES)

    def _restart(self, run: Run, followed: _FollowedFile, reason: str) -> Batch:
        last_samples = followed.release(followed.reader.close(run, self._clock.utc()), followed.read_bytes)
        event = self._event(run, f"{followed.tail.path.name} is read from its start again: {reason}")
        followed.reader, followed.committed, followed.read_bytes = self._reader_of(run), 0, 0
        return Batch((*last_samples, event), (self._position(run, followed),))

    def _batch(
        self,
        run: Run,
        followed: _FollowedFile,
        new_samples: Iterable[PositionedSample],
        settled_offset: int,
        min_gained_bytes: int,
    ) -> Batch:
        """Return the samples that are not stored yet, with the position after them."""
        samples = followed.release(new_samples, settled_offset)
        gained_bytes = settled_offset - followed.committed
        if gained_bytes <= 0 or not (samples or gained_bytes >= min_gained_bytes):
            return Batch()
        followed.committed = settled_offset
        return Batch(samples, (self._position(run, followed),))

    def _position(self, run: Run, followed: _FollowedFile) -> TailPosition:
        tail = followed.tail
        return TailPosition(run.id, str(tail.path), tail.generation, tail.inode, followed.committed)

    def _event(self, run: Run, text: str) -> Event:
        return Event(run_id=run.id, ts=self._clock.utc(), kind="outage", text=text, data={"collector": self.name})
