"""HTTP client for servers that Pitwall does not control: bounds the time, size and unpacked size of every response.

httpx limits only the silence between two bytes, so a server that sends one byte a second is read forever and an
endless body fills the memory. Here each request has one deadline, from the name look-up to the last byte, and a
maximum number of bytes. httpcore, on which httpx is built, allows a limit on every read of the socket.
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
from machine.detached_calls import DetachedCalls

HEAD_BYTES = 256 << 10  # allowed for the status line and headers, in addition to the body
DEFAULT_HEADERS = {"User-Agent": "pitwall", "Accept": "*/*", "Accept-Encoding": "identity"}
GZIP_OR_ZLIB = 47  # zlib window bits that detect the format from the header
NAME_LOOKUPS = DetachedCalls("name-of-server", 32)  # getaddrinfo cannot be interrupted
DROPPED_CONNECTION = (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError)


class ReadLimits(NamedTuple):
    """Limits of one response: bytes of the unpacked body, and seconds from the request to its last byte."""

    body_bytes: int
    total_s: float


class NoAnswerError(PitwallError):
    """No response arrived; the message gives the reason in a few words."""


class NoAnswerInTimeError(NoAnswerError):
    """No response arrived in time."""


class BadAnswerError(PitwallError):
    """A response that exceeds a limit or does not match its content encoding; one sentence without a full stop."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """Status and body of a response; redirects are returned, not followed."""

    status_code: int
    reason_phrase: str
    content: bytes

    @property
    def is_ok(self) -> bool:
        return self.status_code == 200

    def json(self) -> JsonValue:
        """Parse the body; raises ValueError if it is not JSON or is nested too deeply."""
        try:
            value: JsonValue = json.loads(self.content)
        except RecursionError:
            raise ValueError("it is nested too deeply") from None
        return value


class BoundedHttp:
    """Client of one server, for one thread at a time; the connection stays open between requests."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str] | None = None,
        connect_s: float = 1.0,
        silence_s: float = 3.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`connect_s` and `silence_s` limit single waits; an invalid URL raises httpx.InvalidURL on first use."""
        self.headers = dict(headers or {})
        self._base_url = base_url
        self._waits = {"connect": connect_s, "read": silence_s, "write": silence_s, "pool": silence_s}
        self._allowance = _Allowance()
        self._pool = httpcore.ConnectionPool(
            max_connections=1, network_backend=_BoundedBackend(self._allowance), keepalive_expiry=30.0, ssl_context=tls
        )

    def get(self, path: str, limits: ReadLimits) -> HttpAnswer:
        """Send a GET; retries once on a connection that was dropped.

        Raises NoAnswerError, BadAnswerError or httpx.InvalidURL.
        """
        return self._request("GET", path, limits, None)

    def post(self, path: str, body: bytes, limits: ReadLimits) -> HttpAnswer:
        """Send a POST as `get` does: the retry may deliver the body twice, so only for idempotent requests."""
        return self._request("POST", path, limits, body)

    def _request(self, method: str, path: str, limits: ReadLimits, body: bytes | None) -> HttpAnswer:
        self._allowance.start(limits)
        try:
            try:
                return self._request_once(method, path, limits, body)
            except DROPPED_CONNECTION:
                return self._request_once(method, path, limits, body)
        except httpcore.TimeoutException:
            if not self._allowance.has_received:
                raise NoAnswerInTimeError("no answer in time") from None
            raise BadAnswerError(self._too_slow(path, limits)) from None
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as problem:
            raise NoAnswerError(_short_reason(problem)) from None
        except _TooMuchError:
            raise BadAnswerError(_too_large(path, limits)) from None

    def close(self) -> None:
        """Close the connection."""
        self._pool.close()

    def _request_once(self, method: str, path: str, limits: ReadLimits, request_body: bytes | None) -> HttpAnswer:
        url = httpx.URL(f"{self._base_url}{path}")
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        headers = [*DEFAULT_HEADERS.items(), *self.headers.items()]
        if request_body is not None:
            headers += [("Content-Type", "application/json"), ("Content-Length", str(len(request_body)))]
        waits = {"timeout": self._waits}
        with self._pool.stream(method, target, headers=headers, content=request_body, extensions=waits) as answer:
            content = _decompress(answer.iter_stream(), _content_encoding(answer, path), limits.body_bytes, path)
            phrase = answer.extensions.get("reason_phrase", b"").decode("ascii", "replace")
            return HttpAnswer(answer.status, phrase, content)

    def _too_slow(self, path: str, limits: ReadLimits) -> str:
        if self._allowance.remaining_s() > 0:
            return f"{path or 'the answer'} stopped before its end: no byte for {self._waits['read']:g} s"
        return f"{path or 'the answer'} was not complete within the limit of {limits.total_s:g} s"


class _TooMuchError(Exception):
    """More bytes than the limit."""


class _Allowance:
    """Remaining time and bytes of one request."""

    def __init__(self) -> None:
        self._deadline_s = 0.0
        self._remaining_bytes = 0
        self.has_received = False  # a byte of the response has arrived

    def start(self, limits: ReadLimits) -> None:
        self._deadline_s = time.monotonic() + limits.total_s
        self._remaining_bytes = limits.body_bytes + HEAD_BYTES
        self.has_received = False

    def remaining_s(self) -> float:
        return self._deadline_s - time.monotonic()

    def wait_s(self, timeout_s: float | None) -> float:
        """Return the seconds that one wait may last; raises httpcore.ReadTimeout after the deadline."""
        remaining = self.remaining_s()
        if remaining <= 0:
            raise httpcore.ReadTimeout("the deadline of the request has passed")
        return remaining if timeout_s is None else min(timeout_s, remaining)

    def take(self, data: bytes) -> bytes:
        self.has_received = self.has_received or bool(data)
        self._remaining_bytes -= len(data)
        if self._remaining_bytes < 0:
            raise _TooMuchError
        return data


class _BoundedBackend(httpcore.NetworkBackend):
    """httpcore's sockets with every wait limited by the allowance."""

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
        *earlier_addresses, last_address = _addresses_of(host, port, self._allowance.wait_s(None))
        for address in earlier_addresses:
            with suppress(httpcore.NetworkError, httpcore.ConnectTimeout):
                return self._connect(address, port, timeout, local_address, socket_options)
        return self._connect(last_address, port, timeout, local_address, socket_options)

    def _connect(
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
    """Return the host's addresses, at least one; raises httpcore.ConnectError, or ConnectTimeout for a slow look-up."""
    with suppress(ValueError):
        return [str(ip_address(host))]
    try:
        address_infos = NAME_LOOKUPS.call_within(
            lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), wait_s
        )
    except TimeoutError:
        raise httpcore.ConnectTimeout(f"the name {host} was not looked up in time") from None
    except OSError as problem:
        raise httpcore.ConnectError(str(problem)) from problem
    return list(dict.fromkeys(str(socket_address[0]) for *_, socket_address in address_infos))


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


