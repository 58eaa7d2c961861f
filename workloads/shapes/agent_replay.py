"""'agent-replay': sends agent sessions by their shape, with generated text of the recorded lengths and prefixes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Literal

from pydantic import Field

from analysis.loads.load_results import DEFINITION
from analysis.sessions.agent_shape import ANSWER, AgentShape, ShapeRequest
from analysis.sessions.prompt_part import MOST_PARTS, PREFIX, PartKind, encode_order
from domain import JsonValue
from load_records import AGENT_REPLAY as NAME
from load_records import SESSION, TURN, RequestRecord, Result
from workloads.plan import AS_THEY_ARRIVE, Params, Phase, Plan, PlannedRequest, Workload
from workloads.shapes.seeded_agents import SeededAgents, seeded_shape
from workloads.texts.replayed_prompt import Answers, ReplayedPrompt, replayed_prompts
from workloads.texts.shape_file import read_shape

BRANCH, IMAGES, RECORDED_CACHED = "branch", "replaced_images", "recorded_cached_tokens"  # in a request's `extra`
MOST_REQUESTS = 20_000
COMPUTED, RECORDED = "computed_prompt_tokens", "recorded_computed_prompt_tokens"


class AgentReplayParams(Params, SeededAgents):
    """Parameters of 'agent-replay'; those of SeededAgents hold without a file."""

    endpoint: Literal["completions"] = "completions"
    prefix_cache: Literal["as it is", "cold start"] = "cold start"  # cold start: each replay begins with other words
    file: str = Field(default="", max_length=4096)  # a shape, or a trace; empty: generated from the seed
    answers: Answers = "the server's own"  # in later prompts, where the recorded server had them in its cache
    replays: int = Field(default=1, ge=1, le=50)
    max_requests: int = Field(default=500, ge=1, le=MOST_REQUESTS)  # the first ones
    max_prompt_tokens: int | None = Field(default=None, ge=1)  # of all prompts together; the first that fit
    max_context_tokens: int | None = Field(default=None, ge=2)  # of prompt and answer; longer requests are left out
    max_pause_s: float = Field(default=30.0, ge=0.0, le=86_400.0)
    speed_up: float = Field(default=1.0, gt=0.0, le=1000.0)  # of pauses and arrivals
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)


def build(params: AgentReplayParams) -> Plan:
    """Return a plan of the shape's requests, once per replay; raises PlanError for a bad file."""
    shape = read_shape(params.file, params.max_requests) if params.file else seeded_shape(params, params.seed)
    requests = tuple(_planned_requests(params, shape))
    titles = ["Replay"] if params.replays == 1 else [f"Replay {number}" for number in range(1, params.replays + 1)]
    return [Phase(title, "measure", AS_THEY_ARRIVE, requests) for title in titles]


def _planned_requests(params: AgentReplayParams, shape: AgentShape) -> Iterator[PlannedRequest]:
    """Yield the requests that are sent; those that wait for one that is not wait for what that one waits for."""
    sent_indexes = _sent_indexes(params, shape.requests)
    place_of = {index: place for place, index in enumerate(sent_indexes)}
    prompts = replayed_prompts(shape.requests, params.seed, params.answers)
    arrivals = _arrivals(params, shape.requests)
    stored = _StoredPrompts(shape.requests, prompts, place_of)
    for index in sent_indexes:
        request = shape.requests[index]
        waits_for = _sent_before(shape.requests, place_of, request.waits_for)
        yield PlannedRequest(
            f"turn {request.turn:02d}",
            "",
            params.sampling_for(request.output_tokens, params.temperature, ignore_eos=True),
            replayed=prompts[index],
            waits_for=waits_for,
            think_s=_scaled(params, request.pause_s),
            sent_after_s=arrivals[index],
            facts={
                SESSION: request.session,
                BRANCH: request.branch,
                TURN: request.turn,
                **({IMAGES: request.images} if request.images else {}),
                **({} if request.cached_tokens is None else {RECORDED_CACHED: request.cached_tokens}),
                PREFIX: stored.describe(index),
            },
        )


def _sent_indexes(params: AgentReplayParams, requests: Sequence[ShapeRequest]) -> list[int]:
    """Return the requests within the limits: the first ones, without those that are too long."""
    limit = params.max_context_tokens
    fitting = [
        index
        for index, request in enumerate(requests[: params.max_requests])
        if limit is None or request.prompt_tokens + request.output_tokens <= limit
    ]
    if params.max_prompt_tokens is None:
        return fitting
    totals, total = [], 0
    for index in fitting:
        total += requests[index].prompt_tokens
        totals.append((index, total))
    most = params.max_prompt_tokens
    return [index for index, _ in takewhile(lambda pair: pair[1] <= most, totals)] or fitting[:1]


