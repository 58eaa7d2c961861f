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
from collectors.logs.tail import FileTail, Gone, Grown, Replaced, Step
from domain import Run
from samples import Batch, Event, Sample, TailPosition

# A position that no sample came with is worth a commit only now and then; it saves work after a restart, no more.
POSITION_EVERY_BYTES = 1 << 16
SILENT_AFTER_S = 1.0
# Growth is found by looking, microseconds a time: hearing of every write costs a tenth of a core at 1,000 a second.
# That a file appeared, was moved or deleted is reported (collectors.file_watch).
PERIOD_S = 0.2


class Placed(NamedTuple):
    """A sample and the byte where its line starts."""

    offset: int
    sample: Sample


class Reader(Protocol):
    """Bytes in, samples out; their offsets and number must not depend on how the bytes were cut."""

    def feed(self, data: bytes, run: Run, now: datetime) -> Iterable[Placed]:
        """What the lines say that end within these bytes; `now` is when they were read."""
        ...

    def idle(self, run: Run, now: datetime) -> Iterable[Placed]:
        """The file has been silent for a while: what need not be held any longer."""
        ...

    def close(self, run: Run, now: datetime) -> Iterable[Placed]:
        """What a last line without LF says, and whatever was held."""
        ...

    def settled_offset(self) -> int:
        """All samples of lines that start before this byte have been given out."""
        ...


@dataclass(slots=True)
class _Following:
    tail: FileTail
    reader: Reader
    committed: int
    grown_at: float | None = None  # monotonic seconds of the last bytes; None once their silence has been seen
    read: int = 0  # bytes of this generation fed to the reader
    held: list[Placed] = field(default_factory=list)

    def release(self, placed: Iterable[Placed], settled: int) -> tuple[Sample, ...]:
        """The samples a position of `settled` stands for: later ones would come twice after a restart."""
        new = [*self.held, *(p for p in placed if p.offset >= self.committed)]
        self.held = [p for p in new if p.offset >= settled]
        return tuple(p.sample for p in new if p.offset < settled)


class FollowCollector(Collector):
    """Follows one file per run through a reader."""

    def __init__(
        self,
        name: str,
        path_of: Callable[[Run], Path | None],
        reader_of: Callable[[Run], Reader],
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
        self._files: dict[str, _Following] = {}

    def collect(self, run: Run) -> Iterator[Batch]:
        """What the file has gained since the last tick."""
        following = self._following(run)
        if following is not None:
            for step in following.tail.poll():
                yield self._take(run, following, step)
            yield self._settle(run, following)

    def finish(self, run: Run) -> Iterator[Batch]:
        """The file to its end, a last line without LF included."""
        yield from self.collect(run)
        following = self._files.get(run.id)
        if following is not None and following.read:
            placed = following.reader.close(run, self._clock.utc())
            yield self._batch(run, following, placed, following.read, 1)

    def forget(self, run_id: str) -> None:
        """Close the run's file; a next tick reads it anew and gives out only what the store lacks."""
        following = self._files.pop(run_id, None)
        if following is not None:
            following.tail.close()

    def unread_bytes(self, run_id: str) -> int | None:
        """How far behind the end of its file a run is read, in bytes; None where it has none."""
        following = self._files.get(run_id)
        return following.tail.unread_bytes if following else None

    def paths(self, run: Run) -> Sequence[Path]:
        """The one file that is followed for this run, if it has one."""
        path = self._path_of(run)
        return () if path is None else (path,)

    def _following(self, run: Run) -> _Following | None:
        path = self._path_of(run)
        held = self._files.get(run.id)
        if path is None or (held is not None and held.tail.path == path):
            return held
        self.forget(run.id)
        known = self._positions(run.id, str(path))
        following = _Following(FileTail(path, known), self._reader_of(run), known.offset if known else 0)
        self._files[run.id] = following
        return following

    def _take(self, run: Run, following: _Following, step: Step) -> Batch:
        match step:
            case Grown(data):
                following.read += len(data)
                following.grown_at = self._clock.mono_s()
                placed = following.reader.feed(data, run, self._clock.utc())
                return self._batch(run, following, placed, following.reader.settled_offset(), POSITION_EVERY_BYTES)
            case Replaced(reason):
                return self._restart(run, following, reason)
            case Gone():
                text = f"{following.tail.path.name} is gone; what the server still writes into it is read on"
                return Batch(samples=(self._event(run, text),))

    def _settle(self, run: Run, following: _Following) -> Batch:
        """What the reader held for a next line that has not come."""
        if following.grown_at is None or self._clock.mono_s() - following.grown_at < SILENT_AFTER_S:
            return Batch()
        following.grown_at = None
        placed = following.reader.idle(run, self._clock.utc())
        return self._batch(run, following, placed, following.reader.settled_offset(), POSITION_EVERY_BYTES)

    def _restart(self, run: Run, following: _Following, reason: str) -> Batch:
        last = following.release(following.reader.close(run, self._clock.utc()), following.read)
        event = self._event(run, f"{following.tail.path.name} starts anew: {reason}")
        following.reader, following.committed, following.read = self._reader_of(run), 0, 0
        return Batch((*last, event), (self._position(run, following),))

    def _batch(self, run: Run, following: _Following, placed: Iterable[Placed], settled: int, least: int) -> Batch:
        """The samples not yet in the store, with the position they bring it to."""
        samples = following.release(placed, settled)
        gained = settled - following.committed
        if gained <= 0 or not (samples or gained >= least):
            return Batch()
        following.committed = settled
        return Batch(samples, (self._position(run, following),))

    def _position(self, run: Run, following: _Following) -> TailPosition:
        tail = following.tail
        return TailPosition(run.id, str(tail.path), tail.generation, tail.inode, following.committed)

    def _event(self, run: Run, text: str) -> Event:
        return Event(run_id=run.id, ts=self._clock.utc(), kind="outage", text=text, data={"collector": self.name})
