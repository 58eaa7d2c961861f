"""The far side of a launch by ssh, asked directly: orders that come twice, too late, or for what is gone."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from domain import Config, Machine, Run
from launcher.checks.provenance import UnreadGpus
from launcher.processes import containers
from launcher.processes.process import shim_process
from launcher.remote import client
from launcher.remote.hosts import Host
from launcher.remote.orders import FollowOrder, StartOrder
from launcher.remote.records import RemoteLaunch, read_remote_status, write_remote_launch
from launcher.remote.remote_shim import KEEP_STOPPED_S, OTHER_VERSION, WAS_STOPPED, RemoteShim
from launcher.remote.wire import RUN_FOLDER_GONE, Frame, Frames
from tests.launcher.remote.sshd import kill_all
from tests.launcher.servers import marked, request_for, wait_for

NOW = datetime(2026, 11, 23, tzinfo=UTC)
RUN_ID = f"20261123-000000-000-{os.getpid():04x}"  # two suites on one machine must not end each other's servers
THIS = Machine("m", "here", (), None, None, None, None, (), None, None, None, NOW)


class Asking:
    """One connection to a far side on a thread: what it has said until now."""

    def __init__(self, folder: Path, order: dict[str, Any]) -> None:
        self._stdin, ours = os.pipe()
        self._said, stdout = os.pipe()
        self.frames = list[Frame]()
        far_side = RemoteShim(folder, UnreadGpus, lambda: THIS, self._stdin, stdout)
        self._serving = threading.Thread(target=self._serve, args=(far_side, stdout))
        self._hearing = threading.Thread(target=self._hear)
        self._ours = ours
        os.write(ours, json.dumps(order).encode() + b"\n")
        self._serving.start()
        self._hearing.start()

    def _serve(self, far_side: RemoteShim, stdout: int) -> None:
        far_side.serve()
        os.close(stdout)

    def _hear(self) -> None:
        frames = Frames()
        while data := os.read(self._said, 1 << 16):
            self.frames += frames.feed(data)

    def told(self, name: str) -> Any:
        return next((frame.fields[name] for frame in list(self.frames) if name in frame.fields), None)

    @property
    def log(self) -> bytes:
        return b"".join(frame.log for frame in list(self.frames))

    def cut(self) -> None:
        """Close our end, as ssh does; returns when the far side has noticed and ended."""
        os.close(self._ours)
        self._serving.join()
        self._hearing.join()


def start_order(kind: str = "plain") -> dict[str, Any]:
    config: Config = request_for(kind).config
    url = f"http://127.0.0.1:{config.port}"
    run = Run(id=RUN_ID, name="r", color=0, config=config, machine_id="elsewhere", base_url=url, created_at=NOW)
    follow = FollowOrder(run_id=RUN_ID, offset=0, wants_about=True)
    return StartOrder(run=run, cwd=None, makes_model=False, secrets={}, follow=follow).model_dump(mode="json")


STOP = {"order": "stop", "run_id": RUN_ID, "grace_s": 5.0}
FORGET = {"order": "forget", "run_id": RUN_ID}


def ask(folder: Path, order: dict[str, Any]) -> Asking:
    """An order that is answered at once."""
    asking = Asking(folder, order)
    wait_for(lambda: asking.told("answer") is not None or asking.told("refused"))
    asking.cut()
    return asking


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    yield
    directory = tmp_path / f"ssh-{RUN_ID}"
    kill_all([*filter(None, [shim_process(directory)]), *marked(f"ssh-{RUN_ID}")])


def test_repeated_start_starts_one_server(tmp_path: Path) -> None:
    order = start_order()
    first, second = Asking(tmp_path, order), Asking(tmp_path, order)
    for asking in (first, second):
        wait_for(lambda asking=asking: asking.told("server") and asking.told("about"))
    assert first.told("server") == second.told("server")
    assert first.told("about")["machine"]["host_name"] == "here"
    for asking in (first, second):
        asking.cut()
    assert len(marked(f"ssh-{RUN_ID}")) == 1, "and it outlives both connections"


def test_following_resumes_at_the_reached_byte(tmp_path: Path) -> None:
    asking = Asking(tmp_path, start_order())
    wait_for(lambda: b"hello from the server plain\n" in asking.log)
    asking.cut()
    again = Asking(tmp_path, {"order": "follow", "run_id": RUN_ID, "offset": 6})
    wait_for(lambda: again.log.startswith(b"from the server plain\n"))
    ask(tmp_path, STOP)
    wait_for(lambda: again.told("exit"))
    assert again.told("exit")["signal"] == 15 and again.told("exit")["started_at"]
    again.cut()


def test_a_start_after_the_stop_starts_nothing(tmp_path: Path) -> None:
    """The order was on its way when the run was stopped."""
    assert ask(tmp_path, STOP).told("answer") == {"actions": [], "leftovers": []}
    assert ask(tmp_path, start_order()).told("refused") == WAS_STOPPED
    ask(tmp_path, FORGET)
    assert ask(tmp_path, start_order()).told("refused") == WAS_STOPPED
    assert marked(f"ssh-{RUN_ID}") == []


def test_forgotten_run_leaves_a_temporary_mark(tmp_path: Path) -> None:
    asking = Asking(tmp_path, start_order())
    wait_for(lambda: asking.told("server"))
    assert ask(tmp_path, FORGET).told("answer") == {}
    assert (tmp_path / f"ssh-{RUN_ID}" / "server.log").exists(), "a run that goes on is not forgotten"
    asking.cut()
    ask(tmp_path, STOP)
    ask(tmp_path, FORGET)
    [mark] = (tmp_path / f"ssh-{RUN_ID}").iterdir()
    os.utime(mark, (mark.stat().st_mtime - 2 * KEEP_STOPPED_S,) * 2)
    ask(tmp_path, {**FORGET, "run_id": "another"})
    assert not mark.parent.exists()


def test_remote_limit_breach_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """FAKE: a podman that prints without an end when it is asked about containers; it runs the command itself."""
    script = '#!/bin/sh\ncase "$1" in\ncontainer | ps) exec yes ;;\nrun) while [ "$1" != image:1 ]; do shift; done\n'
    (podman := tmp_path / "podman").write_text(script + 'shift; exec "$@" ;;\nesac\nexit 1\n')
    podman.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(containers, "MOST_BYTES", 1 << 20)
    order = start_order()
    config = order["run"]["config"]
    config["argv"] = ["podman", "run", "--name", "mine", "image:1", *config["argv"]]
    config["launcher"], config["image"] = "podman", "image:1"
    asking = Asking(tmp_path, order)
    wait_for(lambda: asking.told("server"))
    much = "is unknown: it printed more than the limit of 1 MiB."
    assert asking.told("passed") == f"The output of `podman container inspect mine` {much}"
    stopped = ask(tmp_path, STOP).told("answer")
    asking.cut()
    unknown = [words for words in stopped["actions"] if words.endswith(much)]
    assert [words for words in unknown if words.startswith("The output of `podman ps")]


def test_a_log_that_passed_its_limit_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "MOST_LOG_BYTES", 2 << 20)
    run = Run.model_validate(start_order()["run"])
    host = Host(label="gpu-box", target="box")
    launch = RemoteLaunch(host=host, run=run, cwd=None, makes_model=False, forward=None, secret_names=())
    write_remote_launch(tmp_path, launch)
    with (tmp_path / "server.log").open("wb") as log:
        following = client.RemoteClient(tmp_path, log.fileno())
        for _ in range(5):
            following._handle(Frame({}, b"x" * (1 << 20)))
    text = "The local log has reached 2 MiB, the limit for a server on another machine: later output is dropped."
    assert read_remote_status(tmp_path).passed == (text,) and (tmp_path / "server.log").stat().st_size == 2 << 20


def test_a_run_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert ask(tmp_path, {"order": "follow", "run_id": RUN_ID, "offset": 0}).told("refused") == RUN_FOLDER_GONE


@pytest.mark.parametrize("order", [{}, {"order": "rm"}, {**STOP, "run_id": "../x"}, {**STOP, "more": 1}])
def test_an_order_of_another_version_is_refused(tmp_path: Path, order: dict[str, Any]) -> None:
    assert ask(tmp_path, order).told("refused") == OTHER_VERSION
