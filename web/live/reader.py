"""The store as the push hub reads it: one run's points since a cursor, its tiles, its log, its state."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from pydantic import TypeAdapter

from analysis.comparison.config_diff import as_started, chips
from collectors.logs.line_time import line_time
from collectors.logs.log_view import ViewLine
from domain import Run
from reports.runs.run_report import engine_title
from storage.ask import live_queries
from storage.ask.queries import Asked
from storage.ask.run_queries import runs_of
from web.live.ended import POINTS, Drawn, EndedRuns, wholes_of
from web.live.live_marks import LiveMarks, Seldom, mark_of
from web.live.live_nodes import live_nodes, machines_elsewhere
from web.live.live_series import GPU_SERIES, HOST_SERIES, Points, courses_of, series_of, thinned
from web.live.live_tiles import absent_tiles, latency_tiles, load_tile, measured_tiles, per_position
from web.live.log_reads import LogEnd, LogReads
from web.live.point_reader import Moments, PointReader
from web.live.protocol import LiveMark, LiveMeta, LivePart, LogLine, Series

SNAPSHOT_POINTS = 600  # of a series: what a chart beside the log can tell apart
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

    @property
    def moments(self) -> Moments:
        """After which the rows of each kind are new."""
        return Moments(_time(self.engine), _time(self.host), _time(self.gpu))

    def text(self) -> str:
        """The cursor as `of` reads it: one line of JSON, opaque to the browser."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def of(cls, text: str) -> Cursor:
        """Raises ValueError for text that is no cursor."""
        return _CURSORS.validate_json(text, strict=True)


_CURSORS = TypeAdapter(Cursor)


class StoreReader:
    """A web.live.protocol.LiveReader over the store."""

    def __init__(
        self, store: Callable[[], Asked], logs: LogReads | None = None, ended: EndedRuns | None = None
    ) -> None:
        """`ended`: where others look too, and somebody reports commits to it."""
        self._store = store
        self._logs = logs or LogReads()
        self._ended = ended
        self._marks = LiveMarks()
        self._latencies = Seldom(_recent_latencies)
        self._points = PointReader()

    def snapshots(self, run_ids: Sequence[str]) -> dict[str, LivePart]:
        """All there is of each of these runs that exists, its series thinned."""
        return self._read(dict.fromkeys(run_ids, Cursor()))

    def since(self, cursors: Mapping[str, str]) -> dict[str, LivePart]:
        """What came after the cursors; raises ValueError for one that is not ours."""
        return self._read({run_id: Cursor.of(text) for run_id, text in cursors.items()})

    def _read(self, cursors: Mapping[str, Cursor]) -> dict[str, LivePart]:
        store = self._store()
        runs = runs_of(store, list(cursors))
        wholes = self._wholes(store, runs)
        known = self._known(store, runs, cursors, wholes)
        latencies = self._latencies.of(store, [run.id for run in runs if not run.state.is_final])
        nodes = live_nodes(store, runs)
        parts = {}
        for run in runs:
            parts[run.id] = part = _part(known[run.id], cursors[run.id])
            if run.id in nodes:
                part["nodes"] = nodes[run.id]
            part["now"] |= load_tile(run)
            if whole := wholes.get(run.id):
                part["now"] |= whole.tiles
                _add_positions(part, whole)
            else:
                part["now"] |= latency_tiles(latencies[run.id], is_final=False)
        return parts

    def _wholes(self, store: Asked, runs: Sequence[Run]) -> dict[str, Drawn]:
        """The numbers of a run that has ended are of all of it, never of what came last."""
        ended = [run for run in runs if run.state.is_final]
        return self._ended.of(store, ended) if self._ended else wholes_of(store, ended)

    def _known(
        self, store: Asked, runs: Sequence[Run], cursors: Mapping[str, Cursor], wholes: Mapping[str, Drawn]
    ) -> dict[str, _Known]:
        read = [run.id for run in runs if run.id not in wholes or cursors[run.id] != Cursor()]
        points = self._points.read(store, {run_id: cursors[run_id].moments for run_id in read})
        errors, logs = live_queries.collector_errors(store, list(cursors)), self._logs.ends(runs)
        marks, away = self._marks.of(store, [run.id for run in runs]), machines_elsewhere(store, runs)
        return {
            run.id: _Known(
                run,
                away.get(run.id),
                _new(points[run.id], run, cursors[run.id]) if run.id in points else _shown(wholes[run.id]),
                _absent(run, errors[run.id], logs.get(run.id)),
                logs.get(run.id, LogEnd([])).lines,
                marks[run.id],
            )
            for run in runs
        }

    def courses(self, run_ids: Sequence[str]) -> dict[str, LivePart]:
        """What is drawn over time of each of these runs that exists, thinned: no tiles, no log."""
        store = self._store()
        runs = runs_of(store, run_ids)
        wholes = self._wholes(store, runs)
        live = [run.id for run in runs if run.id not in wholes]
        points = self._points.read(store, dict.fromkeys(live, Moments()))
        drawn = {run_id: courses_of(its) for run_id, its in points.items()} | {
            run_id: whole.courses for run_id, whole in wholes.items()
        }
        errors, marks = live_queries.collector_errors(store, run_ids), live_queries.marks(store, run_ids)
        away = machines_elsewhere(store, runs)
        return {
            run.id: LivePart(
                cursor="",
                meta=_meta(run, _absent(run, errors[run.id], None), away.get(run.id)),
                series=series_of(thinned(drawn[run.id], POINTS)),
                marks=[mark_of(row) for row in marks[run.id]],
            )
            for run in runs
        }

    def stretch(self, run_id: str, began_at: datetime, ended_at: datetime) -> dict[str, Series]:
        """The series of a run between two moments, thinned."""
        asked = {run_id: Moments(began_at, began_at, began_at)}
        points = self._points.read(self._store(), asked, ended_at)
        return series_of(thinned(courses_of(points[run_id]), POINTS))


