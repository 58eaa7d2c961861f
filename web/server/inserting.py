"""Inserts HTML at the end of the pages that Streamlit serves."""

from __future__ import annotations

import re

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Scope, Send

END_OF_PAGE = b"</body>"
CONDITIONAL_HEADERS = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")


def full_page_request(scope: Scope) -> Scope:
    """Return the request without headers that would make the response anything but the full, uncompressed page."""
    headers = [(name, value) for name, value in scope["headers"] if name.lower() not in CONDITIONAL_HEADERS]
    return {**scope, "headers": headers, "extensions": {}}


class PageInserter:
    """Passes a response on; a page is held until it is complete and gets the HTML before its </body>.

    removed: what is taken out of the page.
    """

    def __init__(self, send: Send, html: bytes, removed: re.Pattern[bytes] | None = None) -> None:
        self._send = send
        self._html = html
        self._removed = removed
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        """Pass one message of the response on; those of a page are held until its body is complete."""
        if message["type"] == "http.response.start" and _is_page(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_page(self._start)

    async def _send_page(self, start: Message) -> None:
        page = self._removed.sub(b"", self._body) if self._removed else self._body
        body = page.replace(END_OF_PAGE, self._html + END_OF_PAGE, 1)
        headers = MutableHeaders(raw=list(start["headers"]))
        headers["content-length"] = str(len(body))
        headers["cache-control"] = "no-store"  # the inserted HTML is current only now
        del headers["etag"], headers["last-modified"]
        await self._send({**start, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


def _is_page(start: Message) -> bool:
    kind = MutableHeaders(raw=list(start["headers"])).get("content-type", "")
    return start["status"] == 200 and kind.startswith("text/html")
