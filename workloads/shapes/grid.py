"""'grid': every combination of prompt length, answer length, depth of the context and concurrency, n times."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Annotated, NamedTuple

from pydantic import Field, model_validator

from workloads.plan import Params, Phase, Plan, PlannedRequest, Workload
from workloads.texts.natural_text import DrawnText

MOST_POINTS = 200
Length = Annotated[int, Field(ge=1, le=1_000_000)]
Depth = Annotated[int, Field(ge=0, le=1_000_000)]
Streams = Annotated[int, Field(ge=1, le=512)]


class GridParams(Params):
    """What can be set of 'grid'; lengths in tokens."""

    prompt_tokens: tuple[Length, ...] = (512, 2048)
    output_tokens: tuple[Length, ...] = (128,)
    depth_tokens: tuple[Depth, ...] = (0,)
    concurrency: tuple[Streams, ...] = (1,)
    repeats: int = Field(default=3, ge=1, le=100)  # of each point; one more goes before them and does not count
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)

    @model_validator(mode="after")
    def has_an_end(self) -> GridParams:
        """Refuse a grid of more than MOST_POINTS points; raises ValueError, for pydantic."""
        if len(list(points(self))) > MOST_POINTS:
            raise ValueError(f"that is more than {MOST_POINTS} points")
        return self


class Point(NamedTuple):
    """One combination."""

    prompt_tokens: int
    output_tokens: int
    depth_tokens: int
    concurrency: int

    @property
    def title(self) -> str:
        """'pp2048 tg128 d0 c1', in the letters that llama-bench and llama-benchy use."""
        return f"{self.kind} c{self.concurrency}"

    @property
    def kind(self) -> str:
        return f"pp{self.prompt_tokens} tg{self.output_tokens} d{self.depth_tokens}"


def points(params: GridParams) -> Iterator[Point]:
    """Shallow and few at once first: what fails for want of memory fails last."""
    axes = (params.concurrency, params.depth_tokens, params.prompt_tokens, params.output_tokens)
    return (Point(pp, tg, depth, streams) for streams, depth, pp, tg in product(*axes))


def build(params: GridParams) -> Plan:
    """Two phases a point: a request a stream that does not count, then `repeats` requests a stream.

    The context stands before the prompt and is the same for all requests of a point; the prompts all differ.
    """
    return [phase for point in points(params) for phase in _phases(params, point)]


def _phases(params: GridParams, point: Point) -> list[Phase]:
    count = point.concurrency * (params.repeats + 1)
    requests = [_request(params, point, number) for number in range(count)]
    first, rest = tuple(requests[: point.concurrency]), tuple(requests[point.concurrency :])
    return [
        Phase(f"{point.title}, first", "warmup", point.concurrency, first),
        Phase(point.title, "measure", point.concurrency, rest),
    ]


def _request(params: GridParams, point: Point, number: int) -> PlannedRequest:
    return PlannedRequest(
        point.kind,
        "",
        params.sampled(point.output_tokens, params.temperature, ignore_eos=True),
        context=DrawnText(f"{params.seed} context", point.depth_tokens) if point.depth_tokens else None,
        drawn=DrawnText(f"{params.seed} {point.title} {number}", point.prompt_tokens),
        facts={"point": point.title, **point._asdict()},
    )


GRID = Workload(
    name="grid",
    title="Grid of lengths",
    summary="Prompt length x answer length x depth x concurrency, several times each: prompt and decode speed.",
    params_type=GridParams,
    build=build,
)
