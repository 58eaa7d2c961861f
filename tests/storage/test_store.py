"""Contents of a store: runs, samples and positions, through a restart, once and in order."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from domain import Config, Run, RunState, Speculation, WorkloadSpec
from engines.base import MetricDefinition
from load_records import RequestRecord
from reasons import Code
from samples import Batch, CounterSample, Event, TailPosition
from settings import Settings
from storage.database import StoreError, StoreInUseError, connect
from storage.rows import ROW_TABLES, tables_of
from storage.store import Store
from storage.writer import PendingWrite, _insert

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


def make_run(run_id: str = "r1", **fields: object) -> Run:
    base = {"id": run_id, "name": run_id, "color": 0, "config": Config(), "machine_id": "m", "created_at": NOW}
    return Run.model_validate(base | fields)


def event(text: str, run_id: str = "r1") -> Event:
    return Event(run_id, NOW, "state", text)


@pytest.mark.parametrize(("row_type", "table"), ROW_TABLES.items(), ids=lambda v: getattr(v, "__name__", v))
def test_a_table_has_the_columns_of_its_row_type(store: Store, row_type: type, table: str) -> None:
    columns = store.query(f"SELECT * FROM raw.{table}").column_names
    assert columns == [f.name for f in fields(row_type)]


def test_the_runs_table_has_the_columns_of_a_run(store: Store) -> None:
    assert set(store.query("SELECT * FROM raw.runs").column_names) == {*Run.model_fields, "fingerprint"}


def test_run_returns_as_saved_in_last_state(store: Store) -> None:
    config = Config(engine="vllm", speculative=Speculation(method="ngram", num_tokens=4), argv=("vllm", "serve"))
    run = make_run(
        config=config,
        workload=WorkloadSpec(name="five", params={"n": 1}),
        ready_at=NOW,
        queue_position=1.5,
        provenance={"host": {"cores": 2}},
    )
    store.save_run(run)
    ready = run.model_copy(update={"state": RunState.READY, "pid": 4_000_000})
    store.save_run(ready)
    assert store.run("r1") == ready
    assert store.runs() == [ready]
    assert store.run("nobody") is None


def test_runs_listed_newest_first_and_by_state(store: Store) -> None:
    for run_id, state in (("a", "finished"), ("b", "failed"), ("c", "running")):
        store.save_run(make_run(run_id, state=state))
    assert [run.id for run in store.runs()] == ["c", "b", "a"]
    assert [run.id for run in store.runs([RunState.FAILED, RunState.FINISHED], limit=1)] == ["b"]


def test_samples_and_positions_outlive_process(settings: Settings) -> None:
    store = Store.open(settings)
    position = TailPosition("r1", "/log", generation=1, inode=2**63 + 5, offset=10)
    store.write(Batch((event("one"),), (TailPosition("r1", "/log", 0, 1, 5),))).result()
    store.write(Batch((event("two"),), (position,)))
    store.close()
    again = Store.open(settings)
    assert again.query("SELECT text FROM events ORDER BY text")["text"].to_pylist() == ["one", "two"]
    assert again.tail_position("r1", "/log") == position
    assert again.tail_position("r1", "/other") is None
    again.close()


def test_the_owner_reads_the_footer_of_a_sealed_file_once(store: Store) -> None:
    """Sealed files never change, and each scan of each statement would read their footers again."""
    assert store.query("SELECT current_setting('parquet_metadata_cache') AS kept")["kept"].to_pylist() == [True]


def test_untrusted_values_do_not_stop_the_store(store: Store) -> None:
    odd = Event(
        "r1", NOW, "warning", "lone \ud800, nul \x00", data={"a": float("nan"), "b": [float("inf"), 1], "c": "\ud800"}
    )
    store.write(Batch((odd,))).result()
    [row] = store.query("SELECT text, data->>'a' AS a, data->>'$.b[1]' AS b FROM events").to_pylist()
    assert row == {"text": "lone ?, nul \x00", "a": None, "b": "1"}


def test_wrong_value_is_refused_to_its_giver(store: Store) -> None:
    with pytest.raises((TypeError, pa.ArrowInvalid)):
        store.write(Batch((CounterSample("r1", NOW, 1.0, "vllm.counter", drafts_total="many"),)))  # type: ignore[arg-type]
    store.write(Batch((event("fine"),))).result()
    assert store.query("FROM events").num_rows == 1


def test_rows_the_store_refuses_fail_alone(store: Store) -> None:
    with store._database.cursor() as cursor:  # a rule the tables do not have, to make one batch fail in the writer
        cursor.execute("CREATE TABLE raw.narrow AS FROM raw.events LIMIT 0")
        cursor.execute("ALTER TABLE raw.events ALTER COLUMN line TYPE TINYINT")
    futures = [
        store.write(Batch((Event("r1", NOW, "state", text, line=line),)))
        for text, line in (("a", 1), ("b", 999), ("c", 2))
    ]
    futures[0].result()
    with pytest.raises(duckdb.Error):
        futures[1].result()
    futures[2].result()
    assert store.query("SELECT text FROM events ORDER BY text")["text"].to_pylist() == ["a", "c"]
    assert store.health().ok


def test_listener_hears_the_runs_of_a_commit(store: Store) -> None:
    texts: list[frozenset[str]] = []
    store.on_commit(texts.append)
    store.write(Batch((event("x", "r1"), event("y", "r2")))).result()
    store.save_run(make_run("r3"))
    store.close()
    assert frozenset().union(*texts) == {"r1", "r2", "r3"}


def test_run_is_saved_after_earlier_writes(store: Store) -> None:
    for number in range(50):
        store.write(Batch((event(str(number)),)))
    store.save_run(make_run())
    assert store.query("FROM events").num_rows == 50


def test_second_owner_is_refused_naming_the_first(settings: Settings, store: Store) -> None:
    program = (
        "import sys; from pathlib import Path; from settings import Settings; from storage.store import Store\n"
        "Store.open(Settings(data_dir=Path(sys.argv[1])))"
    )
    argv = [sys.executable, "-c", program, str(settings.data_dir)]
    ended = subprocess.run(argv, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "StoreInUseError: Another Pitwall (pid " in ended.stderr.splitlines()[-1]


def test_store_of_newer_pitwall_is_refused(settings: Settings) -> None:
    Store.open(settings).close()
    with duckdb.connect(str(settings.store_path)) as connection:
        connection.execute("INSERT INTO raw.migrations VALUES (9999, '9999_future.sql', now())")
    with pytest.raises(StoreError, match="written by a newer Pitwall"):
        Store.open(settings)


def test_file_without_a_store_is_refused(settings: Settings) -> None:
    settings.data_dir.mkdir()
    settings.store_path.write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreError, match=r"is damaged: .* restore a backup") as refusal:
        Store.open(settings)
    assert "\n" not in str(refusal.value)


def test_a_closed_store_takes_nothing_more(settings: Settings) -> None:
    store = Store.open(settings)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.write(Batch((event("late"),)))


def test_every_domain_row_type_can_be_stored(store: Store) -> None:
    request = RequestRecord("r1", "q1", "five", "measure", "text", 0, 1, NOW, sampling={"temperature": 0})
    counter = CounterSample("r1", NOW, 1.0, "vllm.counter", accepted_per_pos_total=[3.0, 1.0])
    store.write(Batch((request, counter))).result()
    assert store.query("SELECT sampling->>'temperature' AS t FROM requests")["t"].to_pylist() == ["0"]
    assert store.query("SELECT accepted_per_pos_total AS p FROM counter_samples")["p"].to_pylist() == [[3.0, 1.0]]


def test_definitions_replace_the_same_id(store: Store) -> None:
    store.set_definitions(
        [
            MetricDefinition("a.counter", "decode_tps", "x / y", None),
            MetricDefinition("a.counter", "steps_per_s", None, Code.NO_STEP_COUNTER),
            MetricDefinition("b.counter", "decode_tps", "z", None),
        ]
    )
    store.set_definitions([MetricDefinition("a.counter", "decode_tps", "x / z", None)])
    listed = store.query("SELECT definition, formula, null_reason FROM metric_definitions ORDER BY 1").to_pylist()
    assert [tuple(row.values()) for row in listed] == [("a.counter", "x / z", None), ("b.counter", "z", None)]


class CountedStatements:
    """A real cursor that counts what is executed."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self.statements: list[str] = []
        self._cursor = cursor

    def execute(self, sql: str, *parameters: object) -> object:
        self.statements.append(sql)
        return self._cursor.execute(sql, *parameters)

    def __getattr__(self, name: str) -> object:
        return getattr(self._cursor, name)


