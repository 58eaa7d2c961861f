"""A backup taken while the store is written to, and a folder made of it again."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.main import main
from domain import Config, Run, RunState
from samples import Batch, Event, TailPosition
from settings import Settings
from storage.store import Store
from storage.transfer.archive import ArchiveError
from storage.transfer.backup import END_UNKNOWN, restore_backup, write_backup

pytestmark = pytest.mark.wide

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


def some_run(settings: Settings, run_id: str, state: RunState, ended_at: datetime | None) -> Run:
    log = settings.runs_dir / run_id / "server.log"
    log.parent.mkdir(parents=True)
    log.write_text("hello\n")
    return Run(
        id=run_id, name=run_id, color=0, config=Config(), machine_id="m", created_at=NOW, state=state,
        ended_at=ended_at, log_path=str(log), run_dir=str(log.parent),
    )  # fmt: skip


@pytest.fixture
def filled(store: Store, settings: Settings) -> Store:
    """One run sealed, one live, its log half taken in."""
    ended = some_run(settings, "ended", RunState.FINISHED, NOW)
    live = some_run(settings, "live", RunState.RUNNING, None)
    for run in (ended, live):
        store.save_run(run)
        store.write(Batch((Event(run.id, NOW, "state", f"event of {run.id}"),))).result()
    assert store.seal() == 1
    store.write(Batch(positions=(TailPosition("live", str(live.log_path), 0, 1, 6),))).result()
    store.publish()
    return store


def restored(settings: Settings, backup: Path, folder: Path) -> Settings:
    elsewhere = Settings(data_dir=folder)
    restore_backup(elsewhere, backup)
    return elsewhere


def test_everything_comes_back(filled: Store, settings: Settings, tmp_path: Path) -> None:
    write_backup(settings, tmp_path / "all.zip", NOW)
    filled.write(Batch((Event("live", NOW, "state", "afterwards"),))).result()
    elsewhere = restored(settings, tmp_path / "all.zip", tmp_path / "elsewhere")
    again = Store.open(elsewhere)
    assert again.query("SELECT text FROM events ORDER BY text")["text"].to_pylist() == [
        "event of ended",
        "event of live",
    ]
    ended, live = again.run("ended"), again.run("live")
    assert ended and ended.log_path and live and live.log_path and ended.run_dir
    assert Path(ended.log_path).is_relative_to(elsewhere.runs_dir) and Path(ended.log_path).read_text() == "hello\n"
    assert (live.state, live.cause) == ("failed", END_UNKNOWN), "nobody takes back a server that another one has"
    position = again.tail_position("live", live.log_path)
    assert position and position.offset == 6
    again.close()
    assert filled.run("live").state == "running"  # type: ignore[union-attr]


def test_what_opens_doors_is_not_in_it(filled: Store, settings: Settings, tmp_path: Path) -> None:
    settings.secret_path.write_text("secret")
    settings.api_token_path.write_text("secret")
    write_backup(settings, tmp_path / "all.zip", NOW)
    assert (tmp_path / "all.zip").stat().st_mode & 0o077 == 0
    with zipfile.ZipFile(tmp_path / "all.zip") as file:
        assert not {"signing.key", "api.token"} & set(file.namelist())


def test_what_agents_left_is_not_in_it(filled: Store, settings: Settings, tmp_path: Path) -> None:
    load = settings.runs_dir / "ended/workload-2"
    (load / "agent-1/folder").mkdir(parents=True)
    (load / "agent-1/folder/odd\\name").write_text("of a task")
    (load / "requests.jsonl").write_text("{}")
    write_backup(settings, tmp_path / "all.zip", NOW)
    elsewhere = restored(settings, tmp_path / "all.zip", tmp_path / "elsewhere")
    assert [path.name for path in (elsewhere.runs_dir / "ended/workload-2").iterdir()] == ["requests.jsonl"]


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_a_mounted_volume_is_filled_in_place(
    filled: Store, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    """Nothing may be written beside it, and no folder can take its place; tests/deploy has a real one."""
    backup, volume = tmp_path / "all.zip", tmp_path / "volume"
    write_backup(settings, backup, NOW)
    backup.write_bytes(backup.read_bytes()[: int(share * backup.stat().st_size)])
    volume.mkdir()
    beside, inode = sorted(tmp_path.iterdir()), volume.stat().st_ino
    monkeypatch.setattr(Path, "is_mount", lambda path: path == volume)
    if share < 1:
        with pytest.raises(ArchiveError):
            restored(settings, backup, volume)
        assert list(volume.iterdir()) == []
    else:
        again = Store.open(restored(settings, backup, volume))
        assert {run.id for run in again.runs()} == {"ended", "live"}
        again.close()
    assert sorted(tmp_path.iterdir()) == beside and volume.stat().st_ino == inode


def test_only_into_an_empty_folder(filled: Store, settings: Settings, tmp_path: Path) -> None:
    write_backup(settings, tmp_path / "all.zip", NOW)
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").write_text("mine")
    with pytest.raises(ArchiveError, match="is not empty"):
        restored(settings, tmp_path / "all.zip", full)
    assert [p.name for p in full.iterdir()] == ["mine"]
    empty = tmp_path / "empty"
    empty.mkdir()
    restored(settings, tmp_path / "all.zip", empty)


@pytest.mark.parametrize("share", [0.3, 0.99])
def test_a_cut_backup_leaves_nothing(filled: Store, settings: Settings, tmp_path: Path, share: float) -> None:
    backup = tmp_path / "all.zip"
    write_backup(settings, backup, NOW)
    backup.write_bytes(backup.read_bytes()[: int(share * backup.stat().st_size)])
    with pytest.raises(ArchiveError, match="is truncated or not a Pitwall backup"):
        restored(settings, backup, tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()
    assert not list(tmp_path.glob(".restore*"))


@pytest.mark.parametrize("name", ["../evil", "runs/../../evil", "/evil", "runs//evil", "runs/a/..", "bin/evil"])
def test_a_backup_that_reaches_out_is_refused(filled: Store, settings: Settings, tmp_path: Path, name: str) -> None:
    backup = tmp_path / "all.zip"
    write_backup(settings, backup, NOW)
    with zipfile.ZipFile(backup, "a") as file:
        file.writestr(name, b"x")
    with pytest.raises(ArchiveError, match="an unknown member"):
        restored(settings, backup, tmp_path / "elsewhere")
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.publishes
def test_the_commands(
    filled: Store,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The store is open all the while, as Pitwall's is."""
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))
    backup, bundle = tmp_path / "all.zip", tmp_path / "ended.pitwall.zip"
    assert main(["backup", str(backup)]) == 0
    assert main(["export", "ended", "-o", str(bundle)]) == 0
    assert main(["check"]) == main(["check", str(backup)]) == main(["check", str(bundle)]) == 0
    assert main(["export", "live"]) == 1
    assert "only ended runs can be bundled" in capsys.readouterr().err
    monkeypatch.setenv("PITWALL_DATA", str(tmp_path / "again"))
    assert main(["restore", str(backup)]) == 0
    assert main(["check"]) == 0
    assert "events" in capsys.readouterr().out
