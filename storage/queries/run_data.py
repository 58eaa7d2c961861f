"""Queries of the pages about given runs, one statement over the views each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from analysis.runs.collapse import EARLIEST_END
from analysis.runs.printed_speed import PrintedSpeed
from analysis.runs.windows import DecodingStretch, Window
from analysis.sessions.causes import ServerSighting
from domain import JsonValue
from reasons import Code, Reason
from storage.queries.statements import statement
from storage.queries.window_rows import WindowRows


class Queryable(Protocol):
    """The store, or anything else with the same views; several threads may query it at once."""

    def query(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """Return the rows of a statement with parameters as $names; times in UTC. Raises duckdb.Error."""
        ...


class Acceptance(NamedTuple):
    """Acceptance over a whole run: ratios of sums; None with a reason."""

    length: float | None = None
    rate: float | None = None
    per_position: list[float] | None = None
    definition: str | None = None
    reason: Reason | None = None


class SourceRow(NamedTuple):
    """A source of a run's speed and its definition; `meaning`: metric -> formula, `unknown`: metric -> reason."""

    source: str
    definition: str
    samples: int
    meaning: dict[str, str]
    unknown: dict[str, str]  # codes


class Crosscheck(NamedTuple):
    """A run's log compared with its counters over the same seconds."""

    windows: int = 0
    difference: float | None = None  # median of |counters - log| / log


class Silence(NamedTuple):
    """Tokens of a run between scrapes that were too far apart: their sum is known, not their distribution over time."""

    tokens: float
    seconds: float
    of_tokens: float | None  # decoded by the whole run; also None if an interval is lost
    lost_intervals: int = 0  # without even a sum: they contain, or may contain, a restart


class EngineUsage(NamedTuple):
    """What a whole run used of its engine; None: unknown."""

    kv_peak_ratio: float | None = None  # highest share of the KV cache in one sample, 0 to 1; the mean of its ranks
    preemptions: float | None = None  # also None if a reset hides some


class WholeRunData(NamedTuple):
    """Windows, acceptance and usage of a whole run; `points`, if requested, as from live_queries.engine_points."""

    windows: Sequence[Window]
    acceptance: Acceptance
    usage: EngineUsage
    points: pa.Table


class RequestTotals(NamedTuple):
    """Pitwall's own requests on a run, without warm-up."""

    sent_requests: int = 0
    failed: int = 0
    checked_answers: int = 0  # complete ones whose text was checked for loops
    looping_answers: int = 0  # those of them that end in a loop

    @property
    def looping_ratio(self) -> float | None:
        """Share of the checked answers that end in a loop, 0 to 1; None if none was checked."""
        return self.looping_answers / self.checked_answers if self.checked_answers else None


class EventRow(NamedTuple):
    """An event of a run: time (UTC), kind ('state', 'failure', 'outage', ...) and text."""

    ts: datetime
    kind: str
    text: str


class LoadEvent(NamedTuple):
    """An event about a load or its files; `notes`: remarks on what was imported."""

    ts: datetime
    kind: str
    text: str
    notes: list[str]


class Events(NamedTuple):
    """The events of a run, oldest first, and the number of events left out."""

    rows: list[EventRow]
    left_out: int = 0


class StartupRow(NamedTuple):
    """A fact from the log of a server's start, with its line number from 1."""

    key: str
    value: JsonValue
    line: int | None


WINDOW_COLUMNS = ["run_id", "windows"]
USAGE_COLUMNS = ["run_id", *EngineUsage._fields]
NON_POINT_COLUMNS = ["kind", "windows", "drafted", "acceptance_rate", "kv_peak_ratio", "preemptions"]
POINT_ORDER = [("ts", "ascending"), ("source", "ascending"), ("definition", "ascending")]
NO_LENGTH = {"counter": Code.DRAFTS_NOT_COUNTED, "log": Code.DRAFTS_NOT_LOGGED}


def windows(store: Queryable, run_ids: Sequence[str], window_s: float) -> dict[str, list[Window]]:
    """Return the windows of each run, in order, by the one definition that separates decoding from other work.

    Counters and slots are cut into windows of `window_s`. A run with a log only has the windows of its log lines.
    """
    windows_by_run: dict[str, list[Window]] = {run_id: [] for run_id in run_ids}
    for row in _rows(store, "windows", run_ids=run_ids, window_s=window_s):
        windows_by_run[row.pop("run_id")].append(_window(row))
    return windows_by_run


def printed_speeds(store: Queryable, run_ids: Sequence[str]) -> dict[str, list[PrintedSpeed]]:
    """Return the speeds printed by the logs of runs, by definition; none for runs with counters or slots."""
    speeds_by_run: dict[str, list[PrintedSpeed]] = {run_id: [] for run_id in run_ids}
    for row in _rows(store, "printed_speeds", run_ids=run_ids):
        speeds_by_run[row.pop("run_id")].append(PrintedSpeed(**row))
    return speeds_by_run


