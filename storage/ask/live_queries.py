"""What the Live page is pushed: one statement a kind for all watched runs, for planning it costs more than its rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from storage.ask.queries import Asked

Row = dict[str, Any]
Since = Mapping[str, datetime | None]  # run id -> the time after which rows are wanted, None for all


def engine_points(store: Asked, since: Since) -> dict[str, list[Row]]:
    """What the engines showed, oldest first, ranks summed; `t` in epoch seconds."""
    sql = """
        SELECT run_id, ts, epoch(ts) AS t, source, definition, decode_tps, tokens_per_step, steps_per_s,
            acceptance_length, per_position, requests_running, requests_waiting, kv_usage_ratio, activity, reason
        FROM run_samples_since(?::TIMESTAMPTZ) WHERE list_contains(?, run_id) ORDER BY ts
    """
    return _by_run(store, sql, [_earliest(since), list(since)], since)


def host_points(store: Asked, since: Since) -> dict[str, list[Row]]:
    """CPU and memory of the servers' process trees and of the host."""
    sql = """
        SELECT run_id, ts, epoch(ts) AS t, process_count, cpu_ratio, rss_bytes, host_cpu_ratio, host_cores,
            host_memory_used_bytes
        FROM host_samples WHERE list_contains(?, run_id) AND (?::TIMESTAMPTZ IS NULL OR ts > ?) ORDER BY ts
    """
    return _by_run(store, sql, [list(since), _earliest(since), _earliest(since)], since)


def gpu_points(store: Asked, since: Since) -> dict[str, list[Row]]:
    """Power and clock of the runs' GPUs: watts summed, the slowest clock."""
    sql = """
        SELECT run_id, ts, epoch(ts) AS t, CASE WHEN count(power_w) = count(*) THEN sum(power_w) END AS power_w,
            min(sm_clock_mhz) AS sm_clock_mhz
        FROM gpu_samples WHERE list_contains(?, run_id) AND (?::TIMESTAMPTZ IS NULL OR ts > ?)
        GROUP BY run_id, ts ORDER BY ts
    """
    return _by_run(store, sql, [list(since), _earliest(since), _earliest(since)], since)


def collector_errors(store: Asked, run_ids: Sequence[str]) -> dict[str, dict[str, str]]:
    """Per run: collector -> why it has nothing, for those whose last tick failed."""
    sql = """
        SELECT run_id, collector, arg_max(error, ts) AS error FROM collector_health WHERE list_contains(?, run_id)
        GROUP BY run_id, collector HAVING NOT arg_max(ok, ts)
    """
    found: dict[str, dict[str, str]] = {run_id: {} for run_id in run_ids}
    for row in store.query(sql, [list(run_ids)]).to_pylist():
        found[row["run_id"]][row["collector"]] = row["error"] or "it failed without a word"
    return found


def _earliest(since: Since) -> datetime | None:
    known = [moment for moment in since.values() if moment is not None]
    return min(known) if known and len(known) == len(since) else None


def _by_run(store: Asked, sql: str, params: Sequence[Any], since: Since) -> dict[str, list[Row]]:
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in store.query(sql, params).to_pylist():
        after = since[row["run_id"]]
        if after is None or row["ts"] > after:
            rows[row["run_id"]].append(row)
    return rows
