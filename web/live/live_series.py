"""The series of a run as the Live page draws them, from the rows of one reading."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engines.definitions import MEASURES, OVER_TIME
from web.live.protocol import Series

Row = Mapping[str, Any]
RATE_SERIES = ("decode_tps", "tokens_per_step", "steps_per_s")
GAUGE_SERIES = ("requests_running", "requests_waiting", "kv_usage_ratio")
HOST_SERIES = ("server_cpu_cores", "server_rss_bytes", "process_count")
GPU_SERIES = {"gpu_power_w": "power_w", "gpu_sm_clock_mhz": "sm_clock_mhz"}


@dataclass(frozen=True)
class Points:
    """The rows of one reading, oldest first."""

    engine: Sequence[Row]
    host: Sequence[Row]
    gpu: Sequence[Row]


def series_of(points: Points) -> dict[str, Series]:
    """Every series that has points, in the protocol's names."""
    paced = [row for row in points.engine if keeps_pace(row)]
    found = {name: _column(paced, name, judged=True) for name in RATE_SERIES}
    found |= {name: _column(_known(points.engine, name), name) for name in GAUGE_SERIES}
    found["acceptance_length"] = _column(_known(points.engine, "acceptance_length"), "acceptance_length")
    found |= {name: _column(points.gpu, column) for name, column in GPU_SERIES.items()}
    found["server_cpu_cores"] = _column(points.host, "cpu_ratio")
    found["server_rss_bytes"] = _column(points.host, "rss_bytes")
    found["host_memory_used_bytes"] = _column(points.host, "host_memory_used_bytes")
    found["host_cpu_cores"] = Series(
        t=[row["t"] for row in points.host],
        v=[_product(row["host_cpu_ratio"], row["host_cores"]) for row in points.host],
    )
    return {name: series for name, series in found.items() if series["t"]}


def keeps_pace(row: Row) -> bool:
    """Whether the row speaks of the seconds before it, not of requests that ended: a gap in it is an outage."""
    return row["source"] == "log" or MEASURES.get(row["definition"]) == OVER_TIME


def _column(rows: Sequence[Row], name: str, judged: bool = False) -> Series:
    series = Series(t=[row["t"] for row in rows], v=[finite(row[name]) for row in rows])
    if judged:
        series["excluded"] = [int(row["activity"] not in ("active", None)) for row in rows]
    return series


def finite(value: float | None) -> float | None:
    """A store that is older than the check of the samples may hold NaN and infinities; JSON knows neither."""
    return value if value is None or math.isfinite(value) else None


def _known(rows: Iterable[Row], name: str) -> list[Row]:
    return [row for row in rows if row[name] is not None]


def _product(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else finite(a * b)
