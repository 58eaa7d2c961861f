"""A real llama.cpp server that Pitwall did not start: attached by its URL, followed, killed, started anew, followed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from collectors.endpoints.endpoint import EndpointCollector
from collectors.endpoints.identify import identify
from collectors.loop import CollectorLoop
from demo.model import ModelFiles
from domain import Config, Run
from launcher.runs.supervisor import Supervisor
from settings import Settings
from storage.store import Store
from tests.demo_engine import DemoServer, is_healthy, running_demo, wait_until
from tests.ports import free_ports

pytestmark = pytest.mark.engine
AWAY_S = 6.0  # a break of more than 5 s is an outage to the views
TOKENS, FEWER_TOKENS = 1500, 500
LONG = 60_000  # nobody waits for them: it goes on for longer than a busy machine takes to store that it does


@dataclass
class Watching:
    """A Pitwall without pages."""

    store: Store
    supervisor: Supervisor

    def attach(self, server: DemoServer) -> Run:
        identity = identify(server.base_url)
        return self.supervisor.attach(identity.base_url, Config(engine=identity.engine, launcher="attach"))

    def rows(self, sql: str, *params: object) -> list[dict[str, Any]]:
        return list(self.store.query(sql, params).to_pylist())

    def counted(self, run: Run) -> list[dict[str, Any]]:
        """What the counters gained, request by request, and where they say nothing."""
        sql = "FROM engine_samples WHERE run_id = ? AND source = 'counter' ORDER BY ts"
        return self.rows(sql, run.id)

    def is_generating(self, run: Run) -> bool:
        [row] = self.rows("SELECT arg_max(is_processing, ts) AS now FROM slot_samples WHERE run_id = ?", run.id)
        return bool(row["now"])


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[Watching]:
    store = Store.open(Settings(data_dir=tmp_path / "data"))
    supervisor = Supervisor(store, tmp_path / "runs", events=store.write)
    loop = CollectorLoop(store.write, supervisor.live_runs, [EndpointCollector(period_s=0.2)], update_every_s=0.1)
    supervisor.start()
    loop.start()
    yield Watching(store, supervisor)
    loop.stop()
    supervisor.close(stop_servers=True)
    store.close()


@pytest.fixture
def serve(tiny_model: ModelFiles, tmp_path: Path) -> Iterator[Callable[[], DemoServer]]:
    """Starts the server, each time on the same port."""
    (port,), argv = free_ports(1), ["-m", str(tiny_model.target), "-c", "65536"]
    with ExitStack() as servers:
        yield lambda: servers.enter_context(running_demo(argv, port, tmp_path / f"{port}.log"))


def generate(server: DemoServer, tokens: int) -> None:
    body = {"prompt": "once", "max_tokens": tokens, "ignore_eos": True, "temperature": 0.8}
    httpx.post(f"{server.base_url}/v1/completions", json=body, timeout=120).raise_for_status()


@pytest.mark.wide
def test_restart_is_one_run_with_gap_and_reset(watching: Watching, serve: Callable[[], DemoServer]) -> None:
    first = serve()
    run = watching.attach(first)
    generate(first, TOKENS)
    wait_until(lambda: [row["decode_tokens"] for row in watching.counted(run)] == [TOKENS])
    kill_while_it_generates(watching, run, first)
    time.sleep(AWAY_S)
    second = serve()
    assert watching.attach(second).id == run.id
    wait_until(lambda: len(watching.counted(run)) == 2)  # what it does before it is looked at again has no window
    generate(second, FEWER_TOKENS)
    wait_until(lambda: len(watching.counted(run)) == 3)

    before, restart, after = watching.counted(run)
    assert (before["decode_tokens"], after["decode_tokens"]) == (TOKENS, FEWER_TOKENS)
    assert restart["reason"] == "counter_reset"
    assert restart["decode_tokens"] is restart["decode_tps"] is None and restart["covered_s"] == 0
    [gap] = watching.rows("FROM engine_samples WHERE source = 'slots' AND window_s >= ?", AWAY_S)
    assert gap["reason"].startswith("no_answer ") and gap["decode_tps"] is None
    texts = [row["text"] for row in watching.rows("FROM events WHERE kind = 'outage' ORDER BY ts")]
    assert any("connection refused" in text for text in texts) and "answers again" in texts[-1]

    assert watching.supervisor.stop(run.id).note == "No longer watched."
    watching.supervisor.close(stop_servers=True)
    assert second.process.poll() is None and is_healthy(second.base_url)


def kill_while_it_generates(watching: Watching, run: Run, server: DemoServer) -> None:
    with ThreadPoolExecutor(1) as pool:
        dying = pool.submit(generate, server, LONG)
        wait_until(lambda: watching.is_generating(run))
        server.process.kill()
        assert isinstance(dying.exception(60), httpx.TransportError)