def test_positions_of_one_commit_are_written_once(store: Store) -> None:
    """A log of gigabytes is read in thousands of pieces, and a position for each was a DELETE and an INSERT."""
    places = [TailPosition(f"r{n % 3}", "/log", 0, 1, n) for n in range(3000)]
    pending_writes = [PendingWrite(tables_of([place]), frozenset()) for place in places]
    with store._database.transaction() as cursor:
        counted = CountedStatements(cursor)
        _insert(counted, pending_writes)  # type: ignore[arg-type]
    assert len(counted.statements) == 2
    assert [store.tail_position(f"r{n}", "/log") for n in range(3)] == places[-3:]


def test_last_of_equal_keys_stays_with_its_rows(store: Store) -> None:
    def meaning(definition: str, *metrics: str) -> PendingWrite:
        rows = [{"definition": definition, "metric": metric, "formula": "f", "null_reason": None} for metric in metrics]
        columns = ("definition", "metric", "formula", "null_reason")
        schema = pa.schema([(name, pa.string()) for name in columns])
        return PendingWrite({"metric_definitions": pa.Table.from_pylist(rows, schema)}, frozenset())

    with store._database.transaction() as cursor:
        _insert(cursor, [meaning("a", "x", "y"), meaning("b", "x"), meaning("a", "y", "z")])
    rows = store.query("SELECT definition, metric FROM raw.metric_definitions WHERE definition IN ('a', 'b')")
    assert sorted(tuple(row.values()) for row in rows.to_pylist()) == [("a", "y"), ("a", "z"), ("b", "x")]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run"], r"^Another Pitwall \(pid \d+\) uses this store"),
        (["study", "run", "f.toml"], r"^The command \./pitwall study run f\.toml \(pid \d+\) uses this store.*Ctrl-C"),
        (["note", "20261120-r1"], r"^The command \./pitwall note \(pid \d+\) uses"),
    ],
)
def test_refusal_names_the_command_that_owns_the_store(words: list[str], told: str, tmp_path: Path) -> None:
    path = tmp_path / "monitor.duckdb"
    code = "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    argv = [sys.executable, "-c", code, str(path), "/somewhere/pitwall", *words]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout and holder.stdout.readline() == "open\n"
        with pytest.raises(StoreInUseError, match=told):
            connect(path)
        holder.communicate("")
