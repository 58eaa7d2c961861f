"""Fakes: servers that misbehave on purpose, in ways that a real one cannot be made to on demand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def event(**fields: object) -> bytes:
    return chunk(b"data: " + json.dumps(fields).encode() + b"\n\n")


def text_event(text: str, finish_reason: str | None = None, **fields: object) -> bytes:
    return event(choices=[{"delta": {"content": text}, "finish_reason": finish_reason}], **fields)


DONE = chunk(b"data: [DONE]\n\n") + chunk(b"")


async def read_request(reader: asyncio.StreamReader) -> dict[str, object]:
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    size = int(lengths[0].split(b":")[1]) if lengths else 0
    return json.loads(await reader.readexactly(size)) if size else {}


def sends(*pieces: bytes, hold_open: bool = False) -> Script:
    """A script that answers with these bytes and then closes, or keeps the connection open and silent."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if hold_open:
            await reader.read()  # until the client goes

    return script


@asynccontextmanager
async def serving(script: Script) -> AsyncIterator[str]:
    """Serve the script on a port of the loopback; gives the base URL."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await script(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
