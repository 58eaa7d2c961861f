"""Forwards a request to the server and returns its answer byte for byte, reading it on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace

import aiohttp
from aiohttp import web

from workloads.recording.access import RecordingLimits
from workloads.requests.answer_stream import BadStreamError, StreamReading
from workloads.requests.sending import MAX_LINE_BYTES, REFUSAL_CHARACTERS, AnswerLineSplitter, open_session

BAD_GATEWAY = 502
KEEPALIVE_S = 4.0  # of idle connections: less than the 5 s after which most servers drop them
MASK = "<secret>"
FORWARDED_HEADERS = ("anthropic-version", "anthropic-beta")


@dataclass(slots=True)
class RelayedAnswer:
    """A forwarded answer; both error fields are None after a regular end."""

    reading: StreamReading = field(default_factory=StreamReading)
    error_kind: str | None = None
    error_text: str | None = None
    _lines: AnswerLineSplitter = field(default_factory=AnswerLineSplitter)
    _body: bytearray = field(default_factory=bytearray)
    _is_readable: bool = True

    def take(self, data: bytes, is_streamed: bool, now_s: float) -> None:
        """Read forwarded data; data that does not follow the API is forwarded all the same."""
        if not self._is_readable:
            return
        try:
            if is_streamed:
                for line in self._lines.cut(data):
                    self.reading.take_line(line, now_s)
            else:
                self._body += data
                self._is_readable = len(self._body) <= MAX_LINE_BYTES
        except BadStreamError as error:
            self.fail(error.kind, str(error))
            self._is_readable = False

    def end(self, is_streamed: bool) -> None:
        """Complete the answer and classify it as the load generator's client does."""
        if not self._is_readable:
            return
        if self.reading.http_status != 200:
            text = bytes(self._body).decode(errors="replace")[:REFUSAL_CHARACTERS]
            self.fail("http", f"HTTP {self.reading.http_status}: {text}")
        elif not is_streamed:
            try:
                self.reading.take_whole(bytes(self._body))
            except BadStreamError as error:
                self.fail(error.kind, str(error))
        elif not (self.reading.is_done or self.reading.finish_reason):
            self.fail("closed", f"the stream ended without a finish reason, after {self.reading.chunks} chunks")

    def fail(self, kind: str, text: str) -> None:
        """Set the failure, unless one is already set."""
        self.error_kind, self.error_text = self.error_kind or kind, self.error_text or text


@dataclass(frozen=True, slots=True)
class Upstream:
    """The server; its connections are reused, since opening one costs more than everything else in the relay."""

    reusing_session: aiohttp.ClientSession  # reuses its connections
    fresh_session: aiohttp.ClientSession
    base_url: str
    api_key: str | None
    limits: RecordingLimits
    mono_s: Callable[[], float]

    async def pass_on(self, request: web.Request, body: bytes, relayed: RelayedAnswer) -> web.StreamResponse:
        """Forward the request and write the answer to the client; raises CancelledError if the client disconnects."""
        headers = {"Content-Type": "application/json", "Accept": request.headers.get("Accept", "*/*")}
        headers |= {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        headers |= {name: request.headers[name] for name in FORWARDED_HEADERS if name in request.headers}
        query = f"?{request.query_string}" if request.query_string else ""
        url = self.base_url.rstrip("/") + request.path + query
        client_response = None
        try:
            async with (
                asyncio.timeout(self.limits.answer_s),
                await self._send(request.method, url, body, headers) as answer,
            ):
                relayed.reading.http_status = answer.status
                if 300 <= answer.status < 400:
                    return _refusal(relayed, "http", "The server answered with a redirect, which is not followed.")
                client_response = web.StreamResponse(status=answer.status, headers=_forwarded_headers(answer))
                await self._copy(request, answer, client_response, relayed)
                return client_response
        except TimeoutError:
            return _refusal(
                relayed, "timeout", "The server did not answer in time.", request if client_response else None
            )
        except ConnectionResetError:
            return _refusal(relayed, "cancelled", "the client disconnected", request)
        except (aiohttp.ClientConnectorError, aiohttp.ClientError, OSError) as error:
            kind = "refused" if isinstance(error, aiohttp.ClientConnectorError) else "closed"
            return _refusal(
                relayed, kind, self.mask_key(f"{type(error).__name__}: {error}"), request if client_response else None
            )

    async def _send(self, method: str, url: str, body: bytes, headers: dict[str, str]) -> aiohttp.ClientResponse:
        """Return the response head; the request is sent again if a reused connection was dropped without an answer."""
        trace = SimpleNamespace(is_reused=False)
        timeout = aiohttp.ClientTimeout(sock_read=self.limits.silence_s, sock_connect=10.0)
        send = partial(
            aiohttp.ClientSession.request, method=method, url=url, data=body or None, headers=headers,
            allow_redirects=False, timeout=timeout, trace_request_ctx=trace,
        )  # fmt: skip
        try:
            return await send(self.reusing_session)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if not trace.is_reused:
                raise
            return await send(self.fresh_session)

    async def _copy(
        self,
        request: web.Request,
        answer: aiohttp.ClientResponse,
        client_response: web.StreamResponse,
        relayed: RelayedAnswer,
    ) -> None:
        """Copy the answer byte for byte; each piece is forwarded before it is read."""
        is_streamed = answer.status == 200 and answer.content_type == "text/event-stream"
        await client_response.prepare(request)
        size = 0
        async for data in answer.content.iter_any():
            now_s = self.mono_s()
            size += len(data)
            if size > self.limits.answer_bytes:
                raise aiohttp.ClientPayloadError(f"more than {self.limits.answer_bytes} bytes")
            await client_response.write(data)
            relayed.take(data, is_streamed, now_s)
        await client_response.write_eof()
        relayed.end(is_streamed)

    def mask_key(self, text: str) -> str:
        """Return the text with the server's key masked."""
        return text.replace(self.api_key, MASK) if self.api_key else text


@asynccontextmanager
async def upstream_at(
    base_url: str, api_key: str | None, limits: RecordingLimits, mono_s: Callable[[], float]
) -> AsyncIterator[Upstream]:
    """Open the connections to the server at this address."""
    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(_note_reuse)
    async with open_session(KEEPALIVE_S, [trace]) as reusing_session, open_session() as fresh_session:
        yield Upstream(reusing_session, fresh_session, base_url, api_key, limits, mono_s)


async def _note_reuse(session: aiohttp.ClientSession, context: SimpleNamespace, params: object) -> None:
    context.trace_request_ctx.is_reused = True


def _forwarded_headers(answer: aiohttp.ClientResponse) -> dict[str, str]:
    """Return the server's headers that describe the body; no cookies, no redirects."""
    names = ("Content-Type", "Content-Length", "Content-Encoding")
    return {name: answer.headers[name] for name in names if name in answer.headers}


def _refusal(relayed: RelayedAnswer, kind: str, text: str, started_request: web.Request | None = None) -> web.Response:
    """Return an error response; if an answer has begun, abort the connection so that it does not look complete."""
    relayed.fail(kind, text)
    if started_request is not None and started_request.transport is not None:
        started_request.transport.abort()
    return web.json_response({"type": "error", "error": {"message": text, "type": "recorder"}}, status=BAD_GATEWAY)
