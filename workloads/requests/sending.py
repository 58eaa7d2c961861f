"""Posts one request and feeds its answer, an event stream or one JSON object, to a reading; failures are classified.

Uses aiohttp, which takes less than half of httpx's CPU time per event: benchmarks/client_ceiling.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from domain import JsonValue
from workloads.requests.answer_stream import BadStreamError, StreamReading

CONNECT_TIMEOUT_S = 10.0
MAX_LINE_BYTES = 16 << 20  # of one event
MAX_ANSWER_BYTES = 1 << 30
REFUSAL_BYTES = 64 << 10  # of an error response
REFUSAL_CHARACTERS = 500
OK = 200


def open_session() -> aiohttp.ClientSession:
    """Return a session without proxy, cookies and connection reuse: llama.cpp occasionally drops reused connections.

    Nothing is unpacked: packed answers, which are not requested, are refused.
    """
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, force_close=True),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),  # stalls are detected per event
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept-Encoding": "identity"},
        auto_decompress=False,
        trust_env=False,
    )


@dataclass(frozen=True, slots=True)
class PostCall:
    """A request to post, and the reading that receives its answer."""

    url: str
    headers: Mapping[str, str]
    body: Mapping[str, JsonValue]
    reading: StreamReading
    stall_timeout_s: float  # without a single event
    mono_s: Callable[[], float]
    cpu_wait_s: Callable[[], float | None]  # of this thread so far


async def error_of(stream: Awaitable[None], limit_s: float) -> tuple[str | None, str | None]:
    """Await the stream; returns its error kind and one sentence, or two Nones after a regular end."""
    try:
        async with asyncio.timeout(limit_s):
            await stream
    except BadStreamError as error:
        return error.kind, str(error)
    except TimeoutError:
        return "timeout", f"not finished after {limit_s:g} s"
    except asyncio.CancelledError:
        return "cancelled", "the workload was cancelled"
    return None, None


async def read_stream(session: aiohttp.ClientSession, call: PostCall) -> None:
    """Post the body and feed every line of the answer to the reading; raises BadStreamError."""
    loop = asyncio.get_running_loop()
    call.reading.note_cpu_wait(call.cpu_wait_s())
    async with _answer(session, call) as (response, patience):
        lines = AnswerLineSplitter()
        async for data in response.content.iter_any():
            call.reading.note_cpu_wait(call.cpu_wait_s())
            now_s = call.mono_s()
            has_data = [call.reading.take_line(line, now_s) for line in lines.cut(data)]
            if any(has_data):
                patience.reschedule(loop.time() + call.stall_timeout_s)
    if not (call.reading.is_done or call.reading.finish_reason):
        raise BadStreamError("closed", f"the stream ended without a finish reason, after {call.reading.chunks} chunks")


async def read_whole(session: aiohttp.ClientSession, call: PostCall) -> None:
    """Post the body and feed the answer, one JSON object, to the reading; raises BadStreamError."""
    call.reading.note_cpu_wait(call.cpu_wait_s())
    data = bytearray()
    async with _answer(session, call) as (response, _):
        async for piece in response.content.iter_any():
            data += piece
            if len(data) > MAX_LINE_BYTES:
                raise BadStreamError("malformed", f"more than {MAX_LINE_BYTES >> 20} MiB in one answer")
    call.reading.note_cpu_wait(call.cpu_wait_s())
    call.reading.take_whole(bytes(data))


@asynccontextmanager
async def _answer(
    session: aiohttp.ClientSession, call: PostCall
) -> AsyncIterator[tuple[aiohttp.ClientResponse, asyncio.Timeout]]:
    """Yield the response after checking its head, and the timeout for silence; raises BadStreamError."""
    try:
        async with asyncio.timeout(call.stall_timeout_s) as silence_limit:
            async with session.post(call.url, json=call.body, headers=call.headers, allow_redirects=False) as response:
                call.reading.http_status = response.status
                await _check_head(response)
                yield response, silence_limit
    except aiohttp.ConnectionTimeoutError as error:
        raise BadStreamError("timeout", f"no connection after {CONNECT_TIMEOUT_S:g} s") from error
    except TimeoutError as error:
        silence = f"no event for {call.stall_timeout_s:g} s, after {call.reading.chunks} chunks"
        raise BadStreamError("stalled", silence) from error
    except aiohttp.ClientConnectorError as error:
        raise BadStreamError("refused", f"no connection: {error}") from error
    except (aiohttp.ClientError, OSError) as error:
        raise BadStreamError("closed", f"{type(error).__name__}: {error}") from error


async def _check_head(response: aiohttp.ClientResponse) -> None:
    if response.status != OK:
        text = (await response.content.read(REFUSAL_BYTES)).decode(errors="replace")
        raise BadStreamError("http", f"HTTP {response.status}: {text[:REFUSAL_CHARACTERS]}")
    if (encoding := response.headers.get("Content-Encoding", "identity")) != "identity":
        raise BadStreamError(
            "malformed", f"the answer has the content encoding {encoding[:40]}, which was not requested"
        )


class AnswerLineSplitter:
    """Splits an answer into lines as it arrives; raises BadStreamError if a line or the answer exceeds its limit."""

    def __init__(self) -> None:
        self._partial = b""
        self._received_bytes = 0

    def cut(self, data: bytes) -> Iterator[str]:
        """Return the lines that this piece completes, without their ends."""
        self._received_bytes += len(data)
        *lines, self._partial = (self._partial + data).split(b"\n")
        if len(self._partial) > MAX_LINE_BYTES or self._received_bytes > MAX_ANSWER_BYTES:
            raise BadStreamError("malformed", f"more than {MAX_LINE_BYTES >> 20} MiB in one event, or 1 GiB in all")
        return (line.decode(errors="replace").rstrip("\r") for line in lines)
