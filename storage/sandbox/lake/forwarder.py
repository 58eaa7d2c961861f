"""The one way out of a process that answers a statement over the lake: each of its ports leads to one address."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

CONNECT_S = 10.0
PIECE = 1 << 16
LONGEST_HEAD = 8192
MOST_PORTS = 2


class Target(NamedTuple):
    """Where a port leads; a host that begins with / is the folder of a PostgreSQL socket.

    `is_tunnel`: TLS from end to end; whoever comes names the target first, as of a proxy (RFC 9110, CONNECT).
    """

    host: str
    port: int
    is_tunnel: bool = False


def open_ports(way_out: socket.socket, targets: Sequence[Target]) -> list[int]:
    """Ask the forwarder at the other end of `way_out` for a port of our loopback to each target."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in targets]
    socket.send_fds(way_out, [json.dumps(targets).encode()], [one.fileno() for one in listeners])
    way_out.close()
    ports = [one.getsockname()[1] for one in listeners]
    for one in listeners:
        one.close()
    return ports


def forward(asked: socket.socket) -> None:
    """Serve the ports that are asked for, once, by threads that end with this process; returns when they are up."""
    with asked:
        message, handles, _, _ = socket.recv_fds(asked, PIECE, MOST_PORTS)
    if not message:
        return  # it has ended before it asked
    for handle, target in zip(handles, json.loads(message), strict=True):
        listener = socket.socket(fileno=handle)
        threading.Thread(target=_serve, args=(listener, Target(*target)), name="forward", daemon=True).start()


def _serve(listener: socket.socket, target: Target) -> None:
    while True:
        inner, _ = listener.accept()
        threading.Thread(target=_carry, args=(inner, target), name="carry", daemon=True).start()


def _carry(inner: socket.socket, target: Target) -> None:
    """One connection, until either end closes it."""
    with inner, suppress(OSError):
        if target.is_tunnel and not _names(inner, target):
            inner.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return
        with _connected(target) as outer:
            if target.is_tunnel:
                inner.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pump, args=(outer, inner), name="carry-back", daemon=True)
            back.start()
            _pump(inner, outer)
            back.join()


def _names(inner: socket.socket, target: Target) -> bool:
    """Whether what comes first is a CONNECT to the target; nothing of TLS is read, for it waits for our answer."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < LONGEST_HEAD:
        piece = inner.recv(LONGEST_HEAD)
        if not piece:
            return False
        head += piece
    words = head.split(b"\r\n")[0].decode("latin-1").split()
    return words[:2] == ["CONNECT", f"{target.host}:{target.port}"]


def _connected(target: Target) -> socket.socket:
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
        while piece := source.recv(PIECE):
            sink.sendall(piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
