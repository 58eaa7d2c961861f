"""The check before every route: who asks, from where, and in which role.

Pure ASGI, so that WebSockets pass through it as HTTP does. Order of the checks: `/healthz` is open;
a Host that is not ours is DNS rebinding (403); a foreign Origin on a WebSocket or a change is
cross-site (403); the operator's token or a share's link becomes a cookie (303); without a valid cookie, 401.
Programs bring a token instead, as a bearer token, which opens only the routes of its scopes below `/api/`.
A viewer passes only where GUEST_ROUTES say so, changes nothing, and is put out when the share ends, as a member is
whose session ends and a program whose token does.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Coroutine, Iterable, Sequence
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Scope_

from web.access.access_rules import Access
from web.access.addresses import host_is_ours, origin_is_ours
from web.access.api_routes import API_ROUTES, bearer, is_from_here, why_not_pass
from web.access.cookies import SESSION_SECONDS, SHARE, SIGN_IN, is_https, moved_with_cookie
from web.access.expiring_socket import SocketUntil, without_install_path
from web.access.refusals import (
    HOW_PROGRAMS_SIGN_IN,
    WRONG_TOKEN,
    beyond_role,
    forbidden,
    over,
    unknown,
    unknown_program,
)
from web.access.roles import Visitor, with_visitor
from web.access.sessions import SIGNED_OUT, MemberRole, SessionBook, is_higher
from web.access.shares import ShareBook
from web.access.signin_page import BACK, BEGIN, Way
from web.access.tokens import PREFIX, SIGN_IN_AS, TOKEN_IS_OVER, ApiToken, TokenBook
from web.server.headers import with_security_headers

LINK_IS_OVER = "This link is over."
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
# What a guest may ask for, by the first part of the path.
GUEST_PAGES = {"live", "compare", "replay", "run", "studies", "report"}
GUEST_ROUTES = GUEST_PAGES | {"series", "static", "assets", "media", "component", "favicon.png"}
GUEST_CORE = {"/_stcore/health", "/_stcore/host-config", "/_stcore/allowed-message-origins"}  # of Streamlit's own
GUEST_COMPONENTS = "/_stcore/bidi-components/"
OPERATORS_PAGES = {"launch"}
GUEST_SOCKETS = {"/_stcore/stream", "/ws/live"}
ONLY_LOOK = "A link that was shared is for looking only."
SIGN_IN_ROUTES = {BEGIN, BACK}  # before anybody is known


class AuthMiddleware:
    """ASGI middleware that answers whoever may not pass, and passes the others' role to what is behind it."""

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        shares: ShareBook,
        sessions: SessionBook,
        tokens: TokenBook,
        provider: str | None = None,
    ) -> None:
        """`provider`: the name of the team's OpenID provider, where there is one."""
        self._app = app
        self._access = access
        self._shares = shares
        self._sessions = sessions
        self._tokens = tokens
        self._provider = provider

    async def __call__(self, scope: Scope_, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        send = with_security_headers(send)
        headers = Headers(scope=scope)
        visitor = self._visitor(scope, headers)
        answer = None if self._is_open(scope) else self._refusal(scope, headers, visitor)
        if answer is None:
            await self._let_in(with_visitor(scope, visitor), receive, send, visitor)
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
        """The answer of the access check itself, or None for whoever may pass."""
        if not host_is_ours(headers.get("host"), self._access.hosts, self._access.any_address):
            return forbidden(headers, "This Host name is not one that Pitwall is reached by; set PITWALL_PUBLIC_URL.")
        changes = scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS
        if changes and not origin_is_ours(headers, self._access.public_origin):
            return forbidden(headers, "This request comes from another site.")
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if given and scope["type"] == "http" and (proven := self._proven(given)):
            return self._signed_in(scope, headers, query, *proven)
        if scope["type"] == "http" and self._path(scope).startswith("/share/"):
            return self._shared(scope, headers)
        if self._provider and scope["type"] == "http" and self._path(scope) in SIGN_IN_ROUTES:
            return None
        if visitor is None:
            return self._refuse_anonymous(scope, headers, query)
        return self._beyond_role(scope, headers, visitor)

    def _beyond_role(self, scope: Scope_, headers: Headers, visitor: Visitor) -> Response | None:
        """The answer to whoever is known and may not do this; None for whoever may."""
        if visitor.role in {"operator", "program"} and self._path(scope).startswith(API_ROUTES):
            is_secret_line = is_https(self._access, scope, headers) or is_from_here(scope)
            why = why_not_pass(self._path(scope), visitor.token, is_secret_line)
            return forbidden(headers, why) if why else None
        if visitor.role == "guest":
            return None if self._is_for_guests(scope) else forbidden(headers, ONLY_LOOK)
        may = visitor.role == "operator" or self._is_for_members(scope)
        return None if may else beyond_role(headers, f"{self._access.base_path}/")

    def _proven(self, given: Sequence[str]) -> tuple[MemberRole, ApiToken | None] | None:
        """The role that one of these tokens signs in with: that of this start, or one made for a person."""
        if any(_same(value, self._access.token) for value in given):
            return "operator", None
        found = (self._tokens.find(value) for value in given if value.startswith(PREFIX))
        for token in filter(None, found):
            role = SIGN_IN_AS.get(token.scopes[0])
            if role and self._tokens.why_over(token) is None:
                return role, token
        return None

    def _is_for_members(self, scope: Scope_) -> bool:
        """What editors and viewers may ask for: to look at everything; what they change goes through the pages."""
        path = self._path(scope)
        if scope["type"] == "websocket":
            return path in GUEST_SOCKETS
        closed = path.startswith(API_ROUTES) or path.split("/")[1] in OPERATORS_PAGES
        return scope["method"] in SAFE_METHODS and not closed

    def _is_for_guests(self, scope: Scope_) -> bool:
        """Whether a guest may pass here: what is not named stays closed, routes that are added later too."""
        path = self._path(scope)
        if scope["type"] == "websocket":
            return path in GUEST_SOCKETS
        is_named = path == "/" or path.split("/")[1] in GUEST_ROUTES or path in GUEST_CORE
        return scope["method"] in SAFE_METHODS and (is_named or path.startswith(GUEST_COMPONENTS))

    def _refuse_anonymous(self, scope: Scope_, headers: Headers, query: list[tuple[str, str]]) -> Response:
        """Why nobody is let in here: a program without its token, a wrong token, a share that is over, or nothing."""
        path = self._path(scope)
        if path.startswith(API_ROUTES):
            return unknown_program(self._why_over(headers) or HOW_PROGRAMS_SIGN_IN)
        way = self._way(scope, query)
        if any(name == "token" for name, _ in query):
            return unknown(headers, query, WRONG_TOKEN, way)
        if self._cookie(scope, headers, SHARE):
            return over(headers, status_code=401)
        return unknown(headers, query, "", way)

    def _way(self, scope: Scope_, query: Iterable[tuple[str, str]]) -> Way | None:
        """The link to the team's provider, which leads back to this address."""
        if self._provider is None:
            return None
        kept = urlencode([(name, value) for name, value in query if name != "token"])
        back = quote(scope["path"], safe="/") + (f"?{kept}" if kept else "")
        return Way(self._provider, f"{self._access.base_path}{BEGIN}?{urlencode({'next': back})}")

    def _visitor(self, scope: Scope_, headers: Headers) -> Visitor | None:
        """The program that brings an open token; else the member whom a cookie proves, or an open share's guest."""
        if self._path(scope).startswith(API_ROUTES) and "authorization" in headers:
            token = self._tokens.find(bearer(headers))
            return Visitor("program", token=token) if token and self._tokens.why_over(token) is None else None
        if session := self._sessions.use(self._cookie(scope, headers, SIGN_IN)):
            return Visitor(session.role, session=session)
        share = self._shares.read_token(self._cookie(scope, headers, SHARE))
        return Visitor("guest", share) if share else None

    def _why_over(self, headers: Headers) -> str | None:
        """What to say to whoever brings a token that was one."""
        token = self._tokens.find(bearer(headers)) if "authorization" in headers else None
        return self._tokens.why_over(token) if token else None

    def _cookie(self, scope: Scope_, headers: Headers, kind: str) -> str:
        name = self._access.cookie(kind, is_https(self._access, scope, headers))
        return cookie_parser(headers.get("cookie", "")).get(name, "")

    def _signed_in(
        self,
        scope: Scope_,
        headers: Headers,
        query: Iterable[tuple[str, str]],
        role: MemberRole,
        token: ApiToken | None,
    ) -> Response:
        """A token in the address becomes a session of its role; a browser that has it, or a higher role, keeps its own.

        Else a link with a viewer's token would sign the operator's browser out of its role.
        """
        kept = [(name, value) for name, value in query if name != "token"]
        secret = self._cookie(scope, headers, SIGN_IN)
        known = self._sessions.use(secret)
        is_same = known and (known.role, known.token_id) == (role, token.id if token else None)
        if not is_same and (known is None or not is_higher(known.role, role)):
            agent, name = headers.get("user-agent", ""), token.note if token else ""
            secret = self._sessions.make(
                agent, role, name, token.expires_at if token else None, token.id if token else None
            )
        # A path of two leading slashes would be read as another host.
        path = "/" + quote(scope["path"].lstrip("/\\"), safe="/")
        return self._moved(scope, headers, (SIGN_IN, secret, SESSION_SECONDS), path, kept)

    def _shared(self, scope: Scope_, headers: Headers) -> Response:
        """A link that was shared becomes a guest's cookie and the page it was made on."""
        token = self._path(scope).removeprefix("/share/")
        share = self._shares.read_token(token)
        if share is None:
            return over(headers)
        path = f"{self._access.base_path}/{share.page}"
        shown = [("study", share.study_id)] if share.study_id else [("run", run_id) for run_id in share.run_ids]
        shown += parse_qsl(share.query or "")
        return self._moved(scope, headers, (SHARE, token, self._shares.seconds_left(share)), path, shown)

    def _moved(
        self, scope: Scope_, headers: Headers, cookie: tuple[str, str, int], to: str, query: Sequence[tuple[str, str]]
    ) -> Response:
        secure, (kind, value, lasts_s) = is_https(self._access, scope, headers), cookie
        return moved_with_cookie(self._access.cookie(kind, secure), value, lasts_s, secure, to, query)


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())
