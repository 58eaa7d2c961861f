"""'grid': every combination of prompt length, answer length, context depth and concurrency, n times."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Annotated, NamedTuple

from pydantic import Field, model_validator

from workloads.natural_text import SeededText
from workloads.plan import Params, Phase, Plan, PlannedRequest, Workload

MAX_POINTS = 200
Length = Annotated[int, Field(ge=1, le=1_000_000)]
Depth = Annotated[int, Field(ge=0, le=1_000_000)]
Streams = Annotated[int, Field(ge=1, le=512)]


class GridParams(Params):
    """Parameters of 'grid'; lengths in tokens."""

    prompt_tokens: tuple[Length, ...] = (512, 2048)
    output_tokens: tuple[Length, ...] = (128,)
    depth_tokens: tuple[Depth, ...] = (0,)
    concurrency: tuple[Streams, ...] = (1,)
    repeats: int = Field(default=3, ge=1, le=100)  # of each point, after an extra one that does not count
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)

    @model_validator(mode="after")
    def check_size(self) -> GridParams:
        """Reject a grid of more than MAX_POINTS points; raises ValueError for pydantic."""
        if len(list(points(self))) > MAX_POINTS:
            raise ValueError(f"the grid has more than {MAX_POINTS} points")
        return self


class GridPoint(NamedTuple):
    """One combination of the parameters; its fields are keys of `facts`."""

    prompt_tokens: int
    output_tokens: int
    depth_tokens: int
    concurrency: int

    @property
    def title(self) -> str:
        """'pp2048 tg128 d0 c1', in the notation of llama-bench and llama-benchy."""
        return f"{self.kind} c{self.concurrency}"

    @property
    def kind(self) -> str:
        return f"pp{self.prompt_tokens} tg{self.output_tokens} d{self.depth_tokens}"


def points(params: GridParams) -> Iterator[GridPoint]:
    """Yield the points, low concurrency and shallow context first, so that points that run out of memory come last."""
    axes = (params.concurrency, params.depth_tokens, params.prompt_tokens, params.output_tokens)
    return (GridPoint(pp, tg, depth, streams) for streams, depth, pp, tg in product(*axes))


def build(params: GridParams) -> Plan:
    """Return a plan of two phases per point: one warm-up request per stream, then `repeats` requests per stream.

    The context precedes the prompt and is the same for all requests of a point; all prompts differ.
    """
    return [phase for point in points(params) for phase in _phases(params, point)]


def _phases(params: GridParams, point: GridPoint) -> list[Phase]:
    count = point.concurrency * (params.repeats + 1)
    requests = [_request(params, point, number) for number in range(count)]
    warmup_requests, measured_requests = tuple(requests[: point.concurrency]), tuple(requests[point.concurrency :])
    return [
        Phase(f"{point.title}, first", "warmup", point.concurrency, warmup_requests),
        Phase(point.title, "measure", point.concurrency, measured_requests),
    ]


def _request(params: GridParams, point: GridPoint, number: int) -> PlannedRequest:
    return PlannedRequest(
        point.kind,
        "",
        params.sampling_for(point.output_tokens, params.temperature, ignore_eos=True),
        context=SeededText(f"{params.seed} context", point.depth_tokens) if point.depth_tokens else None,
        seeded_prompt=SeededText(f"{params.seed} {point.title} {number}", point.prompt_tokens),
        facts={"point": point.title, **point._asdict()},
    )


GRID = Workload(
    name="grid",
    title="Grid of lengths",
    summary="Prompt length x answer length x depth x concurrency, several times each: prompt and decode speed.",
    params_type=GridParams,
    build=build,
)
