"""Tokens of programs at the real access check: what each opens, and until when."""

from __future__ import annotations

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
from web.access.api_routes import is_local_client, refusal_of_program
from web.access.auth import AuthMiddleware
from web.access.roles import ROLE_KEY, TOKEN_KEY
from web.access.sessions import SessionBook
from web.access.shares import ShareBook
from web.access.tokens import SIGN_IN_AS, ApiToken, Scope, TokenBook, TokenError

ROOT = Path(__file__).resolve().parents[3]
SECRET = b"a secret of more than enough length"
DAY = timedelta(days=1)
ROUTES = {
    "/api/sql": Scope.SQL,
    "/api/lake/sql": Scope.LAKE,
    "/api/live": Scope.LIVE,
    "/api/agent/batches": Scope.AGENT,
    "/metrics": Scope.METRICS,
}
Serve = Callable[[Any], AbstractContextManager[str]]


async def tell(request: Request) -> JSONResponse:
    token: ApiToken | None = request.scope[TOKEN_KEY]
    return JSONResponse({"role": request.scope[ROLE_KEY], "run": token and token.run_id})


async def echo(websocket: WebSocket) -> None:
    await websocket.accept()
    async for text in websocket.iter_text():
        await websocket.send_text(text)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture
def book(settings: Settings, clock: Clock) -> TokenBook:
    return TokenBook(settings.tokens_path, clock)


@pytest.fixture
def access(settings: Settings) -> Access:
    return access_for(settings, SECRET)


@pytest.fixture
def client(serve: Serve, settings: Settings, access: Access, book: TokenBook) -> Iterator[httpx.Client]:
    access_check = Middleware(
        AuthMiddleware,
        access=access,
        shares=ShareBook(SECRET, ""),
        sessions=SessionBook(settings.sessions_path),
        tokens=book,
    )
    routes = [Route("/{rest:path}", tell, methods=["GET", "POST"]), WebSocketRoute("/api/live", echo)]
    with (
        serve(Starlette(routes=routes, middleware=[access_check])) as address,
        httpx.Client(base_url=f"http://{address}") as client,
    ):
        yield client


def make_token(book: TokenBook, *scopes: Scope, run: str | None = None, lasts: timedelta = DAY) -> str:
    return book.make(scopes, run, lasts, "", "a test")[1]


def post_text(client: httpx.Client, path: str, text: str, **headers: str) -> httpx.Response:
    return client.post(path, headers={"authorization": f"Bearer {text}", **headers})


@pytest.mark.parametrize("scope", [scope for scope in Scope if scope not in SIGN_IN_AS])
def test_token_opens_only_routes_of_its_scope(client: httpx.Client, book: TokenBook, scope: Scope) -> None:
    text = make_token(book, scope, run="r1" if scope is Scope.AGENT else None)
    for path, route in ROUTES.items():
        answer = post_text(client, path, text)
        assert answer.status_code == (200 if route is scope else 403), (path, answer.text)
        if route is not scope:
            assert scope in answer.json()["error"] and route in answer.json()["error"]
    for path in ("/", "/run", "/apix", "/_stcore/stream"):
        assert post_text(client, path, text).status_code == 401, path
    for path in ("/api/", "/api/sqlx", "/api/new"):
        assert post_text(client, path, text).status_code == 403, path


def test_every_route_below_api_has_a_scope() -> None:
    """The routes as app.py puts them together, read from its text: it cannot be imported here."""
    words = {word for path in sorted((ROOT / "web/server/api").glob("*_api.py")) for word in _paths(path)}
    assert words and all(
        refusal_of_program(path, None, True) != refusal_of_program("/api/new", None, True) for path in words
    )


def _paths(path: Path) -> set[str]:
    words = path.read_text().split('"')
    return {f"/api{word.partition('/api')[2]}" for word in words if word.startswith("{base_path}/api")}


def test_a_token_of_two_scopes_opens_both(client: httpx.Client, book: TokenBook) -> None:
    text = make_token(book, Scope.SQL, Scope.LIVE)
    assert [post_text(client, path, text).status_code for path in ROUTES] == [200, 403, 200, 403, 403]


def test_the_agents_token_tells_the_one_run(client: httpx.Client, book: TokenBook) -> None:
    text = make_token(book, Scope.AGENT, run="r1")
    answer = post_text(client, "/api/agent/batches?run=r2", text, **{"x-pitwall-role": "operator"})
    assert answer.json() == {"role": "program", "run": "r1"}


