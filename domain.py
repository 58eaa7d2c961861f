"""Core domain types: Config, Run, Study, Share, Machine, adopted points and audit entries.

A run's samples are in samples.py, its load results in load_records.py, people's notes in notes.py.

Every package imports this module and it imports none. Conventions that hold everywhere:
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


UNKNOWN_MACHINE = "unknown-"


def unknown_machine_id(run_id: str) -> str:
    """Return the machine id of a run whose machine is not known: two unknown machines are not the same one."""
    return f"{UNKNOWN_MACHINE}{run_id}"


def is_unknown_machine(machine_id: str) -> bool:
    """Whether this id stands for a machine that is not known."""
    return machine_id.startswith(UNKNOWN_MACHINE)


class RunState(StrEnum):
    """State of a run's life cycle; FINISHED and FAILED are final."""

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
        """Whether the run has, or may have, a server process."""
        return not self.is_final and self is not RunState.QUEUED


CANCELLED = "cancelled"  # see Run.shown_state
OPEN_STATES = tuple(state for state in RunState if not state.is_final)


class MeasurementSource(StrEnum):
    """Where a number came from."""

    COUNTER = "counter"  # the engine's cumulative counters on /metrics
    SLOTS = "slots"  # llama.cpp's /slots
    LOG = "log"  # a line of the server's log
    CLIENT = "client"  # Pitwall's load generator


class Speculation(BaseModel):
    """Speculative decoding as configured; `num_tokens` keeps the engine's own meaning.

    `method` None: not stated, the engine detects it. `options` are the other keys of its configuration, as stated.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    method: str | None = None
    model: str | None = None
    num_tokens: int | None = None
    options: dict[str, JsonValue] = Field(default_factory=dict)


OTHER_ENGINE = "other"  # none of those that Pitwall knows


class Config(BaseModel):
    """One launchable configuration in engine-neutral terms; absent means not stated, never a guess.

    The key names are those of the command reading (`./pitwall explain`).
    `argv` is the command line, word for word; the typed fields are its reading.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    engine: str = OTHER_ENGINE
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
        """12 hex digits, equal for two configs that serve alike (address and spelling aside)."""
        spelling = {"argv", "host", "port", "served_model_name", "volumes"}
        stated_fields = self.model_dump(mode="json", exclude=spelling, exclude_none=True)
        if self.speculative and not self.speculative.options:
            del stated_fields["speculative"]["options"]  # stored fingerprints predate this field
        return hashlib.sha256(json.dumps(stated_fields, sort_keys=True).encode()).hexdigest()[:12]


STARTUP_FACTS = {  # key of a startup fact in the log -> key in Run.logged_facts
    "engine_version": "engine_version",
    "speculative_method": "speculative_method",
    "speculative_algorithm": "speculative_method",
    "num_spec_tokens": "speculative_num_tokens",
}


