"""Validates frames from other Pitwalls: only the protocol's fields, in their types and within limits, are passed on.

One browser shows runs of several Pitwalls: an invalid number or a million marks from one would break the others too.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from web.live.protocol import SERIES

MOST_POINTS = 20_000  # per series and frame; Pitwall itself thins to far fewer
MOST_LINES = 5_000
MOST_MARKS = 1_000
MOST_NODES = 1_000
MOST_NAMED = 200  # tiles, reasons, chips, positions

Seconds = Annotated[float, Field(ge=-1e11, le=1e11)]  # a date that a browser can write
Short = Annotated[str, Field(max_length=2_000)]
LIMITED = Field(max_length=MOST_NAMED)


class _StrictModel(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _PeerSeries(_StrictModel):
    t: Annotated[list[Seconds], Field(max_length=MOST_POINTS)]
    v: Annotated[list[float | None], Field(max_length=MOST_POINTS)]
    excluded: Annotated[list[int], Field(max_length=MOST_POINTS)] | None = None
    mean: Annotated[list[float | None], Field(max_length=MOST_POINTS)] | None = None
    count: Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=MOST_POINTS)] | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        columns = (self.v, self.excluded, self.mean, self.count)
        if any(values is not None and len(values) != len(self.t) for values in columns):
            raise ValueError("a point has no time or no value")
        return self


class _PeerTile(_StrictModel):
    v: float | None
    why: Short | None
    t: Seconds | None = None


class _PeerPositions(_StrictModel):
    v: Annotated[list[float], LIMITED] | None
    why: Short | None


class _PeerLogLine(_StrictModel):
    at: int
    t: Seconds | None
    text: str
    mark: Short | None
    why: Short | None


class _PeerNode(_StrictModel):
    title: Short
    t: Seconds
    gpu_count: int
    gpu_power_w: float | None
    gpu_sm_clock_mhz: float | None
    cpu_cores: float | None
    cores: int | None
    memory_used_bytes: float | None


class _PeerMark(_StrictModel):
    t: Seconds
    kind: Short
    text: Short


class _PeerMeta(_StrictModel):
    id: Short
    name: Short
    color: int
    state: Short
    phase: Short | None
    kind: Short
    engine_title: Short
    chips: Annotated[list[Short], LIMITED]
    created_t: Seconds
    started_t: Seconds | None
    ready_t: Seconds | None
    ended_t: Seconds | None
    ceiling: int | None
    cause: Short | None
    cause_line: str | None
    tile_basis: Short
    absent: Annotated[dict[Short, Short], LIMITED]


class _RunFrame(_StrictModel):
    run: Short
    server_t: Seconds


class _PartFrame(_RunFrame):
    type: Literal["snapshot", "backfill", "delta"]
    seq: int
    cursor: Short
    meta: _PeerMeta | None = None
    series: Annotated[dict[Short, _PeerSeries], LIMITED] | None = None
    now: Annotated[dict[Short, _PeerTile], LIMITED] | None = None
    per_position: _PeerPositions | None = None
    nodes: Annotated[list[_PeerNode], Field(max_length=MOST_NODES)] | None = None
    marks: Annotated[list[_PeerMark], Field(max_length=MOST_MARKS)] | None = None
    log: Annotated[list[_PeerLogLine], Field(max_length=MOST_LINES)] | None = None

    @model_validator(mode="after")
    def _drop_unknown_series(self) -> Self:
        """Ignore series that only a newer Pitwall knows."""
        if self.series is not None:
            self.series = {name: series for name, series in self.series.items() if name in SERIES}
        return self


class _GoneFrame(_RunFrame):
    type: Literal["gone"]
    reason: Short


_FRAMES: TypeAdapter[_PartFrame | _GoneFrame] = TypeAdapter(
    Annotated[_PartFrame | _GoneFrame, Field(discriminator="type")]
)


def checked_frame(text: str) -> str:
    """Return a run's frame with only its known fields; raises ValueError if no Pitwall would send it."""
    try:
        return _FRAMES.validate_json(text).model_dump_json(exclude_unset=True, exclude_none=False)
    except ValidationError as error:
        raise ValueError(f"{error.error_count()} fields do not match the protocol") from None
