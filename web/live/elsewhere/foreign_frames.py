"""What is believed of a frame of another Pitwall: the protocol's fields in their types, bounded, and nothing else.

One browser shows runs of several: a number that is none, or a million marks, would cost it those of the others too.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from web.live.protocol import SERIES

MOST_POINTS = 20_000  # of a series in one frame; ours are thinned long before
MOST_LINES = 5_000
MOST_MARKS = 1_000
MOST_NODES = 1_000
MOST_NAMED = 200  # tiles, reasons, chips, positions

Seconds = Annotated[float, Field(ge=-1e11, le=1e11)]  # a date that a browser can write
Short = Annotated[str, Field(max_length=2_000)]
Named = Field(max_length=MOST_NAMED)


class _Told(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Series(_Told):
    t: Annotated[list[Seconds], Field(max_length=MOST_POINTS)]
    v: Annotated[list[float | None], Field(max_length=MOST_POINTS)]
    excluded: Annotated[list[int], Field(max_length=MOST_POINTS)] | None = None
    mean: Annotated[list[float | None], Field(max_length=MOST_POINTS)] | None = None
    count: Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=MOST_POINTS)] | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        beside = (self.v, self.excluded, self.mean, self.count)
        if any(values is not None and len(values) != len(self.t) for values in beside):
            raise ValueError("a point lacks its time or its value")
        return self


class _Tile(_Told):
    v: float | None
    why: Short | None
    t: Seconds | None = None


class _PerPosition(_Told):
    v: Annotated[list[float], Named] | None
    why: Short | None


class _LogLine(_Told):
    at: int
    t: Seconds | None
    text: str
    mark: Short | None
    why: Short | None


class _Node(_Told):
    title: Short
    t: Seconds
    gpu_count: int
    gpu_power_w: float | None
    gpu_sm_clock_mhz: float | None
    cpu_cores: float | None
    cores: int | None
    memory_used_bytes: float | None


class _Mark(_Told):
    t: Seconds
    kind: Short
    text: Short


class _Meta(_Told):
    id: Short
    name: Short
    color: int
    state: Short
    phase: Short | None
    kind: Short
    engine_title: Short
    chips: Annotated[list[Short], Named]
    created_t: Seconds
    started_t: Seconds | None
    ready_t: Seconds | None
    ended_t: Seconds | None
    ceiling: int | None
    cause: Short | None
    cause_line: str | None
    tile_basis: Short
    absent: Annotated[dict[Short, Short], Named]


class _OfRun(_Told):
    run: Short
    server_t: Seconds


class _Part(_OfRun):
    type: Literal["snapshot", "backfill", "delta"]
    seq: int
    cursor: Short
    meta: _Meta | None = None
    series: Annotated[dict[Short, _Series], Named] | None = None
    now: Annotated[dict[Short, _Tile], Named] | None = None
    per_position: _PerPosition | None = None
    nodes: Annotated[list[_Node], Field(max_length=MOST_NODES)] | None = None
    marks: Annotated[list[_Mark], Field(max_length=MOST_MARKS)] | None = None
    log: Annotated[list[_LogLine], Field(max_length=MOST_LINES)] | None = None

    @model_validator(mode="after")
    def _drop_unknown_series(self) -> Self:
        """A newer Pitwall may have more."""
        if self.series is not None:
            self.series = {name: one for name, one in self.series.items() if name in SERIES}
        return self


class _Gone(_OfRun):
    type: Literal["gone"]
    reason: Short


_FRAMES: TypeAdapter[_Part | _Gone] = TypeAdapter(Annotated[_Part | _Gone, Field(discriminator="type")])


def believed(text: str) -> str:
    """A frame of a run, with what is understood of it; raises ValueError where it is none that ours would send."""
    try:
        return _FRAMES.validate_json(text).model_dump_json(exclude_unset=True, exclude_none=False)
    except ValidationError as error:
        raise ValueError(f"{error.error_count()} fields are not those of the protocol") from None
