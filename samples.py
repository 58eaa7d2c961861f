"""Samples of a run, as collectors produce them and the store keeps them.

The conventions are those of domain.py: unknown is None, times are aware UTC datetimes, names carry their units.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from datetime import datetime
from typing import get_args

from domain import JsonValue
from load_records import (
    Accuracy,
    AccuracyItem,
    FidelityPosition,
    Load,
    LoadCounters,
    LoadPhase,
    RequestRecord,
    Result,
    SuiteCheck,
)


@dataclass(frozen=True, slots=True)
class CounterSample:
    """One engine's (one DP rank's) counters from /metrics: raw, cumulative, undivided.

    A counter that the engine does not export is None. `definition` names the source of the names
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
    prompt_tokens_total: float | None = None  # computed, without cached ones
    prompt_tokens_cached_total: float | None = None
    drafts_total: float | None = None
    draft_tokens_total: float | None = None
    accepted_tokens_total: float | None = None
    accepted_per_pos_total: list[float] | None = None  # index 0 = first draft position
    preemptions_total: float | None = None
    requests_running: float | None = None
    requests_waiting: float | None = None
    kv_usage_ratio: float | None = None  # 0..1
    accept_length_gauge: float | None = None  # as the engine reports it
    accept_rate_gauge: float | None = None
    generation_tps_gauge: float | None = None
    process_start_s: float | None = None  # since the epoch, as the server reports it


@dataclass(frozen=True, slots=True)
class LatencySample:
    """One cumulative latency histogram from /metrics, over all requests of the server."""

    run_id: str
    ts: datetime
    mono_s: float
    definition: str  # 'vllm.histogram'
    metric: str  # 'ttft_ms' | 'itl_ms' | 'tpot_ms' | 'e2e_ms'
    engine_index: int = 0
    upper_ms: list[float] | None = None  # upper bounds of all buckets but the last, which is unbounded
    counts: list[float] | None = None  # cumulative, per bound; the last one counts all requests
    sum_ms: float | None = None


@dataclass(frozen=True, slots=True)
class SlotSample:
    """One llama.cpp slot from /slots."""

    run_id: str
    ts: datetime
    mono_s: float
    slot: int
    task: int | None
    is_processing: bool
    n_decoded: int | None
    n_tokens: int | None  # tokens in the slot: prompt and generated
    n_ctx: int | None
    decode_calls_total: float | None = None  # n_decode_total of the scrape just before, for tokens per step


@dataclass(frozen=True, slots=True)
class LogSample:
    """Values of one stats line of the log, in the engine's own definition."""

    run_id: str
    ts: datetime
    offset: int  # byte offset of the line; with run_id, the sample's identity
    line: int
    definition: str  # 'vllm.log', 'sglang.log', 'llamacpp.log', ...
    ts_source: str = "read"  # 'stamp', 'elapsed': from the line; 'near': from the line before; else time of reading
    engine_index: int = 0
    rank: str | None = None
    kind: str | None = None  # SGLang: decode | prefill
    window_s: float | None = None  # if the line states it
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
    """One GPU at one moment; a value that the driver does not report is None, with its reason in `unknown`."""

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
    process_memory_bytes: int | None = None  # of the run's processes
    temperature_c: float | None = None
    memory_temperature_c: float | None = None
    throttle_reasons: int | None = None  # NVML clocks event reasons, raw bits
    unknown: dict[str, str] = field(default_factory=dict)
    other_memory_bytes: int | None = None  # of all other compute processes on this GPU
    other_utilization_ratio: float | None = None  # 0..1, share of time in which their kernels ran
    # If an agent sampled it: `ts` is Pitwall's time, and the agent's clock was this far behind; None: no agent.
    clock_offset_s: float | None = None
    clock_uncertainty_s: float | None = None  # half of the measuring round trip, plus drift since


@dataclass(frozen=True, slots=True)
class HostSample:
    """CPU and memory of a run's process tree and of its machine.

    Unknown values are None; `unknown` has the reason for those that the kernel does not report.
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
    # Cumulative, of the tree and of the whole machine: only their increments mean something.
    scheduled_seconds_total: float | None = None  # of all threads of the tree, on a CPU
    runnable_wait_seconds_total: float | None = None  # of all threads of the tree, ready to run and waiting for a CPU
    throttled_seconds_total: float | None = None  # CPU seconds denied by the limits of its control groups
    throttled_periods_total: int | None = None
    host_cpu_seconds_total: float | None = None  # of all cores: busy, idle and stolen
    host_busy_seconds_total: float | None = None  # used by any process, the tree included
    host_steal_seconds_total: float | None = None  # given to another virtual machine by the hypervisor
    unknown: dict[str, str] = field(default_factory=dict)
    clock_offset_s: float | None = None  # as in GpuSample
    clock_uncertainty_s: float | None = None


REFUSED = "refused"  # event kind: results of a load were not accepted


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a run: a state change, a start-up fact, a warning, a failure cause, an outage."""

    run_id: str
    ts: datetime
    kind: str  # state | phase | startup | warning | failure | outage | collector | workload | refused | audit
    text: str
    line: int | None = None
    offset: int | None = None
    data: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CollectorHealth:
    """Result of a collector's last tick for one run; stored when it changes and once a minute."""

    run_id: str | None
    ts: datetime
    collector: str
    ok: bool
    duration_ms: float
    error: str | None = None


Sample = (
    CounterSample
    | LatencySample
    | SlotSample
    | LogSample
    | GpuSample
    | HostSample
    | RequestRecord
    | Load
    | LoadPhase
    | LoadCounters
    | Result
    | SuiteCheck
    | Accuracy
    | AccuracyItem
    | FidelityPosition
    | Event
    | CollectorHealth
)

LARGEST_COUNT = 2.0**53  # the last count that a double increments exactly: at a million tokens/s, after 285 years
# The fields that may be unknown; the other values of a sample are JSON, in which storage drops the same values.
OPTIONAL_FIELDS = {kind: tuple(f.name for f in fields(kind) if f.default is None) for kind in get_args(Sample)}
# The fields without which a sample says nothing: every page expects them.
REQUIRED_FIELDS = {
    kind: tuple(
        f.name
        for f in fields(kind)
        if f.default is MISSING and f.default_factory is MISSING and "None" not in str(f.type)
    )
    for kind in get_args(Sample)
}
# Of those, the ones that may be negative.
SIGNED_FIELDS = {"temperature_c", "memory_temperature_c", "clock_offset_s", "text_logprob"}


@dataclass(frozen=True, slots=True)
class TailPosition:
    """Read position in a file; committed in the transaction of the samples that it produced."""

    run_id: str
    path: str
    generation: int  # counts rotations and truncations
    inode: int
    offset: int


@dataclass(frozen=True, slots=True)
class AgentPosition:
    """Read position in the batches of an agent on another machine; committed with the samples."""

    run_id: str
    agent_id: str
    machine_id: str
    host_name: str
    number: int  # of its last batch
    thinned: int  # batches that it dropped because its buffer was full
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples, and the read positions after them, that are committed together or not at all."""

    samples: tuple[Sample, ...] = ()
    positions: tuple[TailPosition | AgentPosition, ...] = ()
