"""The cookie of a sign-in or a share, and the redirect that sets it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response

from web.access.access_rules import Access

SIGN_IN, SHARE = "", "-share"
SESSION_SECONDS = 365 * 24 * 3600  # the session book decides when a session ends


def is_https(access: Access, scope: Mapping[str, Any], headers: Headers) -> bool:
    """Whether the browser uses TLS, which a proxy in front of Pitwall may terminate."""
    return scope["scheme"] in ("https", "wss") or access.public_origin == f"https://{headers.get('host', '').lower()}"


def redirect_with_cookie(
    name: str, value: str, lasts_s: int, secure: bool, target: str, query: Sequence[tuple[str, str]] = ()
) -> Response:
    """Return a redirect to a path of Pitwall that sets a cookie."""
    answer = RedirectResponse(target + (f"?{urlencode(query)}" if query else ""), status_code=303)
    answer.set_cookie(name, value, max_age=lasts_s, path="/", secure=secure, httponly=True, samesite="lax")
    answer.headers["cache-control"] = "no-store"
    return answer