def test_a_token_ends_at_its_time(client: httpx.Client, book: TokenBook, clock: Clock) -> None:
    text = make_token(book, Scope.SQL)
    clock.now += DAY - timedelta(seconds=1)
    assert post_text(client, "/api/sql", text).status_code == 200
    clock.now += timedelta(seconds=1)
    answer = post_text(client, "/api/sql", text)
    assert (answer.status_code, answer.json()["error"]) == (401, "This token has expired.")


def test_a_revoked_token_opens_nothing(client: httpx.Client, book: TokenBook) -> None:
    text = make_token(book, Scope.SQL)
    [token] = book.all()
    book.revoke(token.id, "a test")
    answer = post_text(client, "/api/sql", text)
    assert (answer.status_code, answer.json()["error"]) == (401, "This token has been revoked.")
    with pytest.raises(TokenError, match="no token nope"):
        book.revoke("nope", "a test")


def test_wrong_token_fails_despite_any_cookie(client: httpx.Client, book: TokenBook, access: Access) -> None:
    text = make_token(book, Scope.SQL)
    for header in ("", "Bearer", f"Bearer {text}x", f"Bearer {text[:-1]}", text, f"Basic {text}"):
        assert client.post("/api/sql", headers={"authorization": header}).status_code == 401, header
    assert client.get("/", params={"token": access.token}).status_code == 303
    assert client.post("/api/sql").json()["role"] == "operator"
    assert post_text(client, "/api/sql", "wrong").status_code == 401, "who brings a token is judged by it"


def test_operator_browser_cannot_write_by_api(client: httpx.Client, access: Access) -> None:
    client.get("/", params={"token": access.token})
    answer = client.post("/api/agent/batches")
    assert (answer.status_code, "token for its run" in answer.json()["error"]) == (403, True)


def test_a_guest_passes_no_programs_route(
    serve: Serve, settings: Settings, access: Access, book: TokenBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    from storage.store import Store

    store = Store.open(settings)
    shares = ShareBook(SECRET, "http://127.0.0.1:1")
    shares.load(store)
    share = shares.make(["r1"], "live", DAY, "operator")
    access_check = Middleware(
        AuthMiddleware, access=access, shares=shares, sessions=SessionBook(settings.sessions_path), tokens=book
    )
    app = Starlette(routes=[Route("/{rest:path}", tell, methods=["GET", "POST"])], middleware=[access_check])
    with serve(app) as address, httpx.Client(base_url=f"http://{address}") as guest:
        assert guest.get(f"/share/{shares.token(share)}").status_code == 303
        assert guest.get("/live").json()["role"] == "guest"
        assert [guest.get(path).status_code for path in ROUTES] == [403] * len(ROUTES)
    store.close()


def test_writes_and_streams_need_tls_or_loopback() -> None:
    token = ApiToken(
        id="a", digest="", scopes=(Scope.AGENT,), run_id="r", made_by="", created_at=Clock().now, expires_at=Clock().now
    )
    assert refusal_of_program("/api/agent", token, is_confidential=True) is None
    assert "unencrypted" in (refusal_of_program("/api/agent", token, is_confidential=False) or "")
    assert [
        is_local_client({"client": client}) for client in (("127.0.0.1", 1), ("::1", 1), ("192.0.2.1", 1), None)
    ] == [
        True,
        True,
        False,
        False,
    ]


def test_proxy_line_is_judged_by_its_claims(serve: Serve, client: httpx.Client, book: TokenBook) -> None:
    """uvicorn believes the headers of a proxy on this machine."""
    text = make_token(book, Scope.AGENT, run="r1")
    far = {"x-forwarded-for": "192.0.2.1"}
    assert post_text(client, "/api/agent", text, **far, **{"x-forwarded-proto": "https"}).status_code == 200
    answer = post_text(client, "/api/agent", text, **far, **{"x-forwarded-proto": "http"})
    assert (answer.status_code, "unencrypted" in answer.json()["error"]) == (403, True)


def test_an_open_socket_ends_with_its_token(client: httpx.Client, book: TokenBook) -> None:
    text = make_token(book, Scope.LIVE)
    url = f"ws://{client.base_url.host}:{client.base_url.port}/api/live"
    with connect(url, additional_headers={"authorization": f"Bearer {text}"}) as socket:
        socket.send("hello")
        assert socket.recv() == "hello"
        book.revoke(book.all()[0].id, "a test")
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=30)
    assert closed.value.rcvd and "no longer valid" in closed.value.rcvd.reason
