"""Reads runs from the store for the push hub: the points since a cursor, the tiles, the log and the state."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from pydantic import TypeAdapter

from analysis.comparison.config_diff import chips, with_logged_facts
from collectors.logs.line_time import line_time
from collectors.logs.log_view import ViewLine
from domain import Run, RunState
from engines import max_acceptance_length
from reports.runs.metric_inputs import metrics_of_runs
from reports.runs.run_report import engine_title, report_on
from storage.queries import live_queries
from storage.queries.run_data import Queryable, request_totals
from storage.queries.run_queries import runs_of
from web.live.finished_charts import POINTS, ChartData, FinishedCharts, compute_charts
from web.live.live_marks import LiveMarks, RareUpdates, mark_of
from web.live.live_nodes import live_nodes, remote_machines
from web.live.live_series import GPU_SERIES, HOST_SERIES, SampleTables, protocol_series, thinned, time_series_of
from web.live.live_tiles import (
    absent_tiles,
    client_speed_tile,
    latency_tiles,
    load_tile,
    loop_tile,
    measured_tiles,
    per_position,
)
from web.live.log_reads import LogEnd, LogReads
from web.live.point_reader import PointReader, StartTimes
from web.live.protocol import LiveMark, LiveMeta, LivePart, LogLine, Series, Tile

SNAPSHOT_POINTS = 600  # per series: as many as a chart beside the log can resolve
RECENT_S = 60.0  # window of a live server's own latencies


@dataclass(frozen=True)
class Cursor:
    """How far a run has been read: the newest time of each kind, the log's last line, digests of metadata and marks."""

    engine: str | None = None
    host: str | None = None
    gpu: str | None = None
    log: int = -1
    meta: str | None = None
    marks: str | None = None

    @property
    def start_times(self) -> StartTimes:
        """The times after which the rows of each kind are new."""
        return StartTimes(_time(self.engine), _time(self.host), _time(self.gpu))

    def text(self) -> str:
        """Return the cursor as one line of JSON for `parse`, opaque to the browser."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Parse a cursor's text; raises ValueError if it is not a cursor."""
        return _CURSORS.validate_json(text, strict=True)


_CURSORS = TypeAdapter(Cursor)


