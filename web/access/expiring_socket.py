"""A WebSocket that ends when the access behind it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from starlette.types import Message, Receive, Send

INSTALLED_AT = str(Path(__file__).resolve().parents[2]).encode()
_PLACEHOLDER = b"." * len(INSTALLED_AT)  # of the same length: Streamlit's messages count their bytes


def without_install_path(send: Send) -> Send:
    """Return a `send` that hides Pitwall's install path, which Streamlit's first message contains."""

    async def sending(message: Message) -> None:
        if data := message.get("bytes"):
            message = {**message, "bytes": bytes(data).replace(INSTALLED_AT, _PLACEHOLDER)}
        await send(message)

    return sending


class ExpiringSocket:
    """Both ends of a WebSocket, to the browser and to the app, which close when the task `end` is done.

    `end` may be late, so `is_over` is checked at each message and nothing passes in between. The browser gets `reason`.
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
        """Return the browser's next message, or a disconnect (1008) for the app once access has ended."""
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
        """Pass the app's message on; once access has ended, tell the browser why and raise OSError."""
        if self._is_over():
            await self._close()
            raise OSError("the sign-in or the share has ended")  # Starlette treats it as a disconnect
        await self._send(message)

    async def _close(self) -> None:
        """Tell the browser why, once, from the end that notices first."""
        if not self._is_closed:
            self._is_closed = True
            await self._send({"type": "websocket.close", "code": 1008, "reason": self._reason})
