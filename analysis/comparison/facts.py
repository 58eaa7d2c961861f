"""What must be known of a run before its speed is held against another's: what it served, on what, under which load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from analysis.evidence.loads import LoadRecord
from analysis.runs.conditions import Conditions
from domain import JsonValue


class Neighbour(NamedTuple):
    """Another run whose server worked on the same machine while this one was measured."""

    run_id: str
    shares_gpu: bool  # or the processors, where neither has a GPU of its own
    load_id: str | None = None  # of the load that it was beside


class LogSpeed(NamedTuple):
    """What the log of a run says of its decode speed: windows that hold decoding and nothing else."""

    decode_tps: float
    windows: int
    definition: str
    window_s: float | None  # None: each line has its own


@dataclass(frozen=True, slots=True)
class Served:
    """What a run served, with what, on what: its arm is made of it. None is not known."""

    engine: str
    machine_id: str
    model: str | None = None  # as named
    model_files: str | None = None  # a hash over what names its shape and weights
    engine_version: str | None = None
    image: str | None = None  # with its digest where that is known
    gpus: tuple[str, ...] | None = None  # names of the GPUs that it may use; empty: there are none
    settings: Mapping[str, JsonValue] = field(default_factory=dict)  # in effect, dotted; no address, no spelling
    command: tuple[str, ...] = ()  # its words without the address
    is_configuration_known: bool = True
    gpu_limits: Mapping[str, tuple[JsonValue, ...]] = field(
        default_factory=dict
    )  # what bounds its GPUs, each value once


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One run as a comparison sees it."""

    run_id: str
    name: str
    served: Served
    state: str = "finished"
    kind: str = "launched"
    workload: str | None = None  # as asked for when it was launched
    loads: tuple[LoadRecord, ...] = ()
    conditions: tuple[Conditions, ...] = ()  # of each measured load; empty: nobody looked
    startup_conditions: tuple[Conditions, ...] = ()  # from its launch until it was ready
    neighbours: tuple[Neighbour, ...] = ()
    speculates: bool | None = None
    began_at: datetime | None = None
    startup_s: float | None = None
    log: LogSpeed | None = None
    kv_cache_tokens: int | None = None  # as its log prints it
    full_length_requests: float | None = None  # that fit at once, as its log states it
    processes: frozenset[str] = frozenset()  # names of its server process: runs that share one met the same

    @property
    def is_over(self) -> bool:
        return self.state in ("finished", "failed")
