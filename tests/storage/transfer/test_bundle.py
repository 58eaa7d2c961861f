"""A run given away as one file and taken in elsewhere."""

from __future__ import annotations

import io
import os
import shutil
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from domain import Config, Run, RunState
from load_records import RequestRecord
from redaction import mask_text
from reports.runs.agent_shapes import agent_shape
from samples import Batch, CounterSample, Event, GpuSample, LogSample
from settings import Settings
from storage.store import Store
from storage.transfer.archive import ArchiveError
from storage.transfer.bundle import export_runs
from storage.transfer.bundle_import import import_bundle
from tests.analysis.sessions.recorded_chats import HandMadeRecording, chat

NOW = datetime(2026, 11, 20, 12, 0, 0, 123456, tzinfo=UTC)
SECRET = "hf_abcdefghijklmnopqrstuvwx"
ID = "20261120-120000-000-aaaa"
LOG = f"INFO serving\nHF_TOKEN={SECRET}\nlast line \xff without end".encode("latin-1")


def run_with_samples(store: Store, settings: Settings, run_id: str = ID, **fields: object) -> Run:
    log = settings.runs_dir / run_id / "server.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(LOG)
    given_fields = {
        "state": RunState.FAILED,
        "cause": f"no token: {SECRET}",
        "started_at": NOW,
        "ended_at": NOW,
    } | fields
    config = Config(engine="vllm", model="org/m")
    run = Run(
        id=run_id, name=run_id[-4:], color=3, machine_id="m", config=config, created_at=NOW,
        log_path=str(log), run_dir=str(log.parent), **given_fields,  # type: ignore[arg-type]
    )  # fmt: skip
    store.save_run(run)
    moments = [NOW + timedelta(seconds=s) for s in range(3)]
    samples = [
        *(
            CounterSample(run_id, ts, i, "vllm.counter", accepted_per_pos_total=[1.0, 2.0])
            for i, ts in enumerate(moments)
        ),
        LogSample(run_id, NOW, 0, 1, "vllm.log", extra={"api_key": SECRET, "count": 3}),
        GpuSample(run_id, NOW, 1.0, "m", 0, unknown={"power_w": "not told"}),
        RequestRecord(run_id, "q1", "w", "measure", "chat", 0, 1, NOW, error_text=f"Bearer {SECRET}"),
        Event(run_id, NOW, "failure", f"401 for {SECRET}", data={"evidence": SECRET}),
    ]
    store.write(Batch(tuple(samples))).result()
    return run


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[tuple[Store, Settings]]:
    settings = Settings(data_dir=tmp_path / "elsewhere")
    opened = Store.open(settings)
    yield opened, settings
    opened.close()


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What a bundle of one run is."""
    folder = tmp_path_factory.mktemp("honest")
    settings = Settings(data_dir=folder / "data")
    store = Store.open(settings)
    run_with_samples(store, settings)
    export_runs(store.query, [ID], folder / "a", NOW, mask_text)
    store.close()
    return (folder / "a").read_bytes()


@pytest.fixture
def bundle(honest: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "a.pitwall.zip"
    path.write_bytes(honest)
    return path


TABLES = ("counter_samples", "gpu_samples", "host_samples", "slot_samples", "collector_health")


def test_a_comparison_comes_out_as_the_same_runs(
    store: Store, settings: Settings, elsewhere: tuple[Store, Settings], tmp_path: Path
) -> None:
    ids = ["20261120-120000-000-bbbb", ID]
    for run_id in ids:
        run_with_samples(store, settings, run_id)
    store.seal()
    target = tmp_path / "a.pitwall.zip"
    export_runs(store.query, ids, target, NOW, mask_text)
    there, their = elsewhere
    bundle = import_bundle(there, their, target)
    assert bundle.run_ids == tuple(ids) and "verified" in bundle.text
    for table in TABLES:
        text = f"SELECT * FROM {table} ORDER BY ALL"
        assert there.query(text).to_pylist() == store.query(text).to_pylist()
    run = there.run(ID)
    assert run and run.log_path and Path(run.log_path).is_relative_to(their.runs_dir)
    assert run.config == (store.run(ID) or run).config and run.created_at == NOW


def test_recorded_agents_have_the_same_shape_elsewhere(
    store: Store, settings: Settings, elsewhere: tuple[Store, Settings], tmp_path: Path
) -> None:
    run, recording = run_with_samples(store, settings), HandMadeRecording(ID)
    recording.add(chat("a", tools=("bash",)), 300, 0)
    recording.add(chat("a", "b", "c", tools=("bash",)), 520, 300)
    store.write(Batch(tuple(recording.rows))).result()
    export_runs(store.query, [ID], tmp_path / "a.pitwall.zip", NOW, mask_text)
    there, their = elsewhere
    import_bundle(there, their, tmp_path / "a.pitwall.zip")
    shape = agent_shape(there, run)
    assert shape and len(shape.requests) == 2 and shape == agent_shape(store, run)


def test_no_secret_is_in_it(bundle: Path, elsewhere: tuple[Store, Settings]) -> None:
    with zipfile.ZipFile(bundle) as file:
        inside = {name: file.read(name) for name in file.namelist()}
    log = inside[f"runs/{ID}/server.log"]
    assert log.startswith(b"INFO serving\nHF_TOKEN=<secret>\n") and log.endswith(b"\xff without end")
    for name, data in inside.items():
        text = str(pq.read_table(io.BytesIO(data)).to_pylist()).encode() if name.endswith("parquet") else data
        assert SECRET.encode() not in text, name
    assert b"/runs/" not in inside[f"runs/{ID}/run.json"], "a path of this machine"
    there, their = elsewhere
    import_bundle(there, their, bundle)
    extra = there.query("SELECT extra->>'$.count' AS count FROM log_samples")["count"].to_pylist()
    assert extra == ["3"], "masked JSON is still JSON"


def test_the_same_bundle_twice_is_one_run(bundle: Path, elsewhere: tuple[Store, Settings]) -> None:
    there, their = elsewhere
    first = import_bundle(there, their, bundle)
    again = import_bundle(there, their, bundle)
    assert first.run_ids == again.run_ids and "only runs that are already present" in again.text
    assert there.query("SELECT count(*) AS n FROM counter_samples")["n"].to_pylist() == [3]


def test_its_own_pitwall_knows_it(store: Store, settings: Settings, bundle: Path) -> None:
    run_with_samples(store, settings)
    assert "only runs that are already present" in import_bundle(store, settings, bundle).text


def test_live_and_missing_runs_are_refused(store: Store, settings: Settings, tmp_path: Path) -> None:
    run_with_samples(store, settings, state=RunState.RUNNING, ended_at=None)
    with pytest.raises(ArchiveError, match="only ended runs can be bundled"):
        export_runs(store.query, [ID], tmp_path / "a.zip", NOW, mask_text)
    with pytest.raises(ArchiveError, match="There is no run nobody"):
        export_runs(store.query, ["nobody"], tmp_path / "a.zip", NOW, mask_text)
    assert list(tmp_path.glob("*.zip")) == list(tmp_path.glob(".*.draft")) == []


def parquet(**columns: list[object]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


@pytest.mark.wide
def test_full_disk_is_reported_and_leaves_nothing(small_disk: Path, tmp_path: Path) -> None:
    """What the manifest states would fit, but not beside its rewriting."""
    given_settings, settings = Settings(data_dir=tmp_path / "given"), Settings(data_dir=small_disk / "data")
    store = Store.open(given_settings)
    run_with_samples(store, given_settings)
    noise = (Event(ID, NOW + timedelta(seconds=i), "warning", os.urandom(2000).hex()) for i in range(4000))
    store.write(Batch(tuple(noise))).result()
    path = tmp_path / "a.pitwall.zip"
    export_runs(store.query, [ID], path, NOW, mask_text)
    store.close()
    file = Store.open(settings)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free - 12_000_000))
    with pytest.raises(ArchiveError, match=r"There is not enough disk space for a\.pitwall\.zip\."):
        import_bundle(file, settings, path)
    assert file.runs() == [] and file.health().ok
    assert [p for p in settings.data_dir.rglob("*") if p.suffix in (".log", ".parquet", ".given")] == []
    ballast.unlink()
    assert "verified" in import_bundle(file, settings, path).text
    assert file.query("SELECT count(*) AS n FROM events")["n"].to_pylist() == [4001]
    file.close()


def test_refusing_store_keeps_no_log(
    bundle: Path, elsewhere: tuple[Store, Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fake stands in for a disk that is full at the very commit, which cannot be had on demand."""
    there, their = elsewhere

    def full(*_: object) -> None:
        raise duckdb.IOException("IO Error: pretended: No space left on device")

    with monkeypatch.context() as patch, pytest.raises(ArchiveError, match="not enough disk space"):
        patch.setattr(there, "adopt_runs", full)
        import_bundle(there, their, bundle)
    assert [p for p in their.data_dir.rglob("*") if p.suffix in (".log", ".parquet")] == []
    assert import_bundle(there, their, bundle).run_ids == (ID,)


def test_bundle_carries_no_log_or_record_secret(store: Store, settings: Settings, tmp_path: Path) -> None:
    run = run_with_samples(store, settings)
    assert run.log_path
    printed = [
        "AWS_SECRET_ACCESS_KEY=s3cr3t/abc",
        "Authorization: Basic czNjcjN0OnMzY3Iz",
        "URLPW=s3cr3t-2 MY_AUTH=s3cr3t",
    ]
    Path(run.log_path).write_text("\n".join(printed))
    old = run.config.model_copy(update={"env": {"URLPW": "s3cr3t-4", "A": "b"}})
    store.save_run(run.model_copy(update={"config": old}))
    target = tmp_path / "b.pitwall.zip"
    export_runs(store.query, [ID], target, NOW, mask_text)
    with zipfile.ZipFile(target) as archive:
        carried = b"".join(archive.read(name) for name in archive.namelist())
    assert b"s3cr3t" not in carried and b"czNjcjN0" not in carried and b'"A": "b"' in carried
