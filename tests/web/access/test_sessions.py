"""Sign-ins: how long they last, what ends them, what of them is kept."""

from __future__ import annotations

import os
import stat
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
from starlette.websockets import WebSocket
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from settings import Settings
from tests.web.standing_clock import Clock
from web.access.access_rules import Access, access_for
from web.access.auth import AuthMiddleware
from web.access.roles import ROLE_KEY, SESSION_HEADER
from web.access.sessions import NOTE_USE_EVERY, UNUSED_FOR, SessionBook, browser_name
from web.access.shares import ShareBook
from web.access.tokens import TokenBook

SECRET = b"a secret of more than enough length"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
Serve = Callable[[Any], AbstractContextManager[str]]


async def tell(request: Request) -> JSONResponse:
    return JSONResponse({"role": request.scope[ROLE_KEY], "session": request.headers.get(SESSION_HEADER)})


async def echo(websocket: WebSocket) -> None:
    await websocket.accept()
    async for text in websocket.iter_text():
        await websocket.send_text(text)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def book(tmp_path: Path, clock: Clock) -> SessionBook:
    return SessionBook(tmp_path / "sessions.json", clock)


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return access_for(Settings(data_dir=tmp_path), SECRET)


@pytest.fixture
def client(serve: Serve, access: Access, book: SessionBook, tmp_path: Path) -> Iterator[httpx.Client]:
    tokens = TokenBook(tmp_path / "tokens.json")
    access_check = Middleware(AuthMiddleware, access=access, shares=ShareBook(SECRET, ""), sessions=book, tokens=tokens)
    routes = [Route("/{rest:path}", tell), WebSocketRoute("/ws/live", echo)]
    app, fields = Starlette(routes=routes, middleware=[access_check]), {"user-agent": FIREFOX}
    with serve(app) as address, httpx.Client(base_url=f"http://{address}", headers=fields) as client:
        yield client


def sign_in(client: httpx.Client, access: Access) -> str:
    """The cookie header that signs this client in."""
    assert client.get("/", params={"token": access.token}).status_code == 303
    return f"{access.cookie_name}={client.cookies[access.cookie_name]}"


def test_sign_in_lasts_a_week_after_last_use(
    client: httpx.Client, access: Access, clock: Clock, book: SessionBook
) -> None:
    assert timedelta(days=7) == UNUSED_FOR
    sign_in(client, access)
    for _ in range(3):
        clock.now += UNUSED_FOR - timedelta(seconds=1)
        assert client.get("/").status_code == 200
    assert [(element.browser, element.last_used_at) for element in book.all()] == [("Firefox on Linux", clock.now)]
    clock.now += UNUSED_FOR
    assert client.get("/").status_code == 401 and book.all() == []


def test_signed_in_browser_stays_one_session(client: httpx.Client, access: Access, book: SessionBook) -> None:
    sign_in(client, access)
    sign_in(client, access)
    [session] = book.all()
    assert client.get("/", headers={SESSION_HEADER: "claimed"}).json() == {"role": "operator", "session": session.id}


def test_what_is_kept_signs_nobody_in(client: httpx.Client, access: Access, tmp_path: Path, clock: Clock) -> None:
    sign_in(client, access)
    token, kept_tmp_path = client.cookies[access.cookie_name], tmp_path / "sessions.json"
    [session] = SessionBook(kept_tmp_path, clock).all()
    assert token not in kept_tmp_path.read_text() and stat.S_IMODE(kept_tmp_path.stat().st_mode) == 0o600
    for value in (session.id, token[:-1], token + "x", "operator", ""):
        answer = client.get("/", headers={"cookie": f'other="x; {access.cookie_name}={value}'})
        assert answer.status_code == 401, value


def test_torn_session_file_ends_all_sign_ins(tmp_path: Path, clock: Clock) -> None:
    kept_tmp_path = tmp_path / "sessions.json"
    book = SessionBook(kept_tmp_path, clock)
    token = book.make(FIREFOX)
    clock.now += NOTE_USE_EVERY * 2
    assert book.use(token)
    assert SessionBook(kept_tmp_path, clock).all() == book.all()
    kept_tmp_path.write_text(kept_tmp_path.read_text()[:-5])
    assert SessionBook(kept_tmp_path, clock).all() == []
    kept_tmp_path.unlink()
    os.mkfifo(kept_tmp_path)
    assert SessionBook(kept_tmp_path, clock).all() == [], "a pipe is not waited for"


@pytest.mark.parametrize("how", ["this browser", "everywhere", "unused"])
def test_a_session_that_ends_closes_its_sockets(
    client: httpx.Client, access: Access, book: SessionBook, clock: Clock, how: str
) -> None:
    address = f"ws://{client.base_url.netloc.decode()}/ws/live"
    with connect(address, additional_headers={"cookie": sign_in(client, access)}) as socket:
        socket.send("still here")
        assert socket.recv(timeout=20) == "still here"
        if how == "this browser":
            book.end(book.all()[0].id)
        elif how == "everywhere":
            book.end_all()
        else:
            clock.now += UNUSED_FOR
        with pytest.raises(ConnectionClosed, match="signed out"):
            socket.recv(timeout=20)
    assert client.get("/").status_code == 401
    assert SessionBook(book._path, clock).all() == []


def test_others_stay_when_one_is_signed_out(book: SessionBook) -> None:
    first, second = book.make("curl/8"), book.make(FIREFOX)
    ended = book.use(first)
    assert ended
    book.end(ended.id)
    assert book.use(first) is None and book.use(second)


def test_a_full_disk_brings_no_sign_in_back(book: SessionBook, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    book.make(FIREFOX)

    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("web.access.sessions.write_private", full)
    book.end_all()
    assert SessionBook(book._path, clock).all() == []


def test_cookies_differ_by_data_folder_and_tls(tmp_path: Path) -> None:
    access, other_access = (access_for(Settings(data_dir=tmp_path), key * 32) for key in (b"a", b"b"))
    assert access.cookie_name != other_access.cookie_name
    assert access.cookie("-share", is_https=True) == f"__Host-{access.cookie_name}-share"


def test_browsers_keep_their_own_names() -> None:
    chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML) Chrome/140.0 Safari/537.36"
    assert browser_name(chrome) == "Chrome on Windows"
    assert browser_name("curl/8.5.0 x") == "curl/8.5.0" and browser_name("") == "unknown"


def test_answers_forbid_framing_and_sniffing(client: httpx.Client, access: Access) -> None:
    for answer in (client.get("/"), client.get("/live", params={"token": access.token}), client.get("/share/x")):
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"


def test_sign_in_page_lists_cookie_sharers(client: httpx.Client) -> None:
    page = client.get("/", headers={"accept": "text/html"})
    assert (
        "other servers" in page.text
        and "'unsafe-inline'" not in page.headers["content-security-policy"].split("style")[0]
    )
