"""A WebSocket that ends when something else does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from starlette.types import Message, Receive, Send

INSTALLED_AT = str(Path(__file__).resolve().parents[2]).encode()
_SOMEWHERE = b"." * len(INSTALLED_AT)  # of the same length: Streamlit's messages count their bytes


def without_install_path(send: Send) -> Send:
    """The sending end of a socket that does not show where Pitwall is installed, as Streamlit's first message does."""

    async def sending(message: Message) -> None:
        if data := message.get("bytes"):
            message = {**message, "bytes": bytes(data).replace(INSTALLED_AT, _SOMEWHERE)}
        await send(message)

    return sending


class SocketUntil:
    """A WebSocket's two ends, which close when `end` is done: for the browser and for the app behind.

    `end` may be late; `is_over` is asked at each message, so that nothing passes in between. The browser learns
    `reason`.
    """

    def __init__(
        self, end: asyncio.Task[None], is_over: Callable[[], bool], receive: Receive, send: Send, reason: str
    ) -> None:
        self._end = end
        self._is_over = is_over
        self._receive = receive
        self._send = send
        self._reason = reason
        self._is_closed = False

    async def receive(self) -> Message:
        """The browser's next message; once the end has come, a disconnect (1008) for the app behind."""
        arriving = asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait({arriving, self._end}, return_when=asyncio.FIRST_COMPLETED)
            if arriving.done() and not self._is_over():
                return arriving.result()
        finally:
            arriving.cancel()
        await self._close()
        return {"type": "websocket.disconnect", "code": 1008, "reason": self._reason}

    async def send(self, message: Message) -> None:
        """Pass the app's message on; raises OSError once the end has come, after the browser was told why."""
        if self._is_over():
            await self._close()
            raise OSError("the sign-in or the share has ended")  # what Starlette takes for a browser that has left
        await self._send(message)

    async def _close(self) -> None:
        """Tell the browser why, once: whichever end notices first."""
        if not self._is_closed:
            self._is_closed = True
            await self._send({"type": "websocket.close", "code": 1008, "reason": self._reason})
