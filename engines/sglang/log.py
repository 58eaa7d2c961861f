"""SGLang's log grammar for releases 0.1 to 0.5: batch lines, start-up facts, failures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from domain import JsonValue
from engines.base import LogEvent, LogParser, ParsedLine, ParsedSample
from engines.kv_transfers import TransferFailures
from engines.line_filter import LineFilter
from engines.line_reader import LineReader, mark, sample_on
from engines.machine_failures import NEEDLES as MACHINE
from engines.sglang.failures import SglangFailureReader
from engines.sglang.forced_acceptance import read_forced_acceptance
from engines.sglang.startup import MERGES, SglangStartup
from engines.sglang.stats import is_cut_short, read_stats
from engines.wrapped_records import without_padding
from samples import LogSample

DEFINITION = "sglang.log"
_SIGNS = re.compile(
    r"(?:Decode|Prefill) batch(?: \[\d+\])?[.,] #|new fill batch\. #seq|^#running-req: |\bsglang[./]|\bsglang::|"
    r"Scheduler hit an exception|fired up and ready to roll|KV Cache is allocated\. |max_total_num_tokens=|"
    r"(?:transfer|handshake|bootstrap) failed for request rank=|KVTransferError\(bootstrap_room=|"
    r"server_args=(?:ServerArgs\(|\{')model_path|"
    r"#retracted_reqs: \d|KV cache pool is full\. Retract|\bMemory pool end\. avail|Capture cuda graph (?:begin|end)\.|"
    r"\[[-\d]{10} [:\d]{8}(?: (?:TP|DP|PP|EP)\d+)+\] |"
    r"Load weight (?:begin|end)\.|Received sigquit from a child|Decode out of memory\. Try|\bSGLang\b",
    re.MULTILINE,
)
RECORD = re.compile(
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: +(?:TP|DP|PP|EP|ATTN_\w+)\d+)+\] |"
    r"server_args=(?:ServerArgs\(|\{')model_path|"
    r"\bsglang::scheduler(?:_[A-Z]+\d+)+|"
    r"File \"[^\"\n]{1,300}/sglang/(?:srt/[\w/]{1,100}|launch_server)\.py\", line \d+, in "
)
_NEEDLES = re.compile(
    rb"batch|#queue-req|#running-req|token/s|Load weight|Memory pool end|_tokens=|llocated|KVPool|KV cache|graph|"
    rb"fired up|server_args|speculative|draft runner|startup timings|sglang|torch distributed|Init parallel|shards:|"
    rb"rror|xception|Traceback|\bassert |sigquit|illed|emory|scheduler is dead|terminated|ddress already|Watchdog|"
    rb"[Pp]ort |all(?:s|ing) back|KV Cache|FROZEN_KV_MTP|sub-?optimal|scaling factors|resource_tracker|Fail|Subprocess|"
    rb"failed for request|SIGTERM|Interrupt|Exit|OutOfRes|SIMULATE_ACC|sampling params|by default|ttention backend|"
    rb"SGLang Ver|" + MACHINE.encode()
)
_VERSION = re.compile(r"\bsglang(?:\.__version__)?(?:: ?|==|=| version:? )v?(\d+\.\d+[\w.+-]*)", re.IGNORECASE)
_PROGRESS = re.compile(r"(?P<what>shards|Capturing [\w ]+?)(?: \([^)]*\))?: *(?P<percent>\d+)%")
_PHASES = (
    (re.compile(r"^Init (?:torch distributed|parallel) begin"), "starting the workers"),
    (re.compile(r"^Load weight begin"), "loading weights"),
    (re.compile(r"^Load weight end"), "allocating the KV cache"),
    (re.compile(r"^Capture .*graph begin", re.IGNORECASE), "capturing graphs"),
)
_TORN_RANK = re.compile(r"^((?:[A-Z]{2}\d+ ?)+)\] ")  # in a record head without its opening bracket
_DP_RANK = re.compile(r"\bDP(\d{1,6})")
_COLUMNS = {
    "generation_tps": "generation_tps",
    "prompt_tps": "prompt_tps",
    "running": "requests_running",
    "waiting": "requests_waiting",
    "accept_length": "acceptance_length",
}
_STATED_BEFORE = {"num_spec_tokens", "attention_backend"}  # the arguments of the same start
_NOT_EXTRA = {*_COLUMNS, "type", "rank", "kv_cache_usage_pct"}


def recognises(text: str) -> bool:
    """Whether this is a log of SGLang or of a program that runs its scheduler."""
    return _SIGNS.search(text) is not None


def log_parser() -> LogParser:
    """Return a parser for one log of SGLang, to be fed from its first byte."""
    return SglangReader()


def log_sample(run_id: str, sample: ParsedSample, ts: datetime, ts_source: str) -> LogSample:
    """Return a batch line as the store's sample.

    The strict acceptance rate is (accept_len - 1) / (draft tokens - 1): releases up to 0.5.10 print accept_len / draft
    tokens with the bonus token on both sides. It is None if the log has not stated the number of draft tokens. The line
    does not state its window (40 decode steps of unknown length), so that is None too.
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
    """Return accepted over drafted, 0..1; `draft_tokens` includes the bonus token like SGLang's flag."""
    if accept_length is None or draft_tokens is None or draft_tokens < 2:
        return None
    return min(max((accept_length - 1) / (draft_tokens - 1), 0.0), 1.0)