def _content_encoding(answer: httpcore.Response, path: str) -> str:
    """Return '' or 'gzip', which some servers send unasked; raises BadAnswerError for another encoding."""
    header = b",".join(value for name, value in answer.headers if name.lower() == b"content-encoding")
    encoding = header.decode("ascii", "replace").strip().lower()
    if encoding in ("", "identity"):
        return ""
    if encoding in ("gzip", "x-gzip", "deflate"):
        return "gzip"
    raise BadAnswerError(f"{path or 'the answer'} has the content encoding {encoding[:40]!r}, which was not requested")


def _decompress(chunks: Iterable[bytes], encoding: str, max_bytes: int, path: str) -> bytes:
    """Return the unpacked body; raises _TooMuchError once it exceeds `max_bytes`, before more is in memory."""
    decoder = zlib.decompressobj(GZIP_OR_ZLIB) if encoding else None
    body = bytearray()
    for chunk in chunks:
        try:
            body += decoder.decompress(chunk, max_bytes + 1 - len(body)) if decoder else chunk
        except zlib.error as problem:
            raise BadAnswerError(f"{path or 'the answer'} does not match its content encoding: {problem}") from None
        if len(body) > max_bytes:
            raise _TooMuchError
    return bytes(body)


def _too_large(path: str, limits: ReadLimits) -> str:
    size = f"{limits.body_bytes >> 20} MiB" if limits.body_bytes >= 1 << 20 else f"{limits.body_bytes >> 10} KiB"
    return f"{path or 'the answer'} is larger than the limit of {size}"


def _short_reason(problem: Exception) -> str:
    text = str(problem)
    return "connection refused" if "refused" in text.lower() else text or type(problem).__name__
