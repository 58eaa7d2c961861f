"""The access check, asked by real HTTP and WebSocket clients."""

from __future__ import annotations

import http.client
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from settings import Settings, SettingsError
from web.access.access_rules import Access, access_for
from web.access.auth import AuthMiddleware
from web.access.roles import ROLE_KEY
from web.access.sessions import SessionBook
from web.access.shares import ShareBook
from web.access.signing_key import load_secret
from web.access.tokens import TokenBook


async def tell(request: Request) -> JSONResponse:
    values = [value for name, value in request.headers.items() if name == "x-pitwall-role"]
    return JSONResponse({"role": request.scope[ROLE_KEY], "headers": values, "query": request.url.query})


async def tell_socket(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text(str(websocket.scope[ROLE_KEY]))
    await websocket.close()


def guarded(access: Access, sessions: SessionBook, shares: ShareBook | None = None) -> Starlette:
    routes = [
        Route("/healthz", tell),
        Route("/{rest:path}", tell, methods=["GET", "POST"]),
        WebSocketRoute("/ws/live", tell_socket),
    ]
    return Starlette(
        routes=routes,
        middleware=[
            Middleware(
                AuthMiddleware,
                access=access,
                shares=shares or ShareBook(access.secret, ""),
                sessions=sessions,
                tokens=TokenBook(Path("/nonexistent/tokens.json")),
            )
        ],
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, port=8501)


@pytest.fixture
def access(settings: Settings) -> Access:
    return access_for(settings, load_secret(settings.secret_path))


@pytest.fixture
def sessions(settings: Settings) -> SessionBook:
    return SessionBook(settings.sessions_path)


@pytest.fixture
def client(serve, access: Access, sessions: SessionBook) -> Iterator[httpx.Client]:
    with serve(guarded(access, sessions)) as address, httpx.Client(base_url=f"http://{address}") as client:
        yield client


def sign_in(client: httpx.Client, access: Access) -> None:
    assert client.get("/", params={"token": access.token}).status_code == 303


def test_health_is_open_and_nothing_else_is(client: httpx.Client) -> None:
    assert client.get("/healthz").status_code == 200
    for path in ("/", "/healthz/", "/healthz/x", "/live", "/_stcore/health", "/static/index.html"):
        assert client.get(path).status_code == 401, path


def test_token_becomes_cookie_and_leaves_url(client: httpx.Client, access: Access) -> None:
    answer = client.get("/live", params=[("run", "a"), ("token", access.token), ("run", "b&c")])
    assert (answer.status_code, answer.headers["location"]) == (303, "/live?run=a&run=b%26c")
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith(f"{access.cookie_name}=") and "8501" not in access.cookie_name
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert access.token.lower() not in cookie
    assert client.get("/live").json()["role"] == "operator"


def test_the_redirect_never_leads_to_another_host(client: httpx.Client, access: Access) -> None:
    connection = http.client.HTTPConnection(client.base_url.host, client.base_url.port)
    connection.request("GET", f"//evil.example/x?token={access.token}")
    assert connection.getresponse().headers["location"] == "/evil.example/x"
    connection.close()


def test_wrong_token_refused_in_client_language(client: httpx.Client) -> None:
    page = client.get("/live?run=%22%3E%3Cscript%3E&token=wrong", headers={"accept": "text/html"})
    assert page.status_code == 401
    assert "This token is out of date. Use the link from the latest start." in page.text
    assert '"><script>' not in page.text
    assert 'value="&quot;&gt;&lt;script&gt;"' in page.text
    assert client.get("/live", headers={"accept": "*/*"}).json()["error"].startswith("Open the URL")


def test_sign_ins_survive_restart_but_not_tokens(serve, settings: Settings, access: Access) -> None:
    with serve(guarded(access, SessionBook(settings.sessions_path))) as address:
        cookies = httpx.get(f"http://{address}/?token={access.token}").cookies
    again = access_for(settings, load_secret(settings.secret_path))
    with serve(guarded(again, SessionBook(settings.sessions_path))) as address:
        assert httpx.get(f"http://{address}/", cookies=cookies).status_code == 200
        assert httpx.get(f"http://{address}/?token={access.token}").status_code == 401


def test_roles_claimed_by_the_client_are_dropped(client: httpx.Client, access: Access) -> None:
    assert client.get("/", headers={"X-Pitwall-Role": "operator"}).status_code == 401
    sign_in(client, access)
    answer = client.get("/", headers={"X-Pitwall-Role": "guest"}).json()
    assert answer["headers"] == ["operator"]
    assert answer["role"] == "operator"
    assert client.get("/healthz", headers={"cookie": "", "X-Pitwall-Role": "operator"}).json()["headers"] == []


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:9000", 401),  # through an SSH tunnel
        ("[::1]:8501", 401),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost@evil.example", 403),
        ("192.0.2.1", 403),
        ("[", 403),
        ("", 403),
    ],
)
def test_only_our_own_names_are_answered(client: httpx.Client, host: str, status: int) -> None:
    assert client.get("/", headers={"host": host}).status_code == status