_TRANSFER_FAILED = re.compile(
    r"\b(?:transfer|handshake|bootstrap) failed for request rank=[^\r\n]{0,400}?bootstrap_room=(?P<request>\d+)"
    r"(?: with exception (?P<reason>.*))?"
)


class SglangReader(LineReader):
    """Reads one SGLang log, in order."""

    ENGINE = "sglang"
    LINE_FILTER = LineFilter(_NEEDLES)
    MERGES = MERGES

    def __init__(self) -> None:
        super().__init__()
        self._starting = SglangStartup()
        self._failures = SglangFailureReader()
        self._transfers = TransferFailures(_TRANSFER_FAILED)
        self._draft_tokens: int | None = None
        self._first_half: ParsedLine | None = None  # of a record that a terminal split
        self._has_start = False

    def read_line(self, line: ParsedLine) -> Iterable[LogEvent]:
        """Return the line's events; a record that a terminal split in two is read as one."""
        joined_events = self._rejoin(line)
        if joined_events is not None:
            return joined_events
        line = without_padding(line)
        fields = read_stats(line.text)
        if fields is not None:
            return [*self.release(None), *self._stats(line, fields)]
        return [*self.release(None), *self._startup_events(line), *self._failure_events(line)]

    def close(self) -> list[LogEvent]:
        """Return the last events, including the scheduler's exception if the log ends inside its traceback."""
        events = super().close()
        unnamed = self._failures.close()
        return events + (self.report(*unnamed) if unnamed else [])

    def settled_offset(self) -> int:
        """Return the settled offset, also before a traceback whose exception has not come yet."""
        settled, traceback = super().settled_offset(), self._failures.open_offset()
        return settled if traceback is None else min(settled, traceback)

    def _rejoin(self, line: ParsedLine) -> list[LogEvent] | None:
        """Return the events of a record whose second half is this line; None if it is not."""
        first_half, self._first_half = self._first_half, None
        if (
            first_half is None
            or self.held_sample(None) is None
            or line.number != first_half.number + 1
            or line.stamp is not None
        ):
            return None
        candidates = [read_stats(f"{first_half.text}{glue}{line.text}") or {} for glue in ("", " ")]
        fullest = max(candidates, key=len)
        if len(fullest) <= len(read_stats(first_half.text) or {}):
            return None
        self.release(None)
        return self._finished(first_half, fullest)

    def _stats(self, line: ParsedLine, fields: Mapping[str, JsonValue]) -> list[LogEvent]:
        if not is_cut_short(fields):
            return self._finished(line, fields)
        self._first_half = line
        return self.hold(None, self._sample(line, fields))

    def _finished(self, line: ParsedLine, fields: Mapping[str, JsonValue]) -> list[LogEvent]:
        self._failures.is_ready = self._failures.is_ready or fields["type"] == "decode"
        events: list[LogEvent] = [self._sample(line, fields)]
        return [*events, mark(line, "acceptance", line.text)] if "accept_length" in fields else events

    def _sample(self, line: ParsedLine, fields: Mapping[str, JsonValue]) -> ParsedSample:
        return sample_on(line, {**fields, **self._context(line)})

    def _context(self, line: ParsedLine) -> dict[str, JsonValue]:
        rank_match = None if line.process else _TORN_RANK.search(line.text)
        rank = rank_match[1] if rank_match else line.process
        context = {"rank": rank, "num_spec_tokens": self._draft_tokens}
        return {key: value for key, value in context.items() if value is not None}

    def _startup_events(self, line: ParsedLine) -> Iterable[LogEvent]:
        if line.text.startswith("server_args="):
            self._begin_start()
            self._has_start = True
        if self.version is None and (version := _VERSION.search(line.text)):
            self.version = version[1]
        facts = self._starting.read(line.text, line.process)
        self._draft_tokens = facts.get("num_spec_tokens", self._draft_tokens)
        self._failures.is_ready = self._failures.is_ready or "ready" in facts
        self._has_start = self._has_start or not facts.keys() <= _STATED_BEFORE
        return self.note_start(line, facts, read_phase(line.text), read_forced_acceptance(line.text))

    def _begin_start(self) -> None:
        """Reset the state: a server restarted in the same log is neither ready nor known to draft."""
        if self._has_start:
            self.begin_run()
        self._starting, self._failures, self._draft_tokens = SglangStartup(), SglangFailureReader(), None

    def _failure_events(self, line: ParsedLine) -> list[LogEvent]:
        if failed_transfer := self._transfers.match(line.text):
            return self.report(line, self._transfers.read(failed_transfer))
        return self.report(line, self._failures.read(line))


def read_phase(text: str) -> str | None:
    """Return the phase of a starting server: 'loading weights 34 %', 'capturing graphs'."""
    if match := _PROGRESS.search(text):
        activity = "loading weights" if match["what"] == "shards" else "capturing graphs"
        return f"{activity} {match['percent']} %"
    return next((phase for pattern, phase in _PHASES if pattern.search(text)), None)
