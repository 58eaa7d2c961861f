"""The check before every route: who asks, from where, and in which role.

Pure ASGI, so that WebSockets pass through it as HTTP does. Order of the checks: `/healthz` is open;
a Host that is not ours is DNS rebinding (403); a foreign Origin on a WebSocket or a change is
cross-site (403); the operator's token or a share's link becomes a cookie (303); without a valid cookie, 401.
Programs bring a token instead, as a bearer token, which opens only the routes of its scopes below `/api/`.
A viewer passes only where VIEWER_ROUTES say so, changes nothing, and is put out when the share ends, as an operator is
whose session ends and a program whose token does.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl, quote, urlencode

import streamlit as st
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Scope_

from domain import Share
from web.access.access_rules import Access
from web.access.addresses import host_is_ours, origin_is_ours
from web.access.api_routes import API_ROUTES, bearer, is_from_here, why_not_pass
from web.access.expiring_socket import SocketUntil, without_install_path
from web.access.refusals import HOW_PROGRAMS_SIGN_IN, WRONG_TOKEN, forbidden, over, unknown, unknown_program
from web.access.sessions import SIGNED_OUT, Session, SessionBook
from web.access.shares import ShareBook
from web.access.tokens import TOKEN_IS_OVER, ApiToken, Scope, TokenBook
from web.server.headers import with_security_headers

Role = Literal["operator", "viewer", "program"]
ROLES: tuple[Role, ...] = ("operator", "viewer", "program")
ROLE_KEY = "pitwall.role"  # in the ASGI scope
SHARE_KEY = "pitwall.share"  # in the ASGI scope: the share of a viewer
TOKEN_KEY = "pitwall.token"  # in the ASGI scope: the token of a program
ROLE_HEADER = "x-pitwall-role"  # how a page script learns it: only the gate can set it
SHARE_HEADER = "x-pitwall-share"
SESSION_HEADER = "x-pitwall-session"
COOKIE_SECONDS = 365 * 24 * 3600  # the session book decides, and needs no new cookie at each use
LINK_IS_OVER = "This link is over."
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
# What a viewer may ask for, by the first part of the path.
VIEWER_PAGES = {"live", "compare", "replay", "run", "studies", "report"}
VIEWER_ROUTES = VIEWER_PAGES | {"series", "static", "assets", "media", "component", "favicon.png"}
VIEWER_CORE = {"/_stcore/health", "/_stcore/host-config", "/_stcore/allowed-message-origins"}  # of Streamlit's own
VIEWER_COMPONENTS = "/_stcore/bidi-components/"
VIEWER_SOCKETS = {"/_stcore/stream", "/ws/live"}
ONLY_LOOK = "A link that was shared is for looking only."


@dataclass(frozen=True)
class Visitor:
    """Who asks, as the cookies prove it."""

    role: Role
    share: Share | None = None  # of a viewer, always
    session: Session | None = None  # of a browser that is signed in
    token: ApiToken | None = None  # of a program, always


def current_role() -> Role | None:
    """The role of the browser behind the running page script; None when the gate did not let it in."""
    return _as_role(st.context.headers.get(ROLE_HEADER))


def current_share_id() -> str | None:
    """The share that let the browser behind the running page script in; None for the operator."""
    return st.context.headers.get(SHARE_HEADER)


def current_session_id() -> str | None:
    """The session of the browser behind the running page script; None for a viewer."""
    return st.context.headers.get(SESSION_HEADER)


def may_see(scope: Scope_, run_ids: Iterable[str]) -> bool:
    """Whether whoever sent this request, as the gate found, may see all of these runs."""
    share: Share | None = scope[SHARE_KEY]
    token: ApiToken | None = scope[TOKEN_KEY]
    if token:
        return Scope.LIVE in token.scopes
    return scope[ROLE_KEY] == "operator" or (share is not None and set(run_ids) <= set(share.run_ids))


def _as_role(said: object) -> Role | None:
    return next((role for role in ROLES if role == said), None)


class AuthMiddleware:
    """ASGI middleware that answers whoever may not pass, and tells the others' role to what is behind it."""

    def __init__(
        self, app: ASGIApp, access: Access, shares: ShareBook, sessions: SessionBook, tokens: TokenBook
    ) -> None:
        self._app = app
        self._access = access
        self._shares = shares
        self._sessions = sessions
        self._tokens = tokens

    async def __call__(self, scope: Scope_, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        send = with_security_headers(send)
        headers = Headers(scope=scope)
        visitor = self._visitor(scope, headers)
        answer = None if self._is_open(scope) else self._refusal(scope, headers, visitor)
        if answer is None:
            await self._let_in(_with_visitor(scope, visitor), receive, send, visitor)
        elif scope["type"] == "websocket" and "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
        else:
            await answer(scope, receive, send)

    async def _let_in(self, scope: Scope_, receive: Receive, send: Send, visitor: Visitor | None) -> None:
        """Pass the request on; a WebSocket lasts no longer than the share or the session that opened it."""
        until = self._until(visitor) if scope["type"] == "websocket" and visitor else None
        if until is None:
            await self._app(scope, receive, send)
            return
        wait, is_over, reason = until
        send = send if visitor and visitor.role == "operator" else without_install_path(send)
        end = asyncio.create_task(wait)
        socket = SocketUntil(end, is_over, receive, send, reason)
        try:
            await self._app(scope, socket.receive, socket.send)
        finally:
            end.cancel()

    def _until(self, visitor: Visitor) -> tuple[Coroutine[None, None, None], Callable[[], bool], str] | None:
        """What waits for a visitor's end, what asks whether it has come, and the words for it."""
        share, session, shares, sessions = visitor.share, visitor.session, self._shares, self._sessions
        token, tokens = visitor.token, self._tokens
        if token:
            return tokens.wait_for_end(token), lambda: tokens.why_over(token) is not None, TOKEN_IS_OVER
        if session:
            return sessions.wait_for_end(session.id), lambda: not sessions.is_open(session.id), SIGNED_OUT
        if share:
            return shares.wait_for_end(share.id), lambda: shares.find_open(share.id) is None, LINK_IS_OVER
        return None

    def _is_open(self, scope: Scope_) -> bool:
        return scope["type"] == "http" and self._path(scope) == "/healthz"

    def _path(self, scope: Scope_) -> str:
        """The path as the routes know it, below the base path."""
        path: str = scope["path"]
        return path.removeprefix(self._access.base_path) if path.startswith(f"{self._access.base_path}/") else "/"

    def _refusal(self, scope: Scope_, headers: Headers, visitor: Visitor | None) -> Response | None:
        """The answer of the gate itself, or None for whoever may pass."""
        if not host_is_ours(headers.get("host"), self._access.hosts, self._access.any_address):
            return forbidden(headers, "This Host name is not one that Pitwall is reached by; set PITWALL_PUBLIC_URL.")
        changes = scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS
        if changes and not origin_is_ours(headers, self._access.public_origin):
            return forbidden(headers, "This request comes from another site.")
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if given and scope["type"] == "http" and any(_same(value, self._access.token) for value in given):
            return self._signed_in(scope, headers, query)
        if scope["type"] == "http" and self._path(scope).startswith("/share/"):
            return self._shared(scope, headers)
        if visitor is None:
            return self._refuse_anonymous(scope, headers, query)
        if visitor.role != "viewer" and self._path(scope).startswith(API_ROUTES):
            is_secret_line = self._is_https(scope, headers) or is_from_here(scope)
            why = why_not_pass(self._path(scope), visitor.token, is_secret_line)
            return forbidden(headers, why) if why else None
        return None if visitor.role == "operator" or self._is_for_viewers(scope) else forbidden(headers, ONLY_LOOK)

    def _is_for_viewers(self, scope: Scope_) -> bool:
        """Whether a viewer may pass here: what is not named stays closed, routes that are added later too."""
        path = self._path(scope)
        if scope["type"] == "websocket":
            return path in VIEWER_SOCKETS
        is_named = path == "/" or path.split("/")[1] in VIEWER_ROUTES or path in VIEWER_CORE
        return scope["method"] in SAFE_METHODS and (is_named or path.startswith(VIEWER_COMPONENTS))

    def _refuse_anonymous(self, scope: Scope_, headers: Headers, query: list[tuple[str, str]]) -> Response:
        """Why nobody is let in here: a program without its token, a wrong token, a share that is over, or nothing."""
        if self._path(scope).startswith(API_ROUTES):
            return unknown_program(self._why_over(headers) or HOW_PROGRAMS_SIGN_IN)
        if any(name == "token" for name, _ in query):
            return unknown(headers, query, WRONG_TOKEN)
        if self._cookie(scope, headers, "-share"):
            return over(headers, status_code=401)
        return unknown(headers, query, "")

    def _visitor(self, scope: Scope_, headers: Headers) -> Visitor | None:
        """The program that brings an open token; else the operator that a cookie proves, or an open share's viewer."""
        if self._path(scope).startswith(API_ROUTES) and "authorization" in headers:
            token = self._tokens.find(bearer(headers))
            return Visitor("program", token=token) if token and self._tokens.why_over(token) is None else None
        if session := self._sessions.use(self._cookie(scope, headers, "")):
            return Visitor("operator", session=session)
        share = self._shares.read_token(self._cookie(scope, headers, "-share"))
        return Visitor("viewer", share) if share else None

    def _why_over(self, headers: Headers) -> str | None:
        """What to say to whoever brings a token that was one."""
        token = self._tokens.find(bearer(headers)) if "authorization" in headers else None
        return self._tokens.why_over(token) if token else None

    def _cookie(self, scope: Scope_, headers: Headers, kind: str) -> str:
        name = self._access.cookie(kind, self._is_https(scope, headers))
        return cookie_parser(headers.get("cookie", "")).get(name, "")

    def _signed_in(self, scope: Scope_, headers: Headers, query: Iterable[tuple[str, str]]) -> Response:
        kept = [(name, value) for name, value in query if name != "token"]
        # A path of two leading slashes would be read as another host.
        path = "/" + quote(scope["path"].lstrip("/\\"), safe="/")
        token = self._cookie(scope, headers, "")
        if not self._sessions.use(token):
            token = self._sessions.make(headers.get("user-agent", ""))
        return self._moved(path, kept, ("", token), COOKIE_SECONDS, self._is_https(scope, headers))

    def _shared(self, scope: Scope_, headers: Headers) -> Response:
        """A link that was shared becomes a viewer's cookie and the page it was made on."""
        token = self._path(scope).removeprefix("/share/")
        share = self._shares.read_token(token)
        if share is None:
            return over(headers)
        path = f"{self._access.base_path}/{share.page}"
        shown = [("study", share.study_id)] if share.study_id else [("run", run_id) for run_id in share.run_ids]
        shown += parse_qsl(share.query or "")
        return self._moved(
            path, shown, ("-share", token), self._shares.seconds_left(share), self._is_https(scope, headers)
        )

    def _moved(
        self, path: str, query: Sequence[tuple[str, str]], cookie: tuple[str, str], lasts_s: int, secure: bool
    ) -> Response:
        answer = RedirectResponse(path + (f"?{urlencode(query)}" if query else ""), status_code=303)
        kind, value = cookie
        name = self._access.cookie(kind, secure)
        answer.set_cookie(name, value, max_age=lasts_s, path="/", secure=secure, httponly=True, samesite="lax")
        answer.headers["cache-control"] = "no-store"
        return answer

    def _is_https(self, scope: Scope_, headers: Headers) -> bool:
        """Whether the browser came by TLS, which a proxy in front of us may have ended."""
        return (
            scope["scheme"] in ("https", "wss")
            or self._access.public_origin == f"https://{headers.get('host', '').lower()}"
        )


def _with_visitor(scope: Scope_, visitor: Visitor | None) -> Scope_:
    """The scope with the role and share we found, and none that the client claimed."""
    ours = [(name, value) for name, value in scope["headers"] if not name.lower().startswith(b"x-pitwall-")]
    if visitor:
        ours.append((ROLE_HEADER.encode(), visitor.role.encode()))
    if visitor and visitor.session:
        ours.append((SESSION_HEADER.encode(), visitor.session.id.encode()))
    if visitor and visitor.share:
        ours.append((SHARE_HEADER.encode(), visitor.share.id.encode()))
    return {
        **scope,
        "headers": ours,
        ROLE_KEY: visitor.role if visitor else None,
        SHARE_KEY: visitor.share if visitor else None,
        TOKEN_KEY: visitor.token if visitor else None,
    }


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())
