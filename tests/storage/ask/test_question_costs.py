"""A question about two runs reads the rows of these two, however many others are stored. Counted in rows, not in time.

The published file is asked, whose views are the store's. DuckDB's profile tells of each scan how many rows it handed
on, behind the filters that were pushed into it, and of Parquet how many files were opened.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest

from analysis.runs.conditions import Span
from domain import Config, Run
from load_records import Load, RequestRecord, Result
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
from storage.ask import condition_queries, live_queries, load_queries, node_queries, note_queries, queries
from storage.ask.queries import Asked
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
SECONDS = 30
ENGINES = ("vllm", "sglang", "llamacpp")
ASKED = ["sealed-vllm-0", "live-sglang-0"]
SINCE = dict.fromkeys(ASKED, NOW + timedelta(seconds=5))
OF_THESE = {  # what takes run ids -> the same of all runs
    "events_of($ids)": "events",
    "run_samples_since(NULL::TIMESTAMPTZ, run_ids := $ids)": "run_samples",
    "engine_samples_since(NULL::TIMESTAMPTZ, run_ids := $ids)": "engine_samples",
    "run_windows(2, run_ids := $ids)": "run_windows(2)",
    "engine_windows(2, run_ids := $ids)": "engine_windows(2)",
    "crosscheck_of($ids)": "samples_crosscheck",
    "acceptance_of($ids)": "acceptance_of(NULL)",
    "server_latency_of($ids)": "server_latency",
    "run_notes_of($ids)": "run_notes",
}
QUESTIONS: Mapping[str, Callable[[Asked], object]] = {
    "windows": lambda store: queries.windows(store, ASKED, 2.0),
    "printed_speeds": lambda store: queries.printed_speeds(store, ASKED),
    "acceptance": lambda store: queries.acceptance(store, ASKED),
    "sources": lambda store: queries.sources(store, ASKED),
    "crosschecks": lambda store: queries.crosschecks(store, ASKED),
    "silences": lambda store: queries.silences(store, ASKED),
    "request_totals": lambda store: queries.request_totals(store, ASKED),
    "loads": lambda store: load_queries.loads(store, ASKED),
    "asked_loads": lambda store: load_queries.asked_loads(store, ASKED),
    "answer_pieces": lambda store: load_queries.answer_pieces(store, dict.fromkeys(ASKED, "load"), 0, None, 100),
    "outcomes": lambda store: load_queries.outcomes(store, ASKED),
    "load_speeds": lambda store: load_queries.load_speeds(store, ASKED),
    "beside": lambda store: load_queries.beside(
        store, [Span(run_id, NOW + timedelta(seconds=5), NOW + timedelta(seconds=25)) for run_id in ASKED]
    ),
    "process_starts": lambda store: queries.process_starts(store, ASKED),
    "requests": lambda store: [queries.requests(store, run_id) for run_id in ASKED],
    "events": lambda store: [queries.events(store, run_id) for run_id in ASKED],
    "load_events": lambda store: [queries.load_events(store, run_id) for run_id in ASKED],
    "server_latency": lambda store: queries.server_latency(store, ASKED),
    "startups": lambda store: queries.startups(store, ASKED),
    "startup_facts": lambda store: queries.startup_facts(store, ASKED),
    "recent_speed": lambda store: queries.recent_speed(store, ASKED, 1e9),
    "engine_points": lambda store: live_queries.engine_points(store, SINCE),
    "host_points": lambda store: live_queries.host_points(store, SINCE),
    "gpu_points": lambda store: live_queries.gpu_points(store, SINCE),
    "conditions": lambda store: condition_queries.conditions(
        store, [Span(run_id, NOW + timedelta(seconds=5), NOW + timedelta(seconds=25)) for run_id in ASKED]
    ),
    "nodes": lambda store: node_queries.nodes(store, ASKED),
    "notes": lambda store: note_queries.notes(store, ASKED),
    "note_versions": lambda store: note_queries.note_versions(store, ASKED),
    "marks": lambda store: live_queries.marks(store, ASKED),
    "recent_server_latency": lambda store: live_queries.recent_server_latency(store, ASKED, 1e9),
    "collector_errors": lambda store: live_queries.collector_errors(store, ASKED),
}
ABOUT_OTHERS = {"beside"}  # who else ran at that time can be told by the rows of the runs alone


class Cost(NamedTuple):
    """What the scans of a question gave; `runs` are rows of raw.runs."""

    rows: int
    runs: int
    files: int


class Profiled:
    """Asks the published file and adds up what each statement cost."""

    def __init__(self, published: Path, profile: Path) -> None:
        self.cost = Cost(0, 0, 0)
        self._profile = profile
        self._connection = duckdb.connect(str(published), read_only=True)
        self._connection.execute("SET TimeZone = 'UTC'; PRAGMA enable_profiling = 'json'")
        self._connection.execute(f"SET profiling_output = '{profile}'")

    def query(self, sql: str, params: Any = None) -> pa.Table:
        table = self._connection.execute(sql, params).to_arrow_table()
        told = [_cost(node) for node in _nodes(json.loads(self._profile.read_text()))]
        self.cost = Cost(*map(sum, zip(self.cost, *told, strict=True)))
        return table


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node["children"]:
        yield from _nodes(child)


def _cost(node: dict[str, Any]) -> Cost:
    if node.get("operator_type") != "TABLE_SCAN":
        return Cost(0, 0, 0)
    rows, about = node["operator_cardinality"], node["extra_info"]
    is_of_runs = str(about.get("Table", "")).endswith("raw.runs")
    return Cost(0 if is_of_runs else rows, rows if is_of_runs else 0, int(about.get("Total Files Read", 0)))


def samples_of(run_id: str, engine: str, seconds: int = SECONDS) -> Iterator[Sample]:
    """Something in every table, once a second, and a load."""
    yield Load(run_id, "l", NOW, "pitwall", "w")
    for second in range(seconds):
        ts, n = NOW + timedelta(seconds=second), float(second)
        yield CounterSample(
            run_id, ts, n, f"{engine}.counter", generation_tokens_total=50 * n, first_tokens_total=1.0,
            inter_token_count_total=25 * n, decode_tokens_total=50 * n, decode_seconds_total=n, drafts_total=25 * n,
            draft_tokens_total=50 * n, accepted_tokens_total=25 * n, accept_length_gauge=2.0, requests_running=1.0,
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
        yield Result(run_id, "l", ts, "Code", "decode_tps", "mean", "tok/s", "pitwall", 50.0)
        yield RequestRecord(run_id, str(second), "w", "measure", "prose", 0, 1, ts, phase_index=0)
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
    while store.seal():
        pass
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("storage.files.merge.LEAST_FILES", 2)
        assert not merged or store.merge() > 5
    store.publish()
    store.close()
    yield Profiled(settings.published_path, folder / "profile.json")


def costs(folder: Path, of_each: int, merged: bool = False) -> dict[str, Cost]:
    found: dict[str, Cost] = {}
    with asked_store(folder, of_each, merged) as store:
        for name, ask in QUESTIONS.items():
            store.cost = Cost(0, 0, 0)
            ask(store)
            found[name] = store.cost
    return found


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cost]:
    return costs(tmp_path_factory.mktemp("few"), 1)


@pytest.fixture(scope="module", params=["a file a run", "merged files"])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cost]:
    return costs(tmp_path_factory.mktemp("many"), 4, merged=request.param == "merged files")


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_costs_the_same_among_more_runs(
    request: pytest.FixtureRequest, name: str, few: dict[str, Cost], many: dict[str, Cost]
) -> None:
    if name in ABOUT_OTHERS:
        few, many = ({name: found[name]._replace(runs=0)} for found in (few, many))
    assert many[name]._replace(files=0) == few[name]._replace(files=0)
    # A merged file of runs between the first and the last that are asked about may be opened in vain.
    assert many[name].files <= few[name].files * (1.5 if "merged" in request.node.name else 1)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_reads_each_row_a_few_times_at_most(name: str, many: dict[str, Cost]) -> None:
    told_of = 2 * SECONDS  # rows that the two runs have in one table
    assert 0 < many[name].rows <= 4 * told_of or name in ABOUT_OTHERS


def test_what_takes_run_ids_gives_the_rows_of_the_view(tmp_path: Path) -> None:
    with asked_store(tmp_path, 1) as store:
        for given, whole in OF_THESE.items():
            told = store.query(f"FROM {given} ORDER BY ALL", {"ids": ASKED})
            assert told.num_rows > 0, given
            same = f"FROM {whole} WHERE list_contains($ids, run_id) ORDER BY ALL"
            assert told.equals(store.query(same, {"ids": ASKED})), given


def test_every_question_is_held() -> None:
    public: Sequence[str] = [
        name
        for module in (queries, live_queries, condition_queries, load_queries, node_queries, note_queries)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if not name.startswith("_") and "store" in inspect.signature(function).parameters
    ]
    assert set(public) == set(QUESTIONS)


def test_the_count_sees_a_question_about_everybody(tmp_path: Path) -> None:
    """The check of the check: what asks for all runs costs more among more runs."""
    told = []
    for of_each in (1, 2):
        with asked_store(tmp_path / str(of_each), of_each) as store:
            store.query("FROM samples_crosscheck")
        told.append(store.cost)
    assert told[0].rows < told[1].rows and told[0].files < told[1].files and told[0].runs < told[1].runs
