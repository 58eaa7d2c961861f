"""Requests to a server that is not ours: no answer is larger, longer or more tightly packed than we are ready for.

httpx bounds the silence between two bytes and nothing else: a byte a second goes on for ever, a body without an end
into memory. Here one request has one deadline, from the look-up of the name to the last byte, and a most of bytes.
httpcore, which httpx stands on, lets every read of the socket be bounded.
"""

from __future__ import annotations

import json
import socket
import ssl
import time
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, NamedTuple

import httpcore
import httpx

from domain import JsonValue
from errors import PitwallError
from machine.asides import Asides

HEAD_BYTES = 256 << 10  # of status line and headers, beside the body
ASKED = {"User-Agent": "pitwall", "Accept": "*/*", "Accept-Encoding": "identity"}
GZIP_OR_ZLIB = 47  # zlib's window bits that find out by the header
LOOKUPS = Asides("name-of-server", 32)  # of names in the network, which nothing can break off
DROPPED = (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError)


class ReadLimits(NamedTuple):
    """What one answer may take: bytes of the body, unpacked, and seconds from the request to its last byte."""

    body_bytes: int
    total_s: float


class NoAnswerError(PitwallError):
    """Nothing came back; the message says why in a few words."""


class NoAnswerInTimeError(NoAnswerError):
    """Nothing came back in time."""


class BadAnswerError(PitwallError):
    """An answer that is not taken, for it passes a limit or is not packed as it says; one sentence without a stop."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body; a redirect is an answer like any other, for it is not followed."""

    status_code: int
    reason_phrase: str
    content: bytes

    @property
    def is_ok(self) -> bool:
        return self.status_code == 200

    def json(self) -> JsonValue:
        """Raises ValueError for what is no JSON, or none that a server of ours would write."""
        try:
            found: JsonValue = json.loads(self.content)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        return found


class BoundedHttp:
    """One server, asked by one thread at a time; the connection is kept between two requests."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str] | None = None,
        connect_s: float = 1.0,
        silence_s: float = 3.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`connect_s` and `silence_s` bound one wait; raises httpx.InvalidURL only when it is asked."""
        self.headers = dict(headers or {})
        self._base_url = base_url
        self._waits = {"connect": connect_s, "read": silence_s, "write": silence_s, "pool": silence_s}
        self._allowance = _Allowance()
        self._pool = httpcore.ConnectionPool(
            max_connections=1, network_backend=_BoundedBackend(self._allowance), keepalive_expiry=30.0, ssl_context=tls
        )

    def get(self, path: str, limits: ReadLimits) -> Answer:
        """Raises NoAnswerError, BadAnswerError, or httpx.InvalidURL. A kept connection that ended is made anew once."""
        return self._ask("GET", path, limits, None)

    def post(self, path: str, body: bytes, limits: ReadLimits) -> Answer:
        """As `get`, so the body may come twice: for what may be said again."""
        return self._ask("POST", path, limits, body)

    def _ask(self, method: str, path: str, limits: ReadLimits, body: bytes | None) -> Answer:
        self._allowance.begin(limits)
        try:
            try:
                return self._once(method, path, limits, body)
            except DROPPED:
                return self._once(method, path, limits, body)
        except httpcore.TimeoutException:
            if not self._allowance.has_begun:
                raise NoAnswerInTimeError("no answer in time") from None
            raise BadAnswerError(self._too_slow(path, limits)) from None
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as problem:
            raise NoAnswerError(_words(problem)) from None
        except _TooMuchError:
            raise BadAnswerError(_too_large(path, limits)) from None

    def close(self) -> None:
        """Close the connection that is kept between two requests."""
        self._pool.close()

    def _once(self, method: str, path: str, limits: ReadLimits, sent: bytes | None) -> Answer:
        url = httpx.URL(f"{self._base_url}{path}")
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        headers = [*ASKED.items(), *self.headers.items()]
        if sent is not None:
            headers += [("Content-Type", "application/json"), ("Content-Length", str(len(sent)))]
        waits = {"timeout": self._waits}
        with self._pool.stream(method, target, headers=headers, content=sent, extensions=waits) as answer:
            body = _unpacked(answer.iter_stream(), _packing(answer, path), limits.body_bytes, path)
            phrase = answer.extensions.get("reason_phrase", b"").decode("ascii", "replace")
            return Answer(answer.status, phrase, body)

    def _too_slow(self, path: str, limits: ReadLimits) -> str:
        if self._allowance.left_s() > 0:
            return f"{path or 'the answer'} stops before its end: {self._waits['read']:g} s without a byte"
        return f"{path or 'the answer'} is not whole after {limits.total_s:g} s, the longest that is waited for it"