class StoreReader:
    """A web.live.protocol.LiveReader over the store."""

    def __init__(
        self, store: Callable[[], Queryable], logs: LogReads | None = None, finished: FinishedCharts | None = None
    ) -> None:
        """`finished`: a shared cache to which commits are reported."""
        self._store = store
        self._logs = logs or LogReads()
        self._finished = finished
        self._marks = LiveMarks()
        self._latencies = RareUpdates(_recent_latencies)
        self._totals = RareUpdates(request_totals)
        self._client_speeds = RareUpdates(_client_speeds)
        self._points = PointReader()

    def snapshots(self, run_ids: Sequence[str]) -> dict[str, LivePart]:
        """Return all data of each of these runs that exists, with thinned series."""
        return self._read(dict.fromkeys(run_ids, Cursor()))

    def since(self, cursors: Mapping[str, str]) -> dict[str, LivePart]:
        """Return what came after the cursors; raises ValueError for a cursor that this class did not issue."""
        return self._read({run_id: Cursor.parse(text) for run_id, text in cursors.items()})

    def _read(self, cursors: Mapping[str, Cursor]) -> dict[str, LivePart]:
        store = self._store()
        runs = runs_of(store, list(cursors))
        finished = self._finished_charts(store, runs)
        readings = self._read_runs(store, runs, cursors, finished)
        live_ids = [run.id for run in runs if not run.state.is_final]
        latencies, totals = self._latencies.get(store, live_ids), self._totals.get(store, live_ids)
        without_speed = [run.id for run in runs if run.state is RunState.RUNNING and not _has_speed(readings[run.id])]
        client_speeds = self._client_speeds.get(store, without_speed)
        nodes = live_nodes(store, runs)
        parts = {}
        for run in runs:
            parts[run.id] = part = _part(readings[run.id], cursors[run.id])
            if run.id in nodes:
                part["nodes"] = nodes[run.id]
            part["now"] |= load_tile(run) | client_speeds.get(run.id, {})
            if charts := finished.get(run.id):
                part["now"] |= charts.tiles
                _add_positions(part, charts)
            else:
                part["now"] |= latency_tiles(latencies[run.id], is_final=False) | loop_tile(totals[run.id])
        return parts

    def _finished_charts(self, store: Queryable, runs: Sequence[Run]) -> dict[str, ChartData]:
        """Return the charts of the ended runs: their numbers cover the whole run, never only its last data."""
        finished = [run for run in runs if run.state.is_final]
        return self._finished.get(store, finished) if self._finished else compute_charts(store, finished)

    def _read_runs(
        self, store: Queryable, runs: Sequence[Run], cursors: Mapping[str, Cursor], finished: Mapping[str, ChartData]
    ) -> dict[str, _RunReading]:
        run_ids = [run.id for run in runs if run.id not in finished or cursors[run.id] != Cursor()]
        tables = self._points.read(store, {run_id: cursors[run_id].start_times for run_id in run_ids})
        errors, logs = live_queries.collector_errors(store, list(cursors)), self._logs.ends(runs)
        marks, machines = self._marks.get(store, [run.id for run in runs]), remote_machines(store, runs)
        return {
            run.id: _RunReading(
                run,
                machines.get(run.id),
                _new_data(tables[run.id], run, cursors[run.id])
                if run.id in tables
                else _snapshot_data(finished[run.id]),
                _absent(run, errors[run.id], logs.get(run.id)),
                logs.get(run.id, LogEnd([])).lines,
                marks[run.id],
            )
            for run in runs
        }

    def chart_parts(self, run_ids: Sequence[str]) -> dict[str, LivePart]:
        """Return the thinned series and marks of each of these runs that exists, without tiles and log."""
        store = self._store()
        runs = runs_of(store, run_ids)
        finished = self._finished_charts(store, runs)
        live_ids = [run.id for run in runs if run.id not in finished]
        tables_by_id = self._points.read(store, dict.fromkeys(live_ids, StartTimes()))
        series_by_id = {run_id: time_series_of(tables) for run_id, tables in tables_by_id.items()} | {
            run_id: charts.series for run_id, charts in finished.items()
        }
        errors, marks = live_queries.collector_errors(store, run_ids), live_queries.marks(store, run_ids)
        machines = remote_machines(store, runs)
        return {
            run.id: LivePart(
                cursor="",
                meta=_meta(run, _absent(run, errors[run.id], None), machines.get(run.id)),
                series=protocol_series(thinned(series_by_id[run.id], POINTS)),
                marks=[mark_of(row) for row in marks[run.id]],
            )
            for run in runs
        }

    def interval_series(self, run_id: str, began_at: datetime, ended_at: datetime) -> dict[str, Series]:
        """Return the thinned series of a run between two times."""
        start_times = {run_id: StartTimes(began_at, began_at, began_at)}
        tables = self._points.read(self._store(), start_times, ended_at)
        return protocol_series(thinned(time_series_of(tables[run_id]), POINTS))


def _recent_latencies(store: Queryable, run_ids: Sequence[str]) -> dict[str, dict[str, float | None]]:
    return live_queries.recent_server_latency(store, run_ids, RECENT_S)


def _client_speeds(store: Queryable, run_ids: Sequence[str]) -> dict[str, dict[str, Tile]]:
    """Return the tile of the client's speed of each run, from the requests that were stored so far."""
    metrics = metrics_of_runs(store, report_on(store, runs_of(store, run_ids)))
    return {run_id: client_speed_tile(metrics.get(run_id, {})) for run_id in run_ids}


def _has_speed(reading: _RunReading) -> bool:
    tile = reading.data.tiles.get("decode_tps")
    return tile is not None and tile["v"] is not None


def _new_data(tables: SampleTables, run: Run, cursor: Cursor) -> ChartData:
    """Return the data after the cursor: thinned for a snapshot, complete otherwise."""
    series_by_name = time_series_of(tables)
    tiles = {} if run.state.is_final else measured_tiles(tables, series_by_name, is_final=False)
    sent_series = series_by_name if cursor != Cursor() else thinned(series_by_name, SNAPSHOT_POINTS)
    return ChartData(sent_series, tiles, per_position(tables.engine), tables.newest_times)


