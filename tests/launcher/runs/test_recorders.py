"""Recorders of runs: real processes under shims that outlive Pitwall, and end with their run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from domain import Run
from launcher.checks.preflight import LaunchRefusedError
from launcher.processes.process import look_at
from launcher.runs.supervised_runs.run_recorders import is_recorder_open, newest_recorder
from launcher.runs.supervisor import Supervisor
from tests.launcher.runs.test_attached import Foreign, foreign
from tests.launcher.runs.test_loads import attach
from tests.launcher.servers import DictStore, wait_for
from workloads.recording.recorder_job import RECORDER_TOKEN, RecorderAsk, RecorderStatus, prepare_recorder, read_status
from workloads.requests.records import parse_line

__all__ = ["foreign"]
TOKEN = "token-of-the-recorder-123"
GIVEN = {RECORDER_TOKEN: TOKEN, "SERVER_API_KEY": "key-of-the-server-123"}


def opened(supervisor: Supervisor, run: Run, **asked: Any) -> tuple[Path, RecorderStatus]:
    own = supervisor.recorders.open(run.id, partial(prepare_recorder, ask=RecorderAsk(**asked)), GIVEN)
    wait_for(lambda: read_status(own) is not None)
    status = read_status(own)
    assert status
    return own, status


def ask(status: RecorderStatus, token: str = TOKEN) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.post(f"{status.base_url}/chat/completions", json={"messages": []}, headers=headers).status_code


def test_it_outlives_pitwall_and_the_next_one_closes_it(
    make_supervisor: Callable[..., Supervisor], store: DictStore, foreign: Foreign
) -> None:
    first = make_supervisor()
    run = attach(first, store, foreign)
    own, status = opened(first, run)
    with pytest.raises(LaunchRefusedError, match="open for it already"):
        first.recorders.open(run.id, partial(prepare_recorder, ask=RecorderAsk()), GIVEN)
    first.close()
    assert ask(status, "wrong") == 401
    assert ask(status) == 501, "the stand-in answers no POST, and was asked"
    second = make_supervisor()
    (live,) = second.live_runs()
    assert newest_recorder(Path(live.run_dir or "")) == own and is_recorder_open(own.parent)
    wait_for(lambda: (told := read_status(own)) is not None and told.requests == 1)
    second.recorders.close(run.id)
    assert not is_recorder_open(own.parent) and look_at(own).exit
    assert foreign.process.poll() is None, "the server is none of its business"
    lines = [parse_line(line) for line in (own.parent / "workload/requests.jsonl").read_text().splitlines()]
    assert {line.load_id for line in lines} == {status.load_id} and len(lines) >= 3


def test_neither_secret_is_in_a_file_or_on_a_command_line(
    make_supervisor: Callable[..., Supervisor], store: DictStore, foreign: Foreign
) -> None:
    supervisor = make_supervisor()
    own, status = opened(supervisor, attach(supervisor, store, foreign), keeps_text=True)
    ask(status)
    pid = look_at(own).pid
    assert pid and not any(secret in " ".join(psutil.Process(pid).cmdline()) for secret in GIVEN.values())
    supervisor.recorders.close(store.runs()[0].id)
    written = b"".join(path.read_bytes() for path in own.parent.rglob("*") if path.is_file())
    assert written and not any(secret.encode() in written for secret in GIVEN.values())
    assert not any(path.stat().st_mode & 0o077 for path in [own, *own.iterdir()])


def test_it_ends_with_the_watch_of_its_run(
    make_supervisor: Callable[..., Supervisor], store: DictStore, foreign: Foreign
) -> None:
    supervisor = make_supervisor()
    run = attach(supervisor, store, foreign)
    own, _ = opened(supervisor, run)
    supervisor.stop(run.id)
    wait_for(lambda: store.states(run.id)[-1].is_final)
    assert not is_recorder_open(own.parent)
    with pytest.raises(LaunchRefusedError, match="needs a server"):
        supervisor.recorders.open(run.id, partial(prepare_recorder, ask=RecorderAsk()), GIVEN)


def test_its_time_is_over_and_the_next_one_has_a_folder_of_its_own(
    make_supervisor: Callable[..., Supervisor], store: DictStore, foreign: Foreign
) -> None:
    supervisor = make_supervisor()
    run = attach(supervisor, store, foreign)
    own, _ = opened(supervisor, run, minutes=0.01)
    wait_for(lambda: not is_recorder_open(own.parent))
    again, _ = opened(supervisor, run)
    assert (own.name, again.name) == ("recorder", "recorder-2")
