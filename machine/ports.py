"""State and owner of TCP ports, and the addresses in server URLs."""

from __future__ import annotations

import errno
import socket
from contextlib import suppress
from urllib.parse import urlsplit

import psutil

DEFAULT_PORTS = {"http": 80, "https": 443}


def host_and_port(url: str) -> tuple[str, int]:
    """Return host and port of a URL; raises ValueError if it is not an http(s) URL."""
    parts = urlsplit(url)
    port = DEFAULT_PORTS.get(parts.scheme) if parts.port is None else parts.port
    if parts.scheme not in DEFAULT_PORTS or not port or not parts.hostname or " " in parts.hostname:
        raise ValueError(f"{url} is not the URL of a server")
    return parts.hostname, port


def server_at(url: str) -> tuple[str, int, str]:
    """Return a key that is equal for all URLs of one server, whichever name of this machine they use."""
    host, port = host_and_port(url)
    return dial_host(host), port, urlsplit(url).path.rstrip("/")


def dial_host(host: str | None) -> str:
    """Return the address that reaches a server bound to `host` from this machine."""
    bare = (host or "").strip("[]")
    return "127.0.0.1" if bare in ("", "0.0.0.0", "localhost", "::") else bare


def is_port_free(port: int, host: str | None = None) -> bool:
    """Return whether a server could listen on the port; closed connections in TIME_WAIT do not count."""
    address = dial_host(host)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError as error:
            return error.errno != errno.EADDRINUSE
    return True


def describe_listener(port: int) -> str | None:
    """Return 'llama-server (pid 4711)', or None if the system does not tell who listens on the port."""
    with suppress(psutil.Error, OSError):
        for connection in psutil.net_connections(kind="tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port and connection.pid:
                return f"{psutil.Process(connection.pid).name()} (pid {connection.pid})"
    return None


def describe_busy_port(port: int) -> str:
    """Return one sentence about a port that is in use."""
    owner = describe_listener(port)
    return f"Port {port} is in use by {owner}." if owner else f"Port {port} is in use by another process."
