"""The questions the pages ask of the store, each one statement over the views."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

import pyarrow as pa

from domain import JsonValue


class Asked(Protocol):
    """What answers: the store, or anything with the same views."""

    def query(self, sql: str, params: Sequence[JsonValue] | None = None) -> pa.Table: ...


class WindowRow(NamedTuple):
    """One window of one run; counts and the seconds they cover."""

    run_id: str
    since_ready_s: float
    window_s: float | None  # of the cut, or as the log's lines tell it
    dt_s: float
    tokens: float | None
    steps: float | None
    decode_tps: float | None
    tokens_per_step: float | None
    steps_per_s: float | None
    acceptance_length: float | None
    activity: str | None
    definition: str
    requests_running: float | None


class Acceptance(NamedTuple):
    """Speculation over a whole run: ratios of sums; None with the reason."""

    length: float | None = None
    rate: float | None = None
    per_position: list[float] | None = None
    definition: str | None = None
    reason: str | None = None


class SourceRow(NamedTuple):
    """Who spoke of a run, under which definition; `meaning`: metric -> its formula, or why it is unknown there."""

    source: str
    definition: str
    samples: int
    meaning: dict[str, str]


class Crosscheck(NamedTuple):
    """A run's log held against its counters over the same seconds."""

    windows: int = 0
    difference: float | None = None  # median of |counters - log| / log


class RequestTotals(NamedTuple):
    """Our own load on a run, warm-up left out."""

    sent: int = 0
    failed: int = 0
    ttft_ms: float | None = None


class EventRow(NamedTuple):
    ts: datetime
    kind: str
    text: str


class StartupRow(NamedTuple):
    key: str
    value: JsonValue
    line: int | None


NO_DRAFTS = "no draft was made"
NOT_COUNTED = "the engine told of no draft"
NO_LENGTH = {"counter": "the server counts no drafts", "log": "the log does not tell how many drafts were made"}


def windows(store: Asked, run_ids: Sequence[str], window_s: float) -> dict[str, list[WindowRow]]:
    """The windows of each run, in order, by the one definition that tells decoding from other work.

    Counters and slots are cut into windows of `window_s`. A run known only by its log has the windows of its lines.
    """
    sql = """
        WITH cut AS (
            FROM run_windows(?) UNION ALL BY NAME FROM run_log_rates(NULL::TIMESTAMPTZ)
        ), known AS (
            SELECT *, coalesce(decode_s, covered_s) AS known_s FROM cut
            WHERE list_contains(?, run_id) AND since_ready_s > 0
        ), best AS (
            SELECT run_id, arg_max(definition, (source <> 'log', told)) AS definition
            FROM (SELECT run_id, source, definition, count(activity) AS told FROM known GROUP BY ALL)
            WHERE told > 0 GROUP BY run_id
        )
        SELECT run_id, since_ready_s, window_s, known_s AS dt_s, decode_tokens AS tokens, steps,
            decode_tps, tokens_per_step, steps_per_s, acceptance_length, activity, definition, requests_running
        FROM known SEMI JOIN best USING (run_id, definition)
        WHERE known_s IS NOT NULL
        ORDER BY run_id, since_ready_s
    """
    found: dict[str, list[WindowRow]] = {run_id: [] for run_id in run_ids}
    for row in store.query(sql, [window_s, list(run_ids)]).to_pylist():
        found[row["run_id"]].append(WindowRow(**row))
    return found


def acceptance(store: Asked, run_ids: Sequence[str]) -> dict[str, Acceptance]:
    """Acceptance of each run over all its life, from one source: the engine's counters, else its log.

    A source that tells the length goes before one that does not, and one that saw drafts before one that saw none.
    """
    sql = """
        WITH sums AS (
            SELECT run_id, definition, 'counter' AS source, sum_of_all(drafts) AS drafts, sum(accepted) AS accepted,
                sum_of_all(draft_tokens) AS draft_tokens, add_lists(list(accepted_per_pos)) AS per_pos
            FROM progress WHERE list_contains(?, run_id) AND accepted IS NOT NULL GROUP BY ALL
            UNION ALL
            SELECT run_id, definition, 'log', sum_of_all(drafts), sum(accepted), sum_of_all(draft_tokens), NULL
            FROM log_drafts() WHERE list_contains(?, run_id) GROUP BY ALL
        )
        SELECT run_id, definition, source, coalesce(draft_tokens, drafts) AS drafted,
            CASE WHEN accepted = 0 AND drafted > 0 THEN 1 ELSE 1 + ratio(accepted, drafts) END AS length,
            ratio(accepted, draft_tokens) AS rate,
            CASE WHEN drafts > 0 THEN list_transform(per_pos, lambda x: x / drafts) END AS per_position
        FROM sums
        QUALIFY row_number() OVER (
            PARTITION BY run_id ORDER BY length IS NULL, coalesce(drafted, 0) = 0, source, definition
        ) = 1
    """
    found = {run_id: Acceptance(reason=NOT_COUNTED) for run_id in run_ids}
    for row in store.query(sql, [list(run_ids)] * 2).to_pylist():
        why = NO_DRAFTS if row["drafted"] == 0 else NO_LENGTH[row["source"]]
        reason = why if row["length"] is None else None
        found[row["run_id"]] = Acceptance(row["length"], row["rate"], row["per_position"], row["definition"], reason)
    return found


