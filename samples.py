"""The samples that a run leaves behind, as collectors make them and the store keeps them.

The conventions are those of domain.py: unknown is None, times are aware UTC datetimes, names carry their units.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from domain import JsonValue


@dataclass(frozen=True, slots=True)
class CounterSample:
    """One engine's (one DP rank's) counters as /metrics gave them: raw, cumulative, undivided.

    A name the engine does not export is None. `definition` says whose names they are
    ('vllm.counter', 'vllm.v0.counter', 'sglang.counter', 'llamacpp.counter').
    """

    run_id: str
    ts: datetime
    mono_s: float  # CLOCK_MONOTONIC at the scrape: rates divide by its differences, never by wall time
    definition: str
    engine_index: int = 0
    generation_tokens_total: float | None = None
    first_tokens_total: float | None = None  # vLLM time_to_first_token count
    inter_token_count_total: float | None = None  # vLLM: one per (request, step)
    decode_tokens_total: float | None = None  # SGLang realtime_tokens_total{mode="decode"}
    decode_seconds_total: float | None = None  # llama.cpp tokens_predicted_seconds_total
    decode_calls_total: float | None = None  # llama.cpp n_decode_total
    prompt_tokens_total: float | None = None  # computed ones
    prompt_tokens_cached_total: float | None = None
    drafts_total: float | None = None
    draft_tokens_total: float | None = None
    accepted_tokens_total: float | None = None
    accepted_per_pos_total: list[float] | None = None  # index 0 = first draft position
    preemptions_total: float | None = None
    requests_running: float | None = None
    requests_waiting: float | None = None
    kv_usage_ratio: float | None = None  # 0..1
    accept_length_gauge: float | None = None  # as the engine states it
    accept_rate_gauge: float | None = None
    generation_tps_gauge: float | None = None
    process_start_s: float | None = None  # since the epoch, as the server says it of its own process


@dataclass(frozen=True, slots=True)
class SlotSample:
    """One llama.cpp slot as /slots showed it."""

    run_id: str
    ts: datetime
    mono_s: float
    slot: int
    task: int | None
    is_processing: bool
    n_decoded: int | None
    n_tokens: int | None  # tokens the slot holds: prompt and generated
    n_ctx: int | None
    decode_calls_total: float | None = None  # n_decode_total of the scrape just before, for tokens per step


@dataclass(frozen=True, slots=True)
class LogSample:
    """What one stats line of the log printed, in the engine's own definition."""

    run_id: str
    ts: datetime
    offset: int  # byte offset of the line: with run_id the identity of the sample
    line: int
    definition: str  # 'vllm.log', 'sglang.log', 'llamacpp.log', ...
    ts_source: str = "read"  # 'stamp' or 'elapsed': the line says its time; 'near': the line before does; else read
    engine_index: int = 0
    rank: str | None = None
    kind: str | None = None  # SGLang: decode | prefill
    window_s: float | None = None  # where the line tells it
    generation_tps: float | None = None
    prompt_tps: float | None = None
    requests_running: float | None = None
    requests_waiting: float | None = None
    kv_usage_ratio: float | None = None
    acceptance_length: float | None = None
    acceptance_rate: float | None = None  # strict: accepted / drafted, 0..1
    accepted_tokens: float | None = None
    drafted_tokens: float | None = None
    per_position: list[float] | None = None
    generated_tokens: float | None = None
    extra: dict[str, JsonValue] = field(default_factory=dict)  # the rest of the line, as printed


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One GPU at one moment; a value the driver does not give is None and named in `unknown` with its reason."""

    run_id: str | None  # None: the machine's GPU, no run in particular
    ts: datetime
    mono_s: float
    machine_id: str
    gpu_index: int
    gpu_uuid: str | None = None
    gpu_name: str | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    energy_j_total: float | None = None
    sm_clock_mhz: float | None = None
    sm_clock_max_mhz: float | None = None
    memory_clock_mhz: float | None = None
    utilization_ratio: float | None = None
    memory_utilization_ratio: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    memory_kind: str | None = None  # 'dedicated' | 'unified'
    process_memory_bytes: int | None = None  # of the run's own processes
    temperature_c: float | None = None
    memory_temperature_c: float | None = None
    throttle_reasons: int | None = None  # NVML clocks event reasons, the raw bits
    unknown: dict[str, str] = field(default_factory=dict)
    other_memory_bytes: int | None = None  # of all other processes that compute on this GPU
    other_utilization_ratio: float | None = None  # 0..1, share of time the others' kernels ran


@dataclass(frozen=True, slots=True)
class HostSample:
    """CPU and memory of a run's process tree and of the machine it is on.

    What is not told is None; where that is the kernel's doing, `unknown` names it with its reason.
    """

    run_id: str
    ts: datetime
    mono_s: float
    machine_id: str
    process_count: int | None = None
    cpu_seconds_total: float | None = None  # of the tree, cumulative
    cpu_ratio: float | None = None  # cores in use: 1.0 is one core
    rss_bytes: int | None = None
    threads: int | None = None
    host_cpu_ratio: float | None = None  # 0..1 of all cores
    host_cores: int | None = None
    host_memory_used_bytes: int | None = None
    host_memory_total_bytes: int | None = None
    # Cumulative: what the machine gave the tree, and what it gave everybody. Only their increments mean something.
    scheduled_seconds_total: float | None = None  # of all threads of the tree, on a CPU
    runnable_wait_seconds_total: float | None = None  # of all threads of the tree, ready to run and waiting for a CPU
    throttled_seconds_total: float | None = None  # its control groups held back by their CPU limits, a CPU each
    throttled_periods_total: int | None = None
    host_cpu_seconds_total: float | None = None  # of all cores: busy, idle and stolen
    host_busy_seconds_total: float | None = None  # used by anybody here, the tree included
    host_steal_seconds_total: float | None = None  # wanted here, and given to another machine by the hypervisor
    unknown: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """One request of our own workload, measured in the load generator's process, tokens counted (not chunks)."""

    run_id: str
    request_id: str
    workload: str
    phase: str  # 'warmup' | 'measure'
    prompt_class: str
    stream: int
    concurrency: int
    sent_at: datetime
    ttft_ms: float | None = None  # sent -> first token
    decode_ms: float | None = None  # first token -> the event that ends the answer, whether it shows text or not
    total_ms: float | None = None  # sent -> end of stream
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    token_source: str | None = None  # 'usage' | 'timings' | None when unknown
    chunks: int | None = None
    draft_tokens: int | None = None
    accepted_tokens: int | None = None
    finish_reason: str | None = None
    http_status: int | None = None
    error_kind: str | None = None  # refused | timeout | stalled | http | closed | malformed | cancelled
    error_text: str | None = None
    prompt_hash: str | None = None
    sampling: dict[str, JsonValue] = field(default_factory=dict)
    extra: dict[str, JsonValue] = field(default_factory=dict)
    load_id: str | None = None
    phase_index: int | None = None  # of the plan, from 0, the warm-up among them
    sequence: int | None = None  # its place among the requests of its phase, from 0
    since_phase_s: float | None = None  # from the beginning of its phase to its sending, monotonic
    segment: int | None = None  # the stretch between two looks at the counters that it lies in: LoadCounters
    chunk_us: list[int] | None = None  # microseconds from one piece of the answer to the next; the first from sending
    chunk_tokens: list[int] | None = None  # tokens of each piece by the server's own count; None where it gives none


@dataclass(frozen=True, slots=True)
class Load:
    """What a load was asked to do, written when it begins; what came of it are its phases and requests."""

    run_id: str
    load_id: str
    ts: datetime  # when it began; of a declared one, when it was declared
    tool: str  # 'pitwall'; 'declared': an owner's word about a run that was measured elsewhere
    workload: str
    tool_version: str | None = None
    prompt_set_hash: str | None = None
    params: dict[str, JsonValue] = field(default_factory=dict)
    planned_requests: int | None = None  # that are measured
    planned_phases: int | None = None  # the warm-up among them


@dataclass(frozen=True, slots=True)
class LoadPhase:
    """One phase of a load as it went, written at its end; one that was broken off is not complete."""

    run_id: str
    load_id: str
    ts: datetime  # its end
    phase_index: int
    title: str
    kind: str  # 'warmup' | 'measure'
    concurrency: int
    began_at: datetime
    duration_s: float  # by the load generator's monotonic clock
    paused_s: float
    planned_requests: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class LoadCounters:
    """The engine's counters as the load generator read them while none of its requests was in flight.

    Those numbered n stand before the requests of segment n and after those of segment n - 1.
    """

    run_id: str
    load_id: str
    ts: datetime
    segment: int
    definition: str
    engine_index: int = 0
    generation_tokens_total: float | None = None
    first_tokens_total: float | None = None
    inter_token_count_total: float | None = None
    drafts_total: float | None = None
    draft_tokens_total: float | None = None
    accepted_tokens_total: float | None = None
    requests_running: float | None = None  # whoever else's


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a run: a state change, a start-up fact, a warning, a cause, an outage."""

    run_id: str
    ts: datetime
    kind: str  # state | phase | startup | warning | failure | outage | collector | workload | audit
    text: str
    line: int | None = None
    offset: int | None = None
    data: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CollectorHealth:
    """How one collector's last tick for one run went; stored when it changes and once a minute."""

    run_id: str | None
    ts: datetime
    collector: str
    ok: bool
    duration_ms: float
    error: str | None = None


Sample = (
    CounterSample
    | SlotSample
    | LogSample
    | GpuSample
    | HostSample
    | RequestRecord
    | Load
    | LoadPhase
    | LoadCounters
    | Event
    | CollectorHealth
)


@dataclass(frozen=True, slots=True)
class TailPosition:
    """How far a file has been taken in; committed in the transaction of the samples it produced."""

    run_id: str
    path: str
    generation: int  # counts rotations and truncations
    inode: int
    offset: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples (and the file positions they bring us to) that are committed together or not at all."""

    samples: tuple[Sample, ...] = ()
    positions: tuple[TailPosition, ...] = ()
