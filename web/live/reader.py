"""The store as the push hub reads it: one run's points since a cursor, its tiles, its log, its state."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any

from analysis.config_diff import as_started, chips
from collectors.logs.line_time import line_time
from collectors.logs.log_view import ViewLine
from domain import JsonValue, Run
from engines.definitions import MEASURES, OVER_TIME
from reports.run_report import RunReport, engine_title, report_on
from storage.ask import live_queries
from storage.store import Store
from web.live.log_reads import LogEnd, LogReads
from web.live.protocol import LiveMeta, LivePart, LogLine, PerPosition, Series, Tile
from web.words import why

Row = Mapping[str, Any]
NOT_ALL_POSITIONS = "not told for all of the run"
NOTHING_YET = "nothing measured yet"
RATE_SERIES = ("decode_tps", "tokens_per_step", "steps_per_s")
GAUGE_SERIES = ("requests_running", "requests_waiting", "kv_usage_ratio")
HOST_SERIES = ("server_cpu_cores", "server_rss_bytes", "process_count")
GPU_SERIES = {"gpu_power_w": "power_w", "gpu_sm_clock_mhz": "sm_clock_mhz"}


@dataclass(frozen=True)
class Cursor:
    """How far a run has been read: the newest time of each kind, the log's last line, what the run said of itself."""

    engine: str | None = None
    host: str | None = None
    gpu: str | None = None
    log: int = -1
    meta: str | None = None

    def text(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def of(cls, text: str) -> Cursor:
        """Raises ValueError for text that is no cursor."""
        try:
            return cls(**json.loads(text))
        except TypeError as error:
            raise ValueError("not a cursor") from error


@dataclass(frozen=True)
class Points:
    """The rows of one reading, oldest first."""

    engine: Sequence[Row]
    host: Sequence[Row]
    gpu: Sequence[Row]

    def after(self, cursor: Cursor) -> dict[str, str | None]:
        """The newest time of each kind, or the cursor's where nothing came."""
        newest = {"engine": self.engine, "host": self.host, "gpu": self.gpu}
        return {
            kind: rows[-1]["ts"].isoformat() if rows else getattr(cursor, kind) for kind, rows in newest.items()
        }  # fmt: skip


class StoreReader:
    """A web.live.protocol.LiveReader over the store."""

    def __init__(self, store: Callable[[], Store], logs: LogReads | None = None) -> None:
        self._store = store
        self._logs = logs or LogReads()
        self._counted: set[str] = set()  # runs with counters, whose log lines are not drawn beside them

    def snapshots(self, run_ids: Sequence[str]) -> dict[str, LivePart]:
        """All there is of each of these runs that exists."""
        return self._read(dict.fromkeys(run_ids, Cursor()))

    def since(self, cursors: Mapping[str, str]) -> dict[str, LivePart]:
        """What came after the cursors; raises ValueError for one that is not ours."""
        return self._read({run_id: Cursor.of(text) for run_id, text in cursors.items()})

    def _read(self, cursors: Mapping[str, Cursor]) -> dict[str, LivePart]:
        store = self._store()
        runs = store.runs_of(list(cursors))
        new = self._points(cursors)
        # The numbers of a run that has ended are of all of it, never of what came last.
        ended = [run for run in runs if run.state.is_final]
        again = [run.id for run in ended if cursors[run.id] != Cursor()]
        whole = new | (self._points(dict.fromkeys(again, Cursor())) if again else {})
        reports = {report.run.id: report for report in report_on(store, ended)} if ended else {}
        errors = live_queries.collector_errors(store, list(cursors))
        logs = self._logs.ends(runs)
        absent = {run.id: _absent(run, errors[run.id], logs.get(run.id)) for run in runs}
        parts = {
            run.id: _part(run, new[run.id], absent[run.id], logs.get(run.id, LogEnd([])).lines, cursors[run.id])
            for run in runs
        }
        for run in runs:
            parts[run.id]["now"] = _tiles(whole[run.id], run, absent[run.id])
            if report := reports.get(run.id):
                _tell_whole(parts[run.id], report)
        return parts

    def _points(self, cursors: Mapping[str, Cursor]) -> dict[str, Points]:
        store = self._store()
        engine = live_queries.engine_points(store, {run_id: _time(one.engine) for run_id, one in cursors.items()})
        host = live_queries.host_points(store, {run_id: _time(one.host) for run_id, one in cursors.items()})
        gpu = live_queries.gpu_points(store, {run_id: _time(one.gpu) for run_id, one in cursors.items()})
        return {
            run_id: Points(self._without_doubles(run_id, engine[run_id]), host[run_id], gpu[run_id])
            for run_id in cursors
        }

    def _without_doubles(self, run_id: str, rows: list[dict[str, JsonValue]]) -> list[dict[str, JsonValue]]:
        """One source a run: the log only where no counter ever spoke."""
        if any(row["source"] != "log" for row in rows):
            self._counted.add(run_id)
        return [row for row in rows if row["source"] != "log" or run_id not in self._counted]


def _part(run: Run, points: Points, absent: dict[str, str], log: Sequence[ViewLine], cursor: Cursor) -> LivePart:
    """All but the numbers."""
    lines = [_log_line(row, run) for row in log if row["at"] > cursor.log]
    meta = _meta(run, absent)
    digest = hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()[:16]
    said = Cursor(**points.after(cursor), log=lines[-1]["at"] if lines else cursor.log, meta=digest)
    part = LivePart(cursor=said.text(), series=_series(points), log=lines)
    if position := _per_position(points.engine):
        part["per_position"] = position
    if digest != cursor.meta:
        part["meta"] = meta
    return part


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
        tile_basis="mean of its active windows" if run.state.is_final else "now",
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


def _series(points: Points) -> dict[str, Series]:
    """Every series that has points, in the protocol's names."""
    paced = [row for row in points.engine if _keeps_pace(row)]
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


def _keeps_pace(row: Row) -> bool:
    """Whether the row speaks of the seconds before it, not of requests that ended: a gap in it is an outage."""
    return row["source"] == "log" or MEASURES.get(row["definition"]) == OVER_TIME


def _column(rows: Sequence[Row], name: str, judged: bool = False) -> Series:
    series = Series(t=[row["t"] for row in rows], v=[_finite(row[name]) for row in rows])
    if judged:
        series["excluded"] = [int(row["activity"] not in ("active", None)) for row in rows]
    return series


def _finite(value: float | None) -> float | None:
    """A store that is older than the check of the samples may hold NaN and infinities; JSON knows neither."""
    return value if value is None or math.isfinite(value) else None


def _known(rows: Iterable[Row], name: str) -> list[Row]:
    return [row for row in rows if row[name] is not None]


def _product(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else _finite(a * b)


def _tiles(points: Points, run: Run, absent: Mapping[str, str]) -> dict[str, Tile]:
    """The numbers of the moment while the run is live, their medians once it has ended."""
    series = _series(points)
    last = _median if run.state.is_final else _newest
    tiles = {name: last(one) for name, one in series.items()}
    if points.host and not run.state.is_final:
        newest = points.host[-1]
        tiles["process_count"] = Tile(v=newest["process_count"], why=None, t=newest["t"])
    for name, reason in absent.items():
        tiles.setdefault(name, Tile(v=None, why=reason))
    for name, reason in _reasons(points.engine).items():
        if name in tiles and tiles[name]["v"] is None:
            tiles[name]["why"] = reason
    return tiles


def _tell_whole(part: LivePart, report: RunReport) -> None:
    """A run that has ended: what is known of all of it, in place of what came last."""
    part["now"] |= _verdict_tiles(report)
    positions = report.acceptance.per_position
    if positions and all(map(math.isfinite, positions)):
        part["per_position"] = PerPosition(v=positions, why=None)
    elif "per_position" in part:
        part["per_position"] = PerPosition(v=None, why=why(report.acceptance.reason) or NOT_ALL_POSITIONS)


def _verdict_tiles(report: RunReport) -> dict[str, Tile]:
    """Speed, its factors and acceptance of a run that has ended, the same that Compare shows and judges by."""
    factors, unknown = report.summary.factors, why(report.summary.reason)
    tiles = {name: Tile(v=None, why=unknown) for name in RATE_SERIES}
    if factors:
        tiles = {name: Tile(v=_finite(getattr(factors, name)), why=why(factors.reason)) for name in RATE_SERIES}
    acceptance = report.acceptance
    # Of the windows of the other tiles where these count drafts: tokens per step stands beside it.
    length = acceptance.length if report.summary.acceptance_length is None else report.summary.acceptance_length
    return tiles | {"acceptance_length": Tile(v=_finite(length), why=why(acceptance.reason))}


def _newest(series: Series) -> Tile:
    return Tile(v=series["v"][-1], why=None if series["v"][-1] is not None else NOTHING_YET, t=series["t"][-1])


def _median(series: Series) -> Tile:
    skip = series.get("excluded") or [0] * len(series["v"])
    known = [v for v, excluded in zip(series["v"], skip, strict=True) if v is not None and not excluded]
    return Tile(v=median(known) if known else None, why=None if known else "no active moment was measured")


def _reasons(rows: Sequence[Row]) -> dict[str, str]:
    """Why the newest row leaves its rates unknown."""
    reason = next((row["reason"] for row in reversed(rows) if _keeps_pace(row)), None)
    return dict.fromkeys(RATE_SERIES, reason) if reason else {}


def _per_position(rows: Sequence[Row]) -> PerPosition | None:
    newest = next((row["per_position"] for row in reversed(rows) if row["per_position"]), None)
    if not newest:
        return None
    is_known = all(map(math.isfinite, newest))
    return PerPosition(v=newest if is_known else None, why=None if is_known else "its log states no number")
