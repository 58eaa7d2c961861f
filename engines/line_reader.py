"""The base of all log parsers: takes bytes, holds back what may still change, keeps start-up facts and failure causes.

An engine's grammar is a subclass that reads one `Line` at a time; nothing here grows with the log's length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

from domain import JsonValue
from engines.base import Line, LogEvent, LogReading, Mark, ParsedSample, StartupFact
from engines.line_filter import LineFilter
from engines.lines import KEPT_BYTES, LineSplitter

Merge = Literal["rank0", "rank0_sum", "list", "each", "min", "max", "sum", "first", "last"]
_MOST_CAUSES = 5
_MOST_VALUES = 256  # of one key, over ranks and repetitions
_MOST_RUNS = 16
READY = "ready"
CUT = "Line {} of the log is longer than {} KiB, the most that is read of one: the middle of such lines is not."
_MOST_HELD = 256  # processes with a sample that waits
_RANK_NUMBERS = re.compile(r"(?:[A-Z]P|rank ?=?|RANK |[-_])(\d{1,9})", re.ASCII)


class Startup:
    """The facts of one start, merged over ranks by key.

    'rank0': the last value of the lowest rank; 'rank0_sum' and 'list': all values of the lowest rank;
    'each': every value of every rank in the order of the log; 'min', the usable value of several, and the others:
    over every value of every rank.
    """

    def __init__(self, merges: Mapping[str, Merge]) -> None:
        self._merges = merges
        self._values: dict[str, list[tuple[Rank, JsonValue]]] = {}

    def add(self, key: str, value: JsonValue, process: str | None) -> None:
        """Note what one process says; of more than 256 values of a key the first and the last 128 stay."""
        values = self._values.setdefault(key, [])
        if len(values) == _MOST_VALUES:
            del values[_MOST_VALUES // 2]
        values.append((rank_of(process), value))

    def merged(self) -> dict[str, JsonValue]:
        """One value a key, over all ranks by that key's way to merge; 'rank0' where none is named."""
        return {key: self._merge(self._merges.get(key, "rank0"), values) for key, values in self._values.items()}

    def __bool__(self) -> bool:
        return bool(self._values)

    @staticmethod
    def _merge(merge: Merge, ranked: list[tuple[Rank, JsonValue]]) -> JsonValue:
        lowest = min(rank for rank, _ in ranked)
        of_lowest = merge in ("rank0", "rank0_sum", "list")
        values = [value for rank, value in ranked if rank == lowest or not of_lowest]
        return _MERGERS[merge](values)


Rank = tuple[bool, tuple[int, ...], bool]
_MERGERS: Mapping[Merge, Callable[[list[JsonValue]], JsonValue]] = {
    "rank0": lambda values: values[-1],
    "rank0_sum": sum,
    "list": list,
    "each": list,
    "min": min,
    "max": max,
    "sum": sum,
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
}


def rank_of(process: str | None) -> Rank:
    """How ranks sort: by the numbers in the name ('Worker_DP0_TP1', 'VllmWorker rank=3'), then no name, then others."""
    numbers = tuple(int(number) for number in _RANK_NUMBERS.findall(process or "")[:8])
    return (not numbers, numbers, bool(process))


class LogFailure(NamedTuple):
    """A failure that a line names; `rank` is 0 for a cause, higher for its echoes, None for a warning."""

    rank: int | None
    cause: str  # in the engine's words
    sentence: str  # in ours


@dataclass
class Causes:
    """The first few causes of each rank; rank 0 is a true cause, higher ranks are its echoes."""

    _by_rank: dict[int, dict[str, None]] = field(default_factory=dict)

    def add(self, rank: int, text: str) -> bool:
        """False if it was known already, or its rank has reported as many as are kept."""
        known = self._by_rank.setdefault(rank, {})
        if text in known or len(known) >= _MOST_CAUSES:
            return False
        known[text] = None
        return True

    def ordered(self) -> list[str]:
        """At most five different causes, those of the lowest rank first."""
        texts = (text for rank in sorted(self._by_rank) for text in self._by_rank[rank])
        return list(dict.fromkeys(texts))[:_MOST_CAUSES]


class LineReader:
    """A `LogParser` whose subclass says what one line means.

    A subclass sets ENGINE, SIEVE (the lines it wants, routine ones not while it has said `skip_routine`) and MERGES,
    and overrides `read_line`.
    It returns events, or keeps a sample that a later line may complete with `hold` until it calls `release`;
    what a line says of the start and of failures it notes with `note_start` and `report`.
    """

    ENGINE: ClassVar[str]
    SIEVE: ClassVar[LineFilter] = LineFilter()
    MERGES: ClassVar[Mapping[str, Merge]] = {}

    def __init__(self) -> None:
        self._lines = LineSplitter(self.SIEVE)
        self._held: dict[str | None, ParsedSample] = {}
        self._startup = Startup(self.MERGES)
        self._earlier: list[dict[str, JsonValue]] = []
        self._current_phase: str | None = None
        self.causes = Causes()
        self.version: str | None = None
        self._reported_version: str | None = None
        self._is_cut_noted = False

    def read_line(self, line: Line) -> Iterable[LogEvent]:
        """The events of this line; never raises."""
        raise NotImplementedError

    def feed(self, data: bytes) -> list[LogEvent]:
        """The events of the lines that end within these bytes; a line without LF waits for its rest."""
        events: list[LogEvent] = []
        for line in self._lines.feed(data):
            events.extend(self.read_line(line))
        return events + self._note_cut()

    def release_held(self) -> list[LogEvent]:
        """Gives out what is held, for a log that has fallen silent; a late second line then stands for itself."""
        events: list[LogEvent] = sorted(self._held.values(), key=lambda sample: sample.offset)
        self._held.clear()
        return events

    def close(self) -> list[LogEvent]:
        """The events of a last line without LF, and those still held."""
        events: list[LogEvent] = []
        for line in self._lines.close():
            events.extend(self.read_line(line))
        return events + self._note_cut() + self.release_held()

    def settled_offset(self) -> int:
        """All events of lines that start before this byte have been given out: none of them is held."""
        return min([self._lines.offset, *(sample.offset for sample in self._held.values())])

    def reading(self) -> LogReading:
        """What is known so far; of several starts in one log the facts of the last, and of each under 'runs'."""
        startup = self._facts()
        if self._earlier:
            startup["runs"] = [*self._earlier, dict(startup)]
        return LogReading(self.ENGINE, self.version, startup, self.causes.ordered(), self.has_died())

    def has_died(self) -> bool:
        """Whether the engine has said of itself that it is dead."""
        return False

    def derive(self, startup: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """What follows from the merged facts of one start."""
        return {}

    def _note_cut(self) -> list[LogEvent]:
        """A warning, once, where a line was longer than what is kept of one."""
        if self._lines.first_cut is None or self._is_cut_noted:
            return []
        self._is_cut_noted = True
        number, offset = self._lines.first_cut
        return [Mark(number, offset, "warning", CUT.format(number, KEPT_BYTES >> 10))]

    def _facts(self) -> dict[str, JsonValue]:
        merged = self._startup.merged()
        return merged | self.derive(merged)

    # --- for subclasses ---------------------------------------------------------------------------------------------
    def skip_routine(self, skips: bool) -> None:
        """Whether the lines after this one are given to `read_line` if they are routine."""
        self._lines.skips_routine = skips

    def hold(self, process: str | None, sample: ParsedSample) -> list[LogEvent]:
        """Keeps a sample for a later line of the same process; returns the one kept before, now final."""
        released = self.release(process)
        if len(self._held) >= _MOST_HELD:
            released = self.release_held()
        self._held[process] = sample
        return released

    def held(self, process: str | None) -> ParsedSample | None:
        """The sample of this process that a later line may complete; None where none waits."""
        return self._held.get(process)

    def release(self, process: str | None) -> list[LogEvent]:
        """Give out the sample that is held for this process, now final; empty where none is."""
        sample = self._held.pop(process, None)
        return [] if sample is None else [sample]

    def note_startup(self, line: Line, facts: Mapping[str, JsonValue]) -> list[LogEvent]:
        """Merges the facts of one line and returns them as events, with the line as their mark."""
        events: list[LogEvent] = []
        for key, value in facts.items():
            self._startup.add(key, value, line.process)
            events.append(StartupFact(line.number, line.offset, key, value, line.stamp))
        return [*events, mark(line, "startup", line.text)]

    def note_start(self, line: Line, facts: Mapping[str, JsonValue], phase: str | None) -> list[LogEvent]:
        """What one line says of the start: its facts, and the mark of a phase that is not the one it is in."""
        events = self._note_version(line) + (self.note_startup(line, facts) if facts else [])
        reached = READY if facts.get("ready") else phase
        if reached is None or reached == self._current_phase:
            return events
        self._current_phase = reached
        return [*events, mark(line, "ready" if reached == READY else "phase", reached)]

    def _note_version(self, line: Line) -> list[LogEvent]:
        """The version, where this line is the first to say it or says another."""
        if self.version == self._reported_version:
            return []
        self._reported_version = self.version
        return [StartupFact(line.number, line.offset, "engine_version", self.version, line.stamp)]

    def begin_run(self) -> None:
        """Another start in the same log: the facts so far belong to an earlier one."""
        if self._startup and len(self._earlier) < _MOST_RUNS:
            self._earlier.append(self._facts())
        self._startup = Startup(self.MERGES)
        self._current_phase = None

    def report(self, line: Line, failure: LogFailure | None) -> list[LogEvent]:
        """Notes what the line names: a warning each time, a cause or an echo the first time it is seen."""
        if failure is None:
            return []
        if failure.rank is None:
            return [mark(line, "warning", failure.sentence, evidence=line.text)]
        if not self.causes.add(failure.rank, failure.cause):
            return []
        return [mark(line, "failure", failure.sentence, evidence=line.text)]


def sample_on(line: Line, fields: Mapping[str, JsonValue]) -> ParsedSample:
    """The sample that stands on this line."""
    return ParsedSample(line.number, line.offset, fields, line.stamp, line.elapsed_s)


def mark(
    line: Line,
    kind: Literal["throughput", "acceptance", "startup", "phase", "ready", "warning", "failure"],
    text: str,
    evidence: str | None = None,
) -> Mark:
    """A mark on this line with the line's own time; `evidence` is the line itself, for warnings and failures."""
    return Mark(line.number, line.offset, kind, text, line.stamp, evidence)
