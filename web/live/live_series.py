"""The time series that Live draws, computed column by column from the rows of one read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engines.definitions import MEASURES, OVER_TIME
from web.live.protocol import Series
from web.live.series import Flags, Floats, TimeSeries

RATE_SERIES = ("decode_tps", "tokens_per_step", "steps_per_s")
GAUGE_SERIES = ("requests_running", "requests_waiting", "kv_usage_ratio", "acceptance_length")
HOST_SERIES = ("server_cpu_cores", "server_rss_bytes", "process_count")
GPU_SERIES = {"gpu_power_w": "power_w", "gpu_sm_clock_mhz": "sm_clock_mhz"}
HOST_COLUMNS = {
    "server_cpu_cores": "cpu_ratio",
    "server_rss_bytes": "rss_bytes",
    "host_memory_used_bytes": "host_memory_used_bytes",
}
_PACED = pa.array([definition for definition, measure in MEASURES.items() if measure == OVER_TIME])


@dataclass(frozen=True)
class SampleTables:
    """The rows of one run from one read of the store, oldest first."""

    engine: pa.Table
    host: pa.Table
    gpu: pa.Table

    @property
    def newest_times(self) -> dict[str, datetime | None]:
        """The newest time of each kind of row."""
        kinds = {"engine": self.engine, "host": self.host, "gpu": self.gpu}
        return {kind: rows["ts"][-1].as_py() if len(rows) else None for kind, rows in kinds.items()}


def time_series_of(tables: SampleTables) -> dict[str, TimeSeries]:
    """Return every series that has points, by its name in the protocol."""
    is_paced, is_excluded = _flags(keeps_pace(tables.engine)), _is_excluded(tables.engine)
    t = _floats(tables.engine, "t")
    all_series = {
        name: TimeSeries(t[is_paced], _finite(_floats(tables.engine, name))[is_paced], is_excluded[is_paced])
        for name in RATE_SERIES
    }
    for name in GAUGE_SERIES:
        is_known = _flags(pc.is_valid(tables.engine[name]))
        all_series[name] = TimeSeries(t[is_known], _finite(_floats(tables.engine, name)[is_known]))
    all_series |= {name: _series(tables.gpu, column) for name, column in GPU_SERIES.items()}
    all_series |= {name: _series(tables.host, column) for name, column in HOST_COLUMNS.items()}
    host_cores = _floats(tables.host, "host_cpu_ratio") * _floats(tables.host, "host_cores")
    all_series["host_cpu_cores"] = TimeSeries(_floats(tables.host, "t"), _finite(host_cores))
    return {name: series for name, series in all_series.items() if len(series.t)}


def protocol_series(series_by_name: Mapping[str, TimeSeries]) -> dict[str, Series]:
    """Return the series in the form of web.live.protocol."""
    return {name: series.to_protocol() for name, series in series_by_name.items()}


def thinned(series_by_name: Mapping[str, TimeSeries], most: int) -> dict[str, TimeSeries]:
    """Return each series with at most about `most` points."""
    return {name: series.thinned(most) for name, series in series_by_name.items()}


def keeps_pace(rows: pa.Table) -> pa.ChunkedArray:
    """Return per row whether it covers the seconds before it (so that a gap is an outage), not requests that ended."""
    return pc.or_(pc.equal(rows["source"], "log"), pc.is_in(rows["definition"], value_set=_PACED))


def finite(value: float | None) -> float | None:
    """Return None for NaN and infinities, which older stores may hold and JSON cannot express."""
    return value if value is None or np.isfinite(value) else None


def _series(rows: pa.Table, name: str) -> TimeSeries:
    return TimeSeries(_floats(rows, "t"), _finite(_floats(rows, name)))


def _is_excluded(rows: pa.Table) -> Flags:
    """Return per row whether it is known to be something other than pure decoding."""
    return _flags(pc.fill_null(pc.not_equal(rows["activity"], "active"), False))


def _flags(column: pa.ChunkedArray) -> Flags:
    return np.asarray(column.to_numpy(), dtype=np.bool_)


def _floats(rows: pa.Table, name: str) -> Floats:
    """Return a column with NaN for null."""
    return np.asarray(rows[name].cast(pa.float64()).to_numpy(), dtype=np.float64)


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)
