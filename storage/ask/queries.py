"""The questions the pages ask of the store about given runs, each one statement over the views."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from analysis.runs.printed import PrintedSpeed
from analysis.runs.windows import Window
from domain import JsonValue
from reasons import Code, Reason
from storage.ask.statements import statement


class Asked(Protocol):
    """What answers: the store, or anything with the same views."""

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """The rows that a statement gives, its parameters as $names; times in UTC. Raises duckdb.Error."""
        ...


class Acceptance(NamedTuple):
    """Speculation over a whole run: ratios of sums; None with the reason."""

    length: float | None = None
    rate: float | None = None
    per_position: list[float] | None = None
    definition: str | None = None
    reason: Reason | None = None


class SourceRow(NamedTuple):
    """Who spoke of a run, under which definition; `meaning`: metric -> formula, `unknown`: metric -> reason."""

    source: str
    definition: str
    samples: int
    meaning: dict[str, str]
    unknown: dict[str, str]  # codes


class Crosscheck(NamedTuple):
    """A run's log held against its counters over the same seconds."""

    windows: int = 0
    difference: float | None = None  # median of |counters - log| / log


class Silence(NamedTuple):
    """What of a run is in no interval, for nobody looked then: the sum of its tokens is known, not their course."""

    tokens: float
    seconds: float
    of_tokens: float | None  # that the run decoded in all; None also where an interval is lost
    lost_intervals: int = 0  # of which not even the sum is known: a restart lies in them, or may


class Whole(NamedTuple):
    """What is told of all of a run; `points` as live_queries.engine_points has them, where they were asked for."""

    windows: list[Window]
    acceptance: Acceptance
    points: pa.Table


class RequestTotals(NamedTuple):
    """Our own load on a run, warm-up left out."""

    sent: int = 0
    failed: int = 0
    ttft_ms: float | None = None


class Peaks(NamedTuple):
    """What a run held at its most; None where nothing says so."""

    kv_usage_ratio: float | None = None  # of the KV cache, 0 to 1; the mean of its ranks
    gpu_memory_gib: float | None = None  # by its own processes, summed over its GPUs


class EventRow(NamedTuple):
    """One thing that happened to a run: when (UTC), of which kind ('state', 'failure', 'outage', ...), in words."""

    ts: datetime
    kind: str
    text: str


class Events(NamedTuple):
    """What happened to a run, oldest first, and how much more did that is not among the rows."""

    rows: list[EventRow]
    left_out: int = 0


class StartupRow(NamedTuple):
    """A fact that the log states while the server starts, and the line that states it, counted from 1."""

    key: str
    value: JsonValue
    line: int | None


OF_WINDOWS = ["run_id", "windows"]
NOT_OF_POINTS = ["kind", "windows", "drafted", "acceptance_rate"]
NO_LENGTH = {"counter": Code.DRAFTS_NOT_COUNTED, "log": Code.DRAFTS_NOT_LOGGED}


def windows(store: Asked, run_ids: Sequence[str], window_s: float) -> dict[str, list[Window]]:
    """The windows of each run, in order, by the one definition that distinguishes decoding from other work.

    Counters and slots are cut into windows of `window_s`. A run known only by its log has the windows of its lines.
    """
    found: dict[str, list[Window]] = {run_id: [] for run_id in run_ids}
    for row in _rows(store, "windows", run_ids=run_ids, window_s=window_s):
        found[row.pop("run_id")].append(Window(**row))
    return found


def printed_speeds(store: Asked, run_ids: Sequence[str]) -> dict[str, list[PrintedSpeed]]:
    """What the logs of runs print as their speed, by definition; nothing of runs that have counters or slots."""
    found: dict[str, list[PrintedSpeed]] = {run_id: [] for run_id in run_ids}
    for row in _rows(store, "printed_speeds", run_ids=run_ids):
        found[row.pop("run_id")].append(PrintedSpeed(**row))
    return found


def acceptance(store: Asked, run_ids: Sequence[str]) -> dict[str, Acceptance]:
    """Acceptance of each run over all its life, from one source: the engine's counters, else its log."""
    found = {run_id: Acceptance(reason=Reason(Code.NO_DRAFT_TOLD)) for run_id in run_ids}
    return found | {row["run_id"]: read_acceptance(row) for row in _rows(store, "acceptance", run_ids=run_ids)}


def read_acceptance(row: Mapping[str, Any]) -> Acceptance:
    """Of a row of the question, with the reason where it tells no length."""
    length = row["acceptance_length"]
    why = Reason(Code.NO_DRAFT_MADE if row["drafted"] == 0 else NO_LENGTH[row["source"]])
    known = length, row["acceptance_rate"], row["per_position"], row["definition"]
    return Acceptance(*known, reason=why if length is None else None)


def wholes(store: Asked, run_ids: Sequence[str], window_s: float, with_points: bool = False) -> dict[str, Whole]:
    """What windows, acceptance and live_queries.engine_points say of each run, by its id; counters are read once."""
    asked = {"run_ids": list(run_ids), "window_s": window_s, "with_points": with_points}
    rows = store.query(statement("wholes"), asked)
    told = {kind: rows.filter(pc.equal(rows["kind"], kind)) for kind in ("windows", "acceptance", "points")}
    windows = {row["run_id"]: _windows(row["windows"]) for row in told["windows"].select(OF_WINDOWS).to_pylist()}
    acceptance = {row["run_id"]: read_acceptance(row) for row in told["acceptance"].to_pylist()}
    points = told["points"].drop_columns(NOT_OF_POINTS)
    unknown = Acceptance(reason=Reason(Code.NO_DRAFT_TOLD))
    return {
        run_id: Whole(
            windows.get(run_id, []),
            acceptance.get(run_id, unknown),
            points.filter(pc.equal(points["run_id"], run_id)),
        )
        for run_id in run_ids
    }


