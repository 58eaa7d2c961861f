"""How many sockets may be open, and how long one may take to say what it wants.

A socket waits from the moment it is opened, or its last answer was given, until the head of a request is whole. Those
that wait are few and not for long: the newest puts out the oldest, so that whoever speaks at once is always served,
behind one proxy or not. uvicorn itself waits for a half-said request for ever, and takes files until there are none.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, NamedTuple, Self

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

LOG = logging.getLogger(__name__)
REQUEST_TIMEOUT_S = 10.0
KEPT_FILES = 400  # for the store, the collectors' sockets and logs, the servers that are started
WARN_EVERY_S = 60.0


class ConnectionLimits(NamedTuple):
    """The most sockets at a time: all of them, and of those the ones that have not said a request yet."""

    open: int
    waiting: int


def limits_for(open_files: int) -> ConnectionLimits:
    """What is left for sockets where so many files may be open."""
    most = max(open_files - KEPT_FILES, open_files // 2)
    return ConnectionLimits(most, most // 2)


class WaitingRoom:
    """The sockets that wait, the longest waiting first; used by the event loop's thread alone."""

    def __init__(self, limits: ConnectionLimits, timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        self._limits = limits
        self._timeout_s = timeout_s
        self._timers: dict[H11Protocol, asyncio.TimerHandle] = {}
        self._quiet_until = 0.0

    def enter(self, one: H11Protocol) -> None:
        """It waits from now on; where that is one too many, the oldest is put out."""
        self.leave(one)
        self._timers[one] = one.loop.call_later(self._timeout_s, self._put_out, one)
        while self._timers and self._is_full(one):
            oldest = next(iter(self._timers))
            self._warn(oldest)
            self._put_out(oldest)

    def leave(self, one: H11Protocol) -> None:
        """It has said its request, or is gone."""
        timer = self._timers.pop(one, None)
        if timer is not None:
            timer.cancel()

    def _is_full(self, one: H11Protocol) -> bool:
        return len(self._timers) > self._limits.waiting or len(one.connections) > self._limits.open

    def _put_out(self, one: H11Protocol) -> None:
        self.leave(one)
        one.connections.discard(one)
        one.transport.abort()

    def _warn(self, one: H11Protocol) -> None:
        now = one.loop.time()
        if now >= self._quiet_until:
            self._quiet_until = now + WARN_EVERY_S
            LOG.warning("Too many sockets (%d) say no whole request: the oldest are closed.", len(self._timers))


class LimitedHttp(H11Protocol):
    """uvicorn's HTTP, whose sockets do not wait for ever and are not more than there is room for."""

    room: WaitingRoom  # of the server

    @classmethod
    def within(cls, limits: ConnectionLimits, timeout_s: float = REQUEST_TIMEOUT_S) -> type[Self]:
        """The protocol of one server."""
        return type(cls.__name__, (cls,), {"room": WaitingRoom(limits, timeout_s)})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A new socket waits for its first request, in the room of the server."""
        super().connection_made(transport)
        self.room.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """A socket that has gone waits no longer."""
        self.room.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A socket waits no longer once the head of its request is whole, not at its first byte."""
        super().data_received(data)
        if self._is_at_work():
            self.room.leave(self)

    def on_response_complete(self) -> None:
        """A socket that stays open waits for its next request, with its time begun anew."""
        super().on_response_complete()
        if not self._is_at_work() and not self.transport.is_closing():
            self.room.enter(self)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """From here on the socket is of the WebSocket's protocol, which has its own pings."""
        self.room.leave(self)
        super().handle_websocket_upgrade(event)

    def _is_at_work(self) -> bool:
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete
