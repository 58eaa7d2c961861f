"""Base of all log parsers: takes bytes, holds events that may still change, keeps start-up facts and failure causes.

An engine's grammar is a subclass that reads one `ParsedLine` at a time; memory does not grow with the log's length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

from domain import JsonValue
from engines.base import LogEvent, LogMark, LogReading, ParsedLine, ParsedSample, StartupFact
from engines.forced_acceptance import FACT, forced_sentence
from engines.line_filter import LineFilter
from engines.lines import KEPT_BYTES, LineSplitter

Merge = Literal["rank0", "rank0_sum", "list", "each", "min", "max", "sum", "first", "last"]
_MOST_CAUSES = 5
_MOST_VALUES = 256  # of one key, over ranks and repetitions
_MOST_RUNS = 16
READY = "ready"
CUT = "Line {} of the log is longer than the limit of {} KiB: the middle of such lines is not read."
_MOST_HELD = 256  # processes with a held sample
_RANK_NUMBERS = re.compile(r"(?:[A-Z]P|rank ?=?|RANK |[-_])(\d{1,9})", re.ASCII)


class StartupValues:
    """The facts of one start, merged over ranks by key.

    'rank0': the last value of the lowest rank; 'rank0_sum' and 'list': all values of its first process; 'each': every
    value of every rank in log order; 'min' (the usable value of several) and the others: over all values of all ranks.
    """

    def __init__(self, merges: Mapping[str, Merge]) -> None:
        self._merges = merges
        self._values: dict[str, list[tuple[Rank, str | None, JsonValue]]] = {}

    def add(self, key: str, value: JsonValue, process: str | None) -> None:
        """Add one process's value; of more than 256 values of a key the first and the last 128 stay."""
        values = self._values.setdefault(key, [])
        if len(values) == _MOST_VALUES:
            del values[_MOST_VALUES // 2]
        values.append((rank_of(process), process, value))

    def merged(self) -> dict[str, JsonValue]:
        """Return one value per key, merged over all ranks by the key's rule; 'rank0' by default."""
        return {key: self._merge(self._merges.get(key, "rank0"), values) for key, values in self._values.items()}

    def __bool__(self) -> bool:
        return bool(self._values)

    @staticmethod
    def _merge(merge: Merge, ranked: list[tuple[Rank, str | None, JsonValue]]) -> JsonValue:
        if merge in ("rank0", "rank0_sum", "list"):
            lowest, first_process, _ = min(ranked, key=lambda entry: entry[0])
            ranked = [entry for entry in ranked if entry[0] == lowest]
            if merge != "rank0":
                ranked = [entry for entry in ranked if entry[1] == first_process]
        return _MERGERS[merge]([value for _, _, value in ranked])


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
    """Return a rank's sort key: by the numbers in the name ('Worker_DP0_TP1'), then no name, then other names."""
    numbers = tuple(int(number) for number in _RANK_NUMBERS.findall(process or "")[:8])
    return (not numbers, numbers, bool(process))


class LogFailure(NamedTuple):
    """A failure that a line reports; `rank` is 0 for a cause, higher for its echoes, None for a warning."""

    rank: int | None
    cause: str  # in the engine's words
    sentence: str  # in Pitwall's words


@dataclass
class Causes:
    """The first few causes of each rank; rank 0 is a true cause, higher ranks are its echoes."""

    _by_rank: dict[int, dict[str, None]] = field(default_factory=dict)

    def add(self, rank: int, text: str) -> bool:
        """Add a cause; False if it is known already, or its rank is full."""
        rank_causes = self._by_rank.setdefault(rank, {})
        if text in rank_causes or len(rank_causes) >= _MOST_CAUSES:
            return False
        rank_causes[text] = None
        return True

    def ordered(self) -> list[str]:
        """Return at most five different causes, those of the lowest rank first."""
        texts = (text for rank in sorted(self._by_rank) for text in self._by_rank[rank])
        return list(dict.fromkeys(texts))[:_MOST_CAUSES]


class LineReader:
    """A `LogParser` whose subclass interprets single lines.

    A subclass sets ENGINE, LINE_FILTER (routine lines are skipped after `skip_routine`) and MERGES, and overrides
    `read_line`, which returns events. It keeps a sample that a later line may complete with `hold` until `release`, and
    notes start-up facts with `note_start` and failures with `report`.
    """

    ENGINE: ClassVar[str]
    LINE_FILTER: ClassVar[LineFilter] = LineFilter()
    MERGES: ClassVar[Mapping[str, Merge]] = {}

    def __init__(self) -> None:
        self._lines = LineSplitter(self.LINE_FILTER)
        self._held: dict[str | None, ParsedSample] = {}
        self._startup = StartupValues(self.MERGES)
        self._earlier: list[dict[str, JsonValue]] = []
        self._current_phase: str | None = None
        self.causes = Causes()
        self.version: str | None = None
        self._reported_version: str | None = None
        self._is_cut_noted = False

    def read_line(self, line: ParsedLine) -> Iterable[LogEvent]:
        """Return the events of this line; never raises."""
        raise NotImplementedError

    def feed(self, data: bytes) -> list[LogEvent]:
        """Return the events of the lines that end within these bytes; an incomplete line waits for the next call."""
        events: list[LogEvent] = []
        for line in self._lines.feed(data):
            events.extend(self.read_line(line))
        return events + self._note_cut()

    def release_held(self) -> list[LogEvent]:
        """Release what is held, for a silent log; a late second line then becomes its own sample."""
        events: list[LogEvent] = sorted(self._held.values(), key=lambda sample: sample.offset)
        self._held.clear()
        return events

    def close(self) -> list[LogEvent]:
        """Return the events of a last line without LF, and those still held."""
        events: list[LogEvent] = []
        for line in self._lines.close():
            events.extend(self.read_line(line))
        return events + self._note_cut() + self.release_held()

    def settled_offset(self) -> int:
        """Return the offset before which all lines' events have been returned: none of them is held."""
        return min([self._lines.offset, *(sample.offset for sample in self._held.values())])

    def reading(self) -> LogReading:
        """Return the reading so far; of several starts in one log the last one's facts, and all under 'runs'."""
        startup = self._facts()
        if self._earlier:
            startup["runs"] = [*self._earlier, dict(startup)]
        errors, repeats = self.causes.ordered(), self.repeated_warnings()
        return LogReading(self.ENGINE, self.version, startup, errors, self.has_died(), repeats)

    def has_died(self) -> bool:
        """Whether the engine has reported its own death."""
        return False

    def repeated_warnings(self) -> Mapping[str, int]:
        """Return how often the log repeats each warning whose repeats have no mark."""
        return {}

    def derive(self, startup: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return facts derived from the merged facts of one start."""
        return {}

    def _note_cut(self) -> list[LogEvent]:
        """Return a warning, once, if a line exceeded the length limit."""
        if self._lines.first_truncated is None or self._is_cut_noted:
            return []
        self._is_cut_noted = True
        number, offset = self._lines.first_truncated
        return [LogMark(number, offset, "warning", CUT.format(number, KEPT_BYTES >> 10))]

    def _facts(self) -> dict[str, JsonValue]:
        merged = self._startup.merged()
        return merged | self.derive(merged)

    # --- for subclasses ---------------------------------------------------------------------------------------------
    def skip_routine(self, skips: bool) -> None:
        """Set whether routine lines after this one are skipped."""
        self._lines.skips_routine = skips

    def hold(self, process: str | None, sample: ParsedSample) -> list[LogEvent]:
        """Hold a sample for a later line of the same process; return the one held before, now final."""
        released = self.release(process)
        if len(self._held) >= _MOST_HELD:
            released = self.release_held()
        self._held[process] = sample
        return released

    def held_sample(self, process: str | None) -> ParsedSample | None:
        """Return the sample of this process that a later line may complete; None if there is none."""
        return self._held.get(process)

    def release(self, process: str | None) -> list[LogEvent]:
        """Release the held sample of this process, now final; empty if there is none."""
        sample = self._held.pop(process, None)
        return [] if sample is None else [sample]

    def note_startup(self, line: ParsedLine, facts: Mapping[str, JsonValue]) -> list[LogEvent]:
        """Merge the facts of one line and return them as events, with a mark on the line."""
        events: list[LogEvent] = []
        for key, value in facts.items():
            self._startup.add(key, value, line.process)
            events.append(StartupFact(line.number, line.offset, key, value, line.stamp))
        return [*events, mark(line, "startup", line.text)]

    def note_start(
        self, line: ParsedLine, facts: Mapping[str, JsonValue], phase: str | None, forcing: str | None = None
    ) -> list[LogEvent]:
        """Return the events of one start-up line: its facts, and marks of a new phase and of forced acceptance.

        forcing: the switch by which this line says that draft acceptance is forced.
        """
        facts = facts if forcing is None else {**facts, FACT: forcing}
        events = self._note_version(line) + (self.note_startup(line, facts) if facts else [])
        if forcing is not None:
            events.append(mark(line, "warning", forced_sentence(forcing), evidence=line.text))
        reached = READY if facts.get("ready") else phase
        if reached is None or reached == self._current_phase:
            return events
        self._current_phase = reached
        return [*events, mark(line, "ready" if reached == READY else "phase", reached)]

    def _note_version(self, line: ParsedLine) -> list[LogEvent]:
        """Return the version as a fact when it is new or changes."""
        if self.version == self._reported_version:
            return []
        self._reported_version = self.version
        return [StartupFact(line.number, line.offset, "engine_version", self.version, line.stamp)]

    def begin_run(self) -> None:
        """Begin another start in the same log: the facts so far belong to an earlier one."""
        if self._startup and len(self._earlier) < _MOST_RUNS:
            self._earlier.append(self._facts())
        self._startup = StartupValues(self.MERGES)
        self._current_phase = None

    def report(self, line: ParsedLine, failure: LogFailure | None) -> list[LogEvent]:
        """Return marks for a failure: a warning every time, a cause or an echo the first time."""
        if failure is None:
            return []
        if failure.rank is None:
            return [mark(line, "warning", failure.sentence, evidence=line.text)]
        if not self.causes.add(failure.rank, failure.cause):
            return []
        return [mark(line, "failure", failure.sentence, evidence=line.text)]


def sample_on(line: ParsedLine, fields: Mapping[str, JsonValue]) -> ParsedSample:
    """Return a sample at this line."""
    return ParsedSample(line.number, line.offset, fields, line.stamp, line.elapsed_s)


def mark(
    line: ParsedLine,
    kind: Literal["throughput", "acceptance", "startup", "phase", "ready", "warning", "failure"],
    text: str,
    evidence: str | None = None,
) -> LogMark:
    """Return a mark on this line with the line's time; `evidence` is the line itself, for warnings and failures."""
    return LogMark(line.number, line.offset, kind, text, line.stamp, evidence)
