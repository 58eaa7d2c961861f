"""`./pitwall task start`: it hands the task to the process that supervises the server, which here notes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from domain import Config, Run, RunState, utc_now
from load_records import AGENT_TASK
from service.inbox import inbox_of
from settings import Settings
from storage.claim import claimed_store
from storage.store import Store

KEY = "a key of an attached server"


def test_task_is_started_by_the_running_pitwall(
    store: Store,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))
    run = Run(
        id="live-1", name="live", color=0, state=RunState.READY, config=Config(engine="vllm", model="m"),
        machine_id="m1", created_at=utc_now(),
    )  # fmt: skip
    store.save_run(run)
    monkeypatch.setenv("SERVER_API_KEY", KEY)
    started: list[tuple[str, str, dict[str, Any], Any]] = []

    def start_load(run_id: str, spec: Any, secrets: Any) -> Run:
        started.append((run_id, spec.name, spec.params, secrets))
        files = [path for path in settings.data_dir.rglob("*") if path.is_file()]
        assert files and not any(KEY.encode() in path.read_bytes() for path in files), "no file ever has the key"
        return run

    (tmp_path / "task.toml").write_text('agent = ["agent", "{model}"]\nfolder = "parser"\ncheck = ["make", "test"]\n')
    inbox = inbox_of(store, settings, start_load)
    inbox.start()
    with claimed_store(settings):
        status = main(["task", "start", "live-1", str(tmp_path / "task.toml")])
    inbox.close()
    assert status == 0 and capsys.readouterr().out == "The load agent-task starts on live (live-1).\n"
    ((run_id, name, params, secrets),) = started
    assert secrets == {"SERVER_API_KEY": KEY} and not list(settings.data_dir.rglob("*.key"))
    assert (run_id, name, params["folder"]) == ("live-1", AGENT_TASK, str(tmp_path.resolve() / "parser"))
    assert (params["agent"], params["repeats"]) == (["agent", "{model}"], 5)
