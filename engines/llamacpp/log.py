"""llama.cpp's log grammar: one block per finished request in old builds, one line per field since June 2026, JSONL."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from engines.base import LogEvent, LogParser, ParsedLine, ParsedSample
from engines.line_filter import LineFilter
from engines.line_reader import LineReader, mark, sample_on
from engines.llamacpp.failures import is_allocation_failure, is_retry, read_failure
from engines.llamacpp.forced_acceptance import read_forced_acceptance
from engines.llamacpp.startup import MERGES, LlamacppStartup, read_build
from engines.llamacpp.timings import (
    Fields,
    are_totals,
    is_timing_tail,
    read_draft,
    read_generation,
    read_progress,
    read_prompt,
    split_head,
)
from engines.llamacpp.wrapped_records import FORM, REST, is_fragment
from engines.machine_failures import NEEDLES as MACHINE
from engines.wrapped_records import RecordJoiner
from samples import LogSample

DEFINITION = "llamacpp.log"
RETRY = "A buffer did not fit in memory and was retried without pipeline parallelism: the GPUs work one after another."
_OLD_RECORD = r"\b(?:INFO|WARN|ERR) +\[ *\w+\] [^|\r\n]{1,200}\| tid=\""  # of 2024, and of ik_llama.cpp
_SIGNS = re.compile(
    r"\bslot +(?:print_timing|release|launch_slot_|update_slots|load_model): id +\d|\bsrv +\w+: |\bllama_server\b|"
    r"\bllama_(?:model_load|context|kv_cache|perf_context|new_context_with_model: )|"
    r"\bllm_load_(?:print_meta|tensors): |\bggml_(?:cuda|backend|vulkan|metal)|"
    r"^build(?:_info)?: b?\d+|\[ *print_timings\]|\bllama-server\b|\bllama_model_loader: |\bggml_gallocr_|"
    rf"{_OLD_RECORD}|\bggml/src/ggml-|"
    r"(?:^|[ |])(?:load_tensors|print_info|common_init_from_params|graph_reserve|sched_reserve): |"
    r"\bupdate_slots ?: |\bslot +\d+ (?:is processing \[task id: \d+\]|: kv cache rm - \[)|"
    r"\beval time = +[\d.]+ ms / +\d+ (?:tokens|runs)\b|"
    r"\bdraft acceptance(?: rate)? = +[\d.]+ \( *\d+ accepted / +\d+ generated\)|"
    r"\"function\":\"[\w:]+\",(?:\"level\":\"[A-Z]+\",)?\"line\":\d+,\"(?:message|msg)\":\"|"
    r"^llama server listening at ",
    re.MULTILINE,
)
RECORD = re.compile(
    rf"\b(?:slot|srv) +\w+: |{_OLD_RECORD}|\bllama_model_loader: (?:loaded meta data with \d|- (?:kv|type|tensor) )|"
    r"\bllama_model_load_internal: [a-z]\w+ +=|"
    r"\bload_tensors: layer +\d+ assigned to device |\bprint_info: [a-z][\w .-]{1,40} = "
)
_NEEDLES = re.compile(
    rb"print_timing|eval time|draft acceptance|release: id|slots are idle|isten|oad|buffer size|KV |kv_cache|n_slots|"
    rb"new slot|build|version: |warming up|new prompt, n_ctx_slot|"
    rb"llama_context: |_with_model: |_from_model: |_recurrent: |file type|model ftype|file size|model size|n_ctx_train|"
    rb"training context|re-processing|be disabled|is ready|ggml_abort|"
    rb"Flash|rror|ailed|illed|ASSERT|terminate|what\(\)|invalid|bind|No such|"
    rb"missing|xception caught|exit|ost on |DeviceLost|exce|kIOGPU|ommand buffer|UR_RESULT|rest belong to a sibling|"
    rb"max context|VRAM used|memory used|mem required|n_parallel = |kv self|context_length|synthetic|no usable|draft|"
    + REST
    + b"|"
    + MACHINE.encode()
)
_RELEASED = re.compile(r"^slot +release: id +(\d+)")
_PHASES = (
    (re.compile(r"loading draft model"), "loading the draft model"),
    (re.compile(r"loading model '"), "loading weights"),
    (re.compile(r"warming up the model"), "warming up"),
)


def recognises(text: str) -> bool:
    """Whether this is a log of llama.cpp's server."""
    return _SIGNS.search(text) is not None


