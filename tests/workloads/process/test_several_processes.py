"""A load spread over several processes has the same requests and statistics as in one. The server is a stand-in."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from domain import utc_now
from load_records import LoadPhase, RequestRecord, Result
from tests.workloads.servers import DONE, HEAD, event, read_request, serving, text_event
from tests.workloads.test_runner import Job
from workloads.process.senders import pool
from workloads.process.senders.frames import LENGTH as FRAME_HEAD
from workloads.process.senders.frames import RequestResult, encode_frame
from workloads.requests.client import RequestTarget
from workloads.requests.records import Line, parse_line

pytestmark = pytest.mark.wide

STEP_S, PIECES, STREAMS, REQUESTS = 0.05, 10, 6, 24
PARAMS = {"concurrency": STREAMS, "requests": REQUESTS, "prompt_tokens": 5, "output_tokens": 2 * PIECES,
          "warmup_requests": 2}  # fmt: skip
USAGE = {"completion_tokens": 2 * PIECES, "prompt_tokens": 5}


@dataclass
class Paced:
    """Answers with two tokens a piece at an exact pace, and counts what it is asked for."""

    asked: Counter[str] = field(default_factory=Counter)
    at_once: int = 0
    most_at_once: int = 0
    began: asyncio.Event = field(default_factory=asyncio.Event)

    async def script(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body: Any = await read_request(reader)
        if "messages" not in body:
            return
        self.asked[body["messages"][0]["content"]] += 1
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        self.began.set()
        try:
            writer.write(HEAD)
            for number in range(1, PIECES + 1):
                await asyncio.sleep(STEP_S)
                counted = {"completion_tokens": 2 * number, "prompt_tokens": 5}
                writer.write(text_event("a b ", "stop" if number == PIECES else None, usage=counted))
                await writer.drain()
            writer.write(event(choices=[], usage=USAGE) + DONE)
            await writer.drain()
        finally:
            self.at_once -= 1


@dataclass
class Went:
    server: Paced
    status: int
    lines: list[Line]

    def of(self, kind: type[Any]) -> list[Any]:
        return [line for line in self.lines if isinstance(line, kind)]

    @property
    def measured(self) -> list[RequestRecord]:
        return [row for row in self.of(RequestRecord) if row.phase == "measure"]


def load(folder: Path, processes: int, act: Callable[[int], None] = lambda pid: None, **params: Any) -> Went:
    """Put the load on the stand-in from so many processes; `act` gets the pid of the load generator meanwhile."""
    folder.mkdir()

    async def run() -> tuple[Paced, int, str]:
        server = Paced()
        async with serving(server.script) as base_url:
            job = Job(folder, base_url, workload="traffic", params=PARAMS | params, client_processes=processes)
            process = job.start()
            await asyncio.wait_for(server.began.wait(), 60)
            while server.most_at_once < STREAMS and process.poll() is None:
                await asyncio.sleep(0.01)
            act(process.pid)
            _, errors = await asyncio.to_thread(process.communicate, None, 120)
        return server, process.returncode, errors

    server, status, errors = asyncio.run(run())
    assert errors == ""
    return Went(server, status, [parse_line(line) for line in (folder / "requests.jsonl").read_text().splitlines()])


def counts(went: Went) -> dict[tuple[str, str, str], float | None]:
    """The results that are counts and not times."""
    kept = {"requests", "failed_requests", "completion_tokens", "tokens_per_step"}
    return {(one.point, one.metric, one.statistic): one.value for one in went.of(Result) if one.metric in kept}


def test_statistics_match_a_single_process(tmp_path: Path) -> None:
    one, three = load(tmp_path / "one", 1), load(tmp_path / "three", 3)
    assert one.server.asked == three.server.asked and set(three.server.asked.values()) == {1}
    assert (one.server.most_at_once, three.server.most_at_once) == (STREAMS, STREAMS)
    for went, processes in ((one, 1), (three, 3)):
        assert went.status == 0
        assert sorted(row.sequence or 0 for row in went.measured) == list(range(REQUESTS))
        assert len({row.request_id for row in went.of(RequestRecord)}) == REQUESTS + 2
        assert [phase.client_processes for phase in went.of(LoadPhase)] == [processes] * 2
        for row in went.measured:
            assert (row.error_kind, row.completion_tokens, row.chunks) == (None, 2 * PIECES, PIECES)
            assert row.ttft_ms is not None and row.ttft_ms >= 1000 * STEP_S
            assert row.since_phase_s is not None and row.since_phase_s >= 0
    assert counts(one) == counts(three)
    assert [row.prompt_hash for row in sorted(one.measured, key=lambda row: row.sequence or 0)] == [
        row.prompt_hash for row in sorted(three.measured, key=lambda row: row.sequence or 0)
    ]
    assert [row.chunk_tokens for row in one.measured] == [row.chunk_tokens for row in three.measured]


def test_cancelled_load_records_all_in_flight(tmp_path: Path) -> None:
    went = load(tmp_path / "cancelled", 3, lambda pid: os.kill(pid, signal.SIGTERM))
    kinds = Counter(row.error_kind for row in went.measured)
    assert went.status == 0 and kinds["cancelled"] == STREAMS and set(kinds) <= {None, "cancelled"}
    assert len(went.measured) == sum(went.server.asked.values()) - 2, "a row for every request that was sent"


def test_killed_process_reports_lost_requests(tmp_path: Path) -> None:
    def kill(pid: int) -> None:
        psutil.Process(pid).children()[0].kill()

    went = load(tmp_path / "killed", 3, kill)
    kinds = Counter(row.error_kind for row in went.measured)
    assert len(went.measured) == REQUESTS and set(kinds) == {None, "closed"}
    assert all("load generator" in (row.error_text or "") for row in went.measured if row.error_kind)


@pytest.mark.parametrize("end", ["answers", "talks nonsense", "ends"])
def test_unawaited_record_delays_no_other(end: str) -> None:
    place = {"run_id": "r", "request_id": "r-1", "workload": "traffic", "phase": "measure", "prompt_class": "Text"}
    record = RequestRecord(**place, stream=0, concurrency=1, sent_at=utc_now())

    async def next_record() -> RequestRecord | None:
        stream_reader = asyncio.StreamReader()
        sender_process = pool.SenderProcess(SimpleNamespace(stdout=stream_reader))  # type: ignore[arg-type]
        sender_process.pending[1] = asyncio.get_running_loop().create_future()
        stream_reader.feed_data(encode_frame(RequestResult(0, record)))  # given up meanwhile
        stream_reader.feed_data(
            {
                "answers": encode_frame(RequestResult(1, record)),
                "talks nonsense": FRAME_HEAD.pack(2) + b"no",
                "ends": b"",
            }[end]
        )
        stream_reader.feed_eof()
        with suppress(pickle.UnpicklingError):
            await sender_process.listen()
        assert sender_process.is_over
        return await asyncio.wait_for(sender_process.pending[1], 10)

    assert asyncio.run(next_record()) == (record if end == "answers" else None)


def test_full_processes_start_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "CHECK_EVERY_S", 0.01)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)

    async def grown(limit: float, number: int) -> int:
        monkeypatch.setattr(pool, "CPU_LIMIT", limit)
        spread = pool.SenderPool(RequestTarget("r", "traffic", "http://127.0.0.1:9", "m"))
        async with spread.running():
            async with asyncio.timeout(60):
                while spread.count < number:
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            return spread.count

    assert asyncio.run(grown(0.0, 3)) == 3, "as many as there are cores"
    assert asyncio.run(grown(1e9, 1)) == 1


@pytest.mark.parametrize("processes", [0, 9])
def test_so_many_are_refused(processes: int, tmp_path: Path) -> None:
    status, said = Job(tmp_path, "http://127.0.0.1:9", client_processes=processes).run()
    assert status == 1 and "client_processes" in said
