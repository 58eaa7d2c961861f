"""Security headers of every response."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Send

from web.access.signin_page import SCRIPT

_INLINE_SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)


def _hashes(scripts: list[str]) -> str:
    """Return the policy's hashes that allow exactly these inline scripts."""
    digests = [b64encode(sha256(script.encode()).digest()).decode() for script in scripts]
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def _scripts_of_streamlit() -> list[str]:
    """Return the inline scripts of Streamlit's own page."""
    return _INLINE_SCRIPT.findall(files("streamlit").joinpath("static/index.html").read_text())


# docs/security.md lists the sources that are wider than ideal because Streamlit needs them.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        f"script-src 'self' blob: {_hashes([SCRIPT, *_scripts_of_streamlit()])}",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "media-src 'self'",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "manifest-src 'self'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
POLICY = "content-security-policy"
HEADERS = {
    POLICY: CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
}


def with_security_headers(send: Send) -> Send:
    """Return a `send` that adds the security headers to the response."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            own_policy = headers.get(POLICY)
            headers.update(HEADERS)
            if own_policy:  # a report's, which is stricter
                headers[POLICY] = own_policy
        await send(message)

    return sending
