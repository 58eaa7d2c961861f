"""Limits on the number of open sockets, on the time to send a request and on unread responses.

A socket waits from the moment it is opened, or its last response was sent, until the head of a request is complete.
The number and the time of waiting sockets are limited: a new one displaces the oldest, so a client that sends its
request at once is always served, behind a shared proxy or not. uvicorn itself waits forever for an incomplete request,
and opens sockets until no file descriptors remain.

Clients must also read their responses: while more is to be sent than the system's buffer takes, some of it must be sent
within each timeout. A slow download may take as long as it needs; a client that reads nothing is disconnected, and when
all sockets are in use, the one that has read nothing for longest goes first. uvicorn itself waits forever for it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, NamedTuple, Self

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

LOG = logging.getLogger(__name__)
REQUEST_TIMEOUT_S = 10.0
UNREAD_TIMEOUT_S = 60.0  # a client that reads 2 kB/s frees buffer space about every 30 s
RESERVED_FILES = 400  # for the store, the collectors' sockets and logs, and started servers
MOST_WAITING = 4096  # each may hold 64 kB of a request head: 256 MiB; 260,000 of them would take 16 GiB
WARN_EVERY_S = 60.0


class ConnectionLimits(NamedTuple):
    """The most sockets at a time: in total, and those that have not sent a complete request yet."""

    open: int
    waiting: int


def limits_for(open_files: int) -> ConnectionLimits:
    """Return the limits for sockets, given the process's limit on open files."""
    most = max(open_files - RESERVED_FILES, open_files // 2)
    return ConnectionLimits(most, min(most // 2, MOST_WAITING))


class SlowReaders:
    """The sockets with unread responses, the longest unread first; used only by the event loop's thread."""

    def __init__(self, timeout_s: float = UNREAD_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._timers: dict[LimitedHttp, asyncio.TimerHandle] = {}

    def watch(self, connection: LimitedHttp) -> None:
        """Watch a socket: from now on some pending bytes must be sent within each timeout."""
        self.forget(connection)
        pending_bytes = connection.transport.get_write_buffer_size()
        self._timers[connection] = connection.loop.call_later(self._timeout_s, self.check, connection, pending_bytes)

    def check(self, connection: LimitedHttp, pending_before: int) -> None:
        """After the timeout, drop the socket unless it has read something meanwhile."""
        pending_bytes = connection.transport.get_write_buffer_size()
        if not pending_bytes:
            connection.caught_up()
        elif pending_bytes < pending_before:
            self.watch(connection)
        else:
            self.drop(connection)

    def forget(self, connection: LimitedHttp) -> bool:
        """Stop watching a socket that has caught up or closed; return whether it was watched."""
        timer = self._timers.pop(connection, None)
        if timer is not None:
            timer.cancel()
        return timer is not None

    def longest(self) -> LimitedHttp | None:
        """Return the socket that has read nothing for longest."""
        return next(iter(self._timers), None)

    def drop(self, connection: LimitedHttp) -> None:
        """Close a socket at once and discard its pending bytes."""
        self.forget(connection)
        connection.connections.discard(connection)
        connection.transport.abort()


class WaitingRoom:
    """The sockets that wait for a request, the longest waiting first; used only by the event loop's thread."""

    def __init__(self, limits: ConnectionLimits, timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        self._limits = limits
        self._timeout_s = timeout_s
        self._timers: dict[H11Protocol, asyncio.TimerHandle] = {}
        self._quiet_until = 0.0

    def enter(self, connection: H11Protocol, unread: SlowReaders) -> None:
        """Let a socket wait from now on; if that exceeds a limit, drop the oldest."""
        self.leave(connection)
        self._timers[connection] = connection.loop.call_later(self._timeout_s, self._drop, connection)
        while len(connection.connections) > self._limits.open and (longest := unread.longest()):
            unread.drop(longest)
        while self._timers and self._is_full(connection):
            oldest = next(iter(self._timers))
            self._warn(oldest)
            self._drop(oldest)

    def leave(self, connection: H11Protocol) -> None:
        """Remove a socket that has sent its request or has closed."""
        timer = self._timers.pop(connection, None)
        if timer is not None:
            timer.cancel()

    def _is_full(self, connection: H11Protocol) -> bool:
        return len(self._timers) > self._limits.waiting or len(connection.connections) > self._limits.open

    def _drop(self, connection: H11Protocol) -> None:
        self.leave(connection)
        connection.connections.discard(connection)
        connection.transport.abort()

    def _warn(self, connection: H11Protocol) -> None:
        now = connection.loop.time()
        if now >= self._quiet_until:
            self._quiet_until = now + WARN_EVERY_S
            LOG.warning("Too many sockets (%d) wait for a complete request: the oldest are closed.", len(self._timers))


class LimitedHttp(H11Protocol):
    """uvicorn's HTTP protocol with limits on the number of sockets and on their waiting time."""

    room: WaitingRoom  # of the server
    unread: SlowReaders  # of the server

    @classmethod
    def with_limits(
        cls,
        limits: ConnectionLimits,
        timeout_s: float = REQUEST_TIMEOUT_S,
        unread_timeout_s: float = UNREAD_TIMEOUT_S,
    ) -> type[Self]:
        """Return the protocol class of one server, with its own limits."""
        rooms = {"room": WaitingRoom(limits, timeout_s), "unread": SlowReaders(unread_timeout_s)}
        return type(cls.__name__, (cls,), rooms)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let a new socket wait for its first request."""
        super().connection_made(transport)
        self.room.enter(self, self.unread)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove a closed socket."""
        self.room.leave(self)
        self.unread.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """End the wait once the head of the request is complete, not at its first byte."""
        super().data_received(data)
        if self._is_answering():
            self.room.leave(self)

    def on_response_complete(self) -> None:
        """Let an open socket wait for its next request, with a new timeout, once it has read this response."""
        super().on_response_complete()
        if not self._is_answering():
            self._wait()

    def pause_writing(self) -> None:
        """Watch the reader from now on: more is to be sent than the system's buffer takes."""
        super().pause_writing()
        self.room.leave(self)
        self.unread.watch(self)

    def resume_writing(self) -> None:
        """Stop watching the reader: the system's buffer has room again."""
        super().resume_writing()
        self.caught_up()

    def caught_up(self) -> None:
        """Stop watching the reader and wait for its next request."""
        if self.unread.forget(self) and not self._is_answering():
            self._wait()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the socket to the WebSocket protocol, which has its own pings."""
        self.room.leave(self)
        self.unread.forget(self)
        super().handle_websocket_upgrade(event)

    def _wait(self) -> None:
        """Wait for the next request, or for the rest of the last response to be read."""
        if self.transport.get_write_buffer_size():
            self.unread.watch(self)
        elif not self.transport.is_closing():
            self.room.enter(self, self.unread)

    def _is_answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete
