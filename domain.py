"""What Pitwall speaks of: a Config, a Run of it, and the samples that a run leaves behind.

Every room imports this one and it imports none. Conventions that hold everywhere:
unknown is None (never 0 or -1); times are aware UTC datetimes; names carry their units.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

JsonValue = Any


class RunState(StrEnum):
    """Where a run is in its life; FINISHED and FAILED are final."""

    QUEUED = "queued"
    STARTING = "starting"
    READY = "ready"
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHED = "finished"
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        return self in (RunState.FINISHED, RunState.FAILED)

    @property
    def is_live(self) -> bool:
        """Has, or may have, a server process."""
        return not self.is_final and self is not RunState.QUEUED


class Source(StrEnum):
    """Who said a number."""

    COUNTER = "counter"  # the engine's cumulative counters on /metrics
    SLOTS = "slots"  # llama.cpp's /slots
    LOG = "log"  # a line of the server's log
    CLIENT = "client"  # our own load generator


class Speculation(BaseModel):
    """Speculative decoding as configured; `num_tokens` keeps the engine's own meaning of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    method: str | None = None
    model: str | None = None
    num_tokens: int | None = None


class Config(BaseModel):
    """One launchable configuration in the field's terms; absent means not stated, never a guess.

    The key names are those of the command reading (`python -m launcher explain`).
    `argv` is what is (or was) run, word for word; the typed fields are the reading of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    engine: str = "other"
    engine_version: str | None = None
    launcher: str = "process"  # process | podman | docker | compose | kubernetes | script | attach | import
    image: str | None = None
    executable: str | None = None
    model: str | None = None
    served_model_name: str | None = None
    host: str | None = None
    port: int | None = None
    quantization: str | None = None
    dtype: str | None = None
    kv_cache_dtype: str | None = None
    max_model_len: int | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    data_parallel: int | None = None
    gpu_memory_fraction: float | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    speculative: Speculation | None = None
    tool_call_parser: str | None = None
    reasoning_parser: str | None = None
    prefix_caching: bool | None = None
    chunked_prefill: bool | None = None
    enforce_eager: bool | None = None
    gpus: str | None = None
    sampling: dict[str, JsonValue] = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)  # secret values are '<secret>' here, always
    volumes: list[str] = Field(default_factory=list)
    unknown_flags: list[str] = Field(default_factory=list)
    argv: tuple[str, ...] = ()

    @property
    def fingerprint(self) -> str:
        """12 hex digits that are equal when two configs would serve alike (address and spelling aside)."""
        spelling = {"argv", "host", "port", "served_model_name", "volumes"}
        stated = self.model_dump(mode="json", exclude=spelling, exclude_none=True)
        return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()[:12]


class WorkloadSpec(BaseModel):
    """What load a run is put under; runs are comparable only where `name` and `prompt_set_hash` agree."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str  # 'watch' means no load of ours
    prompt_set_hash: str | None = None
    params: dict[str, JsonValue] = Field(default_factory=dict)


class Run(BaseModel):
    """One life of one server under one Config, from the queue to its end; immutable, replaced by `model_copy`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    name: str
    color: int  # index into web.theme.RUN_COLORS, given when the run is made and kept
    kind: Literal["launched", "attached", "imported"] = "launched"
    state: RunState = RunState.QUEUED
    phase: str | None = None  # what it is doing while STARTING: 'loading weights 34 %'
    config: Config
    workload: WorkloadSpec | None = None
    batch_id: str | None = None  # runs launched together
    queue_position: float | None = None  # order within the queue; None: starts at once
    stop_when_done: bool = True  # stop the server when its workload has ended
    machine_id: str  # runs of one machine compete; see the guard
    run_dir: str | None = None  # spec.json, shim.json, exit.json, server.log, workload/ of a launched run
    log_path: str | None = None
    base_url: str | None = None
    ready_path: str | None = None
    ready_timeout_s: float = 600.0
    pid: int | None = None  # the server, with its birth so that a reused pid is never mistaken for it
    pid_birth_s: float | None = None  # seconds after the boot, which no step of the clock moves; see launcher.birth
    pid_started_at: float | None = None  # seconds since the epoch, as the clock stood then
    created_at: datetime
    started_at: datetime | None = None
    ready_at: datetime | None = None
    ended_at: datetime | None = None
    exit_code: int | None = None
    exit_signal: int | None = None
    cause: str | None = None  # one sentence, for FAILED
    cause_line: str | None = None  # the log line that is the evidence
    note: str | None = None
    provenance: dict[str, JsonValue] | None = None  # what it ran on, frozen at its start; see launcher.provenance


def new_run_id(now: datetime, token: str | None = None) -> str:
    """An id that sorts by time and fits a URL: '20261120-205312-345-7kq2' (UTC, milliseconds, random)."""
    tail = token or "".join(secrets.choice("23456789abcdefghjkmnpqrstuvwxyz") for _ in range(4))
    stamp = now.astimezone(UTC)
    return f"{stamp:%Y%m%d-%H%M%S}-{stamp.microsecond // 1000:03d}-{tail}"


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


@dataclass(frozen=True, slots=True)
class HostSample:
    """CPU and memory of a run's process tree and of the machine it is on."""

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
    decode_ms: float | None = None  # first token -> last token
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
    """How one collector's last turn for one run went; stored when it changes and once a minute."""

    run_id: str | None
    ts: datetime
    collector: str
    ok: bool
    duration_ms: float
    error: str | None = None


Sample = CounterSample | SlotSample | LogSample | GpuSample | HostSample | RequestRecord | Event | CollectorHealth


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


class Share(BaseModel):
    """A view-only link to some runs, as the store keeps it: what it opens and how long, never its token."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    run_ids: tuple[str, ...]
    page: str  # which page the link opens: 'live' | 'compare' | 'run'
    created_at: datetime
    created_by: str  # the role that made it
    expires_at: datetime
    revoked_at: datetime | None = None
    note: str | None = None  # for whom, in the maker's words

    def is_open(self, now: datetime) -> bool:
        """Whether the link still opens anything."""
        return self.revoked_at is None and now < self.expires_at


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change that somebody made, to one run or to none."""

    ts: datetime
    role: str
    action: str  # launch | stop | cancel | attach | share | revoke | ...
    run_id: str | None = None
    detail: str = ""
