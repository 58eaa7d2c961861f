"""Exactly paced stand-in for an engine: `python -m scripts.tools.paced_server PORT RECORD`.

It generates no tokens. The first piece of an answer is due TTFT_MS after the request, each further one STEP_MS later,
one piece per token, as its usage states. RECORD gets a line for each answer: when it was requested, when its pieces
were sent, and how many.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, TextIO

TTFT_MS, STEP_MS = 200.0, 15.0
WORD = " the"
MODEL = "paced"
DEFAULT_TOKENS = 16
BOOK = "The road runs along the river and the people of the town walk there in the evening. " * 4000
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def asked_tokens(body: Mapping[str, Any]) -> int:
    return int(body.get("max_completion_tokens") or body.get("max_tokens") or DEFAULT_TOKENS)


def prompt_tokens(body: Mapping[str, Any]) -> int:
    """Count the prompt's words, which are its tokens here."""
    messages = body.get("messages")
    return len(json.dumps(messages if messages else body.get("prompt", "")).split())


def piece(number: int, is_chat: bool) -> dict[str, Any]:
    content = {"delta": {"role": "assistant", "content": WORD}} if is_chat else {"text": WORD}
    return _object(is_chat, choices=[{"index": 0, "finish_reason": None, **content}], id=f"paced-{number}")


def last_piece(is_chat: bool) -> dict[str, Any]:
    content = {"delta": {}} if is_chat else {"text": ""}
    return _object(is_chat, choices=[{"index": 0, "finish_reason": "length", **content}])


def usage(body: Mapping[str, Any], tokens: int) -> dict[str, int]:
    prompt_count = prompt_tokens(body)
    return {"prompt_tokens": prompt_count, "completion_tokens": tokens, "total_tokens": prompt_count + tokens}


def _object(is_chat: bool, **fields: Any) -> dict[str, Any]:
    kind = "chat.completion.chunk" if is_chat else "text_completion"
    return {"id": "paced", "object": kind, "created": int(time.time()), "model": MODEL, **fields}


class PacedServer:
    """Answers on one port and records each answer."""

    def __init__(self, record: TextIO) -> None:
        self._record = record

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Handle one connection, request after request."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                began_s = time.time()
                request_line = head.split(b" ", 2)
                body = await reader.readexactly(_length(head))
                await self._answer(
                    request_line[0].decode(), request_line[1].decode(), json.loads(body or b"{}"), began_s, writer
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async def _answer(
        self, method: str, path: str, body: Mapping[str, Any], began_s: float, writer: asyncio.StreamWriter
    ) -> None:
        is_chat = path.endswith("/chat/completions")
        if method != "POST" or not path.endswith("/completions"):
            await _whole(writer, *_small(path))
        elif body.get("stream"):
            await self._stream(body, is_chat, began_s, writer)
        else:
            tokens = asked_tokens(body)
            sent_times = [sent_s async for sent_s in _paced(began_s, tokens)]
            self._note(began_s, sent_times, path, is_streamed=False)
            text = WORD * tokens
            content = {"message": {"role": "assistant", "content": text}} if is_chat else {"text": text}
            choice = {"index": 0, "finish_reason": "length", **content}
            kind = "chat.completion" if is_chat else "text_completion"
            response = {**_object(is_chat, choices=[choice], usage=usage(body, tokens)), "object": kind}
            await _whole(writer, "application/json", json.dumps(response))

    async def _stream(
        self, body: Mapping[str, Any], is_chat: bool, began_s: float, writer: asyncio.StreamWriter
    ) -> None:
        tokens, sent_times = asked_tokens(body), []
        writer.write(STREAM_HEAD)
        async for sent_s in _paced(began_s, tokens):
            sent_times.append(sent_s)
            writer.write(_event(piece(len(sent_times), is_chat)))
        ending = [last_piece(is_chat)]
        if (body.get("stream_options") or {}).get("include_usage"):
            ending.append(_object(is_chat, choices=[], usage=usage(body, tokens)))
        last_event = b"data: [DONE]\n\n"
        writer.write(
            b"".join(map(_event, ending)) + f"{len(last_event):x}\r\n".encode() + last_event + b"\r\n0\r\n\r\n"
        )
        await writer.drain()
        self._note(began_s, sent_times, "chat" if is_chat else "completions", is_streamed=True)

    def _note(self, began_s: float, sent_times: list[float], path: str, is_streamed: bool) -> None:
        times = {
            "asked_at": began_s,
            "first_at": sent_times[0],
            "last_at": sent_times[-1],
            "tokens": len(sent_times),
            "path": path,
        }
        self._record.write(json.dumps({**times, "streamed": is_streamed}) + "\n")
        self._record.flush()


async def _paced(began_s: float, tokens: int) -> AsyncIterator[float]:
    """Yield the times at which pieces are sent, each due relative to the first, so that delays do not add up."""
    for number in range(tokens):
        due_s = began_s + (TTFT_MS + number * STEP_MS) / 1e3
        await asyncio.sleep(max(0.0, due_s - time.time()))
        yield time.time()


def _event(event: Mapping[str, Any]) -> bytes:
    data = b"data: " + json.dumps(event).encode() + b"\n\n"
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _length(head: bytes) -> int:
    lines = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    return int(lines[0].partition(b":")[2]) if lines else 0


def _small(path: str) -> tuple[str, str]:
    if path.startswith("/book"):
        return "text/plain", BOOK
    if path.endswith("/models"):
        return "application/json", json.dumps({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
    return "application/json", "{}"


async def _whole(writer: asyncio.StreamWriter, kind: str, text: str) -> None:
    body = text.encode()
    writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()


async def serve(port: int, record: Path) -> None:
    """Serve until it is ended."""
    with record.open("w") as file:
        server = await asyncio.start_server(PacedServer(file).handle, "127.0.0.1", port, backlog=1024)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Path(sys.argv[2])))
