"""The series of a run as the Live page draws them, from the rows of one reading: columns, never a row at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engines.definitions import MEASURES, OVER_TIME
from web.live.course import Course, Flags, Floats
from web.live.protocol import Series

RATE_SERIES = ("decode_tps", "tokens_per_step", "steps_per_s")
GAUGE_SERIES = ("requests_running", "requests_waiting", "kv_usage_ratio", "acceptance_length")
HOST_SERIES = ("server_cpu_cores", "server_rss_bytes", "process_count")
GPU_SERIES = {"gpu_power_w": "power_w", "gpu_sm_clock_mhz": "sm_clock_mhz"}
OF_HOST = {
    "server_cpu_cores": "cpu_ratio",
    "server_rss_bytes": "rss_bytes",
    "host_memory_used_bytes": "host_memory_used_bytes",
}
_PACED = pa.array([definition for definition, measure in MEASURES.items() if measure == OVER_TIME])


@dataclass(frozen=True)
class Points:
    """What one reading gave of a run, oldest first."""

    engine: pa.Table
    host: pa.Table
    gpu: pa.Table

    @property
    def newest(self) -> dict[str, datetime | None]:
        """The newest time of each kind."""
        kinds = {"engine": self.engine, "host": self.host, "gpu": self.gpu}
        return {kind: rows["ts"][-1].as_py() if len(rows) else None for kind, rows in kinds.items()}


def courses_of(points: Points) -> dict[str, Course]:
    """Every quantity that has points, in the protocol's names."""
    paced = points.engine.filter(keeps_pace(points.engine))
    found = {name: _course(paced, name, judged=True) for name in RATE_SERIES}
    found |= {name: _course(_with_value(points.engine, name), name) for name in GAUGE_SERIES}
    found |= {name: _course(points.gpu, column) for name, column in GPU_SERIES.items()}
    found |= {name: _course(points.host, column) for name, column in OF_HOST.items()}
    host_cores = _floats(points.host, "host_cpu_ratio") * _floats(points.host, "host_cores")
    found["host_cpu_cores"] = Course(_floats(points.host, "t"), _finite(host_cores))
    return {name: course for name, course in found.items() if len(course.t)}


def series_of(courses: Mapping[str, Course]) -> dict[str, Series]:
    """As the protocol has them."""
    return {name: course.series() for name, course in courses.items()}


def thinned(courses: Mapping[str, Course], most: int) -> dict[str, Course]:
    """Each at most about so many points long."""
    return {name: course.thinned(most) for name, course in courses.items()}


def keeps_pace(rows: pa.Table) -> pa.ChunkedArray:
    """Whether each row covers the seconds before it, not requests that ended: a gap between such rows is an outage."""
    return pc.or_(pc.equal(rows["source"], "log"), pc.is_in(rows["definition"], value_set=_PACED))


def finite(value: float | None) -> float | None:
    """A store that is older than the check of the samples may hold NaN and infinities; JSON knows neither."""
    return value if value is None or np.isfinite(value) else None


def _course(rows: pa.Table, name: str, judged: bool = False) -> Course:
    return Course(_floats(rows, "t"), _finite(_floats(rows, name)), _is_excluded(rows) if judged else None)


def _is_excluded(rows: pa.Table) -> Flags:
    """What is not decoding alone, as far as that is known."""
    flags: Any = pc.fill_null(pc.not_equal(rows["activity"], "active"), False)
    return np.asarray(flags.to_numpy(), dtype=np.bool_)


def _with_value(rows: pa.Table, name: str) -> pa.Table:
    return rows.filter(pc.is_valid(rows[name]))


def _floats(rows: pa.Table, name: str) -> Floats:
    """Null is NaN."""
    return np.asarray(rows[name].cast(pa.float64()).to_numpy(), dtype=np.float64)


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)