def acceptance(store: Queryable, run_ids: Sequence[str]) -> dict[str, Acceptance]:
    """Return the acceptance of each whole run from one source: the engine's counters, else its log."""
    unknown = {run_id: Acceptance(reason=Reason(Code.NO_DRAFT_TOLD)) for run_id in run_ids}
    return unknown | {row["run_id"]: read_acceptance(row) for row in _rows(store, "acceptance", run_ids=run_ids)}


def read_acceptance(row: Mapping[str, Any]) -> Acceptance:
    """The acceptance from a row of the query, with a reason if it has no length."""
    length = row["acceptance_length"]
    missing_reason = Reason(Code.NO_DRAFT_MADE if row["drafted"] == 0 else NO_LENGTH[row["source"]])
    values = length, row["acceptance_rate"], row["per_position"], row["definition"]
    return Acceptance(*values, reason=missing_reason if length is None else None)


def whole_run_data(
    store: Queryable, run_ids: Sequence[str], window_s: float, with_points: bool = False
) -> dict[str, WholeRunData]:
    """Return windows, acceptance, usage and engine points of each run by id; the counters are read once."""
    params = {"run_ids": list(run_ids), "window_s": window_s, "with_points": with_points}
    rows = store.query(statement("whole_run_data"), params)
    window_rows, acceptance_rows, usage_rows = (
        rows.filter(pc.equal(rows["kind"], kind)) for kind in ("windows", "acceptance", "usage")
    )
    windows: dict[str, Sequence[Window]] = {
        run_id.as_py(): WindowRows.sorted(column.values)
        for run_id, column in zip(*window_rows.select(WINDOW_COLUMNS).columns, strict=True)
    }
    acceptance = {row["run_id"]: read_acceptance(row) for row in acceptance_rows.to_pylist()}
    usage = {row.pop("run_id"): EngineUsage(**row) for row in usage_rows.select(USAGE_COLUMNS).to_pylist()}
    points, is_point = rows.drop_columns(NON_POINT_COLUMNS), pc.equal(rows["kind"], "points")
    unknown = Acceptance(reason=Reason(Code.NO_DRAFT_TOLD))
    return {
        run_id: WholeRunData(
            windows.get(run_id, []),
            acceptance.get(run_id, unknown),
            usage.get(run_id, EngineUsage()),
            _sorted_points(points, pc.and_(is_point, pc.equal(points["run_id"], run_id))),
        )
        for run_id in run_ids
    }


def _sorted_points(points: pa.Table, is_selected: pa.ChunkedArray) -> pa.Table:
    """Return the selected rows in order, copied once: a day has so many that each copy takes longer than the sort."""
    places = pc.indices_nonzero(is_selected)
    order = pc.sort_indices(points.select([name for name, _ in POINT_ORDER]).take(places), POINT_ORDER)
    return points.take(places.take(order))


def sources(store: Queryable, run_ids: Sequence[str]) -> dict[str, list[SourceRow]]:
    """Return the sources of each run's speed, those of the engine first."""
    sources_by_run: dict[str, list[SourceRow]] = {run_id: [] for run_id in run_ids}
    for row in _rows(store, "sources", run_ids=run_ids):
        meanings = dict(row["meaning"] or ()), dict(row["unknown"] or ())
        sources_by_run[row["run_id"]].append(SourceRow(row["source"], row["definition"], row["samples"], *meanings))
    return sources_by_run


def newest_samples(store: Queryable, run_ids: Sequence[str]) -> dict[str, dict[str, datetime]]:
    """Return, per run, when each kind of sample was last recorded; kinds without samples are left out."""
    times_by_run: dict[str, dict[str, datetime]] = {run_id: {} for run_id in run_ids}
    for row in _rows(store, "newest_samples", run_ids=run_ids):
        times_by_run[row["run_id"]][row["source"]] = row["ts"]
    return times_by_run


def crosschecks(store: Queryable, run_ids: Sequence[str]) -> dict[str, Crosscheck]:
    """Return, per run, the difference between its log and its counters over the same tokens and seconds."""
    rows = _rows(store, "crosschecks", run_ids=run_ids)
    return dict.fromkeys(run_ids, Crosscheck()) | {row.pop("run_id"): Crosscheck(**row) for row in rows}


def silences(store: Queryable, run_ids: Sequence[str]) -> dict[str, Silence]:
    """Return, per run, the tokens counted across gaps; runs without gaps are left out."""
    rows = _rows(store, "silences", run_ids=run_ids)
    return {row.pop("run_id"): Silence(**row) for row in rows}