def log_parser() -> LogParser:
    """Return a parser for one log of llama.cpp's server, to be fed from its first byte."""
    return LlamacppReader()


def log_sample(run_id: str, sample: ParsedSample, ts: datetime, ts_source: str) -> LogSample:
    """Return one finished request as the store's sample.

    tok/s is generated tokens over generation time, which is also the window. A rate over at most one token is None.
    Acceptance is strict: accepted over actually drafted.
    """
    fields = sample.fields
    is_valid = not fields.get("invalid")
    tps, tokens = fields.get("generation_tps"), fields.get("generated_tokens")
    extra = ("slot", "task", "prompt_tokens", "invalid")
    return LogSample(
        run_id=run_id,
        ts=ts,
        offset=sample.offset,
        line=sample.line,
        definition=DEFINITION,
        ts_source=ts_source,
        kind="request",
        window_s=tokens / tps if is_valid and tps and tokens else None,
        generation_tps=tps if is_valid else None,
        prompt_tps=fields.get("prompt_tps"),
        acceptance_length=fields.get("accept_length"),
        acceptance_rate=fields.get("draft_accept_rate"),
        accepted_tokens=fields.get("accepted_tokens"),
        drafted_tokens=fields.get("drafted_tokens"),
        per_position=fields.get("per_position"),
        generated_tokens=tokens,
        extra={key: fields[key] for key in extra if key in fields},
    )


@dataclass
class _Timing:
    """An unfinished timing print: its offset, slot and task, and the prompt fields before the generation line."""

    offset: int
    owner: Fields
    prompt: Fields = field(default_factory=dict)


