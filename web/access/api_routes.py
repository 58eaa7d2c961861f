"""The access rules of the routes for programs: the scope that each needs and the connections allowed."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from starlette.datastructures import Headers

from web.access.tokens import ApiToken, Scope

API_ROUTES = "/api/"
METRICS_ROUTE = "/metrics"  # where scrapers look by default
# Unlisted routes are closed. The operator's browser may use those that write nothing.
ROUTE_SCOPES = {
    "/api/sql": Scope.SQL,
    "/api/compare": Scope.SQL,
    "/api/lake": Scope.LAKE,
    "/api/live": Scope.LIVE,
    "/api/agent": Scope.AGENT,
    METRICS_ROUTE: Scope.METRICS,
}
WRITES = {Scope.AGENT}
CONFIDENTIAL_ONLY = {Scope.LIVE, Scope.METRICS, Scope.LAKE, Scope.AGENT}  # only over TLS or from this machine
NO_ROUTE = "There is no such API route."
NEEDS_A_TOKEN = "Only agents may use this route, each with a token for its run."
IN_CLEAR = "This token was sent unencrypted over the network: create a new one, and use HTTPS or only this machine."


def is_for_programs(path: str) -> bool:
    """Whether programs use this path with a bearer token."""
    return path.startswith(API_ROUTES) or path == METRICS_ROUTE


def refusal_of_program(path: str, token: ApiToken | None, is_confidential: bool) -> str | None:
    """Return why a program with this valid token, or the operator without one, may not use this route, else None."""
    required_scope = next(
        (scope for route, scope in ROUTE_SCOPES.items() if path == route or path.startswith(f"{route}/")), None
    )
    if required_scope is None:
        return NO_ROUTE
    if token is None:
        return NEEDS_A_TOKEN if required_scope in WRITES else None
    if required_scope not in token.scopes:
        return f"This token is for {', '.join(token.scopes)}; this route needs {required_scope}."
    return None if is_confidential or required_scope not in CONFIDENTIAL_ONLY else IN_CLEAR


def bearer(headers: Headers) -> str:
    """Return the bearer token of a request, or ''."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def is_local_client(scope: Mapping[str, Any]) -> bool:
    """Whether the client is on this machine; a proxy on this machine passes the address of its own client."""
    try:
        return ip_address((scope.get("client") or ("",))[0]).is_loopback
    except ValueError:
        return False
