"""What a workload is: a plan of requests in phases, and the parameters it is made from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field

from domain import JsonValue, WorkloadSpec
from load_records import RequestRecord, Result
from workloads.requests.exchange import Exchange
from workloads.texts.natural_text import GRAMMAR, DrawnText

MOST_SEGMENTS = 64  # of a phase: each costs a look at the counters
AS_THEY_ARRIVE = 0  # the concurrency of a phase whose requests are sent by a clock, however many run
Endpoint = Literal["chat", "completions"]
PhaseKind = Literal["warmup", "measure"]
Message = Mapping[str, JsonValue]


class Params(BaseModel):
    """What every workload lets its user choose; a workload adds its own fields to these."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    endpoint: Endpoint = "chat"
    seed: int = 7
    sampling: Literal["as set here", "left to the server"] = "as set here"
    top_p: float | None = Field(default=None, gt=0.0, le=1.0)  # None: not sent
    top_k: int | None = Field(default=None, ge=0)
    min_p: float | None = Field(default=None, ge=0.0, le=1.0)
    prefix_cache: Literal["as it is", "cold"] = "as it is"  # cold: every prompt begins with words of its own

    def sampled(self, max_tokens: int, temperature: float, ignore_eos: bool) -> dict[str, JsonValue]:
        """What a request asks for beside its text; left to the server, only how long the answer is."""
        length: dict[str, JsonValue] = {"max_tokens": max_tokens, "ignore_eos": ignore_eos}
        if self.sampling == "left to the server":
            return length
        chosen = {"top_p": self.top_p, "top_k": self.top_k, "min_p": self.min_p}
        stated = {name: value for name, value in chosen.items() if value is not None}
        return length | {"temperature": temperature, "seed": self.seed} | stated


class Verdict(NamedTuple):
    """What became of a case; `is_pass` is None where it could not be tried."""

    is_pass: bool | None
    why: str | None = None


class Case(Protocol):
    """One case of a suite of checks: pure functions of what was exchanged so far, oldest first, at least one."""

    @property
    def suite(self) -> str:
        """The title of the suite that the case belongs to: 'tool calls'."""
        ...

    @property
    def name(self) -> str:
        """What it checks, as results show it."""
        ...

    @property
    def mode(self) -> str:
        """'streaming' or 'whole': how its answers are sent."""
        ...

    def follow(self, went: Sequence[Exchange]) -> PlannedRequest | None:
        """The next request that the answers ask for; None: the case is over."""

    def judge(self, went: Sequence[Exchange], reasoning_parser: str | None) -> Verdict:
        """`reasoning_parser` is the one that the server's command names."""


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """One request before it is sent; `sampling` holds max_tokens, temperature, seed and ignore_eos as they are sent."""

    prompt_class: str
    prompt: str
    sampling: Mapping[str, JsonValue]
    messages: tuple[Message, ...] = ()  # of a chat with a history, in place of the prompt
    tools: tuple[Message, ...] = ()
    context: DrawnText | None = None  # before the prompt
    drawn: DrawnText | None = None  # the prompt, where it is written from a seed
    fitted: str | None = None  # context and prompt, cut by the server's tokenizer to the tokens that are wanted
    sent_after_s: float | None = None  # by the phase's clock; None: as soon as a stream is free
    think_s: float = 0.0  # waited in its stream before it is sent
    thread: int | None = None  # those of one thread follow each other in one stream
    facts: Mapping[str, JsonValue] = field(default_factory=dict)  # kept with its record
    is_streamed: bool = True
    case: Case | None = None  # of a suite of checks, whose first request it is

    @property
    def max_tokens(self) -> int:
        return int(self.sampling["max_tokens"])

    @property
    def text(self) -> str:
        """What is sent as the prompt."""
        if self.fitted is not None:
            return self.fitted
        return "\n\n".join([*(one.about() for one in (self.context, self.drawn) if one), *filter(None, [self.prompt])])

    @property
    def prompt_hash(self) -> str:
        more = self._beyond_prompt()
        said = json.dumps([self.prompt, more], sort_keys=True) if more else self.prompt
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def as_planned(self) -> list[JsonValue]:
        """All that makes it another request than the next one."""
        more = self._beyond_prompt()
        return [self.prompt_class, self.prompt, dict(self.sampling), *([more] if more else [])]

    def _beyond_prompt(self) -> dict[str, JsonValue]:
        given = {
            "messages": [dict(message) for message in self.messages],
            "tools": [dict(tool) for tool in self.tools],
            "context": list(self.context or ()),
            "drawn": [GRAMMAR, *self.drawn] if self.drawn else None,
            "sent_after_s": self.sent_after_s,
            "think_s": self.think_s,
            "is_whole": not self.is_streamed,
        }
        return {name: value for name, value in given.items() if value}


