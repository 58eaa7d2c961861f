"""The access check before every route: it determines the visitor, their origin and their role.

It is pure ASGI, so that WebSockets pass through it like HTTP. Order of the checks: `/healthz` is open; an unknown Host
is DNS rebinding (403); a foreign Origin on a WebSocket or a change is cross-site (403); the operator's token or a
share's link becomes a cookie (303); a request without a valid cookie gets 401. Programs send a bearer token instead,
which opens only the routes of its scopes: `/metrics` and those below `/api/`. A guest may only read what GUEST_ROUTES
allow. A WebSocket ends when the guest's share, the member's session or the program's token does.
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
from web.access.addresses import is_own_host, is_own_origin
from web.access.api_routes import bearer, is_for_programs, is_local_client, refusal_of_program
from web.access.cookies import SESSION_SECONDS, SHARE, SIGN_IN, is_https, redirect_with_cookie
from web.access.expiring_socket import ExpiringSocket, without_install_path
from web.access.headers import with_security_headers
from web.access.refusals import (
    HOW_PROGRAMS_SIGN_IN,
    WRONG_TOKEN,
    beyond_role,
    expired_link,
    forbidden,
    program_unknown,
    read_only,
    sign_in_required,
)
from web.access.roles import Visitor, with_visitor
from web.access.sessions import SIGNED_OUT, MemberRole, SessionBook, is_higher
from web.access.shares import ShareBook
from web.access.signin_page import BACK, BEGIN, ProviderLink
from web.access.tokens import PREFIX, SIGN_IN_AS, TOKEN_EXPIRED, ApiToken, TokenBook

LINK_EXPIRED = "This link is no longer valid."
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
# The routes open to guests, by the first part of the path.
GUEST_PAGES = {"live", "compare", "replay", "run", "studies", "report"}
GUEST_ROUTES = GUEST_PAGES | {"series", "static", "assets", "media", "component", "favicon.png"}
GUEST_CORE = {"/_stcore/health", "/_stcore/host-config", "/_stcore/allowed-message-origins"}  # routes of Streamlit
GUEST_COMPONENTS = "/_stcore/bidi-components/"
OPERATOR_PAGES = {"launch"}
GUEST_SOCKETS = {"/_stcore/stream", "/ws/live"}
SIGN_IN_ROUTES = {BEGIN, BACK}  # open to unknown visitors


class AuthMiddleware:
    """ASGI middleware that refuses requests, or passes them on with the visitor's role."""

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        shares: ShareBook,
        sessions: SessionBook,
        tokens: TokenBook,
        provider: str | None = None,
    ) -> None:
        """`provider`: the name of the team's OpenID provider, if there is one."""
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
        """Pass the request on; a WebSocket ends at the latest with the share, session or token that opened it."""
        expiry = self._expiry(visitor) if scope["type"] == "websocket" and visitor else None
        if expiry is None:
            await self._app(scope, receive, send)
            return
        wait, is_over, reason = expiry
        send = send if visitor and visitor.role == "operator" else without_install_path(send)
        end = asyncio.create_task(wait)
        socket = ExpiringSocket(end, is_over, receive, send, reason)
        try:
            await self._app(scope, socket.receive, socket.send)
        finally:
            end.cancel()

    def _expiry(self, visitor: Visitor) -> tuple[Coroutine[None, None, None], Callable[[], bool], str] | None:
        """Return a coroutine that waits for the end of a visitor's access, a test for it, and the message for it."""
        share, session, shares, sessions = visitor.share, visitor.session, self._shares, self._sessions
        token, tokens = visitor.token, self._tokens
        if token:
            return tokens.wait_for_end(token), lambda: tokens.why_expired(token) is not None, TOKEN_EXPIRED
        if session:
            return sessions.wait_for_end(session.id), lambda: not sessions.is_open(session.id), SIGNED_OUT
        if share:
            return shares.wait_for_end(share.id), lambda: shares.find_open(share.id) is None, LINK_EXPIRED
        return None

    def _is_open(self, scope: Scope_) -> bool:
        return scope["type"] == "http" and self._path(scope) == "/healthz"

    def _path(self, scope: Scope_) -> str:
        """Return the path below the base path."""
        path: str = scope["path"]
        return path.removeprefix(self._access.base_path) if path.startswith(f"{self._access.base_path}/") else "/"

    def _refusal(self, scope: Scope_, headers: Headers, visitor: Visitor | None) -> Response | None:
        """Return the access check's own response, or None if the request may pass."""
        if not is_own_host(headers.get("host"), self._access.hosts, self._access.any_address):
            return forbidden(headers, "Pitwall does not serve this host name; set PITWALL_PUBLIC_URL.")
        changes = scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS
        if changes and not is_own_origin(headers, self._access.public_origin):
            return forbidden(headers, "This request comes from another site.")
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        tokens = [value for name, value in query if name == "token"]
        if tokens and scope["type"] == "http" and (identity := self._identity(tokens)):
            return self._redirect_signed_in(scope, headers, query, *identity)
        if scope["type"] == "http" and self._path(scope).startswith("/share/"):
            return self._open_share(scope, headers)
        if self._provider and scope["type"] == "http" and self._path(scope) in SIGN_IN_ROUTES:
            return None
        if visitor is None:
            return self._refuse_anonymous(scope, headers, query)
        return self._beyond_role(scope, headers, visitor)

    def _beyond_role(self, scope: Scope_, headers: Headers, visitor: Visitor) -> Response | None:
        """Return the refusal for a known visitor, or None if the visitor may do this."""
        if visitor.role in {"operator", "program"} and is_for_programs(self._path(scope)):
            is_confidential = is_https(self._access, scope, headers) or is_local_client(scope)
            why = refusal_of_program(self._path(scope), visitor.token, is_confidential)
            return forbidden(headers, why) if why else None
        if visitor.role == "guest":
            return None if self._is_for_guests(scope) else read_only(headers, f"{self._access.base_path}/")
        is_allowed = visitor.role == "operator" or self._is_for_members(scope)
        return None if is_allowed else beyond_role(headers, f"{self._access.base_path}/")

    def _identity(self, tokens: Sequence[str]) -> tuple[MemberRole, ApiToken | None] | None:
        """Return the role and token of a sign-in with one of these tokens: this start's, or one made for a person."""
        if any(_same(value, self._access.token) for value in tokens):
            return "operator", None
        candidates = (self._tokens.find(value) for value in tokens if value.startswith(PREFIX))
        for token in filter(None, candidates):
            role = SIGN_IN_AS.get(token.scopes[0])
            if role and self._tokens.why_expired(token) is None:
                return role, token
        return None

    def _is_for_members(self, scope: Scope_) -> bool:
        """Whether editors and viewers may request this: they read everything, and make changes through the pages."""
        path = self._path(scope)
        if scope["type"] == "websocket":
            return path in GUEST_SOCKETS
        closed = is_for_programs(path) or path.split("/")[1] in OPERATOR_PAGES
        return scope["method"] in SAFE_METHODS and not closed

    def _is_for_guests(self, scope: Scope_) -> bool:
        """Whether a guest may pass here; unlisted routes, including future ones, stay closed."""
        path = self._path(scope)
        if scope["type"] == "websocket":
            return path in GUEST_SOCKETS
        is_named = path == "/" or path.split("/")[1] in GUEST_ROUTES or path in GUEST_CORE
        return scope["method"] in SAFE_METHODS and (is_named or path.startswith(GUEST_COMPONENTS))

    def _refuse_anonymous(self, scope: Scope_, headers: Headers, query: list[tuple[str, str]]) -> Response:
        """Return the refusal of an unknown visitor, who has a wrong token, an ended share or nothing."""
        path = self._path(scope)
        if is_for_programs(path):
            return program_unknown(self._why_expired(headers) or HOW_PROGRAMS_SIGN_IN)
        link = self._provider_link(scope, query)
        if any(name == "token" for name, _ in query):
            return sign_in_required(headers, query, WRONG_TOKEN, link)
        if self._cookie(scope, headers, SHARE):
            return expired_link(headers, status_code=401)
        return sign_in_required(headers, query, "", link)

    def _provider_link(self, scope: Scope_, query: Iterable[tuple[str, str]]) -> ProviderLink | None:
        """Return the sign-in link to the team's provider, which leads back to this address."""
        if self._provider is None:
            return None
        query_text = urlencode([(name, value) for name, value in query if name != "token"])
        back = quote(scope["path"], safe="/") + (f"?{query_text}" if query_text else "")
        return ProviderLink(self._provider, f"{self._access.base_path}{BEGIN}?{urlencode({'next': back})}")

    def _visitor(self, scope: Scope_, headers: Headers) -> Visitor | None:
        """Return the program with a valid token, else the member or guest whom a valid cookie proves."""
        if is_for_programs(self._path(scope)) and "authorization" in headers:
            token = self._tokens.find(bearer(headers))
            return Visitor("program", token=token) if token and self._tokens.why_expired(token) is None else None
        if session := self._sessions.use(self._cookie(scope, headers, SIGN_IN)):
            return Visitor(session.role, session=session)
        share = self._shares.read_token(self._cookie(scope, headers, SHARE))
        return Visitor("guest", share) if share else None

    def _why_expired(self, headers: Headers) -> str | None:
        """Return why a program's known token is no longer valid."""
        token = self._tokens.find(bearer(headers)) if "authorization" in headers else None
        return self._tokens.why_expired(token) if token else None

    def _cookie(self, scope: Scope_, headers: Headers, kind: str) -> str:
        name = self._access.cookie(kind, is_https(self._access, scope, headers))
        return cookie_parser(headers.get("cookie", "")).get(name, "")

    def _redirect_signed_in(
        self,
        scope: Scope_,
        headers: Headers,
        query: Iterable[tuple[str, str]],
        role: MemberRole,
        token: ApiToken | None,
    ) -> Response:
        """Turn a token in the address into a session of its role, unless the browser has the same or a higher role.

        Otherwise a link with a viewer's token would take the operator's role from their browser.
        """
        remaining_query = [(name, value) for name, value in query if name != "token"]
        secret = self._cookie(scope, headers, SIGN_IN)
        session = self._sessions.use(secret)
        is_same = session and (session.role, session.token_id) == (role, token.id if token else None)
        if not is_same and (session is None or not is_higher(session.role, role)):
            agent, name = headers.get("user-agent", ""), token.note if token else ""
            secret = self._sessions.make(
                agent, role, name, token.expires_at if token else None, token.id if token else None
            )
        # A browser would read a path with two leading slashes as another host.
        path = "/" + quote(scope["path"].lstrip("/\\"), safe="/")
        return self._redirect(scope, headers, (SIGN_IN, secret, SESSION_SECONDS), path, remaining_query)

    def _open_share(self, scope: Scope_, headers: Headers) -> Response:
        """Turn a shared link into a guest's cookie and a redirect to the page that was shared."""
        token = self._path(scope).removeprefix("/share/")
        share = self._shares.read_token(token)
        if share is None:
            return expired_link(headers, home=f"{self._access.base_path}/")
        self._shares.note_opening(share)
        path = f"{self._access.base_path}/{share.page}"
        target_query = [("study", share.study_id)] if share.study_id else [("run", run_id) for run_id in share.run_ids]
        target_query += parse_qsl(share.query or "")
        return self._redirect(scope, headers, (SHARE, token, self._shares.seconds_left(share)), path, target_query)

    def _redirect(
        self,
        scope: Scope_,
        headers: Headers,
        cookie: tuple[str, str, int],
        target: str,
        query: Sequence[tuple[str, str]],
    ) -> Response:
        secure, (kind, value, lasts_s) = is_https(self._access, scope, headers), cookie
        return redirect_with_cookie(self._access.cookie(kind, secure), value, lasts_s, secure, target, query)


def _same(received: str, expected: str) -> bool:
    return hmac.compare_digest(received.encode(), expected.encode())
