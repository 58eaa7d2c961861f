"""Posts one request and feeds its answer, an event stream or a whole, to a reading; every failure has a name.

aiohttp, because it costs less than half of the CPU that httpx takes for each event: benchmarks/client_ceiling.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from domain import JsonValue
from workloads.requests.answer_stream import BadStreamError, StreamReading

CONNECT_TIMEOUT_S = 10.0
MOST_LINE_BYTES = 16 << 20  # of one event
MOST_ANSWER_BYTES = 1 << 30
REFUSAL_BYTES = 64 << 10  # of an answer that is no stream
REFUSAL_CHARACTERS = 500
OK = 200


def open_session(keeps_s: float | None = None, traces: Sequence[aiohttp.TraceConfig] = ()) -> aiohttp.ClientSession:
    """A session that goes through no proxy and never reuses a connection: llama.cpp drops reused ones now and then.

    With `keeps_s` one that nobody uses is kept so long. It follows no redirect's cookies, and unpacks nothing: what we
    did not ask to be packed is refused.
    """
    kept: dict[str, Any] = {"force_close": True} if keeps_s is None else {"keepalive_timeout": keeps_s}
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, **kept),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),  # stalls are seen per event
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept-Encoding": "identity"},
        auto_decompress=False,
        trust_env=False,
        trace_configs=list(traces),
    )


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it is posted, and who takes its answer in."""

    url: str
    headers: Mapping[str, str]
    body: Mapping[str, JsonValue]
    reading: StreamReading
    stall_timeout_s: float  # without a single event
    mono_s: Callable[[], float]
    waited_s: Callable[[], float | None]  # for a CPU, by our thread so far


async def error_of(stream: Awaitable[None], limit_s: float) -> tuple[str | None, str | None]:
    """Await the stream; its error kind and one sentence, or two Nones when it came to its proper end."""
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


async def read_stream(session: aiohttp.ClientSession, call: Call) -> None:
    """Post the body and feed every line of the answer to the reading; raises BadStreamError."""
    loop = asyncio.get_running_loop()
    call.reading.note_wait(call.waited_s())
    async with _answer(session, call) as (response, patience):
        lines = LineCutter()
        async for data in response.content.iter_any():
            call.reading.note_wait(call.waited_s())
            now_s = call.mono_s()
            carried = [call.reading.take_line(line, now_s) for line in lines.cut(data)]
            if any(carried):
                patience.reschedule(loop.time() + call.stall_timeout_s)
    if not (call.reading.is_done or call.reading.finish_reason):
        raise BadStreamError("closed", f"the stream ended without a finish reason, after {call.reading.chunks} chunks")


async def read_whole(session: aiohttp.ClientSession, call: Call) -> None:
    """Post the body and give the answer, which is one JSON object, to the reading; raises BadStreamError."""
    call.reading.note_wait(call.waited_s())
    data = bytearray()
    async with _answer(session, call) as (response, _):
        async for piece in response.content.iter_any():
            data += piece
            if len(data) > MOST_LINE_BYTES:
                raise BadStreamError("malformed", f"more than {MOST_LINE_BYTES >> 20} MiB in one answer")
    call.reading.note_wait(call.waited_s())
    call.reading.take_whole(bytes(data))


@asynccontextmanager
async def _answer(
    session: aiohttp.ClientSession, call: Call
) -> AsyncIterator[tuple[aiohttp.ClientResponse, asyncio.Timeout]]:
    """The answer to the body, its head checked, and how long it may still be silent; raises BadStreamError."""
    try:
        async with asyncio.timeout(call.stall_timeout_s) as patience:
            async with session.post(call.url, json=call.body, headers=call.headers, allow_redirects=False) as response:
                call.reading.http_status = response.status
                await _check_head(response)
                yield response, patience
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
    if (packing := response.headers.get("Content-Encoding", "identity")) != "identity":
        raise BadStreamError("malformed", f"the answer is packed ({packing[:40]}), which was not asked for")


class LineCutter:
    """Cuts an answer into lines as it comes; raises BadStreamError where a line or the whole has no end in sight."""

    def __init__(self) -> None:
        self._partial = b""
        self._taken_bytes = 0

    def cut(self, data: bytes) -> Iterator[str]:
        """The lines that this piece completes, without their ends."""
        self._taken_bytes += len(data)
        *whole, self._partial = (self._partial + data).split(b"\n")
        if len(self._partial) > MOST_LINE_BYTES or self._taken_bytes > MOST_ANSWER_BYTES:
            raise BadStreamError("malformed", f"more than {MOST_LINE_BYTES >> 20} MiB in one event, or 1 GiB in all")
        return (line.decode(errors="replace").rstrip("\r") for line in whole)
