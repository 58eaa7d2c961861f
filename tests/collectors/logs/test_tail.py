"""Real files that grow, shrink, tick and vanish, read by a reader that gives every line back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.base import Clock, UnavailableError
from collectors.logs.tail_collector import FollowCollector, PositionedSample
from domain import Config, Run
from samples import Batch, Event


class LineEcho:
    """Every line as an event; holds each until the next has come if told so."""

    def __init__(self, *, hold: bool = False) -> None:
        self._hold, self._data, self._given = hold, b"", 0

    def feed(self, data: bytes, run: Run, now: datetime) -> Iterable[PositionedSample]:
        self._data += data
        return self._lines(run, now, 1 if self._hold else 0)

    def idle(self, run: Run, now: datetime) -> Iterable[PositionedSample]:
        return self._lines(run, now, 0)

    def close(self, run: Run, now: datetime) -> Iterable[PositionedSample]:
        self._data += b"" if self._data.endswith(b"\n") else b"\n"
        return self._lines(run, now, 0)

    def settled_offset(self) -> int:
        return self._given

    def _lines(self, run: Run, now: datetime, number: int) -> list[PositionedSample]:
        placed = []
        for _ in range(max(self._data.count(b"\n", self._given) - number, 0)):
            end = self._data.index(b"\n", self._given)
            text = self._data[self._given : end].decode("utf-8", "replace")
            placed.append(PositionedSample(self._given, Event(run.id, now, "line", text)))
            self._given = end + 1
        return placed


class SetClock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def clock(self) -> Clock:
        return Clock(mono_s=lambda: self.seconds)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


def follow(log: Path, kept: Any, *, hold: bool = False, clock: Clock | None = None) -> FollowCollector:
    return FollowCollector("log", lambda _: log, lambda _: LineEcho(hold=hold), kept.position, clock)


def tick(collector: FollowCollector, kept: Any, run: Run) -> list[str]:
    """What one tick added: lines, and events about the file in brackets."""
    before = len(kept.of(Event))
    for batch in collector.collect(run):
        kept(batch)
    return texts(kept)[before:]


def texts(kept: Any) -> list[str]:
    return [e.text if e.kind == "line" else f"[{e.text}]" for e in kept.of(Event)]


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_a_partial_line_waits_for_its_rest(log: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    run, collector = make_run(), follow(log, kept)
    assert tick(collector, kept, run) == []
    append(log, b"one\ntw")
    assert tick(collector, kept, run) == ["one"]
    append(log, b"o\nthree\xff\n")
    assert tick(collector, kept, run) == ["two", "three�"]
    assert kept.position(run.id, str(log)).offset == log.stat().st_size


def test_unterminated_last_line_comes_at_finish(log: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    run, collector = make_run(), follow(log, kept)
    append(log, b"one\nlast words")
    assert tick(collector, kept, run) == ["one"]
    for batch in collector.finish(run):
        kept(batch)
    assert texts(kept) == ["one", "last words"]
    assert kept.position(run.id, str(log)).offset == log.stat().st_size
    again = follow(log, kept)
    for batch in again.finish(run):
        kept(batch)
    assert texts(kept) == ["one", "last words"], "a second last tick gives nothing twice"


def test_restart_loses_and_repeats_nothing(log: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    run = make_run()
    append(log, b"one\ntwo\nthr")
    assert tick(follow(log, kept), kept, run) == ["one", "two"]
    append(log, b"ee\nfour\n")
    assert tick(follow(log, kept), kept, run) == ["three", "four"]


def test_what_a_reader_holds_is_not_committed(log: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    run = make_run()
    append(log, b"one\ntwo\n")
    assert tick(follow(log, kept, hold=True), kept, run) == ["one"]
    assert kept.position(run.id, str(log)).offset == len(b"one\n")
    append(log, b"three\n")
    assert tick(follow(log, kept, hold=True), kept, run) == ["two"]


class TwoProcesses(LineEcho):
    """Gives out every line at once but 'A...', which waits for a next 'A...' while others pass it."""

    def _lines(self, run: Run, now: datetime, number: int) -> list[PositionedSample]:
        words = self._data[: self._data.rfind(b"\n") + 1].split(b"\n")[:-1]
        starts = [sum(len(line) + 1 for line in words[:i]) for i in range(len(words) + 1)]
        waiting = max((i for i, line in enumerate(words) if line.startswith(b"A")), default=None)
        self._given = starts[-1] if waiting is None else starts[waiting]
        ready = [i for i in range(len(words)) if i != waiting and i not in self.out]
        self.out.update(ready)
        return [PositionedSample(starts[i], Event(run.id, now, "line", words[i].decode())) for i in ready]

    def __init__(self) -> None:
        super().__init__()
        self.out: set[int] = set()


def test_what_passes_a_held_line_waits_with_it(log: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    run = make_run()

    def restarted() -> list[str]:
        collector = FollowCollector("log", lambda _: log, lambda _: TwoProcesses(), kept.position)
        return tick(collector, kept, run)

    append(log, b"A1\nB1\n")
    assert restarted() == []
    append(log, b"B2\nA2\nB3\n")
    assert restarted() == ["A1", "B1", "B2"]
    append(log, b"A3\n")
    assert restarted() == ["A2", "B3"]


def test_silence_gives_out_what_is_held(log: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    run, time = make_run(), SetClock()
    collector = follow(log, kept, hold=True, clock=time.clock())
    append(log, b"one\n")
    assert tick(collector, kept, run) == []
    time.seconds += 2
    assert tick(collector, kept, run) == ["one"]


def test_rotation_reads_the_old_file_to_its_end(log: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    run, collector = make_run(), follow(log, kept)
    append(log, b"one\n")
    tick(collector, kept, run)
    append(log, b"two\nend")
    log.rename(log.with_suffix(".1"))
    append(log, b"new\n")
    assert tick(collector, kept, run) == [
        "two",
        "end",
        "[server.log is read from its start again: it was rotated]",
        "new",
    ]
    position = kept.position(run.id, str(log))
    assert (position.generation, position.offset, position.inode) == (1, 4, log.stat().st_ino)


def test_rotation_while_nobody_reads_is_said(log: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    run = make_run()
    append(log, b"one\n")
    tick(follow(log, kept), kept, run)
    log.rename(log.with_suffix(".1"))
    append(log, b"new\n")
    said, line = tick(follow(log, kept), kept, run)
    assert said.startswith("[server.log is read from its start again: it was replaced while it was not being read")
    assert line == "new"


@pytest.mark.parametrize("after", [b"x\n", b"a line that is longer than what was there before\n"])
def test_truncation_seen_after_regrowth(log: Path, kept: Any, make_run: Callable[..., Run], after: bytes) -> None:
    run, collector = make_run(), follow(log, kept)
    append(log, b"before\n")
    tick(collector, kept, run)
    log.write_bytes(after)
    assert tick(collector, kept, run) == [
        "[server.log is read from its start again: it was truncated]",
        after.decode().strip(),
    ]
    assert kept.position(run.id, str(log)).generation == 1


def test_deleted_log_reported_and_found_again(log: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    run, collector = make_run(), follow(log, kept)
    with log.open("ab", buffering=0) as server:
        server.write(b"one\n")
        tick(collector, kept, run)
        log.unlink()
        server.write(b"into the deleted file\n")
        text = "[server.log was deleted; reading continues from the open file]"
        assert tick(collector, kept, run) == ["into the deleted file", text]
        assert tick(collector, kept, run) == []
    append(log, b"back\n")
    assert tick(collector, kept, run) == ["[server.log is read from its start again: it was rotated]", "back"]


def test_unopenable_log_is_a_sentence(tmp_path: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnavailableError, match="log cannot be read: Not a directory"):
        tick(follow(tmp_path / "file" / "log", kept), kept, make_run())


def test_a_quiet_log_commits_its_position_rarely(log: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    run, collector = make_run(), FollowCollector("log", lambda _: log, lambda _: Silent(), kept.position)
    append(log, b"." * 1000)
    tick(collector, kept, run)
    assert kept.position(run.id, str(log)) is None
    append(log, b"." * 70_000)
    tick(collector, kept, run)
    assert kept.position(run.id, str(log)).offset == 71_000


class Silent(LineEcho):
    def feed(self, data: bytes, run: Run, now: datetime) -> Iterable[PositionedSample]:
        self._given += len(data)
        return []


@given(
    cuts=st.lists(st.integers(0, 60), max_size=8),
    data=st.binary(max_size=60).map(lambda b: b + b"\nend"),
    restarts=st.sets(st.integers(0, 8)),
    hold=st.booleans(),
)
def test_any_cut_and_restart_gives_each_line_once(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], data: bytes, restarts: set[int], hold: bool
) -> None:
    log = tmp_path_factory.mktemp("tail") / "log"
    batches: list[Batch] = []

    class Store:
        def position(self, run_id: str, path: str) -> Any:
            return next((p for b in reversed(batches) for p in b.positions), None)

    run = Run(id="r", name="r", color=0, machine_id="m", config=Config(), created_at=datetime(2026, 1, 1, tzinfo=UTC))
    collector = follow(log, Store(), hold=hold)
    edges = sorted({0, len(data), *(min(c, len(data)) for c in cuts)})
    for number, (start, end) in enumerate(pairwise(edges)):
        append(log, data[start:end])
        if number in restarts:
            collector.forget(run.id)
        batches += collector.collect(run)
    batches += collector.finish(run)
    collector.forget(run.id)
    texts = [e.text for b in batches for e in b.samples if isinstance(e, Event)]
    assert texts == [line.decode("utf-8", "replace") for line in data.split(b"\n")]
    log.unlink()
