from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from domain import Config, RunState
from launcher.checks.launch_request import LaunchRefusedError
from launcher.runs.live_runs import OTHER_MACHINE
from launcher.runs.supervisor import Supervisor
from machine.identity import machine_at
from tests.launcher.servers import DictStore, request_for, server_argv, wait_for, wait_for_state
from tests.ports import free_ports


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
    assert supervisor.run_at(foreign.base_url + "/") == supervisor.live_runs()[0]
    assert supervisor.attach(foreign.base_url, Config()).id == run.id
    assert supervisor.attach(foreign.base_url.replace("127.0.0.1", "localhost"), Config()).id == run.id
    ended = supervisor.stop(run.id)
    assert (ended.state, ended.note) == (RunState.FINISHED, "No longer watched.")
    assert foreign.process.poll() is None
    assert supervisor.attach(foreign.base_url, Config()).id != run.id


def test_attached_run_keeps_log_facts_no_phase(
    make_supervisor: Callable[..., Supervisor], store: DictStore, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_ready = threading.Event()
    monkeypatch.setattr(
        "launcher.runs.supervised_runs.attached_run.ReadinessPoll.is_ready", lambda poll: is_ready.is_set()
    )
    supervisor = make_supervisor()
    run = supervisor.attach(foreign.base_url, Config(engine="vllm"), pid=foreign.process.pid)
    supervisor.set_phase(run.id, "loading weights")
    for key, value in (("engine_version", "0.21.0"), ("speculative_method", "mtp"), ("weights_load_s", 9.0)):
        supervisor.note_fact(run.id, key, value)
    started = store.run(run.id)
    assert started and started.phase == "loading weights"
    assert started.logged_facts == {"engine_version": "0.21.0", "speculative_method": "mtp"}
    is_ready.set()
    ready = wait_for_state(store, run.id, RunState.READY)
    assert (ready.phase, ready.logged_facts) == (None, started.logged_facts)
    supervisor.note_fact(run.id, "num_spec_tokens", 3)
    after = store.run(run.id)
    assert after and after.logged_facts and after.logged_facts["speculative_num_tokens"] == 3
    assert after.config.speculative is None, "what was asked stays what was asked"


@pytest.mark.parametrize("with_pid", [True, False])
def test_attached_server_departure_ends_its_run(
    supervisor: Supervisor, store: DictStore, foreign: Foreign, with_pid: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("launcher.runs.supervised_runs.attached_run.GONE_AFTER_S", 1.0)
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


def own_addresses() -> list[str]:
    cards = psutil.net_if_addrs().values()
    return [known.address for card in cards for known in card if known.family == socket.AF_INET]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0.0.0.0", "[::1]", socket.gethostname(), *own_addresses()])
def test_this_machine_known_by_name_and_address(host: str) -> None:
    assert machine_at(f"http://{host}:8000", "here") == "here"


@pytest.mark.parametrize("host", ["192.0.2.7", "no-such-host.invalid", "[2001:db8::7]"])
def test_another_machine_is_not_this_one(host: str) -> None:
    assert machine_at(f"http://{host}:8000", "here") == f"remote-{host.strip('[]')}"


def test_remote_server_has_own_machine_and_stays(
    make_supervisor: Callable[..., Supervisor], store: DictStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("launcher.runs.run_factory.accepts_connections", lambda url: True)  # there is no second machine
    monkeypatch.setattr("launcher.runs.supervised_runs.attached_run.accepts_connections", lambda url: True)
    first = make_supervisor()
    run = first.attach("http://192.0.2.7:8000", Config())
    assert run.machine_id == "remote-192.0.2.7"
    first.close()
    second = make_supervisor()
    assert [adopted.id for adopted in second.live_runs()] == [run.id]
    second.close()
    third = make_supervisor(machine="another")
    assert [adopted.id for adopted in third.live_runs()] == [run.id]


def test_remote_attachment_is_not_sought_here(
    make_supervisor: Callable[..., Supervisor], store: DictStore, foreign: Foreign
) -> None:
    first = make_supervisor()
    run = first.attach(foreign.base_url, Config())
    first.close()
    assert make_supervisor(machine="another").live_runs() == []
    assert store.run(run.id).state is RunState.FAILED and store.run(run.id).cause == OTHER_MACHINE


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://127.0.0.1:9", "Nothing answers at http://127.0.0.1:9."),
        ("ftp://x", "'ftp://x' is not the address of a"),
    ],
)
def test_nothing_to_attach_to_is_told(supervisor: Supervisor, url: str, sentence: str) -> None:
    with pytest.raises(LaunchRefusedError) as refusal:
        supervisor.attach(url, Config())
    assert str(refusal.value).startswith(sentence)
