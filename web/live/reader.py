"""The store as the push hub reads it: one run's points since a cursor, its tiles, its log, its state."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from pydantic import TypeAdapter

from analysis.comparison.config_diff import as_started, chips
from collectors.logs.line_time import line_time
from collectors.logs.log_view import ViewLine
from domain import JsonValue, Run
from reports.runs.run_report import engine_title, report_on
from storage.ask import live_queries
from storage.ask.queries import Asked, server_latency
from storage.ask.run_queries import runs_of
from web.live.live_marks import LiveMarks, Seldom, mark_of
from web.live.live_nodes import live_nodes
from web.live.live_series import GPU_SERIES, HOST_SERIES, Points, series_of
from web.live.live_tiles import latency_tiles, load_tile, per_position, tell_whole, tiles_of
from web.live.log_reads import LogEnd, LogReads
from web.live.protocol import LiveMark, LiveMeta, LivePart, LogLine, Series

LATELY_S = 60.0  # of which a server's own latencies are shown


@dataclass(frozen=True)
class Cursor:
    """How far a run has been read: the newest time of each kind, the log's last line, what the run said of itself."""

    engine: str | None = None
    host: str | None = None
    gpu: str | None = None
    log: int = -1
    meta: str | None = None
    marks: str | None = None

    def text(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def of(cls, text: str) -> Cursor:
        """Raises ValueError for text that is no cursor."""
        return _CURSORS.validate_json(text, strict=True)


_CURSORS = TypeAdapter(Cursor)


def _newest_times(points: Points, cursor: Cursor) -> dict[str, str | None]:
    """The newest time of each kind, or the cursor's where nothing came."""
    newest = {"engine": points.engine, "host": points.host, "gpu": points.gpu}
    return {kind: rows[-1]["ts"].isoformat() if rows else getattr(cursor, kind) for kind, rows in newest.items()}


class StoreReader:
    """A web.live.protocol.LiveReader over the store."""

    def __init__(self, store: Callable[[], Asked], logs: LogReads | None = None) -> None:
        self._store = store
        self._logs = logs or LogReads()
        self._marks = LiveMarks()
        self._latencies = Seldom(_recent_latencies)
        self._counted: set[str] = set()  # runs with counters, whose log lines are not drawn beside them

    def snapshots(self, run_ids: Sequence[str]) -> dict[str, LivePart]:
        """All there is of each of these runs that exists."""
        return self._read(dict.fromkeys(run_ids, Cursor()))

    def since(self, cursors: Mapping[str, str]) -> dict[str, LivePart]:
        """What came after the cursors; raises ValueError for one that is not ours."""
        return self._read({run_id: Cursor.of(text) for run_id, text in cursors.items()})

    def _read(self, cursors: Mapping[str, Cursor]) -> dict[str, LivePart]:
        store = self._store()
        runs = runs_of(store, list(cursors))
        new = self._points(cursors)
        # The numbers of a run that has ended are of all of it, never of what came last.
        ended = [run for run in runs if run.state.is_final]
        again = [run.id for run in ended if cursors[run.id] != Cursor()]
        whole = new | (self._points(dict.fromkeys(again, Cursor())) if again else {})
        reports = {report.run.id: report for report in report_on(store, ended)} if ended else {}
        errors = live_queries.collector_errors(store, list(cursors))
        logs = self._logs.ends(runs)
        absent = {run.id: _absent(run, errors[run.id], logs.get(run.id)) for run in runs}
        marks = self._marks.of(store, [run.id for run in runs])
        latencies = self._latencies.of(store, [run.id for run in runs if not run.state.is_final])
        if ended:
            latencies |= _latencies_of_all(store, [run.id for run in ended])
        parts = {
            run.id: _part(_Known(run, new[run.id], absent[run.id], logs.get(run.id, LogEnd([])).lines, marks[run.id]),
                          cursors[run.id])
            for run in runs
        }  # fmt: skip
        nodes = live_nodes(store, runs)
        for run in runs:
            if run.id in nodes:
                parts[run.id]["nodes"] = nodes[run.id]
            parts[run.id]["now"] = tiles_of(whole[run.id], run, absent[run.id]) | load_tile(run)
            parts[run.id]["now"] |= latency_tiles(latencies[run.id], run.state.is_final)
            if report := reports.get(run.id):
                tell_whole(parts[run.id], report)
        return parts

    def courses(self, run_ids: Sequence[str]) -> dict[str, LivePart]:
        """What is drawn over time of each of these runs that exists: no tiles, no log."""
        store = self._store()
        points = self._points(dict.fromkeys(run_ids, Cursor()))
        errors, marks = live_queries.collector_errors(store, run_ids), live_queries.marks(store, run_ids)
        return {
            run.id: LivePart(
                cursor="",
                meta=_meta(run, _absent(run, errors[run.id], None)),
                series=series_of(points[run.id]),
                marks=[mark_of(row) for row in marks[run.id]],
            )
            for run in runs_of(store, run_ids)
        }

    def stretch(self, run_id: str, began_at: datetime, ended_at: datetime) -> dict[str, Series]:
        """The series of a run between two moments."""
        began = began_at.isoformat()
        points = self._points({run_id: Cursor(engine=began, host=began, gpu=began)}, ended_at)
        return series_of(points[run_id])

    def _points(self, cursors: Mapping[str, Cursor], until: datetime | None = None) -> dict[str, Points]:
        store = self._store()
        ask = live_queries
        engine = ask.engine_points(store, {run_id: _time(one.engine) for run_id, one in cursors.items()}, until)
        host = ask.host_points(store, {run_id: _time(one.host) for run_id, one in cursors.items()}, until)
        gpu = ask.gpu_points(store, {run_id: _time(one.gpu) for run_id, one in cursors.items()}, until)
        return {
            run_id: Points(self._without_doubles(run_id, engine[run_id]), host[run_id], gpu[run_id])
            for run_id in cursors
        }

    def _without_doubles(self, run_id: str, rows: list[dict[str, JsonValue]]) -> list[dict[str, JsonValue]]:
        """One source a run: the log only where no counter ever spoke."""
        if any(row["source"] != "log" for row in rows):
            self._counted.add(run_id)
        return [row for row in rows if row["source"] != "log" or run_id not in self._counted]


def _recent_latencies(store: Asked, run_ids: Sequence[str]) -> dict[str, dict[str, float | None]]:
    return live_queries.recent_server_latency(store, run_ids, LATELY_S)


def _latencies_of_all(store: Asked, run_ids: Sequence[str]) -> dict[str, dict[str, float | None]]:
    told = server_latency(store, run_ids)
    return {run_id: {row["metric"]: row["mean_ms"] for row in rows} for run_id, rows in told.items()}


@dataclass(frozen=True)
class _Known:
    """What there is of a run, read after its cursor where that tells a place."""

    run: Run
    points: Points
    absent: dict[str, str]
    log: Sequence[ViewLine]
    marks: list[LiveMark]


def _part(known: _Known, cursor: Cursor) -> LivePart:
    """All but the numbers."""
    lines = [_log_line(row, known.run) for row in known.log if row["at"] > cursor.log]
    meta = _meta(known.run, known.absent)
    told = {"meta": _digest(meta), "marks": _digest(known.marks)}
    said = Cursor(**_newest_times(known.points, cursor), **told, log=lines[-1]["at"] if lines else cursor.log)
    part = LivePart(cursor=said.text(), series=series_of(known.points), log=lines)
    if position := per_position(known.points.engine):
        part["per_position"] = position
    if told["meta"] != cursor.meta:
        part["meta"] = meta
    if told["marks"] != cursor.marks and (known.marks or cursor.marks):
        part["marks"] = known.marks
    return part


def _digest(value: object) -> str:
    """Says whether what a browser was told has changed."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _log_line(row: ViewLine, run: Run) -> LogLine:
    return LogLine(at=row["at"], t=_time_of(row, run), text=row["text"], mark=row["kind"], why=row["why"])


def _time_of(row: ViewLine, run: Run) -> float | None:
    """When a line was written, where it says so itself; an imported log's stamps want more than its run knows."""
    if run.kind == "imported":
        return None
    moment, how = line_time(row["stamp"], row["elapsed_s"], run, run.ended_at or datetime.now(UTC))
    return None if how == "read" else moment.timestamp()


def _meta(run: Run, absent: dict[str, str]) -> LiveMeta:
    started = as_started(run.config.model_dump(), run.told)
    tokens = (started["speculative"] or {}).get("num_tokens")
    return LiveMeta(
        id=run.id,
        name=run.name,
        color=run.color,
        state=str(run.state),
        phase=run.phase,
        kind=run.kind,
        engine_title=engine_title(run),
        chips=chips(started, engine_title(run))[1:],
        created_t=run.created_at.timestamp(),
        started_t=_seconds(run.started_at),
        ready_t=_seconds(run.ready_at),
        ended_t=_seconds(run.ended_at),
        ceiling=tokens + 1 if tokens else None,
        cause=run.cause,
        cause_line=run.cause_line,
        tile_basis="mean while decoding" if run.state.is_final else "now",
        absent=absent,
    )


def _absent(run: Run, errors: Mapping[str, str], log: LogEnd | None) -> dict[str, str]:
    """Series that this run cannot have, with the reason, and why its log is not shown."""
    reasons: dict[str, str] = {"log": log.why} if log and log.why else {}
    if run.kind == "imported":
        return reasons | dict.fromkeys((*GPU_SERIES, *HOST_SERIES), "known only by a log")
    if "gpu" in errors:
        reasons |= dict.fromkeys(GPU_SERIES, errors["gpu"])
    if "host" in errors:
        reasons |= dict.fromkeys(HOST_SERIES, errors["host"])
    if run.config.speculative is None and run.kind == "launched":
        reasons["acceptance_length"] = "this run has no speculation"
    return reasons


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _seconds(moment: datetime | None) -> float | None:
    return moment.timestamp() if moment else None
