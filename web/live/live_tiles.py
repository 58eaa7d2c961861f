"""The numbers on the tiles of Live: current values while a run is live, values over the whole run once it has ended."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.metrics.registry import MetricId
from analysis.runs.collapse import is_collapse
from domain import Run
from reports.runs.run_metrics import NO_VALUE, RunMetrics
from reports.runs.run_report import RunReport
from storage.queries.run_data import RequestTotals
from web.live.live_series import RATE_SERIES, SampleTables, finite, keeps_pace
from web.live.protocol import PerPosition, Tile
from web.live.series import TimeSeries
from web.loads.panels.load_progress import running_load
from web.words import reason_text, reasons_text

NOT_ALL_POSITIONS = "not reported for the whole run"
NOT_MEASURED = "not measured"
NOTHING_YET = "nothing measured yet"
NO_LOAD = "no load is running"
NO_LOOPS = "too few of its answers loop"
CLIENT_SPEED = "client_stream_tps"
SERVER_LATENCIES = ("ttft_ms", "itl_ms", "e2e_ms")
NO_HISTOGRAM = "this server reports no latency histograms"
NOTHING_COUNTED = "the server recorded no samples"
NOTHING_OF_LATE = "the server recorded no samples in the last minute"


def measured_tiles(tables: SampleTables, series_by_name: Mapping[str, TimeSeries], is_final: bool) -> dict[str, Tile]:
    """Return the newest values while the run is live, the medians once it has ended."""
    to_tile = _median if is_final else _newest
    tiles = {name: to_tile(series) for name, series in series_by_name.items()}
    if len(tables.host) and not is_final:
        (newest,) = tables.host.slice(len(tables.host) - 1).to_pylist()
        tiles["process_count"] = Tile(v=newest["process_count"], why=None, t=newest["t"])
    for name, reason in _reasons(tables.engine).items():
        if name in tiles and tiles[name]["v"] is None:
            tiles[name]["why"] = reason
    return tiles


def absent_tiles(absent: Mapping[str, str]) -> dict[str, Tile]:
    """Return an unknown tile with its reason for each series that the run cannot have."""
    return {name: Tile(v=None, why=reason) for name, reason in absent.items()}


def load_tile(run: Run) -> dict[str, Tile]:
    """Return the completed fraction of the running load and its streams that loop now.

    They are unknown once it is over: browsers keep the last value.
    """
    progress = running_load(run)
    ratio = progress.done / progress.total if progress and progress.total else None
    why = None if progress else NO_LOAD
    return {
        "load_done_ratio": Tile(v=ratio, why=why),
        "looping_streams": Tile(v=progress.looping if progress else None, why=why),
    }


def loop_tile(totals: RequestTotals) -> dict[str, Tile]:
    """Return the share of looping answers of a run that collapses; unknown for others, which have no mark."""
    is_marked = is_collapse(totals.looping_ratio)
    return {"looping_ratio": Tile(v=totals.looping_ratio if is_marked else None, why=None if is_marked else NO_LOOPS)}


def client_speed_tile(metrics: RunMetrics) -> dict[str, Tile]:
    """Return the speed of one stream by the client's clock.

    Live shows it of an ended run, as Runs and Run do, and of a live one whose server tells no speed.
    """
    speed = metrics.get(MetricId("stream_tps"), NO_VALUE)
    return {} if speed.value is None else {CLIENT_SPEED: Tile(v=finite(speed.value), why=None)}


def latency_tiles(latencies: Mapping[str, float | None], is_final: bool) -> dict[str, Tile]:
    """Return mean latencies in ms from the server's own histograms: of the last minute, or of a whole ended run."""
    if not latencies:
        return {f"server_{metric}": Tile(v=None, why=NO_HISTOGRAM) for metric in SERVER_LATENCIES}
    nothing = NOTHING_COUNTED if is_final else NOTHING_OF_LATE
    tiles = {}
    for metric in SERVER_LATENCIES:
        value = latencies.get(metric)
        tiles[f"server_{metric}"] = Tile(v=value, why=None if value is not None else nothing)
    return tiles


def run_positions(report: RunReport, engine_positions: PerPosition | None) -> PerPosition | None:
    """Return acceptance by draft position over a whole ended run, in place of the engine's last report."""
    positions = report.acceptance.per_position
    if positions and all(map(math.isfinite, positions)):
        return PerPosition(v=positions, why=None)
    return (
        PerPosition(v=None, why=reason_text(report.acceptance.reason) or NOT_ALL_POSITIONS)
        if engine_positions
        else None
    )


def report_tiles(report: RunReport) -> dict[str, Tile]:
    """Return speed, its factors and acceptance of an ended run, the numbers that Compare shows and judges by."""
    factors, unknown = report.summary.factors, reason_text(report.summary.reason)
    tiles = {name: Tile(v=None, why=unknown) for name in RATE_SERIES}
    if factors:
        tiles = {name: Tile(v=finite(getattr(factors, name)), why=reason_text(factors.reason)) for name in RATE_SERIES}
    acceptance = report.acceptance
    tiles["acceptance_length"] = Tile(v=finite(acceptance.length), why=reason_text(acceptance.reason))
    return tiles | loop_tile(report.requests)


def per_position(rows: pa.Table) -> PerPosition | None:
    """Return the per-position acceptance of the newest row that reports it."""
    with_positions = rows.filter(pc.greater(pc.list_value_length(rows["per_position"]), 0))
    if not len(with_positions):
        return None
    newest = with_positions["per_position"][-1].as_py()
    is_known = all(value is not None and math.isfinite(value) for value in newest)
    return PerPosition(v=newest if is_known else None, why=None if is_known else "the log gives no number")


def _newest(series: TimeSeries) -> Tile:
    value = None if np.isnan(series.v[-1]) else float(series.v[-1])
    return Tile(v=value, why=None if value is not None else NOTHING_YET, t=float(series.t[-1]))


def _median(series: TimeSeries) -> Tile:
    active = series.v[~np.isnan(series.v) & (True if series.excluded is None else ~series.excluded)]
    if not len(active):
        return Tile(v=None, why=NOT_MEASURED if series.excluded is None else "no active sample was measured")
    return Tile(v=float(np.median(active)), why=None)


def _reasons(rows: pa.Table) -> dict[str, str]:
    """Return by series why the newest row leaves its rates unknown."""
    paced = rows["reason"].filter(keeps_pace(rows))
    text = reasons_text(paced[-1].as_py() if len(paced) else None)
    return dict.fromkeys(RATE_SERIES, text) if text else {}
