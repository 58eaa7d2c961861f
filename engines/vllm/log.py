"""vLLM's log grammar, V0 (0.5) to V1 (0.33): periodic lines, start-up facts, phases, warnings, failure causes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from domain import JsonValue
from engines.acceptance import acceptance_rate_of
from engines.base import LogEvent, LogParser, ParsedLine, ParsedSample
from engines.kv_transfers import TransferFailures
from engines.line_filter import LineFilter, Routine
from engines.line_reader import LineReader, mark, sample_on
from engines.machine_failures import NEEDLES as MACHINE
from engines.vllm import startup
from engines.vllm.failures import FAILURE_LEVELS, IN_ANY_CONTEXT, VllmFailureReader
from engines.vllm.forced_acceptance import read_forced_acceptance
from engines.vllm.stats import Fields, read_diffusion, read_prefix_rates, read_speculation, read_stats
from engines.vllm.warnings import read_stall, read_warning
from engines.vllm.wrapped_records import FORM, REST
from engines.wrapped_records import RecordJoiner
from samples import LogSample

DEFINITION = "vllm.log"
_MOST_WARNINGS = 100
_MOST_PROCESSES = 1000

_RECOGNISED = re.compile(
    r"Avg prompt throughput: [\d.]+ tokens/s|(?:SpecDecoding|Speculative) metrics: |vLLM API server version|"
    r"\((?:(?:Stage)?(?:EngineCore|APIServer)\w*|Worker(?:_[DTPEC]+\d+)+) pid=\d+\)|"
    r"Initializing an? (?:V\d )?LLM engine (?:\(v|with config: )|VLLM::|EngineDeadError|"
    r"[\w+ ]KV cache size: [\d,]+ tokens|# \w+ blocks: \d+|Loading model weights took [\d.]+ GB|"
    r"Model loading took [\d.]+ GiB|Available KV cache memory: [\d.]+ GiB|"
    r"init engine \(profile, create kv cache|when initializing the engine\.|"
    r"vllm(?: serve)?: error: |vllm/(?:v1|engine|entrypoints|worker|executor)/|(?:dist|site)-packages/vllm/|"
    # Other programs may copy the record head, which is why a module counts.
    r"\d\d-\d\d \d\d:\d\d:\d\d \[?(?:core|core_client|async_llm|multiproc_executor|gpu_worker|gpu_model_runner|"
    r"kv_cache_utils|nixl_connector|backends|model_runner|llm_engine|async_llm_engine|arg_utils|parallel_state|"
    r"default_loader|weight_utils|gpu_executor|ray_\w*executor|multiproc_worker_utils)\.py:\d|"
    r"\(Vllm\w*(?: [\w=]+){0,3} pid=\d+\) |[Ww]orker proc VllmWorker|"
    r"model weights take [\d.]+ ?GiB; non_torch_memory takes |\bworker\.py:\d+\] Memory profiling results:|"
    r"Engine core initialization failed\. See root cause|"
    r"\bapi_server\.py:\d+\] args: Namespace\(|"
    r"\d\d:\d\d \[?[\w./]+\.py:\d+\] (?:Chunked prefill is enabled with|"
    r"Using \w[\w ]{0,40} backend\b)|\bAsyncEngineArgs\(model="
)


RECORD = re.compile(
    r"\bAsyncEngineArgs\(model=|"
    r"\((?:APIServer|(?:Stage)?EngineCore|Worker)\w* pid=\d+\) |\(Vllm\w*(?: [\w=]+){0,3} pid=\d+\) |"
    r"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) +\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? +\[?[\w./]+:\d+\]|"
    r"File \"[^\"\n]{1,300}/vllm/(?:v1|engine|entrypoints)/[\w/]{1,100}\.py\", line \d+, in "
)
IMPORT_RECORD = re.compile(
    r"\b(?:DEBUG|INFO|WARNING) +\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? +\[?[\w./]+:\d+\] +"
    r"(?:Automatically detected platform \w|No platform detected, vLLM|(?:Available|No) plugins for group vllm\.|"
    r"(?:Checking if|Confirmed) \w+ platform is available)"
)
_NEEDLES = re.compile(
    rb"A(?:vg prompt|pplication startup|ddress already)|(?:SpecDecoding|Speculative|DiffusionDecoding) metrics|"
    rb"Prefix cache hit rate: G|WARNING|Loading |Capturing|raph capturing|"
    rb"Exception|Error(?:\(['\"]|:|\(\w+\):|[ \r]*$)|Traceback|\bassert |During handling|The above exc|"
    rb"Errno 98|Value error|"
    rb"EngineCore(?:Proc)? (?:f|e|h)|Engine (?:loop|core)|EngineDead|Error (?:in|w)|Worker|worker proc|"
    rb"Fail(?:ed|ure)|OutOfRes|Unsupported|Timeout|: error: |Killed|SIG|Seg[mf]|oom-kill| killed |terminated by|"
    rb"KV load|transfer fail|Handshake |"
    rb"\[shutdown|Shutting|KeyboardI|Gracefully|The model's max|No available mem|To serve at|Free memory on|"
    rb"CUDA out|(?:CUDA|HIP) error: |Cuda failure|"
    rb"Estimated CUDA| t(?:ook|akes) |KV [cC]ache (?:size|mem|is)|kv_cache_size|memory for KV|"
    rb"GiB for KV|Maximum conc|"
    rb"blocks: |blocks is: |Initializing a|version |backend|BackendEnum|Resolved arch|Using max model|Starting |"
    rb"Started server|rejection_sample|sampling params|compile_cache|Dynamo|Start compiling|Warming up|Profiling|"
    rb"Memory profiling|No available (?:shared|block)|Auto-fit max|max_num_batched_tokens=|to store kv cache|"
    rb"weights take |activation peak|available_kv_c|"
    rb"Checkpoint size|, total memory: |gpu-memory-utilization=|total_gpu_memory|vLLM(?: Version)? *: |vLLM Version |"
    + REST
    + b"|"
    + MACHINE.encode()
)
# Request texts come from clients: they never mean anything, and they are most of a log that contains them.
_REQUEST_TEXT = re.compile(r"(?:Received|Added) request |[\w.:\[\]]+ - \"[A-Z]+ /")
_REQUEST_NOISE = re.compile(
    rb"\A(?:\(APIServer\w* pid=\d+\) )?INFO(?: \d\d-\d\d \d\d:\d\d:\d\d \[?[\w./]+:\d+\] (?:Received|Added) request |"
    rb":     [\w.:\[\]]+ - \"[A-Z]+ /)"
)
# Errors that the API server logs while serving belong to requests; `VllmFailureReader` ignores them, unless they are a
# failure in any context. Only the plainest form: one record on the line, in ASCII.
_ROUTINE = Routine(
    re.compile(
        rb"\A(?:\(APIServer\w* pid=\d+\) )?ERROR \d\d-\d\d \d\d:\d\d:\d\d \[[\w./]+:\d+\] [A-Z]?[a-z][ -Z\\-~]*\r?$"
    ),
    re.compile(
        rb"throughput: | metrics: |Prefix cache|Killed|KV load|transfer fail|Handshake |"
        + f"{MACHINE}|{IN_ANY_CONTEXT}".encode()
    ),
)


_TRANSFER_FAILED = re.compile(
    r"(?:NIXL transfer failure: |Failing \d+ request\(s\) due to |Recovered from |"
    r"(?=Handshake (?:with \S|failed for request )|Mooncake transfer failed for |Failed to transfer KV cache for ))"
    r"(?=[^|]{0,300}? for request (?P<request>\S+?):?(?:\s|$))?(?:Failed to transfer KV cache for request \S+: )?"
    r"(?P<reason>KV load failure|Handshake with \S{1,100} failed|(?:Handshake|\w+ transfer) failed(?= for request )|"
    r"[^|]+)"
)
_MAY_BE_TRANSFER = ("transfer fail", "KV load failure", "Handshake ", "Failed to transfer KV")


class VllmReader(LineReader):
    ENGINE = "vllm"
    MERGES = startup.MERGES
    LINE_FILTER = LineFilter(_NEEDLES, _REQUEST_NOISE, _ROUTINE)

    def __init__(self) -> None:
        super().__init__()
        self._failures = VllmFailureReader()
        self._warnings: dict[str, int] = {}  # how often each was repeated
        self._transfers = TransferFailures(_TRANSFER_FAILED)
        self._started: set[str | None] = set()
        self._is_serving = False
        self._served = startup.ServedModelFacts()
        self._joiner = RecordJoiner(FORM)

    def read_line(self, line: ParsedLine) -> list[LogEvent]:
        records = self._joiner.add(line)
        return [event for record in records for event in self._read_record(record)]

    def release_held(self) -> list[LogEvent]:
        events = [event for record in self._joiner.release() for event in self._read_record(record)]
        return [*events, *super().release_held()]

    def settled_offset(self) -> int:
        settled, half_record = super().settled_offset(), self._joiner.waiting_offset
        return settled if half_record is None else min(settled, half_record)

    def _read_record(self, line: ParsedLine) -> list[LogEvent]:
        text = line.text
        if "throughput: " in text or " metrics: " in text or text.startswith("Prefix cache"):
            events = self._read_sample(line)
            if events is not None:
                return events
        if _REQUEST_TEXT.match(text):
            return []
        if any(words in text for words in _MAY_BE_TRANSFER) and (failed_transfer := self._transfers.match(text)):
            return self.report(line, self._transfers.read(failed_transfer))
        if self._is_serving and (stall := read_stall(text)):
            return self._note_warning(line, stall)
        if line.level == "WARNING":
            return self._read_warning(line) or self._read_failure(line) or self._read_sampling(line)
        if line.level in FAILURE_LEVELS:
            return self._read_failure(line)
        return self._read_startup(line) or self._read_failure(line)

    def has_died(self) -> bool:
        return self._failures.has_died

    def repeated_warnings(self) -> Mapping[str, int]:
        return self._warnings

    def derive(self, startup_facts: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        return startup.derive(startup_facts, self.version)

    # --- periodic lines ---------------------------------------------------------------------------------------------
    def _read_sample(self, line: ParsedLine) -> list[LogEvent] | None:
        fields = read_stats(line.text)
        if fields is not None:
            self._serve()
            return self.hold(line.process, sample_on(line, fields))
        if (fields := read_prefix_rates(line.text)) is not None:
            return self._complete(line, fields, {})
        if (fields := read_speculation(line.text)) is not None:
            own_fields = fields if "emitted_tokens" in fields else None
            events = (
                [sample_on(line, own_fields)]
                if own_fields
                else self._complete(line, fields, {"spec_line": line.number})
            )
            return [*events, mark(line, "acceptance", line.text)]
        if (fields := read_diffusion(line.text)) is not None:
            return [*self._complete(line, fields, {}), mark(line, "acceptance", line.text)]
        return None

    def _complete(self, line: ParsedLine, fields: Fields, position_fields: Fields) -> list[LogEvent]:
        """Add a second line's fields to its stats line, or make it a sample of its own."""
        sample = self.held_sample(line.process)
        released = self.release(line.process)
        if sample is None or not _belongs(line, sample) or any(key in sample.fields for key in fields):
            return [*released, sample_on(line, fields)]
        return [sample._replace(fields={**sample.fields, **position_fields, **fields})]

    # --- one-time lines ---------------------------------------------------------------------------------------------
    def _read_warning(self, line: ParsedLine) -> list[LogEvent]:
        self._served.note_warning(line.text)
        return self._note_warning(line, read_warning(line.text))

    def _note_warning(self, line: ParsedLine, sentence: str | None) -> list[LogEvent]:
        """Return a warning's mark the first time, and count its repetitions."""
        if sentence in self._warnings:
            self._warnings[sentence] += 1
            return []
        if sentence is None or len(self._warnings) >= _MOST_WARNINGS:
            return []
        self._warnings[sentence] = 0
        return [mark(line, "warning", sentence, evidence=line.text)]

    def _read_failure(self, line: ParsedLine) -> list[LogEvent]:
        return self.report(line, self._failures.read(line))

    def _read_startup(self, line: ParsedLine) -> list[LogEvent]:
        text = line.text
        if startup.is_start(text):
            self._begin_start(line)
        self.version = startup.read_version(text) or self.version
        facts = self._served.read(text)
        if "ready" in facts:
            self._serve()
        return self.note_start(line, facts, startup.read_phase(text), read_forced_acceptance(text))

    def _read_sampling(self, line: ParsedLine) -> list[LogEvent]:
        sampling = startup.read_sampling(line.text)
        return self.note_startup(line, sampling) if sampling else []

    def _begin_start(self, line: ParsedLine) -> None:
        """Begin another run if a process starts a second time; engine cores that start together do not."""
        if line.process in self._started or len(self._started) >= _MOST_PROCESSES:
            self.begin_run()
            self._failures.begin_start()
            self.skip_routine(False)
            self._is_serving = False
            self._served = startup.ServedModelFacts()
            self._started.clear()
        self._started.add(line.process)

    def _serve(self) -> None:
        self._is_serving = True
        self._failures.note_serving()
        self.skip_routine(True)


