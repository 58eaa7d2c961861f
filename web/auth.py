"""The gate before every door: who asks, from where, and in which role.

Pure ASGI, so that WebSockets pass through it as HTTP does. Order of the checks: `/healthz` is open;
a Host that is not ours is DNS rebinding (403); a foreign Origin on a WebSocket or a change is
cross-site (403); the operator's token becomes a signed cookie (303); without a valid cookie, 401.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import streamlit as st
from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from settings import Settings
from web.signin_page import signin_page

Role = Literal["operator", "viewer"]
ROLES: tuple[Role, ...] = ("operator", "viewer")
ROLE_KEY = "pitwall.role"  # in the ASGI scope
ROLE_HEADER = "x-pitwall-role"  # how a page script learns it: only the gate can set it
SIGN_IN_SECONDS = 30 * 24 * 3600
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
HOW_TO_SIGN_IN = "Open the URL that Pitwall printed at its start once; it carries the token and leaves a cookie."


@dataclass(frozen=True)
class Access:
    """What the gate goes by: the token of this start, the signing secret, and the names we are reached by."""

    secret: bytes = field(repr=False)
    cookie_name: str
    hosts: frozenset[str]
    any_address: bool = False  # listens on every interface: any IP literal may name us
    public_origin: str | None = None
    base_path: str = ""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    def signer(self) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self.secret, salt=f"sign-in {self.cookie_name}")


def access_for(settings: Settings, secret: bytes, base_path: str = "") -> Access:
    """The access rules that these settings mean, with a fresh operator token."""
    public = settings.public_url
    wildcard = settings.host in {"0.0.0.0", "::"}
    hosts = {*LOOPBACK_NAMES, settings.host.lower()}
    if wildcard:
        hosts |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    if public and public.host:
        hosts.add(public.host.strip("[]").lower())
    return Access(
        secret=secret,
        cookie_name=f"pitwall-{settings.port}",
        hosts=frozenset(hosts),
        any_address=wildcard,
        public_origin=_origin(str(public)) if public else None,
        base_path=base_path,
    )


def current_role() -> Role | None:
    """The role of the browser behind the running page script; None when the gate did not let it in."""
    return _as_role(st.context.headers.get(ROLE_HEADER))


def _as_role(said: object) -> Role | None:
    return next((role for role in ROLES if role == said), None)


class Gate:
    """ASGI middleware: `Middleware(Gate, access=access_for(settings, load_secret(settings.secret_path)))`."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        role = self._role(headers)
        answer = None if self._is_open(scope) else self._refusal(scope, headers, role)
        if answer is None:
            await self._app(_with_role(scope, role), receive, send)
        elif scope["type"] == "websocket" and "websocket.http.response" not in scope.get("extensions", {}):
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
        else:
            await answer(scope, receive, send)

    def _is_open(self, scope: Scope) -> bool:
        path: str = scope["path"]
        return scope["type"] == "http" and path == f"{self._access.base_path}/healthz"

    def _refusal(self, scope: Scope, headers: Headers, role: Role | None) -> Response | None:
        """The answer of the gate itself, or None for whoever may pass."""
        if not _host_is_ours(headers.get("host"), self._access):
            return _forbidden(headers, "This Host name is not one that Pitwall is reached by; set PITWALL_PUBLIC_URL.")
        changes = scope["type"] == "websocket" or scope["method"] not in SAFE_METHODS
        if changes and not _origin_is_ours(headers, self._access):
            return _forbidden(headers, "This request comes from another site.")
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if given and scope["type"] == "http" and any(_same(value, self._access.token) for value in given):
            return self._signed_in(scope, query)
        return None if role else _unknown(headers, query, wrong_token=bool(given))

    def _role(self, headers: Headers) -> Role | None:
        cookie = cookie_parser(headers.get("cookie", "")).get(self._access.cookie_name, "")
        try:
            return _as_role(self._access.signer().loads(cookie, max_age=SIGN_IN_SECONDS))
        except BadSignature:
            return None

    def _signed_in(self, scope: Scope, query: Iterable[tuple[str, str]]) -> Response:
        kept = urlencode([(name, value) for name, value in query if name != "token"])
        # A path of two leading slashes would be read as another host.
        path = "/" + quote(scope["path"].lstrip("/\\"), safe="/")
        answer = RedirectResponse(path + (f"?{kept}" if kept else ""), status_code=303)
        answer.set_cookie(
            self._access.cookie_name,
            str(self._access.signer().dumps("operator")),
            max_age=SIGN_IN_SECONDS,
            path="/",
            secure=scope["scheme"] == "https",
            httponly=True,
            samesite="lax",
        )
        answer.headers["cache-control"] = "no-store"
        answer.headers["referrer-policy"] = "no-referrer"
        return answer


def _with_role(scope: Scope, role: Role | None) -> Scope:
    """The scope with the role we found, and none that the client claimed."""
    ours = [(name, value) for name, value in scope["headers"] if not name.lower().startswith(b"x-pitwall-")]
    if role:
        ours.append((ROLE_HEADER.encode(), role.encode()))
    return {**scope, "headers": ours, ROLE_KEY: role}


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _host_is_ours(host: str | None, access: Access) -> bool:
    """Whether the Host header names us; rebinding needs a name, so an address is ours wherever we listen."""
    try:
        name = (urlsplit(f"//{host or ''}").hostname or "").rstrip(".")
    except ValueError:
        return False
    return name in access.hosts or (access.any_address and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _origin_is_ours(headers: Headers, access: Access) -> bool:
    """Whether the request comes from a page of ours; only programs, which lend nobody their cookies, send no Origin."""
    origin = headers.get("origin")
    if origin is None:
        return True
    if access.public_origin and _origin(origin) == access.public_origin:
        return True
    return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()


def _origin(url: str) -> str:
    """Scheme and host of a URL, with the port only where it is not the scheme's own."""
    parts = urlsplit(url)
    usual = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    return f"{parts.scheme}://{parts.netloc.lower().removesuffix(usual)}" if usual else url


def _wants_page(headers: Headers) -> bool:
    return "text/html" in headers.get("accept", "")


def _forbidden(headers: Headers, reason: str) -> Response:
    if _wants_page(headers):
        return HTMLResponse(signin_page("Not from here", reason, form=None), status_code=403)
    return JSONResponse({"error": reason}, status_code=403)


def _unknown(headers: Headers, query: list[tuple[str, str]], wrong_token: bool) -> Response:
    reason = "This token is not the one of this start. " if wrong_token else ""
    if _wants_page(headers):
        kept = [(name, value) for name, value in query if name != "token"]
        answer: Response = HTMLResponse(signin_page("Sign in to Pitwall", reason + HOW_TO_SIGN_IN, form=kept), 401)
    else:
        answer = JSONResponse({"error": reason + HOW_TO_SIGN_IN}, status_code=401)
    answer.headers["cache-control"] = "no-store"
    return answer