@dataclass(frozen=True, slots=True)
class Phase:
    """Requests that are sent in order by `concurrency` streams, each taking the next one when its last has ended.

    With `concurrency` AS_THEY_ARRIVE each is sent at its own time. After `limit_s` no more are sent.
    """

    title: str
    kind: PhaseKind
    concurrency: int
    requests: tuple[PlannedRequest, ...]
    limit_s: float | None = None

    def segments(self) -> list[tuple[PlannedRequest, ...]]:
        """The stretches between which nothing is in flight, so that counters can be read for each alone.

        One after the other, requests of one class in a row are a stretch; side by side, the whole phase is.
        """
        if self.concurrency != 1:
            return [self.requests]
        by_class = [tuple(group) for _, group in groupby(self.requests, key=lambda request: request.prompt_class)]
        return by_class if len(by_class) <= MOST_SEGMENTS else [self.requests]


Plan = list[Phase]
Numbered = tuple[int, PlannedRequest]


def by_thread(requests: Iterator[Numbered]) -> Iterator[list[Numbered]]:
    """What a stream takes at a time: the requests of a thread together, any other alone."""
    for _, group in groupby(requests, key=lambda one: one[1].thread if one[1].thread is not None else f"#{one[0]}"):
        yield list(group)


def no_further(params: Params, records: Sequence[RequestRecord]) -> Phase | None:
    """Most workloads end with their plan."""
    return None


def nothing_more(params: Params, load_id: str, now: datetime, records: Sequence[RequestRecord]) -> Sequence[Result]:
    """Most workloads have no result beyond those of their requests."""
    return ()


@dataclass(frozen=True)
class Workload:
    """One entry of the registry: what the Launch page shows, and the plan that the runner goes through.

    Methods take the user's parameters as a mapping, missing ones at their defaults;
    they raise pydantic's ValidationError for an unknown or wrong one, and PlanError where a file cannot be used.
    `further(params, records)` gives the phase that follows from what has been measured, once the plan is through;
    `conclude(params, load_id, now, records)` what the whole load was for.
    """

    name: str
    title: str
    summary: str
    params_type: type[Params]
    build: Callable[..., Plan]
    further: Callable[..., Phase | None] = no_further
    conclude: Callable[..., Sequence[Result]] = nothing_more
    has_cases: bool = False  # whose answers may ask for more requests

    @property
    def is_adaptive(self) -> bool:
        """Whether how many requests it sends depends on what it measures."""
        return self.has_cases or self.further is not no_further

    def checked(self, params: Mapping[str, JsonValue]) -> Params:
        """The parameters as this workload takes them; raises ValidationError."""
        return self.params_type.model_validate(params)

    def plan(self, params: Mapping[str, JsonValue]) -> Plan:
        """The plan that these parameters make; raises ValidationError."""
        return self.build(self.checked(params))

    def prompt_set_hash(self, params: Mapping[str, JsonValue]) -> str:
        """16 hex digits over the endpoint and everything planned: texts, order, concurrency, sampling, limits."""
        checked = self.checked(params)
        phases = [
            [p.kind, p.concurrency, [r.as_planned() for r in p.requests], *([p.limit_s] if p.limit_s else [])]
            for p in self.build(checked)
        ]
        cold = [checked.prefix_cache] if checked.prefix_cache == "cold" else []
        said = json.dumps([checked.endpoint, phases, *cold], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def spec(self, params: Mapping[str, JsonValue]) -> WorkloadSpec:
        """The workload as a run records it: every parameter spelled out."""
        checked = self.checked(params).model_dump(mode="json")
        return WorkloadSpec(name=self.name, prompt_set_hash=self.prompt_set_hash(checked), params=checked)
