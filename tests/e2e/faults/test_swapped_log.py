"""A watched log that becomes a pipe nobody writes into costs its own run its lines, and nobody else anything."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from settings import Settings
from tests.e2e.pitwall_process import Pitwall, wait_until
from tests.e2e.stand_ins import StandIns

pytestmark = [pytest.mark.wide, pytest.mark.timeout(400)]


def next_about(live: Any, run_id: str) -> dict[str, Any]:
    while True:
        message = json.loads(live.recv(timeout=60))
        if message.get("run") == run_id:
            return dict(message)


def test_live_continues_and_pitwall_still_ends(idle_pitwall: Pitwall, tmp_path: Path) -> None:
    with StandIns(Settings(data_dir=idle_pitwall.data), tmp_path / "logs", count=2, lines_per_s=5) as servers:
        bad, good = servers.run_ids
        servers.logs[0].rename(tmp_path / "aside")
        os.mkfifo(servers.logs[0])
        idle_pitwall.start()
        cookie = httpx.get(f"{idle_pitwall.url}/?token={idle_pitwall.token}").headers["set-cookie"].split(";")[0]
        address = f"{idle_pitwall.url.replace('http', 'ws')}/ws/live?run={bad}&run={good}"
        for _ in range(2):
            with connect(address, additional_headers={"cookie": cookie}, max_size=None) as live:
                live.send("{}")
                told = next_about(live, bad)
                assert "is a pipe (FIFO), not a regular file" in told["meta"]["absent"]["log"]
                while not next_about(live, good).get("log"):
                    pass
        text = "SELECT text FROM events WHERE kind = 'collector' AND text LIKE '%not a regular file%'"
        wait_until(lambda: idle_pitwall.sql(text), 60)
        assert idle_pitwall.terminate(60) in (0, -15)