def _snapshot_data(charts: ChartData) -> ChartData:
    """Return the series for a snapshot; `_read` adds the tiles and positions of an ended run to every part."""
    return replace(charts, series=thinned(charts.series, SNAPSHOT_POINTS), tiles={}, positions=None)


def _add_positions(part: LivePart, charts: ChartData) -> None:
    """Set the positions over a whole ended run, in place of those in its last rows."""
    if charts.positions:
        part["per_position"] = charts.positions


@dataclass(frozen=True)
class _RunReading:
    """The data of a run after its cursor, or all of it if the cursor is empty."""

    run: Run
    machine: str | None  # its server's machine, if that is not this one
    data: ChartData
    absent_reasons: dict[str, str]
    log_lines: Sequence[ViewLine]
    marks: list[LiveMark]


def _part(reading: _RunReading, cursor: Cursor) -> LivePart:
    """Return the part without the numbers of an ended run, which `_read` adds."""
    lines = [_log_line(row, reading.run) for row in reading.log_lines if row["at"] > cursor.log]
    meta, data = _meta(reading.run, reading.absent_reasons, reading.machine), reading.data
    digests = {"meta": _digest(meta), "marks": _digest(reading.marks)}
    newest = {kind: at.isoformat() if at else getattr(cursor, kind) for kind, at in data.newest_times.items()}
    new_cursor = Cursor(**newest, **digests, log=lines[-1]["at"] if lines else cursor.log)
    part = LivePart(
        cursor=new_cursor.text(),
        series=protocol_series(data.series),
        log=lines,
        now=absent_tiles(reading.absent_reasons) | data.tiles,
    )
    if data.positions:
        part["per_position"] = data.positions
    if digests["meta"] != cursor.meta:
        part["meta"] = meta
    if digests["marks"] != cursor.marks and (reading.marks or cursor.marks):
        part["marks"] = reading.marks
    return part


def _digest(value: object) -> str:
    """Return a digest by which a change of what a browser has is noticed."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _log_line(row: ViewLine, run: Run) -> LogLine:
    return LogLine(at=row["at"], t=_time_of(row, run), text=row["text"], mark=row["kind"], why=row["why"])


def _time_of(row: ViewLine, run: Run) -> float | None:
    """Return a line's own time; None for an imported log, whose stamps need more context than its run has."""
    if run.kind == "imported":
        return None
    moment, how = line_time(row["stamp"], row["elapsed_s"], run, run.ended_at or datetime.now(UTC))
    return None if how == "read" else moment.timestamp()


def _meta(run: Run, absent: dict[str, str], machine: str | None) -> LiveMeta:
    started = with_logged_facts(run.config.model_dump(), run.logged_facts)
    tokens = (started["speculative"] or {}).get("num_tokens")
    return LiveMeta(
        id=run.id,
        name=run.name,
        color=run.color,
        state=run.shown_state,
        phase=run.phase,
        kind=run.kind,
        engine_title=engine_title(run),
        chips=[*chips(started, engine_title(run))[1:], *([f"on {machine}"] if machine else [])],
        created_t=run.created_at.timestamp(),
        started_t=_seconds(run.started_at),
        ready_t=_seconds(run.ready_at),
        ended_t=_seconds(run.ended_at),
        ceiling=max_acceptance_length(run.config.engine, tokens),
        cause=run.cause,
        cause_line=run.cause_line,
        tile_basis="mean while decoding" if run.state.is_final else "now",
        absent=absent,
    )


def _absent(run: Run, errors: Mapping[str, str], log: LogEnd | None) -> dict[str, str]:
    """Return the series that this run cannot have, with reasons, and why its log is not shown."""
    reasons: dict[str, str] = {"log": log.problem} if log and log.problem else {}
    if run.kind == "imported":
        return reasons | dict.fromkeys((*GPU_SERIES, *HOST_SERIES), "the log does not report it")
    if "gpu" in errors:
        reasons |= dict.fromkeys(GPU_SERIES, errors["gpu"])
    if "host" in errors:
        reasons |= dict.fromkeys(HOST_SERIES, errors["host"])
    speculates = run.config.speculative or (run.logged_facts or {}).get("speculative_method")
    if not speculates and run.kind == "launched":
        reasons["acceptance_length"] = "this run does not use speculative decoding"
    return reasons


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None
