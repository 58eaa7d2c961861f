"""A FAKE server that means harm: it answers every path in the way it is told to, and counts what it has sent.

Every way has an end, so that a test that fails ends too.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

MIB = 1 << 20
FUSE_BYTES = 256 * MIB  # "endless" ends here
FUSE_S = 45.0  # "for ever" ends here
LINE = b'vllm:generation_tokens_total{engine="0"} 1.0\n'


class HostileServer:
    """`way` names how it answers; see WAYS."""

    def __init__(self) -> None:
        self.way = "endless"
        self.sent = 0
        self.over = Event()
        hostile = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.close_connection = True
                with suppress(OSError):
                    WAYS[hostile.way](hostile, self)

            def log_message(self, *_: object) -> None: ...

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self.over.set()
        self._http.shutdown()
        self._http.server_close()

    def send(self, handler: BaseHTTPRequestHandler, data: bytes) -> None:
        handler.wfile.write(data)
        self.sent += len(data)


@contextmanager
def hostile_server() -> Iterator[HostileServer]:
    server = HostileServer()
    yield server
    server.close()


def head(handler: BaseHTTPRequestHandler, **headers: str) -> None:
    handler.send_response(200)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()


def endless(server: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    head(handler, Content_Type="text/plain")
    block = LINE * (MIB // len(LINE))
    while server.sent < FUSE_BYTES:
        server.send(handler, block)


def large(server: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    head(handler, Content_Length=str(200 * MIB))
    block = LINE * (MIB // len(LINE)) + b"\n" * (MIB % len(LINE))
    for _ in range(200):
        server.send(handler, block)


def bomb(server: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    """256 MiB of nothing, whose end never comes; each block is packed alone, so that one stands for all."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    first, block = (packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    packed = first + block * (FUSE_BYTES // MIB - 1)
    head(handler, Content_Encoding="gzip", Content_Length=str(len(packed)))
    server.send(handler, packed)


def nothing_packed(server: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    """Packed blocks without an end that unpack to no byte: only what is read of the socket can be counted."""
    head(handler, Content_Encoding="gzip")
    server.send(handler, b"\x1f\x8b\x08" + bytes(6) + b"\x03")
    blocks = b"\x00\x00\x00\xff\xff" * (MIB // 5)
    while server.sent < FUSE_BYTES:
        server.send(handler, blocks)


def other_packing(server: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    head(handler, Content_Encoding="br", Content_Length="4")
    server.send(handler, b"\x0b\x02\x80a")


def drip(server: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    head(handler, Content_Length=str(MIB))
    _drip(server, handler, b"v")


def drip_head(server: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    _drip(server, handler, b"x")


def _drip(server: HostileServer, handler: BaseHTTPRequestHandler, byte: bytes) -> None:
    end = time.monotonic() + FUSE_S
    while time.monotonic() < end and not server.over.wait(0.1):
        server.send(handler, byte)


def endless_head(server: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while server.sent < FUSE_BYTES:
        server.send(handler, b"X-Long: " + b"x" * 1000 + b"\r\n")


def silent(server: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    server.over.wait(FUSE_S)


def redirect(server: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(302)
    handler.send_header("Location", f"{server.url}/again")
    handler.send_header("Content-Length", "0")
    handler.end_headers()
    server.sent += 1


def nested(server: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    head(handler, Content_Length=str(200_000))
    server.send(handler, b"[" * 200_000)


def impossible(server: HostileServer, handler: BaseHTTPRequestHandler) -> None:
    body = b"".join(
        b'vllm:generation_tokens_total{engine="%d"} %s\nvllm:num_requests_running{engine="%d"} 2\n' % (i, value, i)
        for i, value in enumerate((b"NaN", b"+Inf", b"-1", b"1e309", b"1e18", b"450"))
    )
    head(handler, Content_Length=str(len(body)))
    server.send(handler, body)


WAYS: dict[str, Callable[[HostileServer, BaseHTTPRequestHandler], None]] = {
    way.__name__: way
    for way in (
        *(endless, large, bomb, nothing_packed, other_packing, drip, drip_head),
        *(endless_head, silent, redirect, nested, impossible),
    )
}
