"""Connections of the recorder to the server: a request is sent as bytes, its answer is read as it arrives.

httptools reads the answers. aiohttp's client does the same in many small steps, whose cold caches cost the first event
more than everything else in the recorder: benchmarks/README.md, 'What the recorder adds'.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import SplitResult, urlsplit

import httptools

from errors import PitwallError
from workloads.recording.http_head import MAX_HEAD_BYTES, HeaderLineError, http_head

CONNECT_TIMEOUT_S = 10.0
KEEPALIVE_S = 4.0  # of idle connections: less than the 5 s after which most servers drop them
MAX_UNREAD_BYTES = 256 << 10  # beyond it the server has to wait
TOO_LARGE_HEAD = f"more than {MAX_HEAD_BYTES >> 10} KiB in the head of an answer"
NO_HOST = "address-without-host.invalid"  # an empty name would be this machine
OK = 200


class UpstreamConnectionError(PitwallError):
    """The server did not answer properly; `kind` is a RequestRecord.error_kind."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class UpstreamConnection(asyncio.Protocol):
    """A connection that carries one request after the other; used by one task at a time."""

    status: int
    headers: dict[str, str]  # by name in lower case

    def __init__(self, silence_s: float) -> None:
        self.silence_s = silence_s
        self.is_closed = False
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None  # against silence, or while idle
        self._begin_answer()

    def _begin_answer(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.status, self.headers = 0, {}
        self._head_bytes = self._header_bytes = self._unread_bytes = 0
        self._has_head = self._is_complete = self._stays_open = False
        self._pieces: list[bytes] = []
        self._error: UpstreamConnectionError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._waits_since_s = self._loop.time()

    @property
    def is_unanswered(self) -> bool:
        """Whether nothing of an answer has arrived."""
        return not self._head_bytes

    @property
    def has_arrived(self) -> bool:
        """Whether `read` returns at once."""
        return bool(self._pieces) or self._is_complete

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def begin(self, data: bytes) -> None:
        """Send the first piece of a request, or all of it."""
        self._transport.write(data)
        self._begin_answer()  # after sending: the server works meanwhile
        self._set_timer(self.silence_s, self._end_silence)

    def send(self, data: bytes) -> None:
        """Send a further piece of the request; nothing if the server has closed the connection."""
        if not self.is_closed:
            self._transport.write(data)

    async def read_head(self) -> None:
        """Wait for the head of the answer; raises UpstreamConnectionError."""
        while not self._has_head:
            await self._wait()

    async def read(self) -> bytes:
        """Return what has arrived of the body, at least a byte; empty at its end. Raises UpstreamConnectionError."""
        while not self._pieces:
            if self._is_complete:
                return b""
            await self._wait()
        data = b"".join(self._pieces)
        self._pieces.clear()
        if self._unread_bytes > MAX_UNREAD_BYTES and not self.is_closed:
            self._transport.resume_reading()
        self._unread_bytes = 0
        return data

    async def _wait(self) -> None:
        """Wait until something has arrived; raises UpstreamConnectionError."""
        if self._error:
            raise self._error
        self._waits_since_s = self._loop.time()
        self._waiter = self._loop.create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    def _end_silence(self) -> None:
        """Fail if the server has been silent for too long; one timer per answer is cheaper than one per piece."""
        is_waiting = self._waiter is not None and not self._waiter.done()
        waited_s = self._loop.time() - self._waits_since_s if is_waiting else 0.0
        if waited_s >= self.silence_s:
            self._fail("timeout", "The server did not answer in time.")
        else:
            self._set_timer(self.silence_s - waited_s, self._end_silence)

    def _set_timer(self, delay_s: float, act: Callable[[], None]) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_later(delay_s, act)

    def _fail(self, kind: str, text: str) -> None:
        if not self._is_complete:
            self._error = self._error or UpstreamConnectionError(kind, text)
        self.close()
        self._wake()

    def keep(self) -> bool:
        """Keep the connection open for a next request; False, and closed, if its answer does not allow it."""
        if self.is_closed or not self._is_complete or not self._stays_open:
            self.close()
            return False
        self._set_timer(KEEPALIVE_S, self.close)
        return True

    def close(self) -> None:
        self.is_closed = True
        if self._timer:
            self._timer.cancel()
        self._transport.abort()

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass

    def data_received(self, data: bytes) -> None:
        if not self._has_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail("closed", f"{type(error).__name__}: {error}")
            return
        if not self._has_head and self._head_bytes > MAX_HEAD_BYTES:
            self._fail("closed", TOO_LARGE_HEAD)
        if self._unread_bytes > MAX_UNREAD_BYTES:
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_closed = True
        if self._has_head and error is None and self._ends_with_connection:
            self._is_complete = True
        self._fail("closed", f"{type(error).__name__}: {error}" if error else "The server closed the connection.")

    @property
    def _ends_with_connection(self) -> bool:
        return "content-length" not in self.headers and "transfer-encoding" not in self.headers

    # Callbacks of httptools

    def on_message_begin(self) -> None:
        if self._is_complete:
            raise UpstreamConnectionError("closed", "The server sent more than its answer.")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > MAX_HEAD_BYTES:
            raise UpstreamConnectionError("closed", TOO_LARGE_HEAD)
        self.headers[name.decode("latin-1").lower()] = value.decode(errors="replace")

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        self._has_head = self.status >= OK  # what precedes it, such as '100 Continue', announces another head
        if not self._has_head:
            self.headers = {}

    def on_body(self, data: bytes) -> None:
        self._pieces.append(data)
        self._unread_bytes += len(data)

    def on_message_complete(self) -> None:
        self._is_complete = self._has_head
        self._stays_open = self._parser.should_keep_alive()


@dataclass(slots=True)
class UpstreamConnections:
    """The open connections to one server; they are reused, since opening one costs more than the rest of the relay."""

    base_url: str
    silence_s: float  # of the server
    idle: list[UpstreamConnection] = field(default_factory=list)
    _address: SplitResult = field(init=False)
    _tls: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        self._address = urlsplit(self.base_url)
        if self._address.scheme == "https":
            self._tls = ssl.create_default_context()

    def request(self, method: str, target: str, headers: dict[str, str]) -> UpstreamRequest:
        """Return a request that is still to begin."""
        first_line = f"{method} {self._address.path.rstrip('/')}{target} HTTP/1.1"
        return UpstreamRequest(self, first_line, {"Host": self._address.netloc.rpartition("@")[2], **headers})

    def take_idle(self) -> UpstreamConnection | None:
        """Return an open connection that carries no request, if there is one."""
        while self.idle:
            connection = self.idle.pop()
            if not connection.is_closed:
                return connection
        return None

    def give_back(self, connection: UpstreamConnection) -> None:
        """Keep a connection for a next request, if its answer was read to the end and allows it; else close it."""
        if connection.keep():
            self.idle = [idle for idle in self.idle if not idle.is_closed] + [connection]

    async def open(self) -> UpstreamConnection:
        """Return a new connection; raises UpstreamConnectionError."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: UpstreamConnection(self.silence_s),
                    self._address.hostname or NO_HOST,
                    self._address.port or (443 if self._tls else 80),
                    ssl=self._tls,
                )
        except TimeoutError as error:
            raise UpstreamConnectionError("timeout", f"no connection after {CONNECT_TIMEOUT_S:g} s") from error
        except (OSError, ValueError) as error:
            raise UpstreamConnectionError("refused", f"no connection: {error}") from error
        return connection

    def close(self) -> None:
        for connection in self.idle:
            connection.close()


@dataclass(slots=True)
class UpstreamRequest:
    """A request on its way to the server; it is sent again if a kept connection was dropped without an answer."""

    connections: UpstreamConnections
    first_line: str
    headers: dict[str, str]
    _pieces: list[bytes] = field(default_factory=list)
    _connection: UpstreamConnection | None = None
    _error: UpstreamConnectionError | None = None

    def begin(self, body_bytes: int, body: bytes = b"") -> None:
        """Send the head, and the body if it is there already; an error is raised by `answer`."""
        try:
            head = http_head(self.first_line, {**self.headers, "Content-Length": str(body_bytes)})
        except HeaderLineError as error:
            self._error = UpstreamConnectionError("refused", str(error))
            return
        self._pieces.append(head + body)
        self._connection = self.connections.take_idle()
        if self._connection:
            self._connection.begin(self._pieces[0])

    def send(self, data: bytes) -> None:
        """Send a piece of the body."""
        self._pieces.append(data)
        if self._connection:
            self._connection.send(data)

    async def answer(self) -> UpstreamConnection:
        """Return the connection with the head of the answer; raises UpstreamConnectionError."""
        if self._error:
            raise self._error
        if not (self._connection and await self._is_answered(self._connection)):
            self._connection = await self.connections.open()
            self._connection.begin(b"".join(self._pieces))
            await self._connection.read_head()
        self._pieces.clear()  # the recorder holds the body once while the answer arrives, not twice
        return self._connection

    @staticmethod
    async def _is_answered(kept_connection: UpstreamConnection) -> bool:
        """Wait for the head of the answer; False if the server dropped the connection without one."""
        try:
            await kept_connection.read_head()
        except UpstreamConnectionError as error:
            if error.kind == "timeout" or not kept_connection.is_unanswered:
                raise
            return False
        return True

    def end(self) -> None:
        """Keep the connection for a next request, if its answer was read to the end and allows it; else close it."""
        if self._connection:
            self.connections.give_back(self._connection)
