"""A published store with something of several runs in every table, and what a question to it costs.

DuckDB's profile tells of each scan how many rows it handed on, behind the filters that were pushed into it, and of
Parquet how many files were opened.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest

from analysis.metrics.registry import LISTED
from analysis.runs.run_line import RunLine
from domain import Config, Run
from load_records import (
    AGENT_TASK,
    NEXT_TOKEN,
    AccuracyItem,
    FidelityPosition,
    Load,
    RequestRecord,
    Result,
    SuiteCheck,
)
from samples import (
    Batch,
    CollectorHealth,
    CounterSample,
    Event,
    GpuSample,
    HostSample,
    LatencySample,
    LogSample,
    Sample,
    SlotSample,
)
from settings import Settings
from storage.rows import TIME_COLUMNS
from storage.store import Store
from storage.whole_results import query_whole

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
SECONDS = 30
ENGINES = ("vllm", "sglang", "llamacpp")
ASKED = ["sealed-vllm-0", "live-sglang-0"]
FORMULAS, LINE = "1", RunLine({metric.key: 50.0 for metric in LISTED})  # what is kept of each run


class Cost(NamedTuple):
    """What the scans of a question gave; `runs` are rows of raw.runs."""

    rows: int
    runs: int
    files: int


class Profiled:
    """Asks the published file, adds up what each statement cost and notes which sample tables it read."""

    def __init__(self, published: Path, profile: Path) -> None:
        self.cost = Cost(0, 0, 0)
        self.read: set[str] = set()
        self._profile, self._turn = profile, threading.Lock()
        self._connection = duckdb.connect(str(published), read_only=True)
        self._connection.execute("SET TimeZone = 'UTC'; PRAGMA enable_profiling = 'json'")
        self._connection.execute(f"SET profiling_output = '{profile}'")
        # It narrows a scan by the few runs of a join: what asks for all would be counted as what asks for these.
        self._connection.execute("SET disabled_optimizers = 'join_filter_pushdown'")

    def query(self, sql: str, params: Any = None) -> pa.Table:
        with self._turn:  # each statement's profile is read before the next one replaces it
            table = query_whole(self._connection, sql, params)  # the last statement's profile remains
            nodes = _nodes(json.loads(self._profile.read_text()))
            scans = [node for node in nodes if node.get("operator_type") == "TABLE_SCAN"]
            self.cost = Cost(*map(sum, zip(self.cost, *map(_cost, scans), strict=True)))
        self.read |= {table for scan in scans for table in _samples_read(scan)}
        return table


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"]:
        yield from _nodes(child)


def _cost(node: dict[str, Any]) -> Cost:
    rows, about = node["operator_cardinality"], node["extra_info"]
    is_of_runs = str(about.get("Table", "")).endswith("raw.runs")
    return Cost(0 if is_of_runs else rows, rows if is_of_runs else 0, int(about.get("Total Files Read", 0)))


def _samples_read(node: dict[str, Any]) -> set[str]:
    """The sample tables of a scan that gave rows: by the table's name, or by the folders of the Parquet files."""
    about = node["extra_info"]
    names = {str(about.get("Table", "")).split(".")[-1], *re.findall(r"/parquet/(\w+)/", about.get("Filename(s)", ""))}
    return names & TIME_COLUMNS.keys() if node["operator_cardinality"] else set()