def test_public_and_bound_addresses_are_accepted(serve, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, host="0.0.0.0", public_url="https://gpu.example/pit")
    access = access_for(settings, load_secret(settings.secret_path))
    with (
        serve(guarded(access, SessionBook(settings.sessions_path))) as address,
        httpx.Client(base_url=f"http://{address}") as client,
    ):
        status = {host: client.get("/", headers={"host": host}).status_code for host in ("gpu.example", "192.0.2.1")}
        assert status == {"gpu.example": 401, "192.0.2.1": 401}
        assert client.get("/", headers={"host": "evil.example"}).status_code == 403
        sign_in(client, access)
        assert client.post("/", headers={"origin": "https://gpu.example"}).status_code == 200
        assert client.post("/", headers={"origin": "http://gpu.example"}).status_code == 403


def test_changes_from_other_sites_are_refused(client: httpx.Client, access: Access) -> None:
    sign_in(client, access)
    text = str(client.base_url).rstrip("/")
    statuses = {
        origin: client.post("/", headers={"origin": origin}).status_code
        for origin in (text, "http://evil.example", "http://127.0.0.1:1", "null")
    }
    assert statuses == {text: 200, "http://evil.example": 403, "http://127.0.0.1:1": 403, "null": 403}
    assert client.post("/").status_code == 200
    assert client.get("/", headers={"origin": "http://evil.example"}).status_code == 200


def test_websockets_pass_the_same_gate(client: httpx.Client, access: Access) -> None:
    url = f"ws://{client.base_url.host}:{client.base_url.port}/ws/live"

    def attempt(**options: object) -> str | int:
        try:
            with connect(url, **options) as socket:
                return str(socket.recv())
        except InvalidStatus as refused:
            return refused.response.status_code

    assert attempt() == 401
    sign_in(client, access)
    cookie = {"cookie": f"{access.cookie_name}={client.cookies[access.cookie_name]}"}
    assert attempt(additional_headers=cookie) == "operator"
    assert attempt(additional_headers=cookie, origin=str(client.base_url).rstrip("/")) == "operator"
    assert attempt(additional_headers=cookie, origin="http://evil.example") == 403


def test_secret_is_made_once_for_its_owner(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "new" / "signing.key"
    with monkeypatch.context() as patch:
        patch.delattr(Path, "chmod")  # it is private from its first byte on
        secret = load_secret(path)
    assert load_secret(path) == secret
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["signing.key"]
    path.chmod(0o644)
    load_secret(path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"short")
    with pytest.raises(SettingsError, match="delete it"):
        load_secret(path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(SettingsError, match=r"a pipe.*delete it"):  # not waited for
        load_secret(path)


def test_the_token_is_in_no_log_and_no_repr(client: httpx.Client, access: Access, caplog, capfd) -> None:
    with caplog.at_level(logging.DEBUG, logger="uvicorn"):
        client.get("/", params={"token": access.token + "x"})
        client.get("/", params={"token": access.token})
    assert access.token not in caplog.text + repr(access) + "".join(capfd.readouterr())
