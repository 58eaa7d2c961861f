"""A cache of the summary lines of ended runs; a line is dropped when more data arrives for its run."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import asdict

import pyarrow as pa

from analysis.runs.run_line import RunLine
from domain import Run
from storage.published_query import Query
from storage.writer import Pending

TABLE = "run_reports"
_MOMENT = pa.timestamp("us", tz="UTC")
_NUMBERS = ("stream_tps", "output_tps", "typical_tps", "peak_tps", "tokens_per_step", "acceptance_length")
_FURTHER = (
    *("acceptance_rate", "tokens_per_j", "gpu_power_w", "server_cores", "host_busy_ratio", "kv_usage_peak_ratio"),
    *("preemptions", "gpu_memory_peak_gib"),
)
SCHEMA = pa.schema(
    [
        ("run_id", pa.string()),
        ("formulas", pa.string()),
        ("started_at", _MOMENT),
        ("ended_at", _MOMENT),
        *((name, pa.float64()) for name in _NUMBERS),
        ("reason", pa.string()),
        ("printed_tps", pa.float64()),
        ("printed_lines", pa.int64()),
        ("printed_definition", pa.string()),
        *((name, pa.float64()) for name in _FURTHER),
    ]
)


class KeptLines:
    """Which runs have a line that is kept; safe from any thread."""

    def __init__(self, submit: Callable[[Pending], Future[None]], query: Query) -> None:
        self._submit = submit
        self._lock = threading.Lock()
        self._committed_s: dict[str, float] = {}  # when something of a run was last committed, by the monotonic clock
        self._kept = set(query(f"SELECT run_id FROM raw.{TABLE} WHERE formulas <> ''")["run_id"].to_pylist())

    def keep(self, lines: Iterable[tuple[Run, RunLine]], formulas: str, asked_s: float) -> None:
        """Keep what was computed of the rows that were there at `asked_s`; durable when it returns."""
        with self._lock:
            fresh = [(run, line) for run, line in lines if self._committed_s.get(run.id, 0.0) < asked_s]
            self._kept |= {run.id for run, _ in fresh}
        if fresh:
            self._submit(Pending({TABLE: line_table(fresh, formulas)}, frozenset())).result()

    def forgetting(self, run_ids: frozenset[str]) -> dict[str, pa.Table]:
        """What to commit together with rows of these runs."""
        with self._lock:
            known = self._kept & run_ids
            self._kept -= known
        return {TABLE: forgotten_table(known)} if known else {}

    def committed(self, run_ids: frozenset[str]) -> None:
        """Rows of these runs have become durable; a line that was computed meanwhile lacks them."""
        with self._lock:
            self._committed_s |= dict.fromkeys(run_ids, time.monotonic())
        if tables := self.forgetting(run_ids):
            self._submit(Pending(tables, frozenset()))


def line_table(lines: Iterable[tuple[Run, RunLine]], formulas: str) -> pa.Table:
    """What is said of runs under these formulas, a row each."""
    rows = [
        {"run_id": run.id, "formulas": formulas, "started_at": run.started_at, "ended_at": run.ended_at}
        | asdict(line)
        | {"reason": line.reason and json.dumps(asdict(line.reason))}
        for run, line in lines
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def forgotten_table(run_ids: Iterable[str]) -> pa.Table:
    """Rows that hold under no formulas, in the place of those that were kept of these runs."""
    return pa.Table.from_pylist([{"run_id": run_id, "formulas": ""} for run_id in run_ids], SCHEMA)
