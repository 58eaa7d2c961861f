"""How many sockets may be open, and how long one may take to say what it wants.

A socket waits from the moment it is opened, or its last answer was given, until the head of a request is whole. Those
that wait are few and not for long: the newest puts out the oldest, so that whoever speaks at once is always served,
behind one proxy or not. uvicorn itself waits for a half-said request for ever, and takes files until there are none.

Nor may one leave its answers unread: while more is to be sent than the system takes, something of it must go every so
often. A slow download goes on for as long as it takes; whoever reads nothing is put out, and where every place is taken
the longest unread goes first. uvicorn itself waits for such a reader for ever.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, NamedTuple, Self

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

LOG = logging.getLogger(__name__)
REQUEST_TIMEOUT_S = 10.0
UNREAD_TIMEOUT_S = 60.0  # a reader of 2 kB/s makes room for the system to send more about every 30 s
KEPT_FILES = 400  # for the store, the collectors' sockets and logs, the servers that are started
MOST_WAITING = 4096  # each may have said 64 kB of a head: 256 MiB, where 260,000 of them would take 16 GiB
WARN_EVERY_S = 60.0


class ConnectionLimits(NamedTuple):
    """The most sockets at a time: all of them, and of those the ones that have not said a request yet."""

    open: int
    waiting: int


def limits_for(open_files: int) -> ConnectionLimits:
    """What is left for sockets where so many files may be open."""
    most = max(open_files - KEPT_FILES, open_files // 2)
    return ConnectionLimits(most, min(most // 2, MOST_WAITING))


class Unread:
    """The sockets whose answers wait to be read, the longest first; used by the event loop's thread alone."""

    def __init__(self, timeout_s: float = UNREAD_TIMEOUT_S) -> None:
        self._timeout_s = timeout_s
        self._timers: dict[LimitedHttp, asyncio.TimerHandle] = {}

    def watch(self, one: LimitedHttp) -> None:
        """From now on something of what waits must go each time."""
        self.forget(one)
        left = one.transport.get_write_buffer_size()
        self._timers[one] = one.loop.call_later(self._timeout_s, self.look, one, left)

    def look(self, one: LimitedHttp, left_before: int) -> None:
        """Its time is over: it is put out, unless it has read something meanwhile."""
        left = one.transport.get_write_buffer_size()
        if not left:
            one.caught_up()
        elif left < left_before:
            self.watch(one)
        else:
            self.put_out(one)

    def forget(self, one: LimitedHttp) -> bool:
        """It has read what waited, or is gone; whether it was watched."""
        timer = self._timers.pop(one, None)
        if timer is not None:
            timer.cancel()
        return timer is not None

    def longest(self) -> LimitedHttp | None:
        """The one that has read nothing for the longest."""
        return next(iter(self._timers), None)

    def put_out(self, one: LimitedHttp) -> None:
        """Closed at once, whatever waits to be sent."""
        self.forget(one)
        one.connections.discard(one)
        one.transport.abort()


class WaitingRoom:
    """The sockets that wait, the longest waiting first; used by the event loop's thread alone."""

    def __init__(self, limits: ConnectionLimits, timeout_s: float = REQUEST_TIMEOUT_S) -> None:
        self._limits = limits
        self._timeout_s = timeout_s
        self._timers: dict[H11Protocol, asyncio.TimerHandle] = {}
        self._quiet_until = 0.0

    def enter(self, one: H11Protocol, unread: Unread) -> None:
        """It waits from now on; where that is one too many, the oldest is put out."""
        self.leave(one)
        self._timers[one] = one.loop.call_later(self._timeout_s, self._put_out, one)
        while len(one.connections) > self._limits.open and (longest := unread.longest()):
            unread.put_out(longest)
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
    unread: Unread  # of the server

    @classmethod
    def within(
        cls,
        limits: ConnectionLimits,
        timeout_s: float = REQUEST_TIMEOUT_S,
        unread_timeout_s: float = UNREAD_TIMEOUT_S,
    ) -> type[Self]:
        """The protocol of one server."""
        rooms = {"room": WaitingRoom(limits, timeout_s), "unread": Unread(unread_timeout_s)}
        return type(cls.__name__, (cls,), rooms)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A new socket waits for its first request, in the room of the server."""
        super().connection_made(transport)
        self.room.enter(self, self.unread)

    def connection_lost(self, exc: Exception | None) -> None:
        """A socket that has gone waits no longer."""
        self.room.leave(self)
        self.unread.forget(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A socket waits no longer once the head of its request is whole, not at its first byte."""
        super().data_received(data)
        if self._is_at_work():
            self.room.leave(self)

    def on_response_complete(self) -> None:
        """A socket that stays open waits for its next request, once it has read this answer; its time begins anew."""
        super().on_response_complete()
        if not self._is_at_work():
            self._wait()

    def pause_writing(self) -> None:
        """What is to be sent is more than the system takes: from now on the reader is watched."""
        super().pause_writing()
        self.room.leave(self)
        self.unread.watch(self)

    def resume_writing(self) -> None:
        """The system takes more again."""
        super().resume_writing()
        self.caught_up()

    def caught_up(self) -> None:
        """The reader is watched no longer; what comes next is its next request."""
        if self.unread.forget(self) and not self._is_at_work():
            self._wait()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """From here on the socket is of the WebSocket's protocol, which has its own pings."""
        self.room.leave(self)
        self.unread.forget(self)
        super().handle_websocket_upgrade(event)

    def _wait(self) -> None:
        """For the next request, or for what is left of the last answer to be read."""
        if self.transport.get_write_buffer_size():
            self.unread.watch(self)
        elif not self.transport.is_closing():
            self.room.enter(self, self.unread)

    def _is_at_work(self) -> bool:
        cycle: Any = self.cycle  # None before the first request
        return cycle is not None and not cycle.response_complete
