"""TensorRT-LLM's log grammar: the PyTorch executor's iteration lines, KV cache lines of both runtimes, failures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from domain import JsonValue
from engines.base import LogEvent, LogParser, ParsedLine, ParsedSample
from engines.kv_transfers import TransferFailures
from engines.line_filter import LineFilter
from engines.line_reader import LineReader, sample_on
from engines.machine_failures import NEEDLES as MACHINE
from engines.numerals import COUNT, NUMBER
from engines.trtllm.failures import MemoryTable, read_failure
from engines.trtllm.forced_acceptance import read_forced_acceptance
from engines.trtllm.startup import read_blocks, read_fact
from engines.wrapped_records import RecordJoiner, WrappedForm
from samples import LogSample

DEFINITION = "trtllm.log"
_SIGNS = re.compile(
    r"\[TRT-LLM\]|\[?TensorRT-LLM\]|\btrtllm-(?:serve|llmapi-launch|bench)\b|\btensorrt_llm\b|"
    r"Executor creation failed due to insufficient GPU memory|\blibtensorrtllm\.cc:\d"
)
_REST = r"num_|_time = |states = |timestamp = |kv_cache_util|_requests = |\":\d"  # RE2 syntax
RECORD = re.compile(r"\[TRT-LLM\] +(?:\[RANK \d+\] +)?\[[A-Z]\] |\[TensorRT-LLM\] *\[[A-Z]+\] ")
_NEEDLES = re.compile(
    rb"iter = |Iteration Counter|max_(?:seq_len|num_requests|num_tokens|batch_size) ?[=:]|"
    rb"KV cache|k/v cache|kv cache|per block|engine size|load time|Model init|version|startup complete|"
    rb"TRTGptModel max|using inferred value|AttentionRuntimeF|PyTorchConfig|"
    rb"for model weights|max_seq_len to |Started (?:GRPC|HTTP)|"
    rb"shards|rror|ERROR|\[E\]|xception|terminate|what\(\)|ssert|nsufficient|"
    rb"could not be created|modelInstanceState|illed|emory|No such option|transfer|model type |FORCE_NUM_ACCEPTED|"
    + f"{_REST}|{MACHINE}".encode()
)
_ITERATION = re.compile(rf"(?:^|\s)iter = (?P<iter>{COUNT}), (?=.*(?:(?:elapsed|step)_time|states) = )")
_WHOLE_STATES = re.compile(r"states = \{[^}]*\}")
_ITERATION_BEGINS = re.compile(rf"(?:^|\s)iter = {COUNT}, ")
_STATES = re.compile(r"states = \{[^}]*")
_PAIR = re.compile(rf"\b(?P<key>[a-z_]+) ?[=:] (?P<value>{NUMBER})(?P<unit>ms|s|%)?(?=[,\s]|$)")
_STATE = re.compile(rf"'(?P<key>\w+)': (?P<value>{COUNT})")
_NAMES = {
    "elapsed_time": "elapsed_s",
    "host_step_time": "host_step_ms",
    "prev_device_step_time": "prev_device_step_ms",
    "num_scheduled_requests": "num_scheduled",
    "cached_kv_len": "cached_kv_tokens",
    "global_rank": "global_rank",
}
# Of the C++ runtime, which prints its statistics as one JSON object.
_STATISTICS_BEGIN = '{"Active Request Count":'
_STATISTIC = re.compile(rf"\"(?P<name>[A-Z][\w ]{{2,60}})\":(?P<value>{COUNT})(?=[,}}])")
_STATISTICS = {
    "Active Request Count": "num_active",
    "Scheduled Requests": "num_scheduled",
    "Context Requests": "num_ctx_requests",
    "Generation Requests": "num_generation_requests",
    "Total Context Tokens": "num_ctx_tokens",
}
_COUNTS = {"num_scheduled", "cached_kv_tokens", "global_rank"}
_VERSION = re.compile(r"Tensor ?RT[- ]LLM version: (\d[\w.+-]*)")
_PROGRESS = re.compile(rf"[Ll]oading .*shards: +({COUNT})%")


def recognises(text: str) -> bool:
    """Whether this is a log of TensorRT-LLM, from its own server or from Triton."""
    return _SIGNS.search(text) is not None


def log_parser() -> LogParser:
    """Return a parser for one log of TensorRT-LLM, to be fed from its first byte."""
    return TrtllmReader()


def read_iteration(text: str) -> dict[str, JsonValue] | None:
    """Read one iteration line in the parser's key names; step times of newer releases stay in ms as printed."""
    if text.startswith(_STATISTICS_BEGIN):
        return _read_statistics(text)
    match = _ITERATION.search(text)
    if match is None:
        return None
    fields: dict[str, JsonValue] = {"iter": int(match["iter"])}
    states = _STATES.search(text, match.end())
    for pair in _PAIR.finditer(text, match.end(), states.start() if states else len(text)):
        key = _NAMES.get(pair["key"])
        if key:
            fields[key] = int(float(pair["value"])) if key in _COUNTS else float(pair["value"])
        elif pair["key"] == "kv_cache_util":
            fields["kv_cache_usage_pct"] = round(float(pair["value"]) * (1 if pair["unit"] == "%" else 100), 6)
    return fields | {state["key"]: int(state["value"]) for state in _STATE.finditer(states[0] if states else "")}


