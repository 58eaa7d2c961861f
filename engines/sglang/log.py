"""SGLang's log grammar, releases 0.1 to 0.5: batch lines, start-up facts, failures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from domain import JsonValue
from engines.base import Line, LogEvent, LogParser, ParsedSample
from engines.line_filter import LineFilter
from engines.line_reader import LineReader, mark, sample_on
from engines.sglang.failures import FailureReader
from engines.sglang.startup import MERGES, StartupFacts
from engines.sglang.stats import is_cut_short, read_stats
from samples import LogSample

DEFINITION = "sglang.log"
_SIGNS = re.compile(
    r"(?:Decode|Prefill) batch(?: \[\d+\])?[.,] #|new fill batch\. #seq|^#running-req: |\bsglang[./]|"
    r"Scheduler hit an exception|fired up and ready to roll|KV Cache is allocated\. |max_total_num_tokens=|"
    r"Load weight (?:begin|end)\.|Received sigquit from a child|Decode out of memory\. Try|\bSGLang\b",
    re.MULTILINE,
)
_NEEDLES = re.compile(
    rb"batch|#queue-req|#running-req|token/s|Load weight|Memory pool end|_tokens=|llocated|KVPool|KV cache|graph|"
    rb"fired up|server_args|speculative|draft runner|startup timings|sglang|torch distributed|Init parallel|shards:|"
    rb"rror|xception|Traceback|sigquit|illed|emory|scheduler is dead|terminated|ddress already|Watchdog|[Pp]ort |"
    rb"all(?:s|ing) back|KV Cache|FROZEN_KV_MTP|sub-?optimal|scaling factors|resource_tracker|Fail|Subprocess|"
    rb"Interrupt|Exit|OutOfRes"
)
_VERSION = re.compile(r"\bsglang(?:\.__version__)?(?:: ?|==|=| version:? )v?(\d+\.\d+[\w.+-]*)", re.IGNORECASE)
_PROGRESS = re.compile(r"(?P<what>shards|Capturing [\w ]+?)(?: \([^)]*\))?: *(?P<percent>\d+)%")
_PHASES = (
    (re.compile(r"^Init (?:torch distributed|parallel) begin"), "starting the workers"),
    (re.compile(r"^Load weight begin"), "loading weights"),
    (re.compile(r"^Load weight end"), "allocating the KV cache"),
    (re.compile(r"^Capture .*graph begin", re.IGNORECASE), "capturing graphs"),
)
_TORN_RANK = re.compile(r"^((?:[A-Z]{2}\d+ ?)+)\] ")  # of a record head that lost its bracket
_DP_RANK = re.compile(r"\bDP(\d{1,6})")
_COLUMNS = {
    "generation_tps": "generation_tps",
    "prompt_tps": "prompt_tps",
    "running": "requests_running",
    "waiting": "requests_waiting",
    "accept_length": "acceptance_length",
}
_NOT_EXTRA = {*_COLUMNS, "type", "rank", "kv_cache_usage_pct"}


def recognises(text: str) -> bool:
    """Whether this is SGLang's log, or of a program that runs its scheduler."""
    return _SIGNS.search(text) is not None


def log_parser() -> LogParser:
    """A parser for one log of SGLang, to be fed from its first byte."""
    return SglangReader()


def log_sample(run_id: str, sample: ParsedSample, ts: datetime, ts_source: str) -> LogSample:
    """A batch line in the store's terms.

    The strict acceptance rate is (accept_len - 1) / (draft tokens - 1): releases to 0.5.10 print accept_len / draft
    tokens with the bonus token on both sides. It is None where the log has not stated the number of draft tokens.
    The line does not say its window (40 decode steps of unknown length), so that is None too.
    """
    fields = sample.fields
    rank = fields.get("rank")
    dp_rank = _DP_RANK.search(rank or "")
    usage = fields.get("kv_cache_usage_pct")
    return LogSample(
        run_id=run_id,
        ts=ts,
        offset=sample.offset,
        line=sample.line,
        definition=DEFINITION,
        ts_source=ts_source,
        engine_index=int(dp_rank[1]) if dp_rank else 0,
        rank=rank,
        kind=fields.get("type"),
        kv_usage_ratio=None if usage is None else usage / 100,
        acceptance_rate=strict_acceptance_rate(fields.get("accept_length"), fields.get("num_spec_tokens")),
        extra={key: value for key, value in fields.items() if key not in _NOT_EXTRA},
        **{column: fields.get(key) for key, column in _COLUMNS.items()},
    )