class _TooMuchError(Exception):
    """More bytes than the limit."""


class _Allowance:
    """What is left of one request's time and bytes."""

    def __init__(self) -> None:
        self._deadline = 0.0
        self._left_bytes = 0
        self.has_begun = False  # whether a byte of the answer has come

    def begin(self, limits: ReadLimits) -> None:
        self._deadline = time.monotonic() + limits.total_s
        self._left_bytes = limits.body_bytes + HEAD_BYTES
        self.has_begun = False

    def left_s(self) -> float:
        return self._deadline - time.monotonic()

    def wait_s(self, wanted_s: float | None) -> float:
        """How long one wait may last; raises httpcore.ReadTimeout when the time is over."""
        left = self.left_s()
        if left <= 0:
            raise httpcore.ReadTimeout("the deadline of the request has passed")
        return left if wanted_s is None else min(wanted_s, left)

    def take(self, data: bytes) -> bytes:
        self.has_begun = self.has_begun or bool(data)
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            raise _TooMuchError
        return data


class _BoundedBackend(httpcore.NetworkBackend):
    """httpcore's own sockets, whose every wait is within the allowance."""

    def __init__(self, allowance: _Allowance) -> None:
        self._inner = httpcore.SyncBackend()
        self._allowance = allowance

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        *others, last = _addresses_of(host, port, self._allowance.wait_s(None))
        for address in others:
            with suppress(httpcore.NetworkError, httpcore.ConnectTimeout):
                return self._connected(address, port, timeout, local_address, socket_options)
        return self._connected(last, port, timeout, local_address, socket_options)

    def _connected(
        self,
        address: str,
        port: int,
        timeout: float | None,
        local_address: str | None,
        socket_options: Iterable[Any] | None,
    ) -> httpcore.NetworkStream:
        wait_s = self._allowance.wait_s(timeout)
        stream = self._inner.connect_tcp(address, port, wait_s, local_address, socket_options)
        return _BoundedStream(stream, self._allowance)


def _addresses_of(host: str, port: int, wait_s: float) -> list[str]:
    """Where a host may be reached, at least one; raises httpcore.ConnectError, or ConnectTimeout for a slow look-up."""
    with suppress(ValueError):
        return [str(ip_address(host))]
    try:
        found = LOOKUPS.ask(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), wait_s)
    except TimeoutError:
        raise httpcore.ConnectTimeout(f"the name {host} was not looked up in time") from None
    except OSError as problem:
        raise httpcore.ConnectError(str(problem)) from problem
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


class _BoundedStream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, allowance: _Allowance) -> None:
        self._inner = inner
        self._allowance = allowance

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._allowance.take(self._inner.read(max_bytes, self._allowance.wait_s(timeout)))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._allowance.wait_s(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        secure = self._inner.start_tls(ssl_context, server_hostname, self._allowance.wait_s(timeout))
        return _BoundedStream(secure, self._allowance)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _packing(answer: httpcore.Response, path: str) -> str:
    """'' or 'gzip', though we ask for none; raises BadAnswerError for another."""
    said = b",".join(value for name, value in answer.headers if name.lower() == b"content-encoding")
    packing = said.decode("ascii", "replace").strip().lower()
    if packing in ("", "identity"):
        return ""
    if packing in ("gzip", "x-gzip", "deflate"):
        return "gzip"
    raise BadAnswerError(f"{path or 'the answer'} is packed as {packing[:40]!r}, which was not asked for")


def _unpacked(chunks: Iterable[bytes], packing: str, most: int, path: str) -> bytes:
    """The body; raises _TooMuchError before more than `most` bytes of it are in memory."""
    decoder = zlib.decompressobj(GZIP_OR_ZLIB) if packing else None
    body = bytearray()
    for chunk in chunks:
        try:
            body += decoder.decompress(chunk, most + 1 - len(body)) if decoder else chunk
        except zlib.error as problem:
            raise BadAnswerError(f"{path or 'the answer'} is not packed as it says: {problem}") from None
        if len(body) > most:
            raise _TooMuchError
    return bytes(body)


def _too_large(path: str, limits: ReadLimits) -> str:
    size = f"{limits.body_bytes >> 20} MiB" if limits.body_bytes >= 1 << 20 else f"{limits.body_bytes >> 10} KiB"
    return f"{path or 'the answer'} is larger than {size}, the most that is read of it"


def _words(problem: Exception) -> str:
    text = str(problem)
    return "connection refused" if "refused" in text.lower() else text or type(problem).__name__