def _belongs(line: ParsedLine, sample: ParsedSample) -> bool:
    """Whether one call wrote both lines: in the same second, or within one second of a fractional clock."""
    if line.stamp is None or sample.stamp is None:
        return line.stamp is sample.stamp and line.number == sample.line + 1
    if (line.stamp.tzinfo is None) != (sample.stamp.tzinfo is None):
        return False
    has_fraction = bool(line.stamp.microsecond or sample.stamp.microsecond)
    return abs(line.stamp - sample.stamp) <= timedelta(seconds=1 if has_fraction else 0)


def recognises(text: str) -> bool:
    """Whether this text contains a line that only vLLM writes."""
    return _RECOGNISED.search(text) is not None


def log_parser() -> LogParser:
    """Return a parser for one log of vLLM, to be fed from its first byte."""
    return VllmReader()


_COLUMNS: Mapping[str, str] = {
    "generation_tps": "generation_tps",
    "prompt_tps": "prompt_tps",
    "running": "requests_running",
    "waiting": "requests_waiting",
    "accept_length": "acceptance_length",
    "accepted_tokens": "accepted_tokens",
    "drafted_tokens": "drafted_tokens",
    "per_position": "per_position",
    "emitted_tokens": "generated_tokens",
}
_CONVERTED = ("engine", "kv_cache_usage_pct", "draft_accept_rate_pct", "draft_accept_rate")


