"""Signing in through a team's OpenID provider: there, back, and a session whose role the claims give.

The protocol is Authlib's (authorization code with PKCE, state, nonce, the token's signature); see decision 0015. The
session ends with the provider's token.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
from starlette.datastructures import URL
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from domain import AuditEntry, utc_now
from web.access.access_rules import Access
from web.access.cookies import SESSION_SECONDS, SIGN_IN, is_https, moved_with_cookie
from web.access.roles import person
from web.access.sessions import SessionBook, browser_of
from web.access.sign_in_config import SignInConfig, SignInError, name_of
from web.access.signin_page import BACK, BEGIN, signin_page

PATIENCE_S = 15.0  # for all that the provider is asked in one step
STATE_LASTS_S = 600
MOST_BYTES = 1 << 20  # of one answer of the provider
NEXT = "next"
MISSING = "sign-in.toml needs Authlib: `.venv/bin/pip install -r requirements-sign-in.txt`."
AWAY = "The sign-in provider did not answer as it should; try again, or ask whoever runs it."
NOT_TAKEN = "The sign-in was not completed: it was cancelled, is too old, or was begun in another browser. Begin again."
NO_ROLE = "You are signed in there, but no role here is meant for you: ask the operator to name you in sign-in.toml."
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SignIn:
    """What the two routes need."""

    config: SignInConfig
    access: Access
    sessions: SessionBook
    record: Callable[[Iterable[AuditEntry]], Any]

    def routes(self) -> list[Route]:
        """Raises SignInError where Authlib is not installed."""
        if importlib.util.find_spec("authlib") is None:
            raise SignInError(MISSING)
        state = Middleware(
            SessionMiddleware,
            secret_key=hashlib.sha256(b"sign-in " + self.access.secret).hexdigest(),
            session_cookie=f"{self.access.cookie_name}-state",
            max_age=STATE_LASTS_S,
            path=f"{self.access.base_path}/sign-in",
            https_only=(self.access.public_origin or "").startswith("https:"),
        )
        provider = _provider(self.config)

        async def begin(request: Request) -> Response:
            request.session.clear()
            request.session[NEXT] = own_path(request.query_params.get(NEXT, ""), self.access.base_path)
            back = f"{self.access.url}{BACK}"
            answer: Response = await _within(provider.authorize_redirect(request, back), AWAY)
            return answer

        async def back(request: Request) -> Response:
            answer = await _within(provider.authorize_access_token(request), NOT_TAKEN)
            return answer if isinstance(answer, Response) else self._let_in(request, answer)

        base = self.access.base_path
        return [Route(f"{base}{BEGIN}", begin, middleware=[state]), Route(f"{base}{BACK}", back, middleware=[state])]

    def _let_in(self, request: Request, token: dict[str, Any]) -> Response:
        claims = token.get("userinfo") or {}
        role, agent = self.config.role_of(claims), request.headers.get("user-agent", "")
        if not claims or role is None:
            return _page("No role here", NO_ROLE, 403)
        name, until = name_of(claims), datetime.fromtimestamp(float(claims["exp"]), UTC)
        made = self.sessions.make(agent, role=role, name=name, until=until)
        self.record([AuditEntry(utc_now(), person(role, name), "sign in", detail=browser_of(agent))])
        to = request.session.pop(NEXT, None) or f"{self.access.base_path}/"
        request.session.clear()
        secure = is_https(self.access, request.scope, request.headers)
        return moved_with_cookie(self.access.cookie(SIGN_IN, secure), made, SESSION_SECONDS, secure, to)


def sign_in_routes(
    config: SignInConfig | None,
    access: Access,
    sessions: SessionBook,
    record: Callable[[Iterable[AuditEntry]], Any],
) -> list[Route]:
    """None without a provider; raises SignInError where Authlib is not installed."""
    return SignIn(config, access, sessions, record).routes() if config else []


def own_path(said: str, base_path: str) -> str:
    """A path of ours with its query; what would lead elsewhere leads to the first page."""
    url = URL(said)
    is_ours = (
        said.startswith(f"{base_path}/")
        and not said.startswith(("//", "/\\"))
        and not url.scheme
        and said.isprintable()
    )
    return said if is_ours and "\\" not in said else f"{base_path}/"


def _provider(config: SignInConfig) -> Any:
    from authlib.integrations.starlette_client import OAuth

    return OAuth().register(
        "provider",
        client_id=config.client_id,
        client_secret=config.client_secret,
        server_metadata_url=config.metadata_url,
        client_kwargs={
            "scope": config.scopes,
            "code_challenge_method": "S256",
            "timeout": PATIENCE_S,
            "transport": _Bounded(),
        },
    )


async def _within(asked: Any, otherwise: str) -> Any:
    """What the provider's library gives, or a page that says what is wrong."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await asked
    except (httpx.HTTPError, TimeoutError, _TooLongError):
        _log.warning("The sign-in provider cannot be asked.", exc_info=True)
        return _page("Not signed in", AWAY, 502)
    except Exception as error:  # whatever the library raises of what a browser or the provider brought
        _log.warning("A sign-in was refused: %s", type(error).__name__)
        return _page("Not signed in", otherwise, 400)


def _page(title: str, words: str, status: int) -> Response:
    page = signin_page(title, words, form=None)
    return HTMLResponse(page, status, headers={"cache-control": "no-store"})


class _TooLongError(Exception):
    """The provider's answer has no end in sight."""


class _Bounded(httpx.AsyncBaseTransport):
    """No answer of the provider is longer than MOST_BYTES, packed or not."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["accept-encoding"] = "identity"
        async with httpx.AsyncHTTPTransport() as transport:
            answer = await transport.handle_async_request(request)
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise _TooLongError
            body = b"".join([part async for part in _cut(answer)])
            return httpx.Response(answer.status_code, headers=answer.headers, content=body, request=request)


async def _cut(answer: httpx.Response) -> AsyncIterator[bytes]:
    taken = 0
    async for part in answer.aiter_raw():
        taken += len(part)
        if taken > MOST_BYTES:
            raise _TooLongError
        yield part