class LlamacppReader(LineReader):
    """Reads one server's log, in order; a request's sample has the position of its `eval time` line."""

    ENGINE = "llamacpp"
    LINE_FILTER = LineFilter(_NEEDLES)
    MERGES = MERGES

    def __init__(self) -> None:
        super().__init__()
        self._starting = LlamacppStartup()
        self._is_ready = False
        self._timing: _Timing | None = None  # the unfinished print
        self._held_slot: str | None = None
        self._has_requests = False  # whether the server prints the timings of each
        self._failed_allocations: list[ParsedLine] = []  # held until it is known whether they are retried
        self._joiner = RecordJoiner(FORM)

    def read_line(self, line: ParsedLine) -> Iterable[LogEvent]:
        """Return the events of the records that are complete with this line, without the dots of progress before it."""
        line = line._replace(text=line.text.lstrip(".")) if line.text.startswith("..") else line
        return [event for record in self._joiner.add(line) for event in self._read_record(record)]

    def _read_record(self, line: ParsedLine) -> Iterable[LogEvent]:
        """Return the record's events; a failed allocation waits, because a retried one is a warning, not a failure."""
        if is_retry(line.text):
            self._failed_allocations.clear()
            return [mark(line, "warning", RETRY, evidence=line.text)]
        if is_allocation_failure(line.text):
            self._failed_allocations.append(line)
            return []
        return [*self._allocation_events(), *self._read(line)]

    def _read(self, line: ParsedLine) -> Iterable[LogEvent]:
        owner, body = split_head(line.text, line.raw)
        timing = self._timing_events(line, owner, body)
        if timing is not None:
            return timing
        if not is_fragment(line.text):
            self._timing = None
        if match := _RELEASED.match(line.text):
            return self.release(match[1])
        if "slots are idle" in line.text:
            return self.release_held()
        return [*self._startup_events(line), *self._failure_events(line)]

    def release_held(self) -> list[LogEvent]:
        """Return the samples still held, and the failed allocations that were not retried."""
        events = [event for record in self._joiner.release() for event in self._read_record(record)]
        return [*events, *super().release_held(), *self._allocation_events()]

    def close(self) -> list[LogEvent]:
        """Return the last events; a timing print without its generation line yields no sample."""
        events = super().close()
        self._timing = None
        return events

    def _allocation_events(self) -> list[LogEvent]:
        failed, self._failed_allocations = self._failed_allocations, []
        return [event for line in failed for event in self._failure_events(line)]

    def settled_offset(self) -> int:
        """Return the settled offset, also before an unfinished timing print, half a record or a failed allocation."""
        waiting = [line.offset for line in self._failed_allocations[:1]] + (
            [self._timing.offset] if self._timing else []
        )
        half_record = self._joiner.waiting_offset
        return min([super().settled_offset(), *waiting, *([] if half_record is None else [half_record])])

    def _timing_events(self, line: ParsedLine, owner: Fields, body: str) -> list[LogEvent] | None:
        """Return the events of a line of a timing print; None for any other line."""
        if (progress := read_progress(body)) is not None:
            return [mark(line, "throughput", progress)]
        if self._has_requests and are_totals(line.text):
            return []
        if (prompt := read_prompt(body)) is not None:
            owner = owner or (self._timing.owner if self._timing else {})
            self._timing = _Timing(line.offset, owner, prompt)
            return self.release(_slot(owner))
        if (generation := read_generation(body)) is not None:
            return self._generation(line, owner, generation)
        if (draft := read_draft(body)) is not None:
            return self._draft(line, owner, draft)
        is_head = bool(owner) and not body
        if is_head and self.held_sample(_slot(owner)) is None:
            self._timing = _Timing(line.offset, owner)
        return [] if owner or is_timing_tail(body) else None

    def _generation(self, line: ParsedLine, owner: Fields, generation: Fields) -> list[LogEvent]:
        timing = self._timing
        self._timing = None
        self._has_requests = self._has_requests or not are_totals(line.text)
        prompt = timing.prompt if timing and (not owner or owner == timing.owner) else {}
        owner = owner or (timing.owner if timing else {})
        self._held_slot = _slot(owner)
        fields = {**owner, **prompt, **generation}
        return self.hold(self._held_slot, sample_on(line, fields))

    def _draft(self, line: ParsedLine, owner: Fields, draft: Fields) -> list[LogEvent]:
        slot = _slot(owner) if owner else self._held_slot
        sample = self.held_sample(slot)
        if sample is None:
            return []
        self.release(slot)
        completed = ParsedSample(sample.line, sample.offset, {**sample.fields, **draft}, sample.stamp, sample.elapsed_s)
        return [completed, mark(line, "acceptance", line.text)]

    def _startup_events(self, line: ParsedLine) -> list[LogEvent]:
        if self.version is None:
            self.version = read_build(line.text, line.raw)
        if self._starting.is_begun_again(line.text):
            self._begin_start()
        facts = self._starting.read(line.text, line.raw)
        if self._starting.is_ready and not self._is_ready:
            self._is_ready = True
            facts |= {"ready": True} | ({} if line.elapsed_s is None else {"time_to_ready_s": round(line.elapsed_s, 6)})
        phase = next((phase for pattern, phase in _PHASES if pattern.search(line.text)), None)
        return self.note_start(line, facts, phase, read_forced_acceptance(line.text))

    def _begin_start(self) -> None:
        self.begin_run()
        self._starting, self._is_ready = LlamacppStartup(), False

    def _failure_events(self, line: ParsedLine) -> list[LogEvent]:
        return self.report(line, read_failure(line.text))


def _slot(owner: Fields) -> str | None:
    slot = owner.get("slot")
    return None if slot is None else str(slot)