def _recent_latencies(store: Asked, run_ids: Sequence[str]) -> dict[str, dict[str, float | None]]:
    return live_queries.recent_server_latency(store, run_ids, LATELY_S)


def _new(points: Points, run: Run, cursor: Cursor) -> Drawn:
    """The whole of a live run is thinned; what came after a cursor is sent as it is."""
    courses = courses_of(points)
    tiles = {} if run.state.is_final else measured_tiles(points, courses, is_final=False)
    drawn = courses if cursor != Cursor() else thinned(courses, SNAPSHOT_POINTS)
    return Drawn(drawn, tiles, per_position(points.engine), points.newest)


def _shown(whole: Drawn) -> Drawn:
    """Its numbers are sent whatever came last, see `_read`."""
    return replace(whole, courses=thinned(whole.courses, SNAPSHOT_POINTS), tiles={}, positions=None)


def _add_positions(part: LivePart, whole: Drawn) -> None:
    """Show the positions over the whole of a run that has ended, whatever came last."""
    if whole.positions:
        part["per_position"] = whole.positions


@dataclass(frozen=True)
class _Known:
    """What there is of a run, read after its cursor where that names a place."""

    run: Run
    away: str | None  # the machine that it is on, where that is not this one
    new: Drawn
    absent: dict[str, str]
    log: Sequence[ViewLine]
    marks: list[LiveMark]


def _part(known: _Known, cursor: Cursor) -> LivePart:
    """All but the numbers of a run that has ended."""
    lines = [_log_line(row, known.run) for row in known.log if row["at"] > cursor.log]
    meta, new = _meta(known.run, known.absent, known.away), known.new
    digests = {"meta": _digest(meta), "marks": _digest(known.marks)}
    newest = {kind: at.isoformat() if at else getattr(cursor, kind) for kind, at in new.newest.items()}
    said = Cursor(**newest, **digests, log=lines[-1]["at"] if lines else cursor.log)
    part = LivePart(
        cursor=said.text(), series=series_of(new.courses), log=lines, now=absent_tiles(known.absent) | new.tiles
    )
    if new.positions:
        part["per_position"] = new.positions
    if digests["meta"] != cursor.meta:
        part["meta"] = meta
    if digests["marks"] != cursor.marks and (known.marks or cursor.marks):
        part["marks"] = known.marks
    return part


def _digest(value: object) -> str:
    """Says whether what a browser was sent has changed."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _log_line(row: ViewLine, run: Run) -> LogLine:
    return LogLine(at=row["at"], t=_time_of(row, run), text=row["text"], mark=row["kind"], why=row["why"])


def _time_of(row: ViewLine, run: Run) -> float | None:
    """When a line was written, where it says so itself; an imported log's stamps want more than its run knows."""
    if run.kind == "imported":
        return None
    moment, how = line_time(row["stamp"], row["elapsed_s"], run, run.ended_at or datetime.now(UTC))
    return None if how == "read" else moment.timestamp()


def _meta(run: Run, absent: dict[str, str], away: str | None) -> LiveMeta:
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
        chips=[*chips(started, engine_title(run))[1:], *([f"on {away}"] if away else [])],
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
        return reasons | dict.fromkeys((*GPU_SERIES, *HOST_SERIES), "its log does not state it")
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
