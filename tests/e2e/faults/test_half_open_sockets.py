"""2,000 half-open sockets at a Pitwall that may open 1,024 files: it samples, pushes and answers all the while."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from settings import Settings
from tests.e2e.pitwall_process import ROOT, Pitwall, wait_until
from tests.e2e.stand_ins import StandIns
from tests.ports import free_ports
from web.server.closing import CUT_SHORT

pytestmark = [pytest.mark.wide, pytest.mark.timeout(400)]
SOCKETS = 2000
HALF_A_REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
FEW_FILES = ("prlimit", "--nofile=1024:1024")


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[Pitwall]:
    """Not started yet; it may open 1,024 files and no more."""
    command = (*FEW_FILES, sys.executable, str(ROOT / "pitwall"), "run")
    pitwall = Pitwall(tmp_path / "data", free_ports(1)[0], command=command)
    yield pitwall
    pitwall.end_everything()


@contextlib.contextmanager
def half_open(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Connections of somebody who never says his request to its end; those that were closed are made again."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(half_a_request(port)) for _ in range(count)]


def half_a_request(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    with contextlib.suppress(ConnectionError):  # it may be put out before it has said anything
        connection.sendall(HALF_A_REQUEST)
    return connection


def is_closed(socket: socket.socket) -> bool:
    """Waits for its end; raises TimeoutError where it is held for ever."""
    try:
        return socket.recv(1) == b""
    except ConnectionError:
        return True


def next_delta(live: Any) -> dict[str, Any]:
    while True:
        message = json.loads(live.recv(timeout=60))
        if message["type"] == "delta" and message.get("series"):
            return dict(message)


def counters(pitwall: Pitwall) -> int:
    return int(pitwall.sql("SELECT count(*) FROM counter_samples")[0][0])


def test_half_open_sockets_do_not_harm_runs(narrow: Pitwall, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2 * SOCKETS)), hard))
    with StandIns(Settings(data_dir=narrow.data), tmp_path / "logs", count=1, lines_per_s=2) as servers:
        narrow.start()
        cookie = httpx.get(f"{narrow.url}/?token={narrow.token}").headers["set-cookie"].split(";")[0]
        address = f"{narrow.url.replace('http', 'ws')}/ws/live?run={servers.run_ids[0]}"
        with connect(address, additional_headers={"cookie": cookie}, max_size=None) as live:
            live.send("{}")
            next_delta(live)
            wait_until(lambda: counters(narrow) > 0, 60)
            with half_open(narrow.port, SOCKETS) as sockets:
                before = counters(narrow)
                for _ in range(3):
                    assert httpx.get(f"{narrow.url}/healthz", timeout=60).json()["ok"]
                    next_delta(live)
                wait_until(lambda: counters(narrow) > before + 2, 60)
                assert all(is_closed(socket) for socket in sockets), "a request that is never whole is not waited for"
        assert narrow.process and narrow.process.poll() is None
        assert "Too many open files" not in narrow.said
        assert narrow.links == [f"{narrow.url}/?token={narrow.token}"], "one link, and it is the right one"
        ended = narrow.terminate(60)
        assert ended in (0, -15) or CUT_SHORT in narrow.said, "a machine that is full may cut its end short"
