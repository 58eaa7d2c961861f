"""Forwards a request to the server and returns its answer byte for byte, reading it on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

from workloads.recording.access import RecordingLimits
from workloads.recording.client_connection import ClientConnection
from workloads.recording.upstream_connection import (
    UpstreamConnection,
    UpstreamConnectionError,
    UpstreamConnections,
    UpstreamRequest,
)
from workloads.requests.answer_stream import BadStreamError, StreamReading
from workloads.requests.sending import MAX_LINE_BYTES, REFUSAL_CHARACTERS, AnswerLineSplitter

MASK = "<secret>"
REDIRECT = "The server answered with a redirect, which is not followed."
FORWARDED_HEADERS = ("anthropic-version", "anthropic-beta")


@dataclass(slots=True)
class RelayedAnswer:
    """A forwarded answer; both error fields are None after a regular end."""

    reading: StreamReading = field(default_factory=StreamReading)  # of its protocol
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
    """The server, and what is forwarded to it."""

    connections: UpstreamConnections
    base_url: str
    api_key: str | None
    limits: RecordingLimits
    mono_s: Callable[[], float]

    def request_of(self, client: ClientConnection) -> UpstreamRequest:
        """Return the client's request to the server, which is still to begin."""
        headers = {
            "Accept": client.headers.get("accept", "*/*"),
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
        }
        headers |= {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        headers |= {name: client.headers[name] for name in FORWARDED_HEADERS if name in client.headers}
        query = f"?{client.query}" if client.query else ""
        return self.connections.request(client.method, client.path + query, headers)

    async def pass_on(self, request: UpstreamRequest, client: ClientConnection, relayed: RelayedAnswer) -> None:
        """Write the request's answer to the client; raises CancelledError if the client disconnects."""
        try:
            async with asyncio.timeout(self.limits.answer_s):
                answer = await request.answer()
                relayed.reading.http_status = answer.status
                if 300 <= answer.status < 400:
                    raise UpstreamConnectionError("http", REDIRECT)
                await self._copy(answer, client, relayed)
                return
        except TimeoutError:
            error = UpstreamConnectionError("timeout", "The server did not answer in time.")
        except UpstreamConnectionError as raised:
            error = raised
        text = self.mask_key(str(error))
        relayed.fail(error.kind, text)
        if client.has_begun_answer:
            client.abort()
        else:
            client.refuse(HTTPStatus.BAD_GATEWAY, text)

    async def _copy(self, answer: UpstreamConnection, client: ClientConnection, relayed: RelayedAnswer) -> None:
        """Copy the answer byte for byte; each piece is forwarded before it is read."""
        is_streamed = answer.status == 200 and answer.content_type == "text/event-stream"
        client.begin_answer(answer.status, _forwarded_headers(answer))
        if not answer.has_arrived:
            client.flush()
        size = 0
        while data := await answer.read():
            now_s = self.mono_s()
            size += len(data)
            if size > self.limits.answer_bytes:
                raise UpstreamConnectionError("closed", f"more than {self.limits.answer_bytes} bytes")
            await client.write(data)
            relayed.take(data, is_streamed, now_s)
        client.end_answer()
        relayed.end(is_streamed)

    def mask_key(self, text: str) -> str:
        """Return the text with the server's key masked."""
        return text.replace(self.api_key, MASK) if self.api_key else text


@asynccontextmanager
async def upstream_at(
    base_url: str, api_key: str | None, limits: RecordingLimits, mono_s: Callable[[], float]
) -> AsyncIterator[Upstream]:
    """Open the connections to the server at this address."""
    connections = UpstreamConnections(base_url, limits.silence_s)
    try:
        yield Upstream(connections, base_url, api_key, limits, mono_s)
    finally:
        connections.close()


def _forwarded_headers(answer: UpstreamConnection) -> dict[str, str]:
    """Return the server's headers that describe the body; no cookies, no redirects."""
    names = ("Content-Type", "Content-Length", "Content-Encoding")
    return {name: answer.headers[name.lower()] for name in names if name.lower() in answer.headers}