def sources(store: Asked, run_ids: Sequence[str]) -> dict[str, list[SourceRow]]:
    """The sources that gave a run its speed, those of the engine first."""
    sql = """
        WITH spoken AS (
            SELECT 1 AS place, run_id, 'counter' AS source, definition FROM counter_samples
            UNION ALL SELECT 2, run_id, 'slots', 'llamacpp.slots' FROM slot_samples
            UNION ALL SELECT 3, run_id, 'log', definition FROM log_samples WHERE generation_tps IS NOT NULL
            UNION ALL SELECT 4, run_id, 'client', 'client.requests' FROM requests
        ), meanings AS (
            SELECT definition,
                map_from_entries(list((metric, coalesce(formula, 'unknown: ' || null_reason)))) AS meaning
            FROM metric_definitions GROUP BY definition
        )
        SELECT run_id, source, s.definition, count(*) AS samples, any_value(meaning) AS meaning
        FROM spoken s LEFT JOIN meanings USING (definition) WHERE list_contains(?, run_id)
        GROUP BY place, run_id, source, s.definition ORDER BY place, s.definition
    """
    found: dict[str, list[SourceRow]] = {run_id: [] for run_id in run_ids}
    for row in store.query(sql, [list(run_ids)]).to_pylist():
        meaning = dict(row["meaning"] or ())
        found[row["run_id"]].append(SourceRow(row["source"], row["definition"], row["samples"], meaning))
    return found


def crosschecks(store: Asked, run_ids: Sequence[str]) -> dict[str, Crosscheck]:
    """Per run, how far its log and its counters are apart where both speak of the same tokens and seconds."""
    sql = """
        SELECT run_id, count(*) AS windows, median(abs(relative_difference)) AS difference
        FROM samples_crosscheck WHERE list_contains(?, run_id) AND relative_difference IS NOT NULL GROUP BY run_id
    """
    found = dict.fromkeys(run_ids, Crosscheck())
    for row in store.query(sql, [list(run_ids)]).to_pylist():
        found[row["run_id"]] = Crosscheck(row["windows"], row["difference"])
    return found


def request_totals(store: Asked, run_ids: Sequence[str]) -> dict[str, RequestTotals]:
    """How many requests of ours were measured on each run, and their median time to the first token."""
    sql = """
        SELECT run_id, count(*) AS sent, count(error_kind) AS failed, median(ttft_ms) AS ttft_ms
        FROM requests WHERE list_contains(?, run_id) AND phase = 'measure' GROUP BY run_id
    """
    found = dict.fromkeys(run_ids, RequestTotals())
    for row in store.query(sql, [list(run_ids)]).to_pylist():
        run_id = row.pop("run_id")
        found[run_id] = RequestTotals(**row)
    return found


def neighbours(store: Asked, run_ids: Sequence[str]) -> dict[str, int]:
    """How many other runs had a server up on the machine of each run while its own was.

    A server that is watched only was up when it was first met. What has no end yet is up, whatever the clock says.
    """
    sql = """
        WITH up AS (
            SELECT run_id, machine_id, coalesce(ended_at, 'infinity') AS ended_at,
                coalesce(started_at, CASE WHEN kind = 'attached' THEN created_at END) AS started_at
            FROM runs
        )
        SELECT mine.run_id, count(*) AS others FROM up mine JOIN up other
            ON other.machine_id = mine.machine_id AND other.run_id <> mine.run_id
            AND other.started_at < mine.ended_at AND mine.started_at < other.ended_at
        WHERE list_contains(?, mine.run_id) GROUP BY mine.run_id
    """
    found = dict.fromkeys(run_ids, 0)
    return found | {row["run_id"]: row["others"] for row in store.query(sql, [list(run_ids)]).to_pylist()}


def requests(store: Asked, run_id: str) -> pa.Table:
    """The requests of one run, oldest first."""
    sql = "SELECT * EXCLUDE (run_id, sampling, extra) FROM requests WHERE run_id = ? ORDER BY sent_at"
    return store.query(sql, [run_id])


def events(store: Asked, run_id: str, most: int = 500) -> list[EventRow]:
    """What happened to a run, oldest first."""
    sql = 'SELECT ts, kind, text FROM events WHERE run_id = ? ORDER BY ts, "offset" LIMIT ?'
    return [EventRow(**row) for row in store.query(sql, [run_id, most]).to_pylist()]


def startup_facts(store: Asked, run_id: str) -> list[StartupRow]:
    """What the log said once while the server started, in its order; a later row of a key is the truer one."""
    sql = """
        SELECT data->>'key' AS key, data->'value' AS value, line FROM events
        WHERE run_id = ? AND kind = 'startup' ORDER BY ts, "offset"
    """
    return [
        StartupRow(row["key"], json.loads(row["value"]), row["line"]) for row in store.query(sql, [run_id]).to_pylist()
    ]


def recent_speed(store: Asked, run_ids: Sequence[str], seconds: float) -> dict[str, list[float | None]]:
    """Decode tok/s of the last seconds of each run, oldest first; None where it is not known."""
    sql = """
        SELECT run_id, decode_tps FROM run_samples_since(now() - to_seconds(?))
        WHERE list_contains(?, run_id) AND activity IS NOT NULL
        QUALIFY source <> 'log' OR bool_and(source = 'log') OVER (PARTITION BY run_id)
        ORDER BY run_id, ts
    """
    found: dict[str, list[float | None]] = {run_id: [] for run_id in run_ids}
    for row in store.query(sql, [seconds, list(run_ids)]).to_pylist():
        found[row["run_id"]].append(row["decode_tps"])
    return found
