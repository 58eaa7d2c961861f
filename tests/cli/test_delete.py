"""`./pitwall delete`: through a running Pitwall or without it; all runs or none, restorable."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.main import main
from domain import Config, Run, RunState
from service.inbox import inbox_of
from settings import Settings
from storage.store import Store

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
PATIENCE_S = 60.0
pytestmark = pytest.mark.publishes


@pytest.fixture
def data(store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Two ended runs and a live one."""
    for run_id, state in (("r1", RunState.FINISHED), ("r2", RunState.FAILED), ("r3", RunState.READY)):
        store.save_run(
            Run(id=run_id, name=run_id, color=0, config=Config(), machine_id="m", created_at=NOW, state=state)
        )
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))
    return store


def stored_ids(settings: Settings) -> list[str]:
    again = Store.open(settings)
    try:
        return sorted(run.id for run in again.runs())
    finally:
        again.close()


def test_command_deletes_without_a_running_pitwall(
    data: Store, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    data.close()
    assert main(["delete", "r1", "r2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"] == "Deleted 2 runs; Runs can restore them for a day."
    assert stored_ids(settings) == ["r3"]


def test_data_folder_may_be_behind_a_link(data: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    data.close()
    link = settings.data_dir.with_name("link")
    link.symlink_to(settings.data_dir)
    monkeypatch.setenv("PITWALL_DATA", str(link))
    assert delete_beside("r1").returncode == 0
    assert stored_ids(settings) == ["r2", "r3"]


def delete_beside(*run_ids: str) -> subprocess.CompletedProcess[str]:
    """Delete runs in a process of its own: within one process, DuckDB lets a second store open the same file."""
    return subprocess.run([ROOT / "pitwall", "delete", *run_ids], capture_output=True, text=True, timeout=PATIENCE_S)


def test_running_pitwall_deletes_and_can_restore(data: Store, settings: Settings) -> None:
    inbox = inbox_of(data, settings)
    inbox.start()
    try:
        first, second = delete_beside("r1"), delete_beside("r1")
    finally:
        inbox.close()
    assert (first.returncode, first.stdout) == (0, "Deleted 1 run; Runs can restore it for a day.\n"), first.stderr
    assert second.returncode == 0 and "It was deleted before" in second.stdout, second.stderr
    assert [deleted.run.id for deleted in data.bin.restorable()] == ["r1"] and data.run("r1") is None


@pytest.mark.parametrize(("run_id", "reason"), [("r3", "r3: it has not ended"), ("r9", "r9: there is no such run")])
def test_one_refused_run_keeps_all(
    data: Store, settings: Settings, capsys: pytest.CaptureFixture[str], run_id: str, reason: str
) -> None:
    data.close()
    assert main(["delete", "r1", run_id]) == 1
    assert capsys.readouterr().err == f"Nothing was deleted. {reason}.\n"
    assert stored_ids(settings) == ["r1", "r2", "r3"]
