"""A deleted run is hidden at once, comes back whole within a day, and is gone for good after it, whoever is killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain import AdoptedPoint, Config, Run, RunState, Share, Study
from load_records import Load
from redaction import mask_text
from samples import Batch, Event, HostSample
from settings import Settings
from storage.files.disk_use import disk_use
from storage.published_query import count_views, published_query
from storage.queries.note_queries import notes
from storage.store import Store
from storage.transfer.archive import ArchiveError
from storage.transfer.bundle import export_runs
from storage.transfer.bundle_import import import_bundle

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
DAY = timedelta(days=1)
EVENTS = 5


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = NOW + timedelta(hours=1)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(settings: Settings, clock: Clock) -> Iterator[Store]:
    opened = Store.open(settings, clock)
    yield opened
    opened.close()


def seed(store: Store, settings: Settings, run_id: str, **fields: Any) -> Run:
    """An ended run with a log, events, a load of a file, and a note."""
    folder = settings.runs_dir / run_id
    folder.mkdir(parents=True)
    (folder / "server.log").write_text("listening\n" * 100)
    given_fields: dict[str, Any] = {"state": RunState.FINISHED, "started_at": NOW, "ended_at": NOW} | fields
    run = Run(
        id=run_id, name=f"name of {run_id}", color=0, config=Config(engine="vllm"), machine_id="m", created_at=NOW,
        run_dir=str(folder), log_path=str(folder / "server.log"), **given_fields,
    )  # fmt: skip
    store.save_run(run)
    events = (Event(run_id, NOW + timedelta(seconds=n), "state", f"{run_id} {n}") for n in range(EVENTS))
    load = Load(run_id, "l", NOW, "tool", "w", source_sha256=f"sha of {run_id}")
    store.write(Batch((*events, HostSample(run_id, NOW, 0.0, "m"), load))).result()
    store.notes.change([run_id], "operator", lambda note: note.model_copy(update={"text": run_id}))
    return run


def rows_of(store: Store, run_id: str) -> dict[str, int]:
    """How many rows of a run each view with a run_id has; those with none left out."""
    views = store.query(
        "SELECT table_name AS v FROM duckdb_columns() WHERE column_name = 'run_id' AND schema_name = 'main' "
        "AND NOT internal AND table_name NOT LIKE 'audit'"
    )["v"].to_pylist()
    counts = {
        v: store.query(f"SELECT count(*) AS n FROM {v} WHERE run_id = ?", [run_id])["n"][0].as_py() for v in views
    }
    return {view: count for view, count in counts.items() if count}


def audited(store: Store) -> list[tuple[str, str | None]]:
    return [(entry.action, entry.run_id) for entry in reversed(store.audit(20))]


def test_deleted_run_is_hidden_and_restorable(store: Store, settings: Settings, clock: Clock) -> None:
    run = seed(store, settings, "r1")
    before = rows_of(store, "r1")
    assert store.bin.delete(["r1"], "operator") == {}
    assert store.run("r1") is None and store.runs() == [] and store.runs_of_source("sha of r1") == []
    (waits,) = store.bin.restorable()
    assert waits.run == run and waits.goes_at == clock.now + DAY
    clock.now += DAY - timedelta(seconds=1)
    assert store.purge() == 0
    assert store.bin.restore(["r1"], "operator") == 1
    assert store.run("r1") == run and rows_of(store, "r1") == before and store.bin.restorable() == []
    assert audited(store) == [("delete", "r1"), ("bring back", "r1")]


def test_a_day_later_it_is_gone_for_good(store: Store, settings: Settings, clock: Clock) -> None:
    for run_id in ("r1", "r2"):
        seed(store, settings, run_id)
    rows = rows_of(store, "r2")
    store.seal()
    store.write(Batch((Event("r1", NOW, "state", "not sealed yet"),))).result()
    old = Share(id="s1", run_ids=("r1",), page="run", created_at=NOW, created_by="operator", expires_at=NOW)
    store.save_share(old)
    store.bin.delete(["r1"], "operator")
    clock.now += DAY
    assert store.purge() == 1
    assert rows_of(store, "r1") == {} and rows_of(store, "r2") == rows
    assert not (settings.runs_dir / "r1").exists() and (settings.runs_dir / "r2" / "server.log").exists()
    assert store.shares() == [] and notes(store, ["r1"])["r1"].version == 0 and not store.bin.holds("r1")
    assert audited(store) == [("delete", "r1"), ("gone for good", "r1")], "what stays is the tombstone"
    store.publish()
    with published_query(settings.published_path) as query:
        assert count_views(query)["events"] == EVENTS


def age_all(settings: Settings) -> None:
    for path in settings.parquet_dir.rglob("*.parquet"):
        os.utime(path, (0, 0))


def test_own_parquet_files_go_and_others_stay(store: Store, settings: Settings, clock: Clock) -> None:
    for run_id in ("r1", "r2"):
        seed(store, settings, run_id)
    store.seal()
    store.bin.delete(["r1"], "operator")
    clock.now += DAY
    store.purge()
    assert list(settings.parquet_dir.rglob("run_id=r1/*.parquet")), "who has just opened a published file reads them"
    age_all(settings)
    store._sealer.remove_orphans()  # as it does once an hour
    assert not list(settings.parquet_dir.rglob("run_id=r1/*.parquet"))
    assert rows_of(store, "r2")["events"] == EVENTS


def test_it_is_cut_out_of_files_that_it_shares(
    store: Store, settings: Settings, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.files.merge.MIN_FILES", 2)
    for run_id in ("r1", "r2", "r3"):
        seed(store, settings, run_id)
    before = rows_of(store, "r3")
    store.seal()
    assert store.merge() > 0
    store.bin.delete(["r2"], "operator")
    assert store.merge() == 0, "a file with a deleted run waits"
    clock.now += DAY
    assert store.purge() == 1
    age_all(settings)
    store._sealer.remove_orphans()
    names = [str(path.relative_to(settings.parquet_dir)) for path in settings.parquet_dir.rglob("merged/*.parquet")]
    assert names and all("/r1..r3.." in name for name in names)
    assert rows_of(store, "r2") == {} and rows_of(store, "r1")["events"] == rows_of(store, "r3")["events"] == EVENTS
    assert rows_of(store, "r3") == before and store.look_for_lost_files(deeply=True) == []
    parts = "SELECT merged_row FROM raw.sealed_files WHERE table_name = 'events' ORDER BY merged_row"
    assert store.query(parts)["merged_row"].to_pylist() == [0, EVENTS]


def adopt(store: Store, run_id: str, clock: Clock) -> None:
    point = AdoptedPoint(
        id="a1", name="night shift", reason="it holds", config=Config(), run_ids=(run_id,), adopted_by="me",
        role="operator", adopted_at=clock.now,
    )  # fmt: skip
    store.adopt(point, [])


def test_what_is_referred_to_or_live_is_kept(store: Store, settings: Settings, clock: Clock) -> None:
    seed(store, settings, "live", state=RunState.RUNNING, ended_at=None)
    seed(store, settings, "studied", batch_id="study-1")
    for run_id in ("shared", "evidence"):
        seed(store, settings, run_id)
    seed(store, settings, "free", batch_id="no study")
    study = Study(id="study-1", title="Which k?", question="which", created_at=NOW, updated_at=NOW, plan={"arms": []})
    store.save_study(study)
    share = Share(
        id="s1", run_ids=("shared",), page="run", created_at=NOW, created_by="operator", expires_at=clock.now + DAY
    )
    store.save_share(share)
    adopt(store, "evidence", clock)
    response = store.bin.delete(["live", "studied", "evidence", "shared", "free", "never"], "operator")
    assert response == {
        "live": "it has not ended",
        "evidence": "the adopted point night shift refers to it",
        "studied": "the study Which k? refers to it",
        "shared": "a link that is open refers to it",
        "never": "there is no such run",
    }
    assert {run.id for run in store.runs()} == {"live", "studied", "shared", "evidence"}
    store.save_share(share.model_copy(update={"revoked_at": clock.now}))
    assert store.bin.delete(["shared"], "operator") == {}


def test_deletion_rule_is_off_and_spares_runs(store: Store, settings: Settings, clock: Clock) -> None:
    for run_id in ("old", "starred", "shared", "evidence"):
        seed(store, settings, run_id)
    adopt(store, "evidence", clock)
    seed(store, settings, "young", ended_at=NOW + timedelta(days=20))
    seed(store, settings, "live", state=RunState.RUNNING, ended_at=None)
    store.notes.change(["starred"], "operator", lambda note: note.model_copy(update={"is_starred": True}))
    clock.now = NOW + timedelta(days=31)
    store.save_share(
        Share(id="s", run_ids=("shared",), page="run", created_at=NOW, created_by="o", expires_at=clock.now + DAY)
    )
    assert store.bin.keep_days() is None and store.bin.apply_rule() == 0 and len(store.runs()) == 6
    store.bin.set_keep_days(30, "operator")
    assert store.bin.outdated(30) == {"old": "name of old"}
    assert store.bin.apply_rule() == 1 and [one.run.id for one in store.bin.restorable()] == ["old"]
    assert store.bin.restorable()[0].role == "retention rule"
    store.bin.set_keep_days(None, "operator")
    assert store.bin.keep_days() is None
    with pytest.raises(ValueError, match="one day"):
        store.bin.set_keep_days(0, "operator")


def test_deleted_run_is_not_imported_twice(store: Store, settings: Settings, tmp_path: Path) -> None:
    seed(store, settings, "r1")
    export_runs(store.query, ["r1"], tmp_path / "a.zip", NOW, mask_text)
    store.bin.delete(["r1"], "operator")
    with pytest.raises(ArchiveError, match="was deleted here"):
        import_bundle(store, settings, tmp_path / "a.zip")
    store.bin.restore(["r1"], "operator")
    assert "only runs that are already present" in import_bundle(store, settings, tmp_path / "a.zip").text


def test_disk_use_is_folder_plus_file_share(store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.files.merge.MIN_FILES", 2)
    for run_id in ("r1", "r2"):
        seed(store, settings, run_id)
    store.seal()
    names = {path.parent.name for path in settings.parquet_dir.rglob("*.parquet")}
    assert names == {"run_id=r1", "run_id=r2"}
    sealed = sum(path.stat().st_size for path in settings.parquet_dir.rglob("run_id=r1/*.parquet"))
    assert disk_use(store, settings)["r1"] == 1000 + sealed
    store.merge()
    merged = sum(path.stat().st_size for path in settings.parquet_dir.rglob("merged/*.parquet"))
    used_disk_use = disk_use(store, settings)
    assert used_disk_use["r1"] + used_disk_use["r2"] == pytest.approx(2000 + merged, abs=20), "shares are rounded"
