"""Shares at the access check: what a link opens, for how long, and what it never does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.types import Message
from starlette.websockets import WebSocket
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from domain import Config, Run, Share, utc_now
from settings import Settings
from storage.store import Store
from tests.web.report_export.test_study_report import study_of_drafts
from tests.web.standing_clock import Clock
from web.access.access_rules import access_for
from web.access.auth import LINK_EXPIRED, AuthMiddleware
from web.access.expiring_socket import INSTALLED_AT, ExpiringSocket
from web.access.roles import ROLE_KEY, SHARE_KEY
from web.access.sessions import SessionBook
from web.access.shares import ShareBook, share_url
from web.access.tokens import TokenBook

SECRET = b"a secret of more than enough length"
WEEK = timedelta(days=7)
ROOT = Path(__file__).resolve().parents[3]
Serve = Callable[[Any], AbstractContextManager[str]]


async def tell(request: Request) -> JSONResponse:
    share: Share | None = request.scope[SHARE_KEY]
    values = [value for name, value in request.headers.items() if name == "x-pitwall-share"]
    return JSONResponse({"role": request.scope[ROLE_KEY], "share": share and share.id, "headers": values})


async def echo(websocket: WebSocket) -> None:
    await websocket.accept()
    async for text in websocket.iter_text():
        await websocket.send_text(text)


async def tell_its_place(websocket: WebSocket) -> None:
    """As Streamlit does in its first message."""
    await websocket.accept()
    await websocket.send_bytes(b"\x0a" + INSTALLED_AT + b"/app.py")
    await websocket.receive()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(Settings(data_dir=tmp_path))
    yield store
    store.close()


@pytest.fixture
def book(store: Store, clock: Clock) -> ShareBook:
    book = ShareBook(SECRET, "http://127.0.0.1:1", clock)
    book.load(store)
    return book


@pytest.fixture
def client(serve: Serve, book: ShareBook, tmp_path: Path) -> Iterator[httpx.Client]:
    access = access_for(Settings(data_dir=tmp_path, host="0.0.0.0"), SECRET)
    sessions = SessionBook(tmp_path / "sessions.json")
    routes = [
        Route("/{rest:path}", tell, methods=["GET", "POST", "PUT"]),
        *(WebSocketRoute(path, echo) for path in ("/ws/live", "/ws/other")),
        WebSocketRoute("/_stcore/stream", tell_its_place),
    ]
    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(
                AuthMiddleware,
                access=access,
                shares=book,
                sessions=sessions,
                tokens=TokenBook(tmp_path / "tokens.json"),
            )
        ],
    )
    with serve(app) as address, httpx.Client(base_url=f"http://{address}") as client:
        yield client


def follow(client: httpx.Client, book: ShareBook, share: Share) -> httpx.Response:
    return client.get(f"/share/{book.token(share)}")


def test_a_link_leads_to_its_runs_as_a_viewer(client: httpx.Client, book: ShareBook) -> None:
    share = book.make(["b", "a", "b"], "compare", WEEK, "operator")
    answer = follow(client, book, share)
    assert (answer.status_code, answer.headers["location"]) == (303, "/compare?run=b&run=a")
    assert "httponly" in answer.headers["set-cookie"].lower()
    assert client.get("/compare").json() == {"role": "guest", "share": share.id, "headers": [share.id]}
    forged = client.get("/compare", headers={"x-pitwall-share": "other", "x-pitwall-role": "operator"}).json()
    assert forged == {"role": "guest", "share": share.id, "headers": [share.id]}


def test_first_opening_of_a_link_is_in_the_audit(
    client: httpx.Client, book: ShareBook, store: Store, clock: Clock
) -> None:
    share, unopened = (book.make([name], "live", WEEK, "operator") for name in "ab")
    for _ in range(2):
        follow(client, book, share)
    client.get("/share/forged")
    store.record([]).result()  # as a store that closes does
    restarted = ShareBook(SECRET, "http://127.0.0.1:1", clock)
    restarted.load(store)
    restarted.note_opening(share)
    store.record([]).result()
    assert [(entry.action, entry.detail, entry.role) for entry in store.audit(9)] == [
        ("open link", f"link {share.id}", "guest")
    ]
    restarted.note_opening(unopened)
    store.record([]).result()
    assert len(store.audit(9)) == 2


def test_viewer_uses_named_routes_read_only(client: httpx.Client, book: ShareBook) -> None:
    follow(client, book, book.make(["a"], "live", WEEK, "operator"))
    opened = {path: client.get(path).status_code for path in ("/", "/live", "/run", "/_stcore/health", "/static/x.js")}
    closed = {
        path: client.get(path).status_code for path in ("/launch", "/runs", "/sql", "/api/sql", "/%2Fapi", "/later")
    }
    assert set(opened.values()) == {200} and set(closed.values()) == {403}
    assert {client.get(f"/_stcore/{path}").status_code for path in ("metrics", "agent/openapi.json", "x")} == {403}
    assert {client.post("/live").status_code, client.put("/_stcore/upload_file/a/b").status_code} == {403}
    cookie = {"cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}
    with (
        pytest.raises(InvalidStatus),
        connect(f"ws://{client.base_url.netloc.decode()}/ws/other", additional_headers=cookie),
    ):
        pass


def test_viewer_does_not_learn_install_path(client: httpx.Client, book: ShareBook) -> None:
    follow(client, book, book.make(["a"], "live", WEEK, "operator"))
    cookie = {"cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}
    with connect(f"ws://{client.base_url.netloc.decode()}/_stcore/stream", additional_headers=cookie) as socket:
        place = str(ROOT).encode()
        assert socket.recv(timeout=20) == b"\x0a" + b"." * len(place) + b"/app.py", "of the same length"


def test_study_link_includes_later_runs_and_ends(client: httpx.Client, book: ShareBook, store: Store) -> None:
    study = study_of_drafts("s1", "Which?")
    store.save_study(study)
    share = book.make([], "report", WEEK, "operator", study=study, query="margin=0.1")
    assert follow(client, book, share).headers["location"] == "/report?study=s1&margin=0.1"
    now = utc_now()
    run = Run(id="r1", name="r1", color=0, machine_id="m", created_at=now, config=Config(), batch_id="s1")
    store.save_run(run)
    store.save_run(run.model_copy(update={"id": "r2", "batch_id": "another"}))
    book.refresh_study("s1")
    found = book.find_open(share.id)
    assert found and found.run_ids == ("r1",)
    book.revoke(share.id)
    book.refresh_study("s1")
    assert book.find_open(share.id) is None and follow(client, book, share).status_code == 410
    assert [share.run_ids for share in store.shares()] == [()]


def test_a_link_to_nothing_is_not_made(book: ShareBook) -> None:
    with pytest.raises(ValueError, match="at least one run"):
        book.make([], "live", WEEK, "operator")


@pytest.mark.parametrize("how", ["revoked", "past its end"])
def test_a_share_that_ends_puts_its_viewers_out(client: httpx.Client, book: ShareBook, clock: Clock, how: str) -> None:
    share = book.make(["a"], "live", WEEK, "operator")
    follow(client, book, share)
    cookie = {"cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}
    with connect(f"ws://{client.base_url.netloc.decode()}/ws/live", additional_headers=cookie) as socket:
        socket.send("still here")
        assert socket.recv(timeout=20) == "still here"
        if how == "revoked":
            book.revoke(share.id)
        else:
            clock.now += WEEK
        with pytest.raises(ConnectionClosed, match="no longer valid"):
            socket.recv(timeout=20)
    answer = client.get("/live", headers={"accept": "text/html"})
    assert answer.status_code == 401 and "revoked" in answer.text
    assert follow(client, book, share).status_code == 410


def test_browser_learns_the_end_reason_once() -> None:
    async def app_sends_after_the_end() -> list[Message]:
        messages: list[Message] = []

        async def send(message: Message) -> None:
            messages.append(message)

        ended = asyncio.create_task(asyncio.sleep(0))
        socket = ExpiringSocket(ended, lambda: True, asyncio.Event().wait, send, LINK_EXPIRED)  # type: ignore[arg-type]
        with pytest.raises(OSError, match="ended"):
            await socket.send({"type": "websocket.send", "text": "too late"})
        await socket.receive()
        return messages

    assert asyncio.run(app_sends_after_the_end()) == [{"type": "websocket.close", "code": 1008, "reason": LINK_EXPIRED}]


def test_socket_closes_at_its_end_despite_clock() -> None:
    async def received() -> Message:
        async def send(_: Message) -> None:
            return None

        ended = asyncio.create_task(asyncio.sleep(0))
        return await ExpiringSocket(ended, lambda: False, asyncio.Event().wait, send, LINK_EXPIRED).receive()  # type: ignore[arg-type]

    assert asyncio.run(received())["type"] == "websocket.disconnect"


def test_nothing_passes_a_socket_after_its_end() -> None:
    async def passes() -> tuple[Message, list[Message]]:
        messages: list[Message] = []

        async def send(message: Message) -> None:
            messages.append(message)

        async def receive() -> Message:
            return {"type": "websocket.receive", "text": "too late"}

        never = asyncio.create_task(asyncio.sleep(3600))
        socket = ExpiringSocket(never, lambda: True, receive, send, LINK_EXPIRED)
        got = await socket.receive()
        with pytest.raises(OSError, match="ended"):
            await socket.send({"type": "websocket.send", "text": "too late"})
        never.cancel()
        return got, messages

    got, sent = asyncio.run(passes())
    assert got == {"type": "websocket.disconnect", "code": 1008, "reason": LINK_EXPIRED}
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_a_forged_or_foreign_token_opens_nothing(client: httpx.Client, book: ShareBook, store: Store) -> None:
    share = book.make(["a"], "live", WEEK, "operator")
    other_share_book = ShareBook(b"another secret of enough length!!", "")
    for token in (other_share_book.token(share), share.id, book.token(share)[:-1], "", "%00", "a.b"):
        assert client.get(f"/share/{token}").status_code == 410, token
    assert client.get("/live").status_code == 401
    assert book.token(share) not in str(store.query("FROM raw.shares").to_pylist())


def test_shares_outlive_a_restart(book: ShareBook, store: Store, clock: Clock) -> None:
    share = book.make(["a"], "live", WEEK, "operator")
    again = ShareBook(SECRET, "", clock)
    assert again.read_token(book.token(share)) is None
    again.load(store)
    assert again.read_token(book.token(share)) == share


def test_beyond_loopback_the_gate_stays(client: httpx.Client) -> None:
    """This client's Pitwall listens on every interface, by an explicit setting."""
    assert client.get("/", headers={"host": "192.0.2.7:8501"}).status_code == 401


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({}, "http://127.0.0.1:8501"),
        ({"public_url": "https://gpu.example/pit/"}, "https://gpu.example/pit"),
        ({"public_url": "https://gpu.example"}, "https://gpu.example"),
        ({"host": "192.0.2.7"}, "http://192.0.2.7:8501"),
    ],
)
def test_links_begin_with_how_others_reach_us(tmp_path: Path, settings: dict[str, Any], url: str) -> None:
    assert share_url(Settings(data_dir=tmp_path, **settings)) == url
