"""Passes one request on to the one upstream, and its answer back byte for byte, read on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace

import aiohttp
from aiohttp import web

from workloads.recording.access import Limits
from workloads.requests.answer_stream import BadStreamError, StreamReading
from workloads.requests.sending import MOST_LINE_BYTES, REFUSAL_CHARACTERS, LineCutter, open_session

REFUSED = 502
KEPT_S = 4.0  # a connection to the server that nobody uses: less than the 5 s after which usual servers drop one
SECRETIVE = "<secret>"


@dataclass(slots=True)
class Relayed:
    """What became of one answer; both error fields are None where it came to its proper end."""

    reading: StreamReading = field(default_factory=StreamReading)
    error_kind: str | None = None
    error_text: str | None = None
    _lines: LineCutter = field(default_factory=LineCutter)
    _whole: bytearray = field(default_factory=bytearray)
    _is_readable: bool = True

    def take(self, data: bytes, is_streamed: bool, now_s: float) -> None:
        """Read what has been passed on; what is none of the API's is passed on all the same."""
        if not self._is_readable:
            return
        try:
            if is_streamed:
                for line in self._lines.cut(data):
                    self.reading.take_line(line, now_s)
            else:
                self._whole += data
                self._is_readable = len(self._whole) <= MOST_LINE_BYTES
        except BadStreamError as error:
            self.fail(error.kind, str(error))
            self._is_readable = False

    def end(self, is_streamed: bool) -> None:
        """The answer is over: judge it as the load generator's client does."""
        if not self._is_readable:
            return
        if self.reading.http_status != 200:
            text = bytes(self._whole).decode(errors="replace")[:REFUSAL_CHARACTERS]
            self.fail("http", f"HTTP {self.reading.http_status}: {text}")
        elif not is_streamed:
            try:
                self.reading.take_whole(bytes(self._whole))
            except BadStreamError as error:
                self.fail(error.kind, str(error))
        elif not (self.reading.is_done or self.reading.finish_reason):
            self.fail("closed", f"the stream ended without a finish reason, after {self.reading.chunks} chunks")

    def fail(self, kind: str, text: str) -> None:
        """Note how it failed; the first failure stays."""
        self.error_kind, self.error_text = self.error_kind or kind, self.error_text or text


@dataclass(frozen=True, slots=True)
class Upstream:
    """The one server that requests go to: to open a connection costs more than all the rest that is done on the way."""

    kept: aiohttp.ClientSession  # reuses its connections
    fresh: aiohttp.ClientSession
    base_url: str
    api_key: str | None
    limits: Limits
    mono_s: Callable[[], float]

    async def pass_on(self, request: web.Request, body: bytes, relayed: Relayed) -> web.StreamResponse:
        """The server's answer, written to the client; raises CancelledError where the client goes."""
        headers = {"Content-Type": "application/json", "Accept": request.headers.get("Accept", "*/*")}
        headers |= {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        url = self.base_url.rstrip("/") + request.path
        sent = None
        try:
            async with (
                asyncio.timeout(self.limits.answer_s),
                await self._send(request.method, url, body, headers) as answer,
            ):
                relayed.reading.http_status = answer.status
                if 300 <= answer.status < 400:
                    return _refusal(relayed, "http", "The server answers with a redirect, which is not followed.")
                sent = web.StreamResponse(status=answer.status, headers=_passed(answer))
                await self._copy(request, answer, sent, relayed)
                return sent
        except TimeoutError:
            return _refusal(relayed, "timeout", "The server did not answer in time.", request if sent else None)
        except ConnectionResetError:
            return _refusal(relayed, "cancelled", "the client went away", request)
        except (aiohttp.ClientConnectorError, aiohttp.ClientError, OSError) as error:
            kind = "refused" if isinstance(error, aiohttp.ClientConnectorError) else "closed"
            return _refusal(relayed, kind, self.masked(f"{type(error).__name__}: {error}"), request if sent else None)

    async def _send(self, method: str, url: str, body: bytes, headers: dict[str, str]) -> aiohttp.ClientResponse:
        """The head of the answer; asked once more where a kept connection was dropped without a word."""
        seen = SimpleNamespace(is_reused=False)
        timeout = aiohttp.ClientTimeout(sock_read=self.limits.silence_s, sock_connect=10.0)
        send = partial(
            aiohttp.ClientSession.request, method=method, url=url, data=body or None, headers=headers,
            allow_redirects=False, timeout=timeout, trace_request_ctx=seen,
        )  # fmt: skip
        try:
            return await send(self.kept)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if not seen.is_reused:
                raise
            return await send(self.fresh)

    async def _copy(
        self, request: web.Request, answer: aiohttp.ClientResponse, sent: web.StreamResponse, relayed: Relayed
    ) -> None:
        """Byte for byte; each piece is passed on before it is read."""
        is_streamed = answer.status == 200 and answer.content_type == "text/event-stream"
        await sent.prepare(request)
        size = 0
        async for data in answer.content.iter_any():
            now_s = self.mono_s()
            size += len(data)
            if size > self.limits.answer_bytes:
                raise aiohttp.ClientPayloadError(f"more than {self.limits.answer_bytes} bytes")
            await sent.write(data)
            relayed.take(data, is_streamed, now_s)
        await sent.write_eof()
        relayed.end(is_streamed)

    def masked(self, text: str) -> str:
        """The text with the server's key taken out, wherever it stands."""
        return text.replace(self.api_key, SECRETIVE) if self.api_key else text


@asynccontextmanager
async def upstream_at(
    base_url: str, api_key: str | None, limits: Limits, mono_s: Callable[[], float]
) -> AsyncIterator[Upstream]:
    """The server at this address, with its connections."""
    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(_note_reuse)
    async with open_session(KEPT_S, [trace]) as kept, open_session() as fresh:
        yield Upstream(kept, fresh, base_url, api_key, limits, mono_s)


async def _note_reuse(session: aiohttp.ClientSession, context: SimpleNamespace, params: object) -> None:
    context.trace_request_ctx.is_reused = True


def _passed(answer: aiohttp.ClientResponse) -> dict[str, str]:
    """The server's headers that say how to read the body: no cookies, no redirects."""
    names = ("Content-Type", "Content-Length", "Content-Encoding")
    return {name: answer.headers[name] for name in names if name in answer.headers}


def _refusal(relayed: Relayed, kind: str, text: str, begun: web.Request | None = None) -> web.Response:
    """In place of an answer; where one has begun, the connection is cut, so that it does not look whole."""
    relayed.fail(kind, text)
    if begun is not None and begun.transport is not None:
        begun.transport.abort()
    return web.json_response({"error": {"message": text, "type": "recorder"}}, status=REFUSED)
