"""Runs, a sink that keeps what it is given, and a FAKE server that says what a test tells it to."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, TypeVar

import pytest

from domain import Config, Run, RunState
from samples import Batch, TailPosition

S = TypeVar("S")


class KeptBatches:
    """A sink in memory with what a store would answer: how far each file is committed."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def __call__(self, batch: Batch) -> Future[None]:
        self.batches.append(batch)
        future: Future[None] = Future()
        future.set_result(None)
        return future

    def of(self, kind: type[S]) -> list[S]:
        return [s for batch in self.batches for s in batch.samples if isinstance(s, kind)]

    def position(self, run_id: str, path: str) -> TailPosition | None:
        found = [p for batch in self.batches for p in batch.positions if (p.run_id, p.path) == (run_id, path)]
        return found[-1] if found else None

    def wait_for(self, met: Callable[[], object], timeout_s: float = 20.0) -> None:
        deadline = time.monotonic() + timeout_s
        while not met():
            assert time.monotonic() < deadline, f"not seen in {timeout_s} s; have {self.batches[-5:]}"
            time.sleep(0.02)


@pytest.fixture
def kept() -> KeptBatches:
    return KeptBatches()


@pytest.fixture
def make_run() -> Callable[..., Run]:
    def make(engine: str = "llamacpp", **fields: Any) -> Run:
        given_fields = {"id": "r1", "name": "r1", "color": 0, "machine_id": "here", "state": RunState.RUNNING} | fields
        return Run(config=Config(engine=engine), created_at=datetime(2026, 11, 20, tzinfo=UTC), **given_fields)

    return make


class FakeServer:
    """Answers each path as set: (status, body), or drops the connection this many times first."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.drops = 0
        self.asked: list[str] = []
        self.keys: set[str | None] = set()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                fake.asked.append(self.path)
                fake.keys.add(self.headers.get("Authorization"))
                if fake.drops > 0:
                    fake.drops -= 1
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                status, body = fake.answers.get(self.path, (404, b"not found"))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()
    yield fake
    fake.close()
