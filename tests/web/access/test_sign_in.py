"""Signing in through an OpenID provider, a real one on this machine, and what each role may ask for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from domain import AuditEntry
from settings import Settings
from tests.web.standing_clock import Clock
from web.access.access_rules import Access, access_for
from web.access.auth import AuthMiddleware
from web.access.roles import NAME_HEADER, ROLE_KEY
from web.access.sessions import SessionBook
from web.access.shares import ShareBook
from web.access.sign_in_config import SignInConfig, SignInError, read_sign_in
from web.access.tokens import Scope, TokenBook, TokenError
from web.server.sign_in import SignIn, own_path, sign_in_routes

provider_mock = pytest.importorskip("oidc_provider_mock")
SECRET = b"a secret of more than enough length"
Serve = Callable[[Any], AbstractContextManager[str]]
PAGE = {"accept": "text/html"}
LASTS = timedelta(minutes=30)
PEOPLE = {
    "ann": {"email": "ann@example.test", "email_verified": True, "groups": ["llm"]},
    "bob": {"email": "bob@example.test", "email_verified": True},
    "eve": {"email": "eve@example.test"},  # she says so; nobody has verified it
}
ROLES = {"operator": {"sub": ("olga",)}, "editor": {"groups": ("llm*",)}, "viewer": {"email": ("*@example.test",)}}


async def tell(request: Request) -> JSONResponse:
    name = unquote(request.headers.get(NAME_HEADER, ""))
    return JSONResponse({"role": request.scope[ROLE_KEY], "name": name})


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    people = [provider_mock.User(sub=sub, claims=claims) for sub, claims in PEOPLE.items()]
    with provider_mock.run_server_in_thread(access_token_max_age=LASTS, user_claims=people) as server:
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture
def access(tmp_path: Path) -> Access:
    return access_for(Settings(data_dir=tmp_path), SECRET)


@pytest.fixture
def tokens(tmp_path: Path) -> TokenBook:
    return TokenBook(tmp_path / "tokens.json")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def audit_entries() -> list[AuditEntry]:
    return []


@pytest.fixture
def client(
    serve: Serve,
    access: Access,
    tokens: TokenBook,
    clock: Clock,
    audit_entries: list[AuditEntry],
    issuer: str,
    tmp_path: Path,
) -> Iterator[httpx.Client]:
    sessions = SessionBook(tmp_path / "sessions.json", clock, tokens.is_open)
    config = SignInConfig(issuer=issuer, client_id="pitwall", client_secret="s", roles=ROLES)  # type: ignore[arg-type]
    routes = sign_in_routes(config, access, sessions, audit_entries.extend)
    access_check = Middleware(
        AuthMiddleware,
        access=access,
        shares=ShareBook(SECRET, ""),
        sessions=sessions,
        tokens=tokens,
        provider=config.name,
    )
    app = Starlette(routes=[*routes, Route("/{rest:path}", tell, methods=["GET", "POST"])], middleware=[access_check])
    with serve(app) as address, httpx.Client(base_url=f"http://{address}", headers=PAGE) as client:
        yield client


def there_and_back(client: httpx.Client, sub: str, begin: str = "/sign-in/begin") -> httpx.Response:
    """As a browser does it; the answer with which it comes back."""
    response = client.get(begin)
    assert response.status_code == 302, response.text
    back = httpx.post(response.headers["location"], data={"sub": sub})
    assert back.status_code in (302, 303), back.text
    url = urlsplit(back.headers["location"])
    return client.get(f"{url.path}?{url.query}")


def test_sign_in_returns_to_address_with_role(client: httpx.Client, audit_entries: list[AuditEntry]) -> None:
    text = "/compare?run=a&run=b"
    page = client.get(text)
    assert page.status_code == 401 and f'href="/sign-in/begin?next={quote(text, safe="")}"' in page.text
    back = there_and_back(client, "ann", f"/sign-in/begin?next={quote(text, safe='')}")
    assert (back.status_code, back.headers["location"]) == (303, text)
    assert client.get("/").json() == {"role": "editor", "name": "ann@example.test"}
    assert [(one.role, one.action) for one in audit_entries] == [("ann@example.test (editor)", "sign in")]


def test_a_session_ends_with_the_providers_token(client: httpx.Client, clock: Clock) -> None:
    assert there_and_back(client, "bob").status_code == 303
    assert client.get("/").json()["role"] == "viewer"
    clock.now = datetime.now(UTC) + LASTS + timedelta(minutes=1)
    assert client.get("/").status_code == 401


def test_an_unverified_address_gives_no_role(client: httpx.Client) -> None:
    back = there_and_back(client, "eve")
    assert back.status_code == 403 and "you have no role in Pitwall" in back.text
    assert client.get("/").status_code == 401


@pytest.mark.parametrize("query", ["", "code=x&state=made-up", "error=access_denied&state=x"])
def test_unsolicited_callback_gives_no_sign_in(client: httpx.Client, query: str) -> None:
    answer = client.get(f"/sign-in/back?{query}")
    assert answer.status_code == 400 and "not completed" in answer.text
    assert client.get("/").status_code == 401


def test_what_one_browser_began_no_other_ends(client: httpx.Client) -> None:
    response = client.get("/sign-in/begin")
    back = urlsplit(httpx.post(response.headers["location"], data={"sub": "ann"}).headers["location"])
    with httpx.Client(base_url=client.base_url, headers=PAGE) as other_client:
        assert other_client.get(f"{back.path}?{back.query}").status_code == 400
        assert other_client.get("/").status_code == 401


def test_silent_provider_is_a_sentence(serve: Serve, access: Access, tmp_path: Path) -> None:
    config = SignInConfig(issuer="http://127.0.0.1:9", client_id="p", client_secret="s", roles={})
    routes = sign_in_routes(config, access, SessionBook(tmp_path / "s.json"), lambda entries: None)
    with serve(Starlette(routes=routes)) as address:
        answer = httpx.get(f"http://{address}/sign-in/begin")
    assert answer.status_code == 502 and "did not respond" in answer.text


@pytest.mark.parametrize(
    "text", ["//evil.test/x", "https://evil.test", "/\\evil.test", "\\/evil.test", "evil", "", "/a\nb", "/\tx"]
)
def test_nobody_is_led_elsewhere(text: str) -> None:
    assert own_path(text, "") == "/" and own_path("/pit/" + text, "/other") == "/other/"


@pytest.mark.parametrize(("scope", "role"), [(Scope.EDITOR, "editor"), (Scope.VIEWER, "viewer")])
def test_token_signs_in_until_revoked(client: httpx.Client, tokens: TokenBook, scope: Scope, role: str) -> None:
    token, text = tokens.make([scope], None, timedelta(days=3), "Zoë", "a test")
    assert client.get(f"/run?run=a&token={text}").headers["location"] == "/run?run=a"
    assert client.get("/").json() == {"role": role, "name": "Zoë"}
    tokens.revoke(token.id, "a test")
    assert client.get("/").status_code == 401
    assert client.get(f"/?token={text}").status_code == 401


def test_member_views_all_and_changes_nothing(client: httpx.Client, tokens: TokenBook) -> None:
    _, text = tokens.make([Scope.EDITOR], None, timedelta(days=3), "Ann", "a test")
    client.get(f"/?token={text}")
    for path in ("/", "/runs", "/sql", "/explore", "/run", "/_stcore/health"):
        assert client.get(path).status_code == 200, path
    for path in ("/launch", "/launch/x", "/api/live", "/api/sql"):
        assert client.get(path).status_code == 403, path
    assert client.post("/runs").status_code == 403


def test_lesser_token_link_keeps_the_role(client: httpx.Client, access: Access, tokens: TokenBook) -> None:
    client.get(f"/?token={access.token}")
    _, text = tokens.make([Scope.VIEWER], None, timedelta(days=3), "Mallory", "a test")
    client.get(f"/?token={text}")
    assert client.get("/").json() == {"role": "operator", "name": ""}


def test_only_the_operator_promotes_a_person(client: httpx.Client, access: Access, tokens: TokenBook) -> None:
    _, text = tokens.make([Scope.VIEWER], None, timedelta(days=3), "Ann", "a test")
    client.get(f"/?token={text}")
    client.get(f"/?token={access.token}")
    assert client.get("/").json()["role"] == "operator"


def test_person_token_names_a_single_person(tokens: TokenBook) -> None:
    for scopes, note in (([Scope.EDITOR], " "), ([Scope.EDITOR, Scope.SQL], "Ann")):
        with pytest.raises(TokenError, match="names the person"):
            tokens.make(scopes, None, timedelta(days=1), note, "a test")


def test_private_file_errors_reveal_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "sign-in.toml"
    assert read_sign_in(path) is None
    for text, mode, word in (
        ('issuer = "https://i"', 0o644, "chmod 600"),
        ("issuer = ", 0o600, "not valid TOML"),
        ('issuer = "ftp://hush"\nclient_id = "p"\nclient_secret = "hush"\n[roles]', 0o600, "issuer is invalid"),
        ('issuer = "https://i"\nclient_id = "p"\nclient_secret = "hush"\n[roles.boss]', 0o600, "roles"),
    ):
        path.write_text(text)
        path.chmod(mode)
        with pytest.raises(SignInError, match=word) as refused:
            read_sign_in(path)
        assert "hush" not in str(refused.value)


@pytest.mark.parametrize("exp", [1e308, 253402300800, -1e30, float("nan"), "soon", None, []])
def test_impossible_expiry_gives_no_session(exp: object, access: Access, tmp_path: Path) -> None:
    config = SignInConfig(issuer="http://i", client_id="pitwall", client_secret="s", roles=ROLES)  # type: ignore[arg-type]
    sign_in = SignIn(config, access, SessionBook(tmp_path / "sessions.json"), lambda entries: None)
    request = Request({"type": "http", "headers": [], "session": {}})
    answer = sign_in._let_in(request, {"userinfo": {"sub": "olga", "exp": exp}})
    assert answer.status_code == 403 and b"until when it is valid" in bytes(answer.body)
