"""The machine's clock is set by an hour, forward and back, under a whole Pitwall with live runs.

The kernel's clock cannot be set in a test: a small library stands before it (set_clock.c) and moves what Pitwall
and the servers hear of the wall clock; the monotonic clock is as it is.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from settings import Settings
from tests.e2e.pitwall_process import Pitwall, parsed_log, wait_until
from tests.e2e.stand_ins import StandIns
from tests.ports import free_ports

SOURCE = Path(__file__).with_name("set_clock.c")
COMPILER = shutil.which("cc")
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(COMPILER is None, reason="no C compiler (cc) to build the library that moves the clock"),
]
STEPS_S = (3600, -3600, 0)
PATIENCE_S = 120
LOOKS = "SELECT count(*), count(DISTINCT mono_s) FROM counter_samples WHERE run_id = '{run_id}'"
SPEEDS = "min(decode_tps), max(decode_tps), count(decode_tps)"
LINES = "SELECT line FROM log_samples WHERE run_id = '{run_id}' ORDER BY line"


class MachineClock:
    """The wall clock of every process that has `environ`."""

    def __init__(self, folder: Path) -> None:
        library, self._file = folder / "set_clock.so", folder / "ahead_s"
        subprocess.run([str(COMPILER), "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"], check=True)
        self._file.write_bytes(bytes(8))
        self.environ = os.environ | {"LD_PRELOAD": str(library), "SET_CLOCK_FILE": str(self._file)}

    def set(self, ahead_s: int) -> None:
        """So far ahead of the true time, from now on."""
        self.ahead_s = ahead_s
        with self._file.open("r+b") as file:
            file.write(ahead_s.to_bytes(8, sys.byteorder, signed=True))


@pytest.fixture
def clock(tmp_path: Path) -> MachineClock:
    return MachineClock(tmp_path)


@pytest.fixture
def stepped(tmp_path: Path, clock: MachineClock) -> Iterator[Pitwall]:
    """Not started yet."""
    pitwall = Pitwall(tmp_path / "data", free_ports(1)[0], environ=clock.environ)
    yield pitwall
    pitwall.end_everything()


def looks(pitwall: Pitwall, run_id: str) -> tuple[int, int]:
    """How many scrapes there are, and how many different ones."""
    count, different = pitwall.sql(LOOKS.format(run_id=run_id))[0]
    return count, different


def next_point(socket: ClientConnection, clock: MachineClock) -> float:
    """The time of the next point that the Live page is sent by a server whose clock has been set."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        message = json.loads(socket.recv(timeout=PATIENCE_S))
        is_after_step = abs(message["server_t"] - time.time() - clock.ahead_s) < 600
        if is_after_step and message["type"] == "delta" and "decode_tps" in message["series"]:
            return float(message["series"]["decode_tps"]["t"][-1])
    raise AssertionError(f"Live has stood still since the clock was set by {clock.ahead_s} s")


def test_clock_steps_lose_and_double_nothing(stepped: Pitwall, clock: MachineClock, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    with StandIns(Settings(data_dir=stepped.data), logs, 1, lines_per_s=10, environ=clock.environ) as servers:
        [run_id] = servers.run_ids
        stepped.start()
        cookie = httpx.get(f"{stepped.url}/?token={stepped.token}").headers["set-cookie"].split(";")[0]
        wait_until(lambda: looks(stepped, run_id)[0] >= 5, 120)
        watching = f"{stepped.url.replace('http', 'ws')}/ws/live?run={run_id}"
        with connect(watching, additional_headers={"cookie": cookie}) as socket:
            socket.send("{}")
            points = []
            for step_s in STEPS_S:
                before = looks(stepped, run_id)[0]
                clock.set(step_s)
                wait_until(lambda before=before: looks(stepped, run_id)[0] >= before + 10, PATIENCE_S)
                points.append(next_point(socket, clock))
                assert stepped.is_up() and set(stepped.states().values()) == {"ready"}
                assert httpx.get(f"{stepped.url}/live", headers={"cookie": cookie}).status_code == 200
        assert points == sorted(points), "Live goes on, and never back"
        servers.end()
        wait_until(lambda: set(stepped.states().values()) == {"finished"}, 120)
        count, different = looks(stepped, run_id)
        assert count == different
        parsed = [sample["line"] for sample in parsed_log(servers.logs[0])["samples"]]
        wait_until(lambda: [line for (line,) in stepped.sql(LINES.format(run_id=run_id))] == parsed, 60)
    for rates in ("engine_samples WHERE source = 'counter'", "run_windows(2) WHERE source = 'counter'"):
        slowest, fastest, known = stepped.sql(
            f"SELECT min(decode_tps), max(decode_tps), count(decode_tps) FROM {rates}"
        )[0]
        assert known >= 10 and 0 < slowest <= fastest < 1000, rates
