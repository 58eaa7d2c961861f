"""Cache of the chart series and tiles of ended runs: computed once, and again after more data of a run has come."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import numpy as np
from pydantic import TypeAdapter

from domain import Run
from reports.cache.disk_cache import Codec, DiskCache, Files
from reports.cache.run_cache import ReportCache, RunCache
from reports.runs.metric_inputs import metrics_of_runs
from reports.runs.run_report import PEAK_WINDOW_S, RunReport, reports_of
from reports.source_hash import source_hash
from storage.queries import live_queries
from storage.queries.concurrency import query_pool
from storage.queries.run_data import Queryable, WholeRunData, server_latency, whole_run_data
from web.live.live_series import thinned, time_series_of
from web.live.live_tiles import (
    client_speed_tile,
    latency_tiles,
    measured_tiles,
    per_position,
    report_tiles,
    run_positions,
)
from web.live.point_reader import PointReader, StartTimes, read_machine_points
from web.live.protocol import PerPosition, Tile
from web.live.series import BucketStats, TimeSeries

_STORED_SERIES = tuple[list[float], list[float], list[int] | None, tuple[list[float], list[float]] | None]
_STORED = TypeAdapter(
    tuple[dict[str, _STORED_SERIES], dict[str, Tile], PerPosition | None, dict[str, datetime | None]]
)  # content of a file
POINTS = 1000  # per series: as many as a chart of the page's width can resolve
MOST_RUNS = 64  # kept in memory, the most recently requested: about 0.2 MB each


@dataclass(frozen=True)
class ChartData:
    """The series, tiles and acceptance by position of a run, over all of it or after a start time."""

    series: dict[str, TimeSeries]
    tiles: dict[str, Tile]
    positions: PerPosition | None
    newest_times: Mapping[str, datetime | None]


class FinishedCharts(RunCache[ChartData]):
    """Keeps the chart data of the most recently viewed ended runs."""

    def __init__(self, files: Files | None = None, reports: ReportCache | None = None) -> None:
        """reports: the cache from which the runs' reports are taken."""
        super().__init__(
            partial(compute_charts, reports=reports), MOST_RUNS, disk=DiskCache(files, CHART_CODEC) if files else None
        )


def _pack(charts: ChartData) -> bytes:
    """Encode as JSON, with NaN for an unknown value of a series and without rounding."""
    series_by_name = {
        name: [series.t.tolist(), series.v.tolist(), series.excluded_codes(), _stats_columns(series)]
        for name, series in charts.series.items()
    }
    newest_times = {kind: at.isoformat() if at else None for kind, at in charts.newest_times.items()}
    return json.dumps([series_by_name, charts.tiles, charts.positions, newest_times]).encode()


def _unpack(run: Run, content: bytes) -> ChartData:
    series_by_name, tiles, positions, newest_times = _STORED.validate_json(content)
    return ChartData(
        {name: _series(*columns) for name, columns in series_by_name.items()}, tiles, positions, newest_times
    )


def _stats_columns(series: TimeSeries) -> list[list[float]] | None:
    stats = series.bucket_stats
    return [stats.mean.tolist(), stats.count.tolist()] if stats else None


def _series(
    t: list[float], v: list[float], excluded: list[int] | None, stats: tuple[list[float], list[float]] | None
) -> TimeSeries:
    """Return a series; raises ValueError if its columns are of different lengths."""
    if {len(column) for column in (v, excluded, *(stats or ())) if column is not None} != {len(t)}:
        raise ValueError("columns of different lengths")
    times, values = np.array(t, float), np.array(v, float)
    bucket_stats = BucketStats(*(np.array(column, float) for column in stats)) if stats else None
    if excluded is None:
        return TimeSeries(times, values, bucket_stats=bucket_stats)
    codes = np.array(excluded, int)
    return TimeSeries(times, values, codes > 0, codes > 1, bucket_stats)


CHART_CODEC = Codec("drawn", lambda: source_hash(__name__), _pack, _unpack)


def compute_charts(store: Queryable, runs: Sequence[Run], reports: ReportCache | None = None) -> dict[str, ChartData]:
    """Compute by run id the chart data of ended runs, thinned to what a chart can show."""
    if not runs:
        return {}
    ids = [run.id for run in runs]
    wholes_by_id: dict[str, WholeRunData] = {}

    def compute_reports(source: Queryable, missing: Sequence[Run]) -> dict[str, RunReport]:
        wholes_by_id.update(whole_run_data(source, [run.id for run in missing], PEAK_WINDOW_S, with_points=True))
        return {report.run.id: report for report in reports_of(source, missing, wholes_by_id)}

    with query_pool() as pool:
        machine_query = pool.submit(read_machine_points, store, dict.fromkeys(ids, StartTimes()))
        reports_by_id = reports.prepare(store, runs, compute_reports) if reports else compute_reports(store, runs)
        engine_points = {run_id: whole.points for run_id, whole in wholes_by_id.items()}
        unread_ids = [run_id for run_id in ids if run_id not in engine_points]
        engine_points |= live_queries.engine_points(store, dict.fromkeys(unread_ids))
    tables_by_id = PointReader().join(engine_points, machine_query.result())
    latencies = server_latency(store, ids)
    metrics = metrics_of_runs(store, list(reports_by_id.values()))
    charts = {}
    for report in reports_by_id.values():
        run_id = report.run.id
        tables, series = tables_by_id[run_id], time_series_of(tables_by_id[run_id])
        means = {row["metric"]: row["mean_ms"] for row in latencies[run_id]}
        tiles = measured_tiles(tables, series, is_final=True) | latency_tiles(means, is_final=True)
        positions = run_positions(report, per_position(tables.engine))
        tiles |= report_tiles(report) | client_speed_tile(metrics[run_id])
        charts[run_id] = ChartData(thinned(series, POINTS), tiles, positions, tables.newest_times)
    return charts
