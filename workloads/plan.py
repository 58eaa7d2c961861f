"""Definition of a workload: its parameters, and the plan of requests in phases built from them."""

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
from workloads.natural_text import GRAMMAR, SeededText
from workloads.requests.exchange import Exchange
from workloads.requests.protocols import Endpoint
from workloads.requests.token_probe import TokenProbe
from workloads.texts.long_history import SeededHistory
from workloads.texts.replayed_prompt import ReplayedPrompt

MAX_SEGMENTS = 64  # per phase: each costs a reading of the counters
AS_THEY_ARRIVE = 0  # concurrency of a phase whose requests are sent at fixed times, however many are running
PhaseKind = Literal["warmup", "measure", "probe"]  # probe: of answers, not of speed
Message = Mapping[str, JsonValue]


class Params(BaseModel):
    """Parameters of every workload; a workload adds its own fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    endpoint: Endpoint = "chat"
    seed: int = 7
    sampling: Literal["as set here", "left to the server"] = "as set here"
    top_p: float | None = Field(default=None, gt=0.0, le=1.0)  # None: not sent
    top_k: int | None = Field(default=None, ge=0)
    min_p: float | None = Field(default=None, ge=0.0, le=1.0)
    # cold: every prompt begins with unique words; cold start: with those of this load and of its chat
    prefix_cache: Literal["as it is", "cold", "cold start"] = "as it is"

    def sampling_for(self, max_tokens: int, temperature: float, ignore_eos: bool) -> dict[str, JsonValue]:
        """Return a request's sampling fields; only the answer's length if sampling is left to the server."""
        length: dict[str, JsonValue] = {"max_tokens": max_tokens, "ignore_eos": ignore_eos}
        if self.sampling == "left to the server":
            return length
        optional = {"top_p": self.top_p, "top_k": self.top_k, "min_p": self.min_p}
        stated_values = {name: value for name, value in optional.items() if value is not None}
        return length | {"temperature": temperature, "seed": self.seed} | stated_values


class CaseVerdict(NamedTuple):
    """Result of a case; `is_pass` is None if it could not be tested."""

    is_pass: bool | None
    why: str | None = None


class Case(Protocol):
    """A case of a suite of checks: pure functions of its exchanges so far, oldest first, at least one."""

    @property
    def suite(self) -> str:
        """Title of the suite: 'tool calls'."""
        ...

    @property
    def name(self) -> str:
        """Name of the case in results."""
        ...

    @property
    def mode(self) -> str:
        """How answers are sent: 'streaming' or 'whole'."""
        ...

    @property
    def depth_tokens(self) -> int | None:
        """Tokens of the history before the case's question, approximately; None if the suite has no depths."""
        ...

    @property
    def repeat(self) -> int | None:
        """Number of the history, from 1; None if a case is tried once."""
        ...

    def follow(self, exchanges: Sequence[Exchange]) -> PlannedRequest | None:
        """Return the next request that the answers require; None: the case is complete."""

    def judge(self, exchanges: Sequence[Exchange], reasoning_parser: str | None) -> CaseVerdict:
        """Judge the exchanges; `reasoning_parser` is from the server's command."""


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """A request before it is sent; `sampling`: max_tokens, temperature, seed and ignore_eos as sent."""

    prompt_class: str
    prompt: str
    sampling: Mapping[str, JsonValue]
    messages: tuple[Message, ...] = ()  # of a chat with a history; replaces the prompt
    history: SeededHistory | None = None  # generated messages before the last one of `messages`
    tools: tuple[Message, ...] = ()
    context: SeededText | None = None  # precedes the prompt
    seeded_prompt: SeededText | None = None  # replaces `prompt`
    fitted_text: str | None = None  # context and prompt, cut to their token lengths by the server's tokenizer
    sent_after_s: float | None = None  # since the start of the phase; None: as soon as a stream is free
    think_s: float = 0.0  # pause of its stream before it is sent
    thread: int | None = None  # requests of a thread are sent one after another in one stream
    facts: Mapping[str, JsonValue] = field(default_factory=dict)  # stored with its record
    is_streamed: bool = True
    case: Case | None = None  # the case that this request starts
    probe: TokenProbe | None = None  # replaces the prompt: token ids in the engine's own API
    replayed: ReplayedPrompt | None = None  # replaces the prompt: segments of given lengths
    waits_for: tuple[int, ...] = ()  # of a phase at given times: the requests after whose ends it is sent, by index

    @property
    def max_tokens(self) -> int:
        return int(self.sampling["max_tokens"])

    @property
    def text(self) -> str:
        """Prompt as it is sent."""
        if self.fitted_text is not None:
            return self.fitted_text
        return "\n\n".join(
            [
                *(text.approximate_text() for text in (self.context, self.seeded_prompt) if text),
                *filter(None, [self.prompt]),
            ]
        )

    def sent_messages(self) -> tuple[Message, ...]:
        """Return the chat as it is sent: its messages with the generated history, or the prompt as one message."""
        if not self.messages:
            return ({"role": "user", "content": self.text},)
        history = self.history.messages() if self.history else []
        return (*self.messages[:-1], *history, self.messages[-1])

    @property
    def prompt_hash(self) -> str:
        additions = self._additions()
        content = json.dumps([self.prompt, additions], sort_keys=True) if additions else self.prompt
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def hash_content(self) -> list[JsonValue]:
        """Return everything that distinguishes this request from others."""
        additions = self._additions()
        return [self.prompt_class, self.prompt, dict(self.sampling), *([additions] if additions else [])]

    def item_hash(self) -> str:
        """Return 16 hex digits over content and sampling: equal for servers that receive the same request."""
        return hashlib.sha256(json.dumps(self.hash_content(), sort_keys=True).encode()).hexdigest()[:16]

    def _additions(self) -> dict[str, JsonValue]:
        fields = {
            "messages": [dict(message) for message in self.messages],
            "tools": [dict(tool) for tool in self.tools],
            "context": list(self.context or ()),
            "history": [GRAMMAR, *self.history] if self.history else None,
            "drawn": [GRAMMAR, *self.seeded_prompt] if self.seeded_prompt else None,
            "sent_after_s": self.sent_after_s,
            "think_s": self.think_s,
            "is_whole": not self.is_streamed,
            "probe": self.probe.hash_content() if self.probe else None,
            "replayed": [GRAMMAR, self.replayed.digest, self.replayed.answers] if self.replayed else None,
            "waits_for": list(self.waits_for),
        }
        return {name: value for name, value in fields.items() if value}


