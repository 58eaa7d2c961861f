from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from demo.presets import free_ports
from domain import Config, RunState
from launcher.preflight import LaunchRefused
from launcher.supervisor import Supervisor
from tests.launcher.servers import DictStore, request_for, server_argv, wait_for, wait_for_state


class Foreign:
    """A server that Pitwall did not start."""

    def __init__(self) -> None:
        port = free_ports(1)[0]
        self.base_url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(server_argv(port), stdout=subprocess.DEVNULL)
        wait_for(lambda: any(c.laddr.port == port for c in psutil.Process(self.process.pid).net_connections()))


@pytest.fixture
def foreign() -> Iterator[Foreign]:
    foreign = Foreign()
    yield foreign
    foreign.process.kill()
    foreign.process.wait()


def test_attach_watches_once_and_never_signals(supervisor: Supervisor, store: DictStore, foreign: Foreign) -> None:
    run = supervisor.attach(foreign.base_url + "/", Config(), log_path=Path("/var/log/x"), pid=foreign.process.pid)
    assert run.kind == "attached" and run.base_url == foreign.base_url and run.log_path == "/var/log/x"
    wait_for_state(store, run.id, RunState.READY)
    assert supervisor.attach(foreign.base_url, Config()).id == run.id
    ended = supervisor.stop(run.id)
    assert (ended.state, ended.note) == (RunState.FINISHED, "No longer watched.")
    assert foreign.process.poll() is None
    assert supervisor.attach(foreign.base_url, Config()).id != run.id


@pytest.mark.parametrize("with_pid", [True, False])
def test_an_attached_server_that_goes_away_ends_its_run(
    supervisor: Supervisor, store: DictStore, foreign: Foreign, with_pid: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("launcher.attached.GONE_AFTER_S", 1.0)
    run = supervisor.attach(foreign.base_url, Config(), pid=foreign.process.pid if with_pid else None)
    wait_for_state(store, run.id, RunState.READY)
    foreign.process.kill()
    ended = wait_for_state(store, run.id, RunState.FINISHED)
    assert ended.note == "The server went away." and ended.exit_code is None and ended.ended_at


def test_an_attached_run_is_taken_up_again(
    make_supervisor: Callable[..., Supervisor], store: DictStore, foreign: Foreign
) -> None:
    first = make_supervisor()
    run = first.attach(foreign.base_url, Config())
    wait_for_state(store, run.id, RunState.READY)
    first.close(stop_servers=True)
    assert foreign.process.poll() is None
    second = make_supervisor()
    assert [adopted.id for adopted in second.live_runs()] == [run.id]


def test_attaching_to_our_own_server_is_that_run(supervisor: Supervisor, store: DictStore) -> None:
    run = supervisor.launch(request_for())
    ready = wait_for_state(store, run.id, RunState.READY)
    assert ready.base_url
    assert supervisor.attach(ready.base_url, Config()).id == run.id


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://127.0.0.1:9", "Nothing answers at http://127.0.0.1:9."),
        ("ftp://x", "'ftp://x' is not the address of a"),
    ],
)
def test_nothing_to_attach_to_is_told(supervisor: Supervisor, url: str, sentence: str) -> None:
    with pytest.raises(LaunchRefused) as refusal:
        supervisor.attach(url, Config())
    assert str(refusal.value).startswith(sentence)