def strict_acceptance_rate(accept_length: float | None, draft_tokens: int | None) -> float | None:
    """Accepted over drafted, 0..1; `draft_tokens` counts the bonus token as SGLang's flag does."""
    if accept_length is None or draft_tokens is None or draft_tokens < 2:
        return None
    return min(max((accept_length - 1) / (draft_tokens - 1), 0.0), 1.0)


class SglangReader(LineReader):
    """Reads one SGLang log, in order."""

    ENGINE = "sglang"
    SIEVE = LineFilter(_NEEDLES)
    MERGES = MERGES

    def __init__(self) -> None:
        super().__init__()
        self._starting = StartupFacts()
        self._failures = FailureReader()
        self._draft_tokens: int | None = None
        self._cut: Line | None = None  # the first half of a record that a terminal broke in two

    def read_line(self, line: Line) -> Iterable[LogEvent]:
        """The line's events; a record that a terminal broke in two is read as one."""
        whole = self._rejoin(line)
        if whole is not None:
            return whole
        fields = read_stats(line.text)
        if fields is not None:
            return [*self.release(None), *self._stats(line, fields)]
        return [*self.release(None), *self._startup_events(line), *self._failure_events(line)]

    def close(self) -> list[LogEvent]:
        """The last events, the scheduler's exception among them where the log ends inside its traceback."""
        events = super().close()
        unnamed = self._failures.close()
        return events + (self.report(*unnamed) if unnamed else [])

    def settled_offset(self) -> int:
        """As any reader's, and not beyond the start of a traceback whose exception has not come yet."""
        settled, traceback = super().settled_offset(), self._failures.open_offset()
        return settled if traceback is None else min(settled, traceback)

    def _rejoin(self, line: Line) -> list[LogEvent] | None:
        """The events of a record whose second half this line is, if it is one."""
        first, self._cut = self._cut, None
        if first is None or self.held(None) is None or line.number != first.number + 1 or line.stamp is not None:
            return None
        joined = [read_stats(f"{first.text}{glue}{line.text}") or {} for glue in ("", " ")]
        fullest = max(joined, key=len)
        if len(fullest) <= len(read_stats(first.text) or {}):
            return None
        self.release(None)
        return self._finished(first, fullest)

    def _stats(self, line: Line, fields: Mapping[str, JsonValue]) -> list[LogEvent]:
        if not is_cut_short(fields):
            return self._finished(line, fields)
        self._cut = line
        return self.hold(None, self._sample(line, fields))

    def _finished(self, line: Line, fields: Mapping[str, JsonValue]) -> list[LogEvent]:
        self._failures.is_ready = self._failures.is_ready or fields["type"] == "decode"
        events: list[LogEvent] = [self._sample(line, fields)]
        return [*events, mark(line, "acceptance", line.text)] if "accept_length" in fields else events

    def _sample(self, line: Line, fields: Mapping[str, JsonValue]) -> ParsedSample:
        return sample_on(line, {**fields, **self._context(line)})

    def _context(self, line: Line) -> dict[str, JsonValue]:
        torn = None if line.process else _TORN_RANK.search(line.text)
        rank = torn[1] if torn else line.process
        context = {"rank": rank, "num_spec_tokens": self._draft_tokens}
        return {key: value for key, value in context.items() if value is not None}

    def _startup_events(self, line: Line) -> Iterable[LogEvent]:
        if line.text.startswith("server_args="):
            self._begin_start()
        if self.version is None and (version := _VERSION.search(line.text)):
            self.version = version[1]
        facts = self._starting.read(line.text, line.process)
        self._draft_tokens = facts.get("num_spec_tokens", self._draft_tokens)
        self._failures.is_ready = self._failures.is_ready or "ready" in facts
        return self.note_start(line, facts, read_phase(line.text))

    def _begin_start(self) -> None:
        """A server started again in the same log is neither ready nor known to draft."""
        self.begin_run()
        self._starting, self._failures, self._draft_tokens = StartupFacts(), FailureReader(), None

    def _failure_events(self, line: Line) -> list[LogEvent]:
        return self.report(line, self._failures.read(line))


def read_phase(text: str) -> str | None:
    """What a starting server is doing: 'loading weights 34 %', 'capturing graphs'."""
    if found := _PROGRESS.search(text):
        what = "loading weights" if found["what"] == "shards" else "capturing graphs"
        return f"{what} {found['percent']} %"
    return next((phase for pattern, phase in _PHASES if pattern.search(text)), None)
