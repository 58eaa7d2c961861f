"""Forwards loopback ports of the isolated process to fixed addresses, which is its only network access."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

CONNECT_S = 10.0
CHUNK_BYTES = 1 << 16
MAX_HEAD_BYTES = 8192
MAX_PORTS = 2


class ForwardTarget(NamedTuple):
    """The target of a port; a host that begins with / is the folder of a PostgreSQL socket.

    `is_tunnel`: end-to-end TLS; the client first names the target as for a proxy (RFC 9110, CONNECT).
    """

    host: str
    port: int
    is_tunnel: bool = False


def open_ports(forwarder_socket: socket.socket, targets: Sequence[ForwardTarget]) -> list[int]:
    """Request a loopback port to each target from the forwarder at the other end of `forwarder_socket`."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in targets]
    socket.send_fds(forwarder_socket, [json.dumps(targets).encode()], [listener.fileno() for listener in listeners])
    forwarder_socket.close()
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


def forward(control_socket: socket.socket) -> None:
    """Serve one request for ports with daemon threads; return when the ports are served."""
    with control_socket:
        message, handles, _, _ = socket.recv_fds(control_socket, CHUNK_BYTES, MAX_PORTS)
    if not message:
        return  # the child ended without a request
    for handle, target in zip(handles, json.loads(message), strict=True):
        listener = socket.socket(fileno=handle)
        threading.Thread(target=_serve, args=(listener, ForwardTarget(*target)), name="forward", daemon=True).start()


def _serve(listener: socket.socket, target: ForwardTarget) -> None:
    while True:
        inner, _ = listener.accept()
        threading.Thread(target=_carry, args=(inner, target), name="carry", daemon=True).start()


def _carry(inner: socket.socket, target: ForwardTarget) -> None:
    """Forward one connection until either end closes it."""
    with inner, suppress(OSError):
        if target.is_tunnel and not _is_connect_to(inner, target):
            inner.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return
        with _connect(target) as outer:
            if target.is_tunnel:
                inner.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pump, args=(outer, inner), name="carry-back", daemon=True)
            back.start()
            _pump(inner, outer)
            back.join()


def _is_connect_to(inner: socket.socket, target: ForwardTarget) -> bool:
    """Whether the client starts with a CONNECT to the target; no TLS bytes are read, because it waits for the reply."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < MAX_HEAD_BYTES:
        chunk = inner.recv(MAX_HEAD_BYTES)
        if not chunk:
            return False
        head += chunk
    request_line = head.split(b"\r\n")[0].decode("latin-1").split()
    return request_line[:2] == ["CONNECT", f"{target.host}:{target.port}"]


def _connect(target: ForwardTarget) -> socket.socket:
    if not target.host.startswith("/"):
        outer = socket.create_connection((target.host, target.port), CONNECT_S)
    else:
        outer = socket.socket(socket.AF_UNIX)
        outer.settimeout(CONNECT_S)
        outer.connect(f"{target.host}/.s.PGSQL.{target.port}")
    outer.settimeout(None)
    return outer


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(CHUNK_BYTES):
            sink.sendall(chunk)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
