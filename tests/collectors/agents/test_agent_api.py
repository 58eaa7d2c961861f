"""The route for agents at the real access check: whose token, how much, how long."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import httpx
import pytest

from collectors.agents.wire import MAX_BODY_BYTES
from domain import Run, utc_now
from settings import Settings
from storage.store import Store
from tests.collectors.agents.conftest import AGENT, batch, message
from tests.collectors.agents.taker import taking
from tests.web.conftest import serve as serve
from web.access.tokens import Scope, TokenBook
from web.server.api import agent_api

GREET = f"/api/agent?agent={AGENT}"
TAKE = f"/api/agent/batches?agent={AGENT}"


@pytest.fixture
def book(settings: Settings) -> TokenBook:
    return TokenBook(settings.tokens_path)


@pytest.fixture
def token(book: TokenBook) -> str:
    return book.make([Scope.AGENT], "r1", timedelta(days=1), "", "a test")[1]


@pytest.fixture
def client(
    serve: Callable[[Any], AbstractContextManager[str]], settings: Settings, store: Store, run: Run, token: str
) -> Iterator[httpx.Client]:
    store.save_run(run.model_copy(update={"created_at": utc_now() - timedelta(days=400)}))
    with (
        serve(taking(settings, store)) as address,
        httpx.Client(base_url=f"http://{address}", headers={"authorization": f"Bearer {token}"}, timeout=60) as client,
    ):
        yield client


def test_message_acknowledged_with_both_times(client: httpx.Client, store: Store) -> None:
    before = time.time()
    assert client.get(GREET).json()["number"] == 0
    document = client.post(TAKE, content=message(batch(1))).json()
    assert (document["number"], document["is_over"]) == (1, False)
    assert before <= document["received_s"] <= document["returned_s"] <= time.time()
    assert client.get(GREET).json()["number"] == 1
    assert store.query("SELECT run_id FROM host_samples")["run_id"].to_pylist() == ["r1"]


def test_token_writes_only_to_its_own_run(client: httpx.Client, book: TokenBook, store: Store) -> None:
    _, other = book.make([Scope.AGENT], "r2", timedelta(days=1), "", "a test")
    fields = {"authorization": f"Bearer {other}"}
    answer = client.post(f"{TAKE}&run=r1", content=message(batch(1)), headers=fields)
    assert (answer.status_code, answer.json()["error"]) == (403, "This token belongs to another run.")
    assert client.post(TAKE, content=message(batch(1)), headers=fields).status_code == 410, "of r2, which is not there"
    for scope in (Scope.SQL, Scope.LIVE):
        _, text = book.make([scope], None, timedelta(days=1), "", "a test")
        assert client.post(TAKE, content=message(), headers={"authorization": f"Bearer {text}"}).status_code == 403
    assert client.post(TAKE, content=message(), headers={"authorization": "Bearer no"}).status_code == 401
    assert store.query("FROM raw.agents").num_rows == 0


def test_revoked_token_is_refused_at_next_message(client: httpx.Client, book: TokenBook) -> None:
    assert client.post(TAKE, content=message(batch(1))).status_code == 200
    book.revoke(book.all()[0].id, "a test")
    assert client.post(TAKE, content=message(batch(2))).status_code == 401


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (TAKE, b"x" * (MAX_BODY_BYTES + 1), 413),
        (TAKE, b"x", 422),
        (TAKE, message(batch(1, gpu={"power_w": float("nan")})), 422),
        (TAKE, message(batch(1, gpu={"note": "more"})), 422),
        ("/api/agent/batches", message(batch(1)), 422),
        ("/api/agent/batches?agent=x", message(batch(1)), 422),
        ("/api/agent/runs", message(batch(1)), 404),
    ],
    ids=range(7),
)
def test_what_is_not_taken_has_its_status(client: httpx.Client, path: str, body: bytes, status: int) -> None:
    answer = client.post(path, content=body)
    assert answer.status_code == status, answer.text


def test_absent_body_is_not_awaited(client: httpx.Client, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_api, "BODY_S", 0.2)
    head = f"POST {TAKE} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nContent-Length: 10\r\n\r\nx"
    with socket.create_connection((client.base_url.host, client.base_url.port or 80), timeout=60) as line:
        line.sendall(head.encode())
        assert b" 408 " in line.recv(4096)


def test_excess_senders_are_sent_away_to_retry(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_api, "MOST_AT_ONCE", 0)
    assert client.post(TAKE, content=message(batch(1))).status_code == 429
