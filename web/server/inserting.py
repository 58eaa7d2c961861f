"""Words put at the end of a page that Streamlit serves."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Scope, Send

END_OF_PAGE = b"</body>"
MAKES_IT_ANOTHER_PAGE = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")


def asked_whole(scope: Scope) -> Scope:
    """The request without what would make the answer another than the whole plain page."""
    headers = [(name, value) for name, value in scope["headers"] if name.lower() not in MAKES_IT_ANOTHER_PAGE]
    return {**scope, "headers": headers, "extensions": {}}


class Inserting:
    """Passes an answer on; where it is a page, holds it until it is whole and puts the words at its end."""

    def __init__(self, send: Send, words: bytes) -> None:
        self._send = send
        self._words = words
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        """Pass one message of the answer on; those of a page are held until its body is whole."""
        if message["type"] == "http.response.start" and _is_page(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_page(self._start)

    async def _send_page(self, start: Message) -> None:
        body = self._body.replace(END_OF_PAGE, self._words + END_OF_PAGE, 1)
        headers = MutableHeaders(raw=list(start["headers"]))
        headers["content-length"] = str(len(body))
        headers["cache-control"] = "no-store"  # the words are those of now
        del headers["etag"], headers["last-modified"]
        await self._send({**start, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


def _is_page(start: Message) -> bool:
    kind = MutableHeaders(raw=list(start["headers"])).get("content-type", "")
    return start["status"] == 200 and kind.startswith("text/html")
