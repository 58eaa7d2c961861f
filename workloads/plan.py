"""What a workload is: a plan of requests in phases, and the parameters it is made from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from pydantic import BaseModel, ConfigDict

from domain import JsonValue, WorkloadSpec

MOST_SEGMENTS = 64  # of a phase: each costs a look at the counters
Endpoint = Literal["chat", "completions"]
PhaseKind = Literal["warmup", "measure"]


class Params(BaseModel):
    """What every workload lets its user choose; a workload adds its own fields to these."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    endpoint: Endpoint = "chat"
    seed: int = 7


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """One request before it is sent; `sampling` holds max_tokens, temperature, seed and ignore_eos as they are sent."""

    prompt_class: str
    prompt: str
    sampling: Mapping[str, JsonValue]

    @property
    def max_tokens(self) -> int:
        return int(self.sampling["max_tokens"])

    @property
    def prompt_hash(self) -> str:
        return hashlib.sha256(self.prompt.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Phase:
    """Requests that are sent in order by `concurrency` streams, each taking the next one when its last has ended."""

    title: str
    kind: PhaseKind
    concurrency: int
    requests: tuple[PlannedRequest, ...]

    def segments(self) -> list[tuple[PlannedRequest, ...]]:
        """The stretches between which nothing is in flight, so that counters can be read for each alone.

        One after the other, requests of one class in a row are a stretch; side by side, the whole phase is.
        """
        if self.concurrency > 1:
            return [self.requests]
        by_class = [tuple(group) for _, group in groupby(self.requests, key=lambda request: request.prompt_class)]
        return by_class if len(by_class) <= MOST_SEGMENTS else [self.requests]


Plan = list[Phase]


@dataclass(frozen=True)
class Workload:
    """One entry of the registry: what the Launch page shows, and the plan that the runner goes through.

    Methods take the user's parameters as a mapping, missing ones at their defaults;
    they raise pydantic's ValidationError for an unknown or wrong one.
    """

    name: str
    title: str
    summary: str
    params_type: type[Params]
    build: Callable[..., Plan]

    def plan(self, params: Mapping[str, JsonValue]) -> Plan:
        return self.build(self.params_type.model_validate(params))

    def prompt_set_hash(self, params: Mapping[str, JsonValue]) -> str:
        """16 hex digits over the endpoint and everything planned: texts, order, concurrency, sampling, limits."""
        checked = self.params_type.model_validate(params)
        phases = [
            [p.kind, p.concurrency, [[r.prompt_class, r.prompt, dict(r.sampling)] for r in p.requests]]
            for p in self.build(checked)
        ]
        said = json.dumps([checked.endpoint, phases], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def measured_requests(self, params: Mapping[str, JsonValue]) -> int:
        """How many requests the plan measures, warm-up aside."""
        return sum(len(phase.requests) for phase in self.plan(params) if phase.kind == "measure")

    def spec(self, params: Mapping[str, JsonValue]) -> WorkloadSpec:
        """The workload as a run records it: every parameter spelled out."""
        checked = self.params_type.model_validate(params).model_dump(mode="json")
        return WorkloadSpec(name=self.name, prompt_set_hash=self.prompt_set_hash(checked), params=checked)