def samples_of(run_id: str, engine: str, seconds: int = SECONDS) -> Iterator[Sample]:
    """Something in every table, once a second, and a load."""
    yield Load(run_id, "l", NOW, "pitwall", "w")
    for second in range(seconds):
        ts, n = NOW + timedelta(seconds=second), float(second)
        yield CounterSample(
            run_id, ts, n, f"{engine}.counter", generation_tokens_total=50 * n, first_tokens_total=1.0,
            inter_token_count_total=25 * n, decode_tokens_total=50 * n, decode_seconds_total=n, drafts_total=25 * n,
            draft_tokens_total=50 * n, accepted_tokens_total=25 * n, accept_length_gauge=2.0, requests_running=1.0,
            kv_usage_ratio=0.1 + n % 7 / 10, preemptions_total=n // 4,
        )  # fmt: skip
        kind = {"sglang": "decode", "llamacpp": "request"}.get(engine)
        yield LogSample(
            run_id, ts, second, second, f"{engine}.log", kind=kind, generation_tps=50.0, requests_running=1.0,
            acceptance_length=2.0, accepted_tokens=25.0, drafted_tokens=50.0, generated_tokens=50.0, window_s=1.0,
        )  # fmt: skip
        yield HostSample(run_id, ts, n, "m")
        yield LatencySample(run_id, ts, n, f"{engine}.histogram", "ttft_ms", 0, [10.0], [n, 2 * n], 9.0 * n)
        yield GpuSample(run_id, ts, n, "m", 0)
        if second < 3:  # another machine of the run was seen for a moment
            yield GpuSample(run_id, ts, n, "worker", 0, clock_offset_s=0.5)
            yield HostSample(run_id, ts, n, "worker", clock_offset_s=0.5)
        yield Event(run_id, ts, "startup", "x", data={"key": "k", "value": second})
        yield Event(run_id, ts, "workload", "x")
        yield CollectorHealth(run_id, ts, "gpu", True, 1.0)
        own = n % 2 == 0
        yield Result(run_id, "l", ts, "Code", "decode_tps", "mean", "tok/s", "pitwall" if own else "a tool", 50.0)
        yield AccuracyItem(run_id, "load", ts, "task", "none", str(n), str(n), 1.0)
        yield SuiteCheck(run_id, "load", ts, "needles", "Fact", "streaming", True, None, {}, 8000, n, str(n))
        yield SuiteCheck(run_id, "load", ts, AGENT_TASK, "parser", "agent", True, repeat=n, item_hash="h")
        yield FidelityPosition(run_id, "load", ts, NEXT_TOKEN, "prose", "prose 01", 512, n, "h", [1, 2], [-0.1, -3.0])
        part = {"kind": "text", "name": "user", "bytes": 4, "pieces": ""}
        prefix = {"session": "0", "follows": None, "order": ["a"], "parts": {"a": part}, "is_cut": False}
        yield RequestRecord(
            run_id, str(second), "w", "measure", "prose", 0, 1, ts, phase_index=0, extra={"prefix": prefix}
        )
        if engine == "llamacpp":
            yield SlotSample(run_id, ts, n, 0, 1, True, 50 * second, 50 * second, 4096, n)


def add_run(store: Store, run_id: str, engine: str, ended_at: datetime | None) -> None:
    run = Run(id=run_id, name=run_id, color=0, config=Config(), machine_id="m", created_at=NOW, ready_at=NOW)
    store.save_run(run.model_copy(update={"ended_at": ended_at}))
    store.write(Batch(tuple(samples_of(run_id, engine))))
    store.notes.change([run_id], "operator", lambda note: note.model_copy(update={"text": "said"}))


@contextmanager
def asked_store(folder: Path, of_each: int, merged: bool = False) -> Iterator[Profiled]:
    """A published file with so many sealed and live runs of each engine; the sealed files merged where asked."""
    settings = Settings(data_dir=folder / "data")
    store = Store.open(settings, clock=lambda: NOW + timedelta(minutes=5))
    for number in range(of_each):
        for engine in ENGINES:
            add_run(store, f"sealed-{engine}-{number}", engine, NOW + timedelta(seconds=SECONDS))
            add_run(store, f"live-{engine}-{number}", engine, None)
    store.save_run(store.runs_of([ASKED[1]])[0])  # after all that was written before
    ids = [f"{state}-{engine}-{n}" for state in ("sealed", "live") for engine in ENGINES for n in range(of_each)]
    store.cache_run_lines([(run, LINE) for run in store.runs_of(ids)], FORMULAS, math.inf)
    while store.seal():
        pass
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("storage.files.merge.MIN_FILES", 2)
        assert not merged or store.merge() > 5
    store.publish()
    store.close()
    yield Profiled(settings.published_path, folder / "profile.json")