class WorkloadSpec(BaseModel):
    """The load that a run is put under; runs are comparable only if `name` and `prompt_set_hash` agree."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    prompt_set_hash: str | None = None
    params: dict[str, JsonValue] = Field(default_factory=dict)


WATCH = WorkloadSpec(name="watch")  # no Pitwall load: the user's own clients drive the server


STORE_REFUSED = "It was not started, because the store did not accept its record."  # a cause of FAILED


class Run(BaseModel):
    """One server under one Config, from the queue to its end; immutable, replaced by `model_copy`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    name: str
    color: int  # index into web.theme.RUN_COLORS, assigned at creation and never changed
    kind: Literal["launched", "attached", "imported"] = "launched"
    state: RunState = RunState.QUEUED
    phase: str | None = None  # progress while STARTING: 'loading weights 34 %'
    config: Config
    workload: WorkloadSpec | None = None
    later_workloads: tuple[WorkloadSpec, ...] = ()  # run after `workload` on the same server, one by one
    batch_id: str | None = None  # runs launched together
    arm: str | None = None  # the study's arm that this run repeats, whatever its configuration
    round: int | None = None  # repeat number of its configuration within the batch, from 1
    round_seed: int | None = None  # seed of the order of the batch's rounds; see launcher.runs.rounds
    queue_position: float | None = None  # order within the queue; None: starts at once
    stop_when_done: bool = True  # stop the server when its workload has ended
    machine_id: str  # runs of one machine compete; see the guard
    run_dir: str | None = None  # spec.json, shim.json, exit.json, server.log, workload/ of a launched run
    log_path: str | None = None
    base_url: str | None = None
    ready_path: str | None = None
    ready_timeout_s: float = 600.0
    pid: int | None = None  # of the server; with its birth, so that a reused pid is never mistaken for it
    pid_birth_s: float | None = None  # seconds after boot, immune to clock steps; see machine.process_start
    pid_started_at: float | None = None  # seconds since the epoch, by the clock at that time
    created_at: datetime
    started_at: datetime | None = None
    ready_at: datetime | None = None
    ended_at: datetime | None = None
    exit_code: int | None = None
    exit_signal: int | None = None
    cause: str | None = None  # one sentence, for FAILED
    cause_line: str | None = None  # the log line that is the evidence
    note: str | None = None
    provenance: dict[str, JsonValue] | None = None  # hardware and software at start; see launcher.checks.provenance
    logged_facts: dict[str, JsonValue] | None = None  # startup facts from its log, by the values of STARTUP_FACTS

    @property
    def is_failed_by_pitwall(self) -> bool:
        """Whether it failed for a cause of Pitwall's own, which says nothing about its configuration."""
        return self.state is RunState.FAILED and self.cause == STORE_REFUSED

    @property
    def shown_state(self) -> str:
        """The state that people see: a run that was cancelled before its start is stored as 'finished'."""
        has_ended_unstarted = self.ended_at is not None and self.started_at is None and self.kind == "launched"
        return CANCELLED if has_ended_unstarted and self.state is RunState.FINISHED else self.state.value

    @property
    def began_at(self) -> datetime:
        """The start of its server; its creation until then."""
        return self.started_at or self.created_at

    @property
    def start_order(self) -> tuple[datetime, str]:
        """The key that sorts runs by their start."""
        return self.began_at, self.id

    @property
    def workloads(self) -> tuple[WorkloadSpec, ...]:
        """All workloads that it was launched with, in running order."""
        return (*((self.workload,) if self.workload else ()), *self.later_workloads)

    @property
    def workload_names(self) -> str | None:
        """Comma-separated workload names such as 'five-prompts, ladder'; None if there are none."""
        return ", ".join(workload.name for workload in self.workloads) or None

    @property
    def on_host(self) -> str | None:
        """Label of the host on which Pitwall started it by ssh; None: Pitwall's own machine."""
        return (self.provenance or {}).get("on_host")

    def with_fact(self, key: str, value: JsonValue) -> Run:
        """Return the run with one more startup fact; itself if the fact is already known or is not kept."""
        name, facts = STARTUP_FACTS.get(key), self.logged_facts or {}
        if name is None or facts.get(name) == value:
            return self
        return self.model_copy(update={"logged_facts": {**facts, name: value}})


def utc_now() -> datetime:
    """Return the current time as an aware UTC datetime."""
    return datetime.now(UTC)


def new_run_id(now: datetime, token: str | None = None) -> str:
    """Return an id that sorts by time and fits a URL: '20261120-205312-345-7kq2' (UTC, milliseconds, random)."""
    tail = token or "".join(secrets.choice("23456789abcdefghjkmnpqrstuvwxyz") for _ in range(4))
    stamp = now.astimezone(UTC)
    return f"{stamp:%Y%m%d-%H%M%S}-{stamp.microsecond // 1000:03d}-{tail}"


class Share(BaseModel):
    """A view-only link to some runs or a study, as the store keeps it; its token is never stored."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    run_ids: tuple[str, ...]
    page: str  # the page that the link opens: 'live' | 'compare' | 'replay' | 'run' | 'studies' | 'report'
    created_at: datetime
    created_by: str  # role of its creator
    expires_at: datetime
    revoked_at: datetime | None = None
    note: str | None = None  # the creator's words on its recipient
    study_id: str | None = None  # set for a study link, which opens all its runs, later ones included
    query: str | None = None  # the rest of the URL query: how the runs are compared

    def is_open(self, now: datetime) -> bool:
        """Whether the link still opens anything."""
        return self.revoked_at is None and now < self.expires_at


class Study(BaseModel):
    """A question that several runs answer, as the store keeps it; its id is the runs' batch id."""

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
    gpus_reason: str | None  # why there are none
    driver_version: str | None
    cuda_version: str | None
    seen_at: datetime
    url: str | None = None  # at which others reach the Pitwall there, if set
    reported_by: str | None = None  # id of the machine whose Pitwall reports it; None: not recorded


class AdoptedPoint(BaseModel):
    """An operating point that somebody adopted, with its evidence; never changed, a later one may supersede it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    name: str  # of the arm
    purpose: str | None = None
    reason: str
    config: Config
    workload: WorkloadSpec | None = None
    run_ids: tuple[str, ...]  # the evidence
    adopted_by: str  # the name that they entered
    role: str
    adopted_at: datetime
    supersedes: str | None = None  # id of the point that it replaced


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change that somebody made, to one run or to no run in particular."""

    ts: datetime
    role: str
    action: str  # launch | stop | attach | share | rename | delete | ...
    run_id: str | None = None
    detail: str = ""
