"""The real store on a disk that is full: what runs can be stopped, nothing new is started."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest

from domain import RunState
from launcher.runs.supervisor import Supervisor
from samples import Batch, Event
from settings import Settings
from storage.store import Store
from tests.launcher.servers import request_for, wait_for

pytestmark = pytest.mark.publishes
FINAL = (RunState.FINISHED, RunState.FAILED)


def fill(disk: Path, store: Store) -> Path:
    """Take what room there is, and give the store 6 MB: the disk later holds them twice, in the log and in the file."""
    ballast = disk / "ballast"
    with pytest.raises(OSError, match="No space"), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    rows = (Event("other", datetime.now(UTC), "state", os.urandom(500).hex()) for _ in range(6_000))
    store.write(Batch(tuple(rows)))
    wait_for(lambda: not store.health().is_storing, 120)
    return ballast


@pytest.mark.wide
def test_a_server_is_stopped_and_none_is_started(small_disk: Path, tmp_path: Path) -> None:
    store = Store.open(Settings(data_dir=small_disk / "data"))
    supervisor = Supervisor(store, tmp_path / "runs", events=store.write, stop_grace_s=5.0)
    supervisor.start()
    run = supervisor.launch(request_for())
    pid = wait_for(lambda: (known := store.run(run.id)) and known.state is RunState.READY and known.pid, 120)
    ballast = fill(small_disk, store)
    supervisor.stop(run.id)
    wait_for(lambda: not psutil.pid_exists(pid), 120)
    late = supervisor.launch(request_for())
    wait_for(lambda: late.id not in [live.id for live in supervisor.live_runs()] and not supervisor.queued_runs(), 120)
    assert not store.health().is_storing, "all this while the disk was full"
    ballast.unlink()
    wait_for(lambda: store.health().is_storing, 120)
    ended = wait_for(lambda: [run for run in store.runs() if run.state in FINAL][1:] and store.runs(), 120)
    assert {one.id: one.state for one in ended} == {run.id: RunState.FINISHED, late.id: RunState.FAILED}
    assert "the store did not accept its record" in str(store.run(late.id).cause)
    supervisor.close()
    store.close()
