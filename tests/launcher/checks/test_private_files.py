"""Pitwall's files are private to their owner; others, and what servers write, are left as they are."""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain import Config, Run, RunState, WorkloadSpec
from launcher.checks.launch_request import LaunchRequest
from launcher.runs.supervisor import Supervisor
from machine.private_files import close_to_others, private_folder
from samples import Batch, HostSample
from settings import Settings
from storage.store import Store
from storage.user_sql.saved_queries import SavedQueries
from tests.launcher.servers import DictStore, request_for, wait_for_state
from workloads.process.prepare import prepare_workload

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def open_to_others(folder: Path) -> list[str]:
    return [str(path) for path in (folder, *folder.rglob("*")) if mode(path) & 0o077]


def test_a_folder_of_an_older_pitwall_is_closed(tmp_path: Path) -> None:
    settings, elsewhere = Settings(data_dir=tmp_path / "data"), tmp_path / "elsewhere"
    (settings.runs_dir / "r").mkdir(parents=True)
    elsewhere.write_text("not ours")
    for path in (settings.runs_dir / "r" / "server.log", settings.store_path, settings.data_dir / ".monitor.draft"):
        path.write_text("x")
    (settings.runs_dir / "link").symlink_to(elsewhere)
    assert close_to_others(settings.data_dir, settings.data_file_names) == 5
    assert {mode(path) for path in (settings.data_dir, settings.runs_dir / "r")} == {0o700}
    assert mode(settings.store_path) == 0o600 and mode(elsewhere) == 0o644
    assert close_to_others(settings.data_dir, settings.data_file_names) == 0


def test_shared_folder_stays_open(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    tmp_path.chmod(0o755)
    (tmp_path / "thesis.txt").write_text("not ours")
    settings.secret_path.write_text("ours")
    assert close_to_others(tmp_path, settings.data_file_names) == 1
    assert (mode(tmp_path), mode(tmp_path / "thesis.txt"), mode(settings.secret_path)) == (0o755, 0o644, 0o600)


@pytest.mark.publishes
def test_store_and_its_files_are_private(tmp_path: Path) -> None:
    settings = Settings(data_dir=private_folder(tmp_path / "made" / "data"))
    store = Store.open(settings, clock=lambda: NOW + timedelta(hours=1))
    run = Run(id="r", name="r", color=0, machine_id="m", config=Config(), created_at=NOW, ended_at=NOW)
    store.save_run(run.model_copy(update={"state": RunState.FINISHED}))
    store.write(Batch((HostSample("r", NOW, 1.0, "m"),))).result()
    SavedQueries(settings.queries_dir).save("one", "SELECT 1")
    assert store.seal() > 0
    store.publish()
    names = {path.suffix for path in settings.data_dir.rglob("*")}
    store.close()
    assert names >= {".duckdb", ".parquet", ".sql"}
    assert open_to_others(settings.data_dir) == [] and mode(settings.published_path) == 0o400


def test_server_keeps_umask_and_log_is_private(supervisor: Supervisor, store: DictStore, tmp_path: Path) -> None:
    script = "import pathlib; pathlib.Path('cached').touch(); print('a secret, perhaps')"
    request = LaunchRequest(Config(argv=(sys.executable, "-c", script), port=9), cwd=tmp_path)
    run = supervisor.launch(request)
    wait_for_state(store, run.id, RunState.FINISHED, RunState.FAILED)
    folder = tmp_path / "runs" / run.id
    assert mode(folder) == 0o700 and mode(tmp_path / "cached") == 0o644
    assert {mode(folder / name) for name in ("server.log", "shim.log", "spec.json")} == {0o600}
    assert "perhaps" in (folder / "server.log").read_text()


def test_what_a_load_writes_is_closed(make_supervisor: Callable[..., Supervisor], store: DictStore) -> None:
    supervisor = make_supervisor(prepare_workload=prepare_workload)
    run = supervisor.launch(request_for(workload=WorkloadSpec(name="five-prompts")))
    wait_for_state(store, run.id, RunState.FINISHED, RunState.FAILED)
    folder = Path(run.run_dir or "")
    assert {path.name for path in (folder / "workload").iterdir()} >= {"job.json", "workload.log", "shim.log"}
    assert open_to_others(folder) == []


def test_concurrent_folder_creation_serves_all(tmp_path: Path) -> None:
    places = [tmp_path / str(number) / "run" for number in range(400)]
    together = threading.Barrier(4)

    def make_all(_: int) -> list[Path]:
        together.wait()
        return [private_folder(place) for place in places]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(make_all, range(4))) == [places] * 4


def test_a_file_in_the_way_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(NotADirectoryError, match="file"):
            private_folder(place)
