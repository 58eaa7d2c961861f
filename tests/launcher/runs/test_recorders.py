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
from launcher.checks.launch_request import LaunchRefusedError
from launcher.processes.process import process_status
from launcher.runs.supervised_runs.run_recorders import is_recorder_open, newest_recorder
from launcher.runs.supervisor import Supervisor
from load_records import RequestRecord
from tests.launcher.runs.test_attached import Foreign, foreign
from tests.launcher.runs.test_loads import attach
from tests.launcher.servers import DictStore, wait_for
from workloads.recording.recorder_job import (
    RECORDER_TOKEN,
    RecorderOptions,
    RecorderStatus,
    prepare_recorder,
    read_status,
)
from workloads.requests.records import parse_line

__all__ = ["foreign"]
TOKEN = "token-of-the-recorder-123"
GIVEN = {RECORDER_TOKEN: TOKEN, "SERVER_API_KEY": "key-of-the-server-123"}


def opened(supervisor: Supervisor, run: Run, **asked: Any) -> tuple[Path, RecorderStatus]:
    file = supervisor.request_recorders.open(run.id, partial(prepare_recorder, ask=RecorderOptions(**asked)), GIVEN)
    wait_for(lambda: read_status(file) is not None)
    status = read_status(file)
    assert status
    return file, status


def ask(status: RecorderStatus, token: str = TOKEN) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.post(f"{status.base_url}/chat/completions", json={"messages": []}, headers=headers).status_code


def test_recorder_outlives_pitwall_and_is_closed(
    make_supervisor: Callable[..., Supervisor], store: DictStore, foreign: Foreign
) -> None:
    first = make_supervisor()
    run = attach(first, store, foreign)
    own, status = opened(first, run)
    with pytest.raises(LaunchRefusedError, match="already open for this run"):
        first.request_recorders.open(run.id, partial(prepare_recorder, ask=RecorderOptions()), GIVEN)
    first.close()
    assert ask(status, "wrong") == 401
    assert ask(status) == 501, "the stand-in answers no POST, and was asked"
    second = make_supervisor()
    (live,) = second.live_runs()
    assert newest_recorder(Path(live.run_dir or "")) == own and is_recorder_open(own.parent)
    wait_for(lambda: (status := read_status(own)) is not None and status.requests == 1)
    second.request_recorders.close(run.id)
    assert not is_recorder_open(own.parent) and process_status(own).exit
    assert foreign.process.poll() is None, "the server is none of its business"
    lines = [parse_line(line) for line in (own.parent / "workload/requests.jsonl").read_text().splitlines()]
    assert {line.load_id for line in lines} == {status.load_id} and len(lines) >= 3


def test_no_secret_in_file_or_command_line(
    make_supervisor: Callable[..., Supervisor], store: DictStore, foreign: Foreign
) -> None:
    supervisor = make_supervisor()
    own, status = opened(supervisor, attach(supervisor, store, foreign), keeps_text=True)
    ask(status)
    pid = process_status(own).pid
    assert pid and not any(secret in " ".join(psutil.Process(pid).cmdline()) for secret in GIVEN.values())
    supervisor.request_recorders.close(store.runs()[0].id)
    text = b"".join(path.read_bytes() for path in own.parent.rglob("*") if path.is_file())
    assert text and not any(secret.encode() in text for secret in GIVEN.values())
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
    with pytest.raises(LaunchRefusedError, match="needs a ready server"):
        supervisor.request_recorders.open(run.id, partial(prepare_recorder, ask=RecorderOptions()), GIVEN)


def test_expired_recorder_yields_to_new_folder(
    make_supervisor: Callable[..., Supervisor], store: DictStore, foreign: Foreign
) -> None:
    supervisor = make_supervisor()
    run = attach(supervisor, store, foreign)
    own, _ = opened(supervisor, run, minutes=0.01)
    wait_for(lambda: not is_recorder_open(own.parent))
    again, _ = opened(supervisor, run)
    assert (own.name, again.name) == ("recorder", "recorder-2")


def test_killed_recorder_loses_no_written_request_and_is_followed(
    make_supervisor: Callable[..., Supervisor], store: DictStore, foreign: Foreign
) -> None:
    supervisor = make_supervisor()
    run = attach(supervisor, store, foreign)
    own, status = opened(supervisor, run)
    out = own.parent / "workload/requests.jsonl"

    def requests() -> list[str]:
        lines = [parse_line(line) for line in out.read_text().splitlines()]
        return [line.request_id for line in lines if isinstance(line, RequestRecord)]

    for _ in range(3):
        ask(status)
    wait_for(lambda: len(requests()) == 3)
    port = int(status.base_url.removesuffix("/v1").rpartition(":")[2])
    (recorder,) = {c.pid for c in psutil.net_connections("tcp") if c.status == "LISTEN" and c.laddr.port == port}
    psutil.Process(recorder).kill()
    wait_for(lambda: not is_recorder_open(own.parent))
    _, next_status = opened(supervisor, run)
    ask(next_status)
    wait_for(lambda: len(requests()) == 4)
    assert len(set(requests())) == 4 and next_status.load_id != status.load_id
    supervisor.request_recorders.close(run.id)
