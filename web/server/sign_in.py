"""Sign-in through a team's OpenID provider: the redirect there, the return, and a session with the role of the claims.

Authlib implements the protocol (authorization code with PKCE, state, nonce, the token's signature); see decision 0015.
The session ends when the provider's token does.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from starlette.datastructures import URL
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from domain import AuditEntry, utc_now
from web.access.access_rules import Access
from web.access.cookies import SESSION_SECONDS, SIGN_IN, is_https, redirect_with_cookie
from web.access.roles import person_label
from web.access.sessions import SessionBook, browser_name
from web.access.sign_in_config import SignInConfig, SignInError, person_name
from web.access.signin_page import BACK, BEGIN, signin_page

if TYPE_CHECKING:
    import httpx
else:  # Authlib sends through httpx2, which has the same names, where another package such as the MCP SDK brings it
    httpx = importlib.import_module("httpx2" if importlib.util.find_spec("httpx2") else "httpx")

PATIENCE_S = 15.0  # for all requests to the provider in one step
STATE_LASTS_S = 600
MOST_BYTES = 1 << 20  # of one response of the provider
NEXT = "next"
AUTHLIB_MISSING = "sign-in.toml needs Authlib: `.venv/bin/pip install -r requirements-sign-in.txt`."
PROVIDER_FAILED = "The sign-in provider did not respond as expected. Try again, or ask its administrator."
NOT_TAKEN = (
    "The sign-in was not completed: it was cancelled, took too long, or was started in another browser. Start again."
)
NO_ROLE = "The provider signed you in, but you have no role in Pitwall. Ask the operator to add you to sign-in.toml."
NO_EXPIRY = "The provider's token does not say until when it is valid (its claim exp): ask its administrator."
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SignIn:
    """The dependencies of the two sign-in routes."""

    config: SignInConfig
    access: Access
    sessions: SessionBook
    record: Callable[[Iterable[AuditEntry]], Any]

    def routes(self) -> list[Route]:
        """Return the two routes; raises SignInError if Authlib is not installed."""
        if importlib.util.find_spec("authlib") is None:
            raise SignInError(AUTHLIB_MISSING)
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
            redirect_url = f"{self.access.url}{BACK}"
            answer: Response = await _within(provider.authorize_redirect(request, redirect_url), PROVIDER_FAILED)
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
            return _page("No role assigned", NO_ROLE, 403)
        name, until = person_name(claims), _expiry(claims)
        if until is None:
            return _page("Sign-in was refused", NO_EXPIRY, 403)
        session_token = self.sessions.make(agent, role=role, name=name, until=until)
        self.record([AuditEntry(utc_now(), person_label(role, name), "sign in", detail=browser_name(agent))])
        target = request.session.pop(NEXT, None) or f"{self.access.base_path}/"
        request.session.clear()
        secure = is_https(self.access, request.scope, request.headers)
        return redirect_with_cookie(self.access.cookie(SIGN_IN, secure), session_token, SESSION_SECONDS, secure, target)


def sign_in_routes(
    config: SignInConfig | None,
    access: Access,
    sessions: SessionBook,
    record: Callable[[Iterable[AuditEntry]], Any],
) -> list[Route]:
    """Return the sign-in routes, none without a provider; raises SignInError if Authlib is not installed."""
    return SignIn(config, access, sessions, record).routes() if config else []


def _expiry(claims: Mapping[str, Any]) -> datetime | None:
    """Return when the provider's token expires (`exp`, epoch seconds); None if that is no date."""
    try:
        return datetime.fromtimestamp(float(claims["exp"]), UTC)
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return None


def own_path(path: str, base_path: str) -> str:
    """Return a path of Pitwall with its query; anything that leads elsewhere becomes the first page."""
    url = URL(path)
    is_local = (
        path.startswith(f"{base_path}/")
        and not path.startswith(("//", "/\\"))
        and not url.scheme
        and path.isprintable()
    )
    return path if is_local and "\\" not in path else f"{base_path}/"


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
            "transport": _BoundedTransport(),
        },
    )


async def _within(provider_call: Any, refusal: str) -> Any:
    """Return the result of a call to the provider's library, or a page that says what is wrong."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await provider_call
    except (httpx.HTTPError, TimeoutError, _TooLongError):
        _log.warning("The sign-in provider cannot be reached.", exc_info=True)
        return _page("Not signed in", PROVIDER_FAILED, 502)
    except Exception as error:  # anything that invalid input from a browser or the provider raises
        _log.warning("A sign-in was refused: %s", type(error).__name__)
        return _page("Not signed in", refusal, 400)


def _page(title: str, text: str, status: int) -> Response:
    page = signin_page(title, text, form=None)
    return HTMLResponse(page, status, headers={"cache-control": "no-store"})


class _TooLongError(Exception):
    """The provider's response is longer than MOST_BYTES, or compressed."""


class _BoundedTransport(httpx.AsyncBaseTransport):
    """A transport that refuses compressed responses and those longer than MOST_BYTES."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["accept-encoding"] = "identity"
        async with httpx.AsyncHTTPTransport() as transport:
            answer = await transport.handle_async_request(request)
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise _TooLongError
            body = b"".join([part async for part in _limited_chunks(answer)])
            return httpx.Response(answer.status_code, headers=answer.headers, content=body, request=request)


async def _limited_chunks(answer: httpx.Response) -> AsyncIterator[bytes]:
    byte_count = 0
    async for part in answer.aiter_raw():
        byte_count += len(part)
        if byte_count > MOST_BYTES:
            raise _TooLongError
        yield part