def _read_statistics(text: str) -> dict[str, JsonValue] | None:
    """Read the statistics of an iteration that the C++ runtime prints as JSON."""
    counts = {match["name"]: int(match["value"]) for match in _STATISTIC.finditer(text)}
    if "Iteration Counter" not in counts:
        return None
    fields = {"iter": counts["Iteration Counter"]} | {
        key: counts[name] for name, key in _STATISTICS.items() if name in counts
    }
    used_blocks, most = counts.get("Used KV cache blocks"), counts.get("Max KV cache blocks")
    return fields | (
        {} if used_blocks is None or not most else {"kv_cache_usage_pct": round(100 * used_blocks / most, 6)}
    )


def log_sample(run_id: str, sample: ParsedSample, ts: datetime, ts_source: str) -> LogSample:
    """Return an iteration as the store's sample; the window is the iteration.

    It has no tok/s: the line prints none, and its generation tokens include CUDA graph padding and drafted tokens.
    """
    fields = sample.fields
    usage, host_ms = fields.get("kv_cache_usage_pct"), fields.get("host_step_ms")
    return LogSample(
        run_id=run_id,
        ts=ts,
        offset=sample.offset,
        line=sample.line,
        definition=DEFINITION,
        ts_source=ts_source,
        rank=None if "global_rank" not in fields else str(fields["global_rank"]),
        kind="iteration",
        window_s=fields.get("elapsed_s") if host_ms is None else host_ms / 1000,
        requests_running=fields.get("num_scheduled"),
        kv_usage_ratio=None if usage is None else usage / 100,
        extra=dict(fields),
    )


_TRANSFER_FAILED = re.compile(
    r"\b[Ee]rror (?:occurred )?(?:in|during) (?:\w+ ){1,3}transfer(?: for)?(?: request (?P<request>\d+))?"
    r"(?: \w+ requests?)?(?:: (?P<reason>.*))?"
)


def _wholeness(text: str) -> int | None:
    """Return None unless an iteration line may be cut short, else the number of its fields."""
    if text.startswith(_STATISTICS_BEGIN):
        return None if "}" in text else len(_STATISTIC.findall(text))
    if not _ITERATION_BEGINS.search(text) or _WHOLE_STATES.search(text):
        return None
    return len(read_iteration(text) or {})


_WRAPPED = WrappedForm(_wholeness, re.compile(_REST), re.compile(r"\[|iter = |\w+: "))


class TrtllmReader(LineReader):
    """Reads one TensorRT-LLM log, in order."""

    ENGINE = "trtllm"
    LINE_FILTER = LineFilter(_NEEDLES)

    def __init__(self) -> None:
        super().__init__()
        self._is_ready = False
        self._has_blocks = False
        self._joiner = RecordJoiner(_WRAPPED)
        self._memory_table = MemoryTable()
        self._transfers = TransferFailures(_TRANSFER_FAILED)

    def read_line(self, line: ParsedLine) -> Iterable[LogEvent]:
        """Return the events of the records that are complete with this line."""
        return [event for record in self._joiner.add(line) for event in self._read_record(record)]

    def release_held(self) -> list[LogEvent]:
        """Return the events of half a record, and those held."""
        events = [event for record in self._joiner.release() for event in self._read_record(record)]
        return [*events, *super().release_held()]

    def settled_offset(self) -> int:
        """Return the settled offset, also before half a record."""
        settled, half_record = super().settled_offset(), self._joiner.waiting_offset
        return settled if half_record is None else min(settled, half_record)

    def _read_record(self, line: ParsedLine) -> Iterable[LogEvent]:
        """Return the sample of an iteration line, or the start-up and failure events of any other line."""
        fields = read_iteration(line.text)
        if fields is not None:
            return [sample_on(line, fields), *self._block_events(line)]
        return [*self._startup_events(line), *self._failure_events(line)]

    def _block_events(self, line: ParsedLine) -> list[LogEvent]:
        """Return the size of the KV cache if statistics are the first to state it."""
        blocks = {} if self._has_blocks else read_blocks(line.text)
        self._has_blocks = self._has_blocks or bool(blocks)
        return self.note_startup(line, blocks) if blocks else []

    def derive(self, startup: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return the KV tokens computed from blocks, if the log states only blocks."""
        blocks, size = startup.get("kv_blocks"), startup.get("tokens_per_block")
        if blocks is None or size is None or "kv_cache_tokens" in startup:
            return {}
        return {"kv_cache_tokens": blocks * size}

    def _startup_events(self, line: ParsedLine) -> list[LogEvent]:
        if self.version is None and (version := _VERSION.search(line.text)):
            self.version = version[1]
        facts = read_fact(line.text)
        self._is_ready = self._is_ready or "ready" in facts
        progress = _PROGRESS.search(line.text)
        phase = f"loading weights {progress[1]} %" if progress else None
        return self.note_start(line, facts, phase, read_forced_acceptance(line.text))

    def _failure_events(self, line: ParsedLine) -> list[LogEvent]:
        if failed_transfer := self._transfers.match(line.text):
            return self.report(line, self._transfers.read(failed_transfer))
        explanation = self._memory_table.read(line)
        return self.report(line, explanation or read_failure(line.text, self._is_ready))
