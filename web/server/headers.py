"""What every answer has the browser forbid, whatever page it is."""

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
    """What lets these scripts, as they are written, through the policy, and no other that stands in a page."""
    digests = [b64encode(sha256(script.encode()).digest()).decode() for script in scripts]
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def _scripts_of_streamlit() -> list[str]:
    """The scripts that stand in Streamlit's own page."""
    return _INLINE_SCRIPT.findall(files("streamlit").joinpath("static/index.html").read_text())


# docs/security.md says which of these are wider than they should be, and what of Streamlit needs it.
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
    """The sending end of a request, whose answer carries them."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            own_policy = headers.get(POLICY)
            headers.update(HEADERS)
            if own_policy:  # of a report, which forbids more
                headers[POLICY] = own_policy
        await send(message)

    return sending
