"""Live for programs: the page's own frames, by a token, at the real access check."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from domain import Config, Run, RunState
from samples import Batch, GpuSample
from settings import Settings
from storage.store import Store
from web.access.access_rules import access_for
from web.access.auth import AuthMiddleware
from web.access.sessions import SessionBook
from web.access.shares import ShareBook
from web.access.tokens import Scope, TokenBook
from web.live.hub import LiveHub
from web.live.reader import StoreReader
from web.server.api.live_api import live_routes

SECRET = b"a secret of more than enough length"
NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def book(settings: Settings) -> TokenBook:
    return TokenBook(settings.tokens_path)


@pytest.fixture
def address(
    serve: Callable[[Any], AbstractContextManager[str]], settings: Settings, store: Store, book: TokenBook
) -> Iterator[str]:
    run = Run(id="r1", name="one", color=0, config=Config(), machine_id="m", created_at=NOW, state=RunState.RUNNING)
    store.save_run(run)
    hub = LiveHub(StoreReader(lambda: store))
    store.on_commit(hub.on_commit)
    access_check = Middleware(
        AuthMiddleware,
        access=access_for(settings, SECRET),
        shares=ShareBook(SECRET, ""),
        sessions=SessionBook(settings.sessions_path),
        tokens=book,
    )

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with hub:
            yield

    routes = live_routes(hub, lambda: store.runs([RunState.RUNNING]))
    app = Starlette(routes=routes, middleware=[access_check], lifespan=lifespan)
    with serve(app) as actual_serve:
        yield actual_serve


def brought(book: TokenBook, scope: Scope, run: str | None = None) -> dict[str, str]:
    return {"authorization": f"Bearer {book.make([scope], run, timedelta(days=1), '', 'a test')[1]}"}


def test_a_program_watches_a_run_as_the_page_does(address: str, book: TokenBook) -> None:
    headers = brought(book, Scope.LIVE)
    assert httpx.get(f"http://{address}/api/live", headers=headers).json() == {
        "runs": [{"id": "r1", "name": "one", "state": "running", "kind": "launched"}]
    }
    with connect(f"ws://{address}/api/live?run=r1", additional_headers=headers) as socket:
        socket.send("{}")
        hello, snapshot = (json.loads(socket.recv(timeout=60)) for _ in range(2))
    assert (hello["type"], snapshot["type"], snapshot["run"]) == ("hello", "snapshot", "r1")
    assert snapshot["meta"]["name"] == "one"


def test_no_other_token_watches(address: str, book: TokenBook) -> None:
    for scope, run in ((Scope.SQL, None), (Scope.AGENT, "r1")):
        headers = brought(book, scope, run)
        assert httpx.get(f"http://{address}/api/live", headers=headers).status_code == 403
        with pytest.raises(InvalidStatus) as refused:
            connect(f"ws://{address}/api/live?run=r1", additional_headers=headers)
        assert refused.value.response.status_code == 403


WRONG_CURSORS = ('{"engine":1}', '{"log":"x"}', "[" * 100_000, '{"gpu":"soon"}', '{"meta":[]}')


@pytest.mark.parametrize("cursor", WRONG_CURSORS, ids=range(5))
def test_foreign_cursor_gets_a_snapshot(address: str, book: TokenBook, cursor: str) -> None:
    headers = brought(book, Scope.LIVE)
    with connect(f"ws://{address}/api/live?run=r1&run=r2", additional_headers=headers) as socket:
        socket.send(json.dumps({"r1": cursor, "r2": "{}"}))
        _, snapshot, document = (json.loads(socket.recv(timeout=60)) for _ in range(3))
    assert (snapshot["type"], snapshot["run"]) == ("snapshot", "r1")
    assert (document["type"], document["run"]) == ("gone", "r2")


def test_nested_brackets_message_is_refused(address: str, book: TokenBook) -> None:
    with connect(f"ws://{address}/api/live?run=r1", additional_headers=brought(book, Scope.LIVE)) as socket:
        socket.send("[" * 100_000)
        with pytest.raises(ConnectionClosed, match="the first message must be JSON"):
            socket.recv(timeout=60)


def test_claims_of_a_client_cost_others_nothing(address: str, book: TokenBook, store: Store) -> None:
    """The first to watch a run says to have what has not come yet; the second is still told all that comes."""
    headers, url = brought(book, Scope.LIVE), f"ws://{address}/api/live?run=r1"
    far = json.dumps(dict.fromkeys(("engine", "host", "gpu"), "9999-01-01T00:00:00+00:00") | {"log": 2**62})
    with connect(url, additional_headers=headers) as first, connect(url, additional_headers=headers) as second:
        first.send(json.dumps({"r1": far}))
        assert [json.loads(first.recv(timeout=60))["type"] for _ in range(2)] == ["hello", "backfill"]
        second.send("{}")
        assert [json.loads(second.recv(timeout=60))["type"] for _ in range(2)] == ["hello", "snapshot"]
        store.write(Batch((GpuSample("r1", NOW, 1.0, "m", 0, power_w=101.0),))).result()
        texts = (str(second.recv(timeout=60)) for _ in range(12))
        assert any("101.0" in text for text in texts), "beats alone"
