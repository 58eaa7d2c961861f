"""The routes for programs, below `/api/`: which scope each needs, and over which connections a token may come."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from starlette.datastructures import Headers

from web.access.tokens import ApiToken, Scope

API_ROUTES = "/api/"
# One that is not named here is closed. The operator's browser passes where nothing is written.
ROUTE_SCOPES = {
    "/api/sql": Scope.SQL,
    "/api/lake": Scope.LAKE,
    "/api/live": Scope.LIVE,
    "/api/agent": Scope.AGENT,
}
WRITES = {Scope.AGENT}
SECRET_LINES_ONLY = {Scope.LIVE, Scope.LAKE, Scope.AGENT}  # by TLS or from this machine, else refused
NO_ROUTE = "There is no such route for programs."
NEEDS_A_TOKEN = "This route is for agents alone; each needs a token of its run."
IN_CLEAR = (
    "This token came over the network in clear: make a new one, and send that by https, or from this machine alone."
)


def why_not_pass(path: str, token: ApiToken | None, is_secret_line: bool) -> str | None:
    """Why a program with this open token, or the operator without one, may not use this route; None where it may."""
    wanted = next((one for route, one in ROUTE_SCOPES.items() if path == route or path.startswith(f"{route}/")), None)
    if wanted is None:
        return NO_ROUTE
    if token is None:
        return NEEDS_A_TOKEN if wanted in WRITES else None
    if wanted not in token.scopes:
        return f"This token is for {', '.join(token.scopes)}; this route needs {wanted}."
    return None if is_secret_line or wanted not in SECRET_LINES_ONLY else IN_CLEAR


def bearer(headers: Headers) -> str:
    """The token that a request brings, or ''."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def is_from_here(scope: Mapping[str, Any]) -> bool:
    """Whether the other end of the line is this machine itself; a proxy on it says whose line it passes on."""
    try:
        return ip_address((scope.get("client") or ("",))[0]).is_loopback
    except ValueError:
        return False
