"""What Pitwall speaks of: a Config, a Run of it, and who may see it.

Its samples are in samples.py, what its loads left in load_records.py, what people write of it in notes.py.

Every room imports this one and it imports none. Conventions that hold everywhere:
unknown is None (never 0 or -1); times are aware UTC datetimes; names carry their units.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


NOT_OVER = tuple(state for state in RunState if not state.is_final)


class Source(StrEnum):
    """Who said a number."""

    COUNTER = "counter"  # the engine's cumulative counters on /metrics
    SLOTS = "slots"  # llama.cpp's /slots
    LOG = "log"  # a line of the server's log
    CLIENT = "client"  # our own load generator


class Speculation(BaseModel):
    """Speculative decoding as configured; `num_tokens` keeps the engine's own meaning of it.

    `method` None: not stated, the engine finds it out. `options` are the other keys of its configuration, as stated.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    method: str | None = None
    model: str | None = None
    num_tokens: int | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict)


class Config(BaseModel):
    """One launchable configuration in the field's terms; absent means not stated, never a guess.

    The key names are those of the command reading (`./pitwall explain`).
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
        if self.speculative and not self.speculative.options:
            del stated["speculative"]["options"]  # fingerprints are older than it
        return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()[:12]


TOLD_FACTS = {  # what a log says of its server's start -> the name under which its run keeps it
    "engine_version": "engine_version",
    "speculative_method": "speculative_method",
    "speculative_algorithm": "speculative_method",
    "num_spec_tokens": "speculative_num_tokens",
}


class WorkloadSpec(BaseModel):
    """What load a run is put under; runs are comparable only where `name` and `prompt_set_hash` agree."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    prompt_set_hash: str | None = None
    params: dict[str, JsonValue] = Field(default_factory=dict)


WATCH = WorkloadSpec(name="watch")  # no load of ours: the run is what its user's own clients do


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
    later_workloads: tuple[WorkloadSpec, ...] = ()  # that follow it on the same server, one after the other
    batch_id: str | None = None  # runs launched together
    arm: str | None = None  # of a study: whose repeat it is, whatever its configuration
    round: int | None = None  # which repeat of its configuration within the batch it is, from 1
    round_seed: int | None = None  # what the order of the batch's rounds was drawn from; see launcher.runs.rounds
    queue_position: float | None = None  # order within the queue; None: starts at once
    stop_when_done: bool = True  # stop the server when its workload has ended
    machine_id: str  # runs of one machine compete; see the guard
    run_dir: str | None = None  # spec.json, shim.json, exit.json, server.log, workload/ of a launched run
    log_path: str | None = None
    base_url: str | None = None
    ready_path: str | None = None
    ready_timeout_s: float = 600.0
    pid: int | None = None  # the server, with its birth so that a reused pid is never mistaken for it
    pid_birth_s: float | None = (
        None  # seconds after the boot, which no step of the clock moves; see machine.process_start
    )
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
    provenance: dict[str, JsonValue] | None = None  # what it ran on, frozen at its start; see launcher.runs.provenance
    told: dict[str, JsonValue] | None = None  # what its log says of its start, by the names in TOLD_FACTS

    @property
    def workloads(self) -> tuple[WorkloadSpec, ...]:
        """All that it was launched with, in the order in which they run."""
        return (*((self.workload,) if self.workload else ()), *self.later_workloads)

    @property
    def workload_names(self) -> str | None:
        """'five-prompts, ladder'; None of one that was launched with none."""
        return ", ".join(one.name for one in self.workloads) or None

    @property
    def on_host(self) -> str | None:
        """The label of the host on which Pitwall started it by ssh; None: on its own machine."""
        return (self.provenance or {}).get("on_host")

    def with_fact(self, key: str, value: JsonValue) -> Run:
        """The run with one more fact that its log states; itself where this is known, or none that a run keeps."""
        name, known = TOLD_FACTS.get(key), self.told or {}
        if name is None or known.get(name) == value:
            return self
        return self.model_copy(update={"told": {**known, name: value}})


def utc_now() -> datetime:
    """The time, aware of its zone."""
    return datetime.now(UTC)


def new_run_id(now: datetime, token: str | None = None) -> str:
    """An id that sorts by time and fits a URL: '20261120-205312-345-7kq2' (UTC, milliseconds, random)."""
    tail = token or "".join(secrets.choice("23456789abcdefghjkmnpqrstuvwxyz") for _ in range(4))
    stamp = now.astimezone(UTC)
    return f"{stamp:%Y%m%d-%H%M%S}-{stamp.microsecond // 1000:03d}-{tail}"


class Share(BaseModel):
    """A view-only link to some runs or a study, as the store keeps it: what it opens and how long, never its token."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    run_ids: tuple[str, ...]
    page: str  # which page the link opens: 'live' | 'compare' | 'replay' | 'run' | 'studies' | 'report'
    created_at: datetime
    created_by: str  # the role that made it
    expires_at: datetime
    revoked_at: datetime | None = None
    note: str | None = None  # for whom, in the maker's words
    study_id: str | None = None  # of a study, with all its runs, later ones too
    query: str | None = None  # what the address says beside the runs: how they are compared

    def is_open(self, now: datetime) -> bool:
        """Whether the link still opens anything."""
        return self.revoked_at is None and now < self.expires_at


class Study(BaseModel):
    """A question that several runs are to answer, as the store keeps it; its runs have its id as their batch."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    title: str
    question: str  # which | value | load | upgrade
    state: Literal["running", "paused", "ended"] = "running"
    created_at: datetime
    updated_at: datetime
    plan: dict[str, JsonValue]  # commands.study_file.StudyPlan
    answer: dict[str, JsonValue] | None = None  # as `./pitwall study run --json` prints it; None before the first round


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine as the Pitwall on it reports it; `gpus` as their driver reports them: index, uuid, name, memory, ..."""

    id: str
    host_name: str
    addresses: Sequence[str]  # without loopback
    system: str | None
    cpu: str | None
    cores: int | None
    memory_bytes: int | None
    gpus: Sequence[Mapping[str, JsonValue]]
    gpus_reason: str | None  # why there is none
    driver_version: str | None
    cuda_version: str | None
    seen_at: datetime
    url: str | None = None  # under which others reach the Pitwall there, where that is set
    told_by: str | None = None  # the machine whose Pitwall reports it; None: an older one did


class AdoptedPoint(BaseModel):
    """An operating point that somebody adopted, with its evidence; kept as it was, a later one may supersede it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    name: str  # of the arm
    purpose: str | None = None  # what it is for
    reason: str
    config: Config
    workload: WorkloadSpec | None = None
    run_ids: tuple[str, ...]  # the evidence
    adopted_by: str  # as they called themselves
    role: str
    adopted_at: datetime
    supersedes: str | None = None  # id of the point whose place it took


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change that somebody made, to one run or to none."""

    ts: datetime
    role: str
    action: str  # launch | stop | attach | share | rename | delete | ...
    run_id: str | None = None
    detail: str = ""
