"""A cache of the summary lines of ended runs; new data for a run drops its line."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from analysis.metrics.registry import LISTED
from analysis.runs.run_line import RunLine
from domain import Run
from storage.published_query import QueryFunction
from storage.writer import PendingWrite

TABLE = "run_reports"
_MOMENT = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        ("formulas", pa.string()),
        ("started_at", _MOMENT),
        ("ended_at", _MOMENT),
        ("reason", pa.string()),
        ("printed_tps", pa.float64()),
        ("printed_lines", pa.int64()),
        ("printed_definition", pa.string()),
        ("stated", pa.string()),
        ("metrics", pa.string()),
        *((metric.key, pa.float64()) for metric in LISTED),
    ]
)


class RunLineCache:
    """The ids of runs with a cached line; thread-safe."""

    def __init__(self, submit: Callable[[PendingWrite], Future[None]], query: QueryFunction) -> None:
        self._submit = submit
        self._lock = threading.Lock()
        self._committed_s: dict[str, float] = {}  # run -> time of its last commit, monotonic
        self._cached_ids = set(query(f"SELECT run_id FROM raw.{TABLE} WHERE formulas <> ''")["run_id"].to_pylist())

    def add(self, lines: Iterable[tuple[Run, RunLine]], formulas: str, read_s: float) -> None:
        """Store lines computed from the rows present at `read_s`; durable on return."""
        with self._lock:
            fresh = [(run, line) for run, line in lines if self._committed_s.get(run.id, 0.0) < read_s]
            self._cached_ids |= {run.id for run, _ in fresh}
        if fresh:
            self._submit(PendingWrite({TABLE: line_table(fresh, formulas)}, frozenset())).result()

    def invalidate(self, run_ids: frozenset[str]) -> dict[str, pa.Table]:
        """Drop the lines of these runs; return the tables to commit together with their new rows."""
        with self._lock:
            stale_ids = self._cached_ids & run_ids
            self._cached_ids -= stale_ids
        return {TABLE: dropped_table(stale_ids)} if stale_ids else {}

    def on_committed(self, run_ids: frozenset[str]) -> None:
        """Drop lines that were computed before these rows became durable."""
        with self._lock:
            self._committed_s |= dict.fromkeys(run_ids, time.monotonic())
        if tables := self.invalidate(run_ids):
            self._submit(PendingWrite(tables, frozenset()))


def line_table(lines: Iterable[tuple[Run, RunLine]], formulas: str) -> pa.Table:
    """The lines of runs as rows of `raw.run_reports`; formulas: the version of the code that computed them."""
    return pa.Table.from_pylist([_row(run, line, formulas) for run, line in lines], SCHEMA)


def _row(run: Run, line: RunLine, formulas: str) -> dict[str, Any]:
    return {
        "run_id": run.id,
        "formulas": formulas,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "reason": line.reason and json.dumps(asdict(line.reason)),
        "printed_tps": line.printed and line.printed.median_tps,
        "printed_lines": line.printed and line.printed.lines,
        "printed_definition": line.printed and line.printed.definition,
        "stated": line.stated and json.dumps(asdict(line.stated)),
        "metrics": json.dumps([row._asdict() for row in line.metric_rows]),
        **line.numbers,
    }


def dropped_table(run_ids: Iterable[str]) -> pa.Table:
    """Rows that are valid under no formulas and replace the cached lines of these runs."""
    return pa.Table.from_pylist([{"run_id": run_id, "formulas": ""} for run_id in run_ids], SCHEMA)
