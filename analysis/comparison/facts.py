"""Facts of a run that a comparison needs: its setup, hardware and loads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from analysis.comparison.log_speed import LogSpeed
from analysis.evidence.loads import LoadRecord
from analysis.loads.agent_tasks import SolvedCount
from analysis.loads.depth_holds import DepthHolds
from analysis.loads.fidelity import FidelityLoad
from analysis.runs.conditions import Conditions
from domain import JsonValue


class Neighbour(NamedTuple):
    """Another run whose server worked on the same machine while this one was measured."""

    run_id: str
    shares_gpu: bool  # or the CPUs, if neither has a GPU
    load_id: str | None = None  # the load of this run during which it worked


@dataclass(frozen=True, slots=True)
class ServerSetup:
    """Model, engine, settings and GPUs of a run's server, which define its arm. None: unknown."""

    engine: str | None
    machine_id: str
    model: str | None = None  # as named in the command
    model_files: str | None = None  # hash over the files that define its shape and weights
    engine_version: str | None = None
    image: str | None = None  # with its digest if known
    gpus: tuple[str, ...] | None = None  # names of the GPUs that it may use; empty: no GPU
    settings: Mapping[str, JsonValue] = field(default_factory=dict)  # effective, dotted; no address, no spelling
    command: tuple[str, ...] = ()  # without the address
    is_configuration_known: bool = True
    weights_gib: float | None = None  # memory of its weights in GiB, as its log reports it
    kv_cache_tokens: int | None = None  # capacity of its KV cache in tokens, as its log reports it
    forced_acceptance: str | None = None  # the switch that forces drafts to be accepted
    gpu_limits: Mapping[str, tuple[JsonValue, ...]] = field(
        default_factory=dict
    )  # what bounds its GPUs, each value once


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run as input of a comparison."""

    run_id: str
    name: str
    served: ServerSetup
    state: str = "finished"
    kind: str = "launched"
    workload: str | None = None  # requested at launch
    loads: tuple[LoadRecord, ...] = ()
    conditions: tuple[Conditions, ...] = ()  # of each measured load; empty: not sampled
    startup_conditions: tuple[Conditions, ...] = ()  # from launch to readiness
    neighbours: tuple[Neighbour, ...] = ()
    has_recording: bool = False  # of other clients' requests, which are no part of its loads
    speculates: bool | None = None
    began_at: datetime | None = None
    startup_s: float | None = None
    log: LogSpeed | None = None
    full_length_requests: float | None = None  # that fit at once, according to its log
    depths: tuple[DepthHolds, ...] = ()  # of each suite of each load: until what depth of context it holds
    solved: Mapping[str, SolvedCount] = field(default_factory=dict)  # by load id: repeats of its agent tasks
    fidelity: tuple[FidelityLoad, ...] = ()  # its answers after fixed texts, which are no part of its loads
    processes: frozenset[str] = frozenset()  # ids of its server process: runs that share one used the same server

    @property
    def is_over(self) -> bool:
        return self.state in ("finished", "failed")