def request_totals(store: Queryable, run_ids: Sequence[str]) -> dict[str, RequestTotals]:
    """Return the number of Pitwall's own measured requests on each run, and what they have in common."""
    rows = _rows(store, "request_totals", run_ids=run_ids, earliest_end=EARLIEST_END)
    return dict.fromkeys(run_ids, RequestTotals()) | {row.pop("run_id"): RequestTotals(**row) for row in rows}


def gpu_memory_peaks(store: Queryable, run_ids: Sequence[str]) -> dict[str, float]:
    """Return the most GPU memory that each run's own processes held, in GiB; unknown runs are left out."""
    return {row["run_id"]: row["gpu_memory_gib"] for row in _rows(store, "gpu_memory_peaks", run_ids=run_ids)}


def process_starts(store: Queryable, run_ids: Sequence[str]) -> dict[str, float]:
    """Return the process start reported by each run's server, in epoch seconds; only if it reports a single start."""
    return {row["run_id"]: row["began_s"] for row in _rows(store, "process_starts", run_ids=run_ids)}


def cache_sightings(store: Queryable, run_ids: Sequence[str], full_kv: float) -> dict[str, list[ServerSighting]]:
    """Return, per run, the scrapes that saw what makes a server drop prefixes; full_kv: share of the KV cache."""
    sightings: dict[str, list[ServerSighting]] = {run_id: [] for run_id in run_ids}
    for row in _rows(store, "cache_sightings", run_ids=run_ids, full_kv=full_kv):
        sightings[row.pop("run_id")].append(ServerSighting(**row))
    return sightings


def slot_counts(store: Queryable, run_ids: Sequence[str]) -> dict[str, int]:
    """Return the number of slots of each run's server; runs of engines without slots are left out."""
    return {row["run_id"]: row["slots"] for row in _rows(store, "slot_counts", run_ids=run_ids)}


def requests(store: Queryable, run_id: str) -> pa.Table:
    """Return the requests of one run, oldest first."""
    return store.query(statement("requests"), {"run_ids": [run_id]})


def events(store: Queryable, run_id: str, most: int = 500) -> Events:
    """Return the events of a run, oldest first; beyond `most`, the least important and oldest are left out."""
    rows = _rows(store, "events", run_ids=[run_id], most=most)
    of_all = rows[0]["of_all"] if rows else 0
    return Events([EventRow(row["ts"], row["kind"], row["text"]) for row in rows], of_all - len(rows))


def load_events(store: Queryable, run_id: str, most: int = 20) -> list[LoadEvent]:
    """Return the events about a run's loads and their files, newest first."""
    return [LoadEvent(**row) for row in _rows(store, "load_events", run_ids=[run_id], most=most)]


def failed_loads(store: Queryable, run_ids: Sequence[str], since: datetime) -> list[dict[str, Any]]:
    """Return the failures of these runs' loads after a time, oldest first: `run_id`, `ts` and `text`."""
    return _rows(store, "failed_loads", run_ids=run_ids, since=since)


def startup_facts(store: Queryable, run_ids: Sequence[str]) -> dict[str, list[StartupRow]]:
    """Return the startup facts of each log, in order; a later row of a key overrides an earlier one."""
    facts_by_run: dict[str, list[StartupRow]] = {run_id: [] for run_id in run_ids}
    for row in _rows(store, "startup_facts", run_ids=run_ids):
        facts_by_run[row["run_id"]].append(StartupRow(row["key"], json.loads(row["value"]), row["line"]))
    return facts_by_run


def server_latency(store: Queryable, run_ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return each run's latencies from its server's own histograms, as rows of the view `server_latency`."""
    latency_by_run: dict[str, list[dict[str, Any]]] = {run_id: [] for run_id in run_ids}
    for row in _rows(store, "server_latency", run_ids=run_ids):
        latency_by_run[row["run_id"]].append(row)
    return latency_by_run


def startups(store: Queryable, run_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return each run's row of the view `startup`; empty if its log has no startup facts."""
    startup_by_run: dict[str, dict[str, Any]] = {run_id: {} for run_id in run_ids}
    for row in _rows(store, "startups", run_ids=run_ids):
        startup_by_run[row["run_id"]] = row
    return startup_by_run


def recent_speed(store: Queryable, run_ids: Sequence[str], seconds: float) -> dict[str, list[float | None]]:
    """Return decode tok/s of each run over the last seconds, oldest first; None: unknown."""
    speeds_by_run: dict[str, list[float | None]] = {run_id: [] for run_id in run_ids}
    for row in _rows(store, "recent_speed", run_ids=run_ids, seconds=seconds):
        speeds_by_run[row["run_id"]].append(row["decode_tps"])
    return speeds_by_run


def _window(row: Mapping[str, Any]) -> Window:
    bridged = row["bridged"]
    return Window(**{**row, "bridged": bridged and DecodingStretch(**bridged)})


def _rows(store: Queryable, question: str, run_ids: Sequence[str], **params: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = store.query(statement(question), {"run_ids": list(run_ids), **params}).to_pylist()
    return rows