def sources(store: Asked, run_ids: Sequence[str]) -> dict[str, list[SourceRow]]:
    """The sources that gave a run its speed, those of the engine first."""
    found: dict[str, list[SourceRow]] = {run_id: [] for run_id in run_ids}
    for row in _rows(store, "sources", run_ids=run_ids):
        said = dict(row["meaning"] or ()), dict(row["unknown"] or ())
        found[row["run_id"]].append(SourceRow(row["source"], row["definition"], row["samples"], *said))
    return found


def crosschecks(store: Asked, run_ids: Sequence[str]) -> dict[str, Crosscheck]:
    """Per run, how far its log and its counters are apart where both speak of the same tokens and seconds."""
    rows = _rows(store, "crosschecks", run_ids=run_ids)
    return dict.fromkeys(run_ids, Crosscheck()) | {row.pop("run_id"): Crosscheck(**row) for row in rows}


def silences(store: Asked, run_ids: Sequence[str]) -> dict[str, Silence]:
    """Per run, what was counted while nobody looked; a run of which there is nothing such is not in it."""
    rows = _rows(store, "silences", run_ids=run_ids)
    return {row.pop("run_id"): Silence(**row) for row in rows}


def request_totals(store: Asked, run_ids: Sequence[str]) -> dict[str, RequestTotals]:
    """How many requests of ours were measured on each run, and their median time to the first token."""
    rows = _rows(store, "request_totals", run_ids=run_ids)
    return dict.fromkeys(run_ids, RequestTotals()) | {row.pop("run_id"): RequestTotals(**row) for row in rows}


def run_peaks(store: Asked, run_ids: Sequence[str]) -> dict[str, Peaks]:
    """What each run held at its most."""
    rows = _rows(store, "run_peaks", run_ids=run_ids)
    return dict.fromkeys(run_ids, Peaks()) | {row.pop("run_id"): Peaks(**row) for row in rows}


def preemptions(store: Asked, run_ids: Sequence[str]) -> dict[str, float | None]:
    """How often each run preempted requests; None where its engine counts none, or a reset hides some."""
    counted = {row["run_id"]: row["preemptions"] for row in _rows(store, "preemptions", run_ids=run_ids)}
    return {run_id: counted.get(run_id) for run_id in run_ids}


def process_starts(store: Asked, run_ids: Sequence[str]) -> dict[str, float]:
    """When each run's server says that it began, seconds since the epoch; only of those that state one moment."""
    return {row["run_id"]: row["began_s"] for row in _rows(store, "process_starts", run_ids=run_ids)}


def requests(store: Asked, run_id: str) -> pa.Table:
    """The requests of one run, oldest first."""
    return store.query(statement("requests"), {"run_ids": [run_id]})


def events(store: Asked, run_id: str, most: int = 500) -> Events:
    """What happened to a run, oldest first; the least important and oldest are left out where there are more."""
    rows = _rows(store, "events", run_ids=[run_id], most=most)
    of_all = rows[0]["of_all"] if rows else 0
    return Events([EventRow(row["ts"], row["kind"], row["text"]) for row in rows], of_all - len(rows))


def load_events(store: Asked, run_id: str, most: int = 20) -> list[EventRow]:
    """How its loads ended, and what became of their files, newest first."""
    return [EventRow(**row) for row in _rows(store, "load_events", run_ids=[run_id], most=most)]


def startup_facts(store: Asked, run_ids: Sequence[str]) -> dict[str, list[StartupRow]]:
    """What each log said once while the server started, in its order; a later row of a key is the truer one."""
    found: dict[str, list[StartupRow]] = {run_id: [] for run_id in run_ids}
    for row in _rows(store, "startup_facts", run_ids=run_ids):
        found[row["run_id"]].append(StartupRow(row["key"], json.loads(row["value"]), row["line"]))
    return found


def server_latency(store: Asked, run_ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Each run's latencies by its server's own histograms, a row of the view `server_latency` each."""
    found: dict[str, list[dict[str, Any]]] = {run_id: [] for run_id in run_ids}
    for row in _rows(store, "server_latency", run_ids=run_ids):
        found[row["run_id"]].append(row)
    return found


def startups(store: Asked, run_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What each log said of its server's start, a key a column of the view `startup`; empty where it said nothing."""
    found: dict[str, dict[str, Any]] = {run_id: {} for run_id in run_ids}
    for row in _rows(store, "startups", run_ids=run_ids):
        found[row["run_id"]] = row
    return found


def recent_speed(store: Asked, run_ids: Sequence[str], seconds: float) -> dict[str, list[float | None]]:
    """Decode tok/s of the last seconds of each run, oldest first; None where it is not known."""
    found: dict[str, list[float | None]] = {run_id: [] for run_id in run_ids}
    for row in _rows(store, "recent_speed", run_ids=run_ids, seconds=seconds):
        found[row["run_id"]].append(row["decode_tps"])
    return found


def _windows(rows: Sequence[dict[str, Any]]) -> list[Window]:
    return [Window(**{name: value for name, value in row.items() if name != "run_id"}) for row in rows]


def _rows(store: Asked, question: str, run_ids: Sequence[str], **params: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = store.query(statement(question), {"run_ids": list(run_ids), **params}).to_pylist()
    return rows