def log_sample(run_id: str, sample: ParsedSample, ts: datetime, ts_source: str) -> LogSample:
    """Return the line as the store's sample: shares as ratios, the acceptance rate strict (accepted over drafted).

    The window (VLLM_LOG_STATS_INTERVAL) is not printed; only the distance of lines shows it.
    """
    fields = sample.fields
    columns = {column: fields[key] for key, column in _COLUMNS.items() if key in fields}
    is_cumulative = bool(fields.get("cumulative"))
    if is_cumulative:
        columns = {}  # running totals belong to no window: they stay in `extra`, as printed
    consumed = () if is_cumulative else (*_COLUMNS, *_CONVERTED)
    return LogSample(
        run_id=run_id,
        ts=ts,
        offset=sample.offset,
        line=sample.line,
        definition=DEFINITION,
        ts_source=ts_source,
        engine_index=int(fields.get("engine", 0)),
        kv_usage_ratio=_ratio(fields.get("kv_cache_usage_pct")),
        acceptance_rate=None if is_cumulative else _acceptance_rate(fields),
        extra={key: value for key, value in fields.items() if key not in consumed},
        **columns,
    )


def _ratio(percent: float | None) -> float | None:
    return None if percent is None else percent / 100.0


def _acceptance_rate(fields: Mapping[str, JsonValue]) -> float | None:
    """Return the rate from the printed counts, since the printed rate is rounded; else as printed, else None."""
    if "drafted_tokens" in fields:
        return acceptance_rate_of(fields.get("accepted_tokens"), fields["drafted_tokens"])
    if "draft_accept_rate" in fields:
        return float(fields["draft_accept_rate"])
    return _ratio(fields.get("draft_accept_rate_pct"))
