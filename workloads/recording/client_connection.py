"""Connections of clients to the recorder: httptools reads a request, its answer is written as it arrives.

aiohttp's server does the same in many small steps, whose cold caches delay the first event: benchmarks/README.md, 'What
the recorder adds'.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from http.client import responses
from typing import cast

import httptools
import orjson

from domain import JsonValue
from errors import PitwallError
from workloads.recording.http_head import MAX_HEAD_BYTES, http_head

BAD_REQUEST = HTTPStatus.BAD_REQUEST
LINGER_S = 5.0  # for a client that is still sending after its answer: closing at once could cost it the answer
UNPACKED_BY_ZLIB = ("gzip", "x-gzip", "deflate")
AUTOMATIC_FORMAT = 47  # zlib's 'wbits' for gzip and deflate, by their first bytes
LAST_CHUNK = b"0\r\n\r\n"
NO_REQUEST = "This is no HTTP request, or its head is too large."
TOO_LARGE = "The body is too large."


class ClientRequestError(PitwallError):
    """A request that is refused with this HTTP status."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


Handler = Callable[["ClientConnection"], Awaitable[None]]
Routes = Mapping[tuple[str, str], Handler]  # by method and path


class ClientConnection(asyncio.Protocol):
    """A connection that carries one request after the other; the handler of a request is cancelled with it.

    A client that sends its next request before it has the answer is disconnected after that answer.
    """

    method: str
    path: str
    query: str  # without its question mark
    headers: dict[str, str]  # by name in lower case; what is no UTF-8 as surrogates

    def __init__(self, routes: Routes, connections: set[ClientConnection], head_s: float, body_bytes: int) -> None:
        """Take the handlers by method and path, all open connections, and the limits of a request."""
        self.task: asyncio.Task[None] | None = None  # of the request that is answered
        self._routes, self._connections = routes, connections
        self._head_s, self._body_bytes = head_s, body_bytes
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._timer: asyncio.TimerHandle | None = None  # until the head of a request has arrived, or against lingering
        self._waiter: asyncio.Future[None] | None = None  # of the task: for the body, or until it may write again
        self._is_full = self._is_ending = False
        self._begin_request()

    def _begin_request(self) -> None:
        self.method, self.path, self.query, self.headers = "", "", "", {}
        self._url = b""
        self._head_bytes = self._header_bytes = self._received_bytes = 0
        self._pieces: list[bytes] = []
        self._take_piece: Callable[[bytes], None] = self._pieces.append
        self._unsent = b""  # head of the answer
        self._error: ClientRequestError | None = None
        self._has_body = self._is_started = self._is_answered = self._is_chunked = False
        self._stays_open = True
        self._set_timer(self._head_s)

    @property
    def content_length(self) -> int | None:
        """Size of the body in bytes, as announced; None if it comes in chunks."""
        if "transfer-encoding" in self.headers:
            return None
        return int(self.headers.get("content-length", "0"))

    @property
    def has_begun_answer(self) -> bool:
        return self._is_started

    @property
    def has_body(self) -> bool:
        """Whether the whole body has arrived."""
        return self._has_body

    @property
    def is_plain(self) -> bool:
        """Whether the body is not packed."""
        return "content-encoding" not in self.headers

    def divert_body(self, take: Callable[[bytes], None]) -> bytes:
        """Return what has arrived of the body; `take` receives the rest while `wait_for_body` waits."""
        arrived = b"".join(self._pieces)
        self._pieces.clear()
        self._take_piece = take
        return arrived

    async def wait_for_body(self) -> None:
        """Wait until the whole body has arrived; raises ClientRequestError."""
        if not self._has_body and self.headers.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while not (self._has_body or self._error):
            await self._wait()
        if self._error:
            raise self._error

    async def read_body(self) -> bytes:
        """Return the unpacked body once it has arrived; raises ClientRequestError."""
        await self.wait_for_body()
        body = b"".join(self._pieces)
        self._pieces.clear()
        if encoding := self.headers.get("content-encoding"):
            return await asyncio.to_thread(unpack, body, encoding.strip().lower(), self._body_bytes)
        return body

    def begin_answer(self, status: int, headers: Mapping[str, str]) -> None:
        """Begin the answer with its head, which is sent with what follows, at the latest by `flush`.

        Without `Content-Length` the body is sent in chunks.
        """
        is_open_ended = "Content-Length" not in headers and status != HTTPStatus.NO_CONTENT
        self._is_chunked = is_open_ended and self._parser.get_http_version() != "1.0"
        self._stays_open = self._stays_open and self._has_body and (self._is_chunked or not is_open_ended)
        own_headers = {"Transfer-Encoding": "chunked"} if self._is_chunked else {}
        own_headers |= {} if self._stays_open else {"Connection": "close"}
        self._is_started = True
        self._unsent = http_head(f"HTTP/1.1 {status} {responses.get(status, '')}", {**headers, **own_headers})

    async def write(self, data: bytes) -> None:
        """Send a piece of the answer's body; waits while the client reads more slowly than the server sends."""
        self._send(b"%x\r\n%b\r\n" % (len(data), data) if self._is_chunked else data)
        while self._is_full:
            await self._wait()

    def flush(self) -> None:
        """Send the head of the answer, if it waits for a piece of the body."""
        self._send(b"")

    def _send(self, data: bytes) -> None:
        self._transport.write(self._unsent + data)
        self._unsent = b""

    def end_answer(self) -> None:
        """Complete the answer."""
        self._send(LAST_CHUNK if self._is_chunked else b"")
        self._is_answered = True

    def refuse(self, status: int, text: str) -> None:
        """Answer with an error in a form that clients of every protocol read."""
        error: JsonValue = {"type": "error", "error": {"message": text, "type": "recorder"}}
        body = orjson.dumps(error)
        self.begin_answer(status, {"Content-Type": "application/json", "Content-Length": str(len(body))})
        if self.method != "HEAD":
            self._send(body)
        self.end_answer()

    def abort(self) -> None:
        """Close the connection at once, so that an answer that has begun does not look complete."""
        self._transport.abort()

    async def _answer(self) -> None:
        """Answer the request whose head has arrived, then wait for the next one or close the connection."""
        try:
            await self._handler()(self)
        except ClientRequestError as error:
            if not self._is_started:
                self.refuse(error.status, str(error))
        finally:
            self.task = None
            self._end_request()

    def _handler(self) -> Handler:
        if handler := self._routes.get((self.method, self.path)):
            return handler
        if any(path == self.path for _, path in self._routes):
            raise ClientRequestError(HTTPStatus.METHOD_NOT_ALLOWED, "The recorder does not forward this method.")
        raise ClientRequestError(HTTPStatus.NOT_FOUND, "The recorder does not forward this path.")

    def _end_request(self) -> None:
        if self._transport.is_closing():
            return
        if not self._is_answered:
            self.abort()
        elif self._has_body and self._stays_open:
            self._begin_request()
        else:
            self._is_ending = True
            self._transport.write_eof()
            self._set_timer(LINGER_S)

    def _set_timer(self, delay_s: float) -> None:
        self._stop_timer()
        self._timer = self._loop.call_later(delay_s, self.abort)

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()

    async def _wait(self) -> None:
        self._waiter = self._loop.create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        if self._is_ending:
            return
        if self.task is None:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._stays_open = False  # what follows is no HTTP
        except httptools.HttpParserError as error:
            self._fail_request(error)
        if self.task is None and self._head_bytes > MAX_HEAD_BYTES:
            self._fail_request(None)
        self._wake()

    def _fail_request(self, error: httptools.HttpParserError | None) -> None:
        """Refuse what is no request; what follows on a whole request only ends the connection after its answer."""
        self._stays_open = False
        if self._has_body:
            return
        cause = error.__context__ if error else None
        self._error = cause if isinstance(cause, ClientRequestError) else ClientRequestError(BAD_REQUEST, NO_REQUEST)
        if self.task is None:
            self.refuse(self._error.status, str(self._error))
            self._end_request()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.discard(self)
        self._stop_timer()
        if self.task:
            self.task.cancel()

    # Callbacks of httptools; what they raise becomes an HttpParserError

    def on_message_begin(self) -> None:
        if self.task:
            raise ClientRequestError(BAD_REQUEST, "The client sent more than its request.")

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes + len(self._url) > MAX_HEAD_BYTES:
            raise ClientRequestError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "The head is too large.")
        self.headers[name.decode("ascii").lower()] = value.decode(errors="surrogateescape")

    def on_headers_complete(self) -> None:
        self._stop_timer()
        url = httptools.parse_url(self._url)
        self.method = self._parser.get_method().decode("ascii")
        self.path, self.query = url.path.decode("ascii"), (url.query or b"").decode("ascii")
        self._stays_open = self._parser.should_keep_alive()
        if (self.content_length or 0) > self._body_bytes:
            raise ClientRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_LARGE)
        self.task = self._loop.create_task(self._answer())

    def on_body(self, data: bytes) -> None:
        self._received_bytes += len(data)
        if self._received_bytes > self._body_bytes:
            raise ClientRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_LARGE)
        self._take_piece(data)

    def on_message_complete(self) -> None:
        self._has_body = True


def unpack(body: bytes, encoding: str, most_bytes: int) -> bytes:
    """Return the body that was sent in this content coding; raises ClientRequestError."""
    if encoding == "identity":
        return body
    if encoding not in UNPACKED_BY_ZLIB:
        raise ClientRequestError(BAD_REQUEST, "The body cannot be unpacked: gzip and deflate are read.")
    stream = zlib.decompressobj(AUTOMATIC_FORMAT)
    try:
        unpacked = stream.decompress(body, most_bytes + 1)
    except zlib.error as error:
        raise ClientRequestError(BAD_REQUEST, "The body cannot be unpacked.") from error
    if len(unpacked) > most_bytes:
        raise ClientRequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_LARGE)
    if not stream.eof:
        raise ClientRequestError(BAD_REQUEST, "The body cannot be unpacked: its end is missing.")
    return unpacked
