"""Records of a load beside its requests: the plan, its phases, and counters with nothing of its own in flight."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from pathlib import Path

import pytest

from collectors.endpoints.counter_reader import counter_reader
from domain import utc_now
from load_records import Load, LoadCounters, LoadPhase, RequestRecord
from tests.demo_engine import DemoServer
from tests.workloads.servers import DONE, HEAD, event, sends, serving, text_event
from workloads.job import LoadJob
from workloads.plan import Phase, PlannedRequest
from workloads.process.start import run_job
from workloads.requests.client import RequestPosition, RequestTarget, exchange, record_of
from workloads.requests.records import Line, parse_line
from workloads.requests.sending import open_session
from workloads.shapes.five_prompts import FIVE_PROMPTS

PARAMS = {"requests": 4, "tokens": 40, "warmup_tokens": 5}


def lines_of(path: Path) -> list[Line]:
    return [parse_line(line) for line in path.read_text().splitlines()]


@pytest.mark.engine
def test_stretch_counters_match_their_requests(demo_server: DemoServer, tmp_path: Path) -> None:
    job = LoadJob(
        run_id="r",
        base_url=demo_server.base_url,
        engine="llamacpp",
        workload="demo-stream",
        params=PARAMS,
        out=tmp_path / "requests.jsonl",
        progress=tmp_path / "progress.json",
    )
    look = counter_reader("r", "llamacpp", demo_server.base_url, None)
    assert asyncio.run(run_job(job, None, look)) == 0
    lines = lines_of(job.out)
    load, *_ = (line for line in lines if isinstance(line, Load))
    assert (load.workload, load.planned_requests, load.planned_phases) == ("demo-stream", 4, 2)
    assert load.params["tokens"] == 40 and load.prompt_set_hash
    phases = [line for line in lines if isinstance(line, LoadPhase)]
    assert [(p.kind, p.planned_requests, p.is_complete) for p in phases] == [("warmup", 1, True), ("measure", 4, True)]
    requests = [line for line in lines if isinstance(line, RequestRecord)]
    assert {request.load_id for request in requests} == {load.load_id}
    marks = {line.segment: line for line in lines if isinstance(line, LoadCounters)}
    assert sorted(marks) == [0, 1, 2, 3, 4]  # before the warm-up, the three stretches of one class, and at the end
    for before, after in pairwise(sorted(marks)):
        inside = [request for request in requests if request.segment == before]
        grown = (marks[after].generation_tokens_total or 0) - (marks[before].generation_tokens_total or 0)
        assert grown == sum(request.completion_tokens or 0 for request in inside) > 0
        accepted = (marks[after].accepted_tokens_total or 0) - (marks[before].accepted_tokens_total or 0)
        assert accepted == sum(request.accepted_tokens or 0 for request in inside)


@pytest.mark.engine
def test_load_runs_without_server_counters(demo_server: DemoServer, tmp_path: Path) -> None:
    job = LoadJob(
        run_id="r",
        base_url=demo_server.base_url,
        engine="llamacpp",
        workload="demo-stream",
        params=PARAMS,
        out=tmp_path / "requests.jsonl",
        progress=tmp_path / "progress.json",
    )
    nobody = counter_reader("r", "llamacpp", "http://127.0.0.1:9", None)
    assert asyncio.run(run_job(job, None, nobody)) == 0
    assert not [line for line in lines_of(job.out) if isinstance(line, LoadCounters)]
    assert counter_reader("r", "other", demo_server.base_url, None)() == ()


def send(*pieces: bytes) -> RequestRecord:
    request = PlannedRequest("Code", "Write.", {"max_tokens": 60})
    place = RequestPosition("r-0", "load-1", "measure", "Run 1/1", 1, 3, 2, 0, 1, 0.0)

    async def run() -> RequestRecord:
        async with serving(sends(*pieces)) as base_url, open_session() as session:
            target = RequestTarget(run_id="r", workload="w", base_url=base_url, model="m", utc_now=utc_now)
            return record_of(target, request, place, await exchange(session, target, request))

    return asyncio.run(run())


def test_decoding_lasts_through_invisible_tokens() -> None:
    """A parser of tool calls or of reasoning holds text back; the event with the finish reason ends the answer."""
    finish = event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
    usage = event(choices=[], usage={"prompt_tokens": 4, "completion_tokens": 20})
    record = send(HEAD, text_event("a"), text_event("b"), finish, usage, DONE)
    assert record.chunk_us and len(record.chunk_us) == 3 and record.chunk_tokens is None
    until_the_end_ms = sum(record.chunk_us[1:]) / 1000
    assert record.decode_ms == pytest.approx(until_the_end_ms, abs=0.01)
    assert record.ttft_ms == pytest.approx(record.chunk_us[0] / 1000, abs=0.01)
    assert (record.load_id, record.phase_index, record.sequence, record.segment) == ("load-1", 1, 3, 2)


def test_piece_tokens_use_the_servers_count() -> None:
    counted = [
        event(choices=[{"index": 0, "delta": {"content": "x"}}], usage={"completion_tokens": n}) for n in (1, 4, 5)
    ]
    finish = event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}], usage={"completion_tokens": 7})
    assert send(HEAD, *counted, finish, DONE).chunk_tokens == [1, 3, 1, 2]


def test_consecutive_requests_of_a_class_stretch() -> None:
    warmup, first, *_, together = FIVE_PROMPTS.plan({})
    assert [len(part) for part in warmup.segments()] == [1]
    assert [[r.prompt_class for r in part] for part in first.segments()] == [
        ["Q&A"], ["Code"], ["JSON"], ["Math"], ["LongCode"],
    ]  # fmt: skip
    assert together.segments() == [together.requests]
    many = tuple(PlannedRequest("ab"[n % 2], "p", {"max_tokens": 1}) for n in range(200))
    assert Phase("t", "measure", 1, many).segments() == [many]


def test_unknown_line_kind_is_not_a_request() -> None:
    with pytest.raises(KeyError):
        parse_line(json.dumps({"record": "from_the_future"}))