@dataclass(frozen=True, slots=True)
class Phase:
    """Requests sent in order by `concurrency` streams, each of which sends the next one when its last has ended.

    With `concurrency` AS_THEY_ARRIVE each request is sent at its own time, and `think_s` after the ends of those
    that it waits for. After `limit_s` no more are sent.
    """

    title: str
    kind: PhaseKind
    concurrency: int
    requests: tuple[PlannedRequest, ...]
    limit_s: float | None = None

    def segments(self) -> list[tuple[PlannedRequest, ...]]:
        """Return the segments between which nothing is in flight, so that counters can be read for each separately.

        In a sequential phase, consecutive requests of one class form a segment; a concurrent phase is one segment.
        """
        if self.concurrency != 1:
            return [self.requests]
        by_class = [tuple(group) for _, group in groupby(self.requests, key=lambda request: request.prompt_class)]
        return by_class if len(by_class) <= MAX_SEGMENTS else [self.requests]


Plan = list[Phase]
Numbered = tuple[int, PlannedRequest]


def group_by_thread(requests: Iterator[Numbered]) -> Iterator[list[Numbered]]:
    """Yield what a stream takes at a time: all requests of a thread, or a single one without a thread."""
    for _, group in groupby(
        requests, key=lambda numbered: numbered[1].thread if numbered[1].thread is not None else f"#{numbered[0]}"
    ):
        yield list(group)


def no_next_phase(params: Params, records: Sequence[RequestRecord]) -> Phase | None:
    """Return None: most workloads end with their plan."""
    return None


def no_results(params: Params, load_id: str, now: datetime, records: Sequence[RequestRecord]) -> Sequence[Result]:
    """Return nothing: most workloads have no results beyond those of their requests."""
    return ()


@dataclass(frozen=True)
class Workload:
    """Entry of the registry: texts for the Launch page, and the plan that the runner executes.

    Methods take the user's parameters as a mapping; missing ones get their defaults. They raise pydantic's
    ValidationError for an unknown or wrong parameter, and PlanError if a file cannot be used.
    `next_phase(params, records)` returns the phase that follows from the measurements after the plan;
    `conclude(params, load_id, now, records)` returns the results of the whole load.
    """

    name: str
    title: str
    summary: str
    params_type: type[Params]
    build: Callable[..., Plan]
    next_phase: Callable[..., Phase | None] = no_next_phase
    conclude: Callable[..., Sequence[Result]] = no_results
    has_cases: bool = False  # answers may require further requests
    has_probes: bool = False  # it needs token ids and log-probabilities from the server

    @property
    def is_adaptive(self) -> bool:
        """Whether the number of requests depends on the measurements."""
        return self.has_cases or self.next_phase is not no_next_phase

    def validate_params(self, params: Mapping[str, JsonValue]) -> Params:
        """Return the parsed parameters; raises ValidationError."""
        return self.params_type.model_validate(params)

    def plan(self, params: Mapping[str, JsonValue]) -> Plan:
        """Return the plan for these parameters; raises ValidationError."""
        return self.build(self.validate_params(params))

    def prompt_set_hash(self, params: Mapping[str, JsonValue]) -> str:
        """Return 16 hex digits over endpoint and plan: texts, order, concurrency, sampling, limits."""
        valid_params = self.validate_params(params)
        phases = [
            [
                phase.kind,
                phase.concurrency,
                [request.hash_content() for request in phase.requests],
                *([phase.limit_s] if phase.limit_s else []),
            ]
            for phase in self.build(valid_params)
        ]
        cache_setting = [] if valid_params.prefix_cache == "as it is" else [valid_params.prefix_cache]
        content = json.dumps([valid_params.endpoint, phases, *cache_setting], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def spec(self, params: Mapping[str, JsonValue]) -> WorkloadSpec:
        """Return the workload as a run records it, with every parameter."""
        valid_params = self.validate_params(params).model_dump(mode="json")
        return WorkloadSpec(name=self.name, prompt_set_hash=self.prompt_set_hash(valid_params), params=valid_params)
