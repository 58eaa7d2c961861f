"""The collectors against the real llama.cpp server: identified, followed as it generates, gone and followed again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import psutil
import pytest

from collectors.endpoints.endpoint import EndpointCollector
from collectors.endpoints.identify import identify
from collectors.logs.log_collector import log_collector
from collectors.loop import CollectorLoop
from collectors.machine.host import HostCollector
from demo.model import ModelFiles
from domain import Run, RunState
from machine.process_start import process_start_s
from samples import CounterSample, Event, HostSample, LogSample, SlotSample
from tests.demo_engine import DemoServer, running_demo, wait_until
from tests.ports import free_ports

pytestmark = pytest.mark.engine
TOKENS = 1500


def generate(base_url: str) -> None:
    body = {"prompt": "once", "max_tokens": TOKENS, "ignore_eos": True, "temperature": 0.8}
    httpx.post(f"{base_url}/v1/completions", json=body, timeout=120).raise_for_status()


def run_of(server: DemoServer, make_run: Callable[..., Run]) -> Run:
    process = psutil.Process(server.process.pid)
    where = {"base_url": server.base_url, "log_path": str(server.log)}
    born = {"pid_birth_s": process_start_s(process.pid), "pid_started_at": process.create_time()}
    return make_run(pid=process.pid, **born, **where)


def collectors(kept: Any) -> list[Any]:
    return [EndpointCollector(period_s=0.1), HostCollector("here", period_s=0.1), log_collector(kept.position)]


def test_who_serves(demo_server: DemoServer) -> None:
    identity = identify(f"localhost:{demo_server.port}/v1")
    assert (identity.engine, identity.has_metrics, identity.has_slots) == ("llamacpp", True, True)
    assert identity.version and len(identity.models) == 1 and identity.max_model_len == 4096


def test_request_is_live_then_counted_and_logged(
    demo_server: DemoServer, kept: Any, make_run: Callable[..., Run]
) -> None:
    run = run_of(demo_server, make_run)
    before = demo_server.counters()["tokens_predicted_total"]
    st_size = demo_server.log.stat().st_size
    loop = CollectorLoop(kept, lambda: [run], collectors(kept), update_every_s=0.1)
    loop.start()
    request = Thread(target=generate, args=(demo_server.base_url,))
    request.start()
    kept.wait_for(lambda: len({s.n_decoded for s in kept.of(SlotSample) if s.n_decoded}) >= 2)
    request.join()
    kept.wait_for(lambda: kept.of(CounterSample)[-1].generation_tokens_total >= before + TOKENS)
    wait_until(lambda: b"stop processing" in demo_server.log.read_bytes()[st_size:])  # its log comes after its answer
    assert loop.finish(run.model_copy(update={"state": RunState.FINISHED}))
    loop.stop()
    slots = [s.n_decoded for s in kept.of(SlotSample) if s.n_decoded is not None]
    assert max(slots) <= TOKENS
    assert kept.of(CounterSample)[-1].generation_tokens_total == before + TOKENS
    logged = [s for s in kept.of(LogSample) if s.generated_tokens == TOKENS]
    assert len(logged) == 1 and logged[0].ts_source == "elapsed"
    assert kept.of(HostSample)[-1].cpu_seconds_total > 0
    assert [e for e in kept.of(Event) if e.kind == "phase" and e.text == "ready"]


def test_ended_server_is_an_outage_then_followed(
    tiny_model: ModelFiles, tmp_path: Path, kept: Any, make_run: Callable[..., Run]
) -> None:
    (port,), argv = free_ports(1), ["-m", str(tiny_model.target), "-c", "512"]
    run = make_run(base_url=f"http://127.0.0.1:{port}")
    loop = CollectorLoop(kept, lambda: [run], [EndpointCollector(period_s=0.1)], update_every_s=0.1)
    with running_demo(argv, port, tmp_path / "first.log"):
        loop.start()
        kept.wait_for(lambda: kept.of(CounterSample))
    kept.wait_for(lambda: [e for e in kept.of(Event) if "connection refused" in e.text])
    count = len(kept.of(CounterSample))
    with running_demo(argv, port, tmp_path / "second.log"):
        kept.wait_for(lambda: len(kept.of(CounterSample)) > count)
        kept.wait_for(lambda: [e for e in kept.of(Event) if "answers again" in e.text])
    loop.stop()