def _sent_before(requests: Sequence[ShapeRequest], place_of: dict[int, int], indexes: Sequence[int]) -> tuple[int, ...]:
    """Return the places of these requests in the plan; one that is not sent is replaced by those that it waits for."""
    places: dict[int, None] = {}
    waiting, seen_indexes = list(indexes), set[int]()
    while waiting:
        index = waiting.pop(0)
        if index in place_of:
            places[place_of[index]] = None
        elif index not in seen_indexes:
            seen_indexes.add(index)
            waiting += requests[index].waits_for
    return tuple(places)


def _scaled(params: AgentReplayParams, seconds: float) -> float:
    return round(min(seconds, params.max_pause_s) / params.speed_up, 6)


def _arrivals(params: AgentReplayParams, requests: Sequence[ShapeRequest]) -> list[float | None]:
    """Return when each request may be sent: as recorded, with gaps between arrivals limited, then sped up."""
    times = sorted({request.arrives_s for request in requests if request.arrives_s is not None})
    scaled: dict[float, float] = {}
    before_s = sent_s = 0.0
    for time_s in times:
        sent_s += _scaled(params, time_s - before_s)
        scaled[time_s], before_s = round(sent_s, 6), time_s
    return [None if request.arrives_s is None else scaled[request.arrives_s] for request in requests]


class _StoredPrompts:
    """Describes prompts as a recording does, so that turns of a replay are explained like recorded ones.

    Requests are named by their places in the plan until it is sent.
    """

    def __init__(
        self, requests: Sequence[ShapeRequest], prompts: Sequence[ReplayedPrompt], place_of: dict[int, int]
    ) -> None:
        self._requests, self._prompts, self._place_of = requests, prompts, place_of
        self._known: set[str] = set()
        self._session_place: dict[int, int] = {}

    def describe(self, index: int) -> dict[str, JsonValue]:
        """Return what is stored of a prompt; each part's details once, in the order of the plan."""
        request, place = self._requests[index], self._place_of[index]
        segments = self._prompts[index].segments[:MOST_PARTS]
        follows = request.follows
        while follows is not None and follows not in self._place_of:
            follows = self._requests[follows].follows
        base = [] if follows is None else [s.digest for s in self._prompts[follows].segments[:MOST_PARTS]]
        new = {segment.digest: segment for segment in segments if segment.digest not in self._known}
        self._known |= new.keys()
        return {
            "session": self._session_place.setdefault(request.session, place),
            "follows": None if follows is None else self._place_of[follows],
            "order": encode_order([segment.digest for segment in segments], base),
            "parts": {digest: _stored_part(segment.kind) for digest, segment in new.items()},
            "is_cut": len(self._prompts[index].segments) > MOST_PARTS,
        }


def _stored_part(kind: str) -> dict[str, JsonValue]:
    """Return the details of a part of this kind; an image is a text of as many tokens."""
    if kind == ANSWER:
        return {"kind": PartKind.TEXT.value, "name": "assistant"}
    is_kept = kind in tuple(PartKind) and kind != PartKind.IMAGE
    return {"kind": kind if is_kept else PartKind.TEXT.value, "name": None}


def conclude(params: AgentReplayParams, load_id: str, now: datetime, records: Sequence[RequestRecord]) -> list[Result]:
    """Return the prompt tokens that the server computed in each replay, and those of the recording."""
    results: list[Result] = []
    for title in dict.fromkeys(record.extra["phase_title"] for record in records):
        answered = [r for r in records if r.extra["phase_title"] == title and not r.error_kind]
        for metric, name in ((COMPUTED, "cached_prompt_tokens"), (RECORDED, RECORDED_CACHED)):
            counts = [tokens for record in answered if (tokens := _computed(record, name)) is not None]
            if counts and len(counts) == len(answered):
                result = Result(
                    records[0].run_id, load_id, now, title, metric, "total", "tokens", DEFINITION,
                    value=float(sum(counts)), n=len(counts), concurrency=AS_THEY_ARRIVE,
                )  # fmt: skip
                results.append(result)
    return results


def _computed(record: RequestRecord, cached_name: str) -> int | None:
    cached = record.extra.get(cached_name)
    if cached is None or record.prompt_tokens is None:
        return None
    return max(0, record.prompt_tokens - int(cached))


AGENT_REPLAY = Workload(
    name=NAME,
    title="Agent replay",
    summary="Agent sessions with subagents by their shape: recorded ones or a public trace from a file, or generated.",
    params_type=AgentReplayParams,
    build=build,
    conclude=conclude,
)
