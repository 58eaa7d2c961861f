"""The server's push hub: each commit is read once per run, encoded once and sent to all who watch.

One lock orders all reads: a browser joins a run while the lock for its snapshot is held, so that no delta can fall
between the two. The browser drops what overlaps (see web.live.protocol).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeVar, TypeVarTuple

from starlette.websockets import WebSocket, WebSocketDisconnect

from web.access.roles import ROLE_KEY, may_see
from web.live.peers.relay import PeerRelay
from web.live.protocol import LivePart, LiveReader, encode, is_empty

BACKFILL_POINTS = 1200  # if more were missed, a snapshot is smaller
WAITING_MESSAGES = 100  # per browser, before it is sent a snapshot instead
WAITING_BYTES = 16 << 20  # likewise: frames of other Pitwalls may be large
RUNS_PER_BROWSER = 16
BEAT_S = 5.0
TICK_S = 0.5  # at most two rounds per second, however often the store commits

Args = TypeVarTuple("Args")
Result = TypeVar("Result")


@dataclass(eq=False)
class _Viewer:
    """One browser and the messages that wait to be sent to it."""

    outbox: deque[str] = field(default_factory=deque)
    may_watch_peers: bool = False
    overrun: bool = False  # too slow: its deltas were dropped, snapshots must replace them
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def offer(self, message: str) -> None:
        if len(self.outbox) >= WAITING_MESSAGES or sum(map(len, self.outbox)) >= WAITING_BYTES:
            self.overrun = True
            self.outbox.clear()
        self.outbox.append(message)
        self.changed.set()


@dataclass
class _Channel:
    """One watched run: how far it has been read, and its viewers."""

    cursor: str
    seq: int = 0
    viewers: set[_Viewer] = field(default_factory=set)


class LiveHub:
    """`async with hub:` in the lifespan, `hub.serve` as WebSocket route, `hub.on_commit` for the store's writer."""

    def __init__(
        self,
        reader: LiveReader,
        clock: Callable[[], float] = time.time,
        is_storing: Callable[[], bool] = lambda: True,
        peer_relay: PeerRelay | None = None,
    ) -> None:
        """`is_storing` says whether the store accepts data: without commits there is nothing to push.

        `peer_relay` carries the live runs of other Pitwalls, which only the operator may watch.
        """
        self._peer_relay = peer_relay
        self._reader = reader
        self._is_storing = is_storing
        self._clock = clock
        self._channels: dict[str, _Channel] = {}
        self._reading = asyncio.Lock()
        self._woken = asyncio.Event()
        self._guard = threading.Lock()  # of _dirty and _loop, which the writer's thread touches
        self._dirty: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pump: asyncio.Task[None] | None = None
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="live-reader")

    async def __aenter__(self) -> Self:
        with self._guard:
            self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._guard:
            self._loop = None
        if self._pump is not None:
            self._pump.cancel()
        self._executor.shutdown(cancel_futures=True)

    def on_commit(self, run_ids: Iterable[str]) -> None:
        """Note that these runs have new data; may be called from any thread, returns at once."""
        with self._guard:
            self._dirty.update(run_ids)
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._woken.set)

    async def serve(self, websocket: WebSocket) -> None:
        """Push the runs that the query names to one browser until it leaves."""
        await websocket.accept()
        run_ids = list(dict.fromkeys(websocket.query_params.getlist("run")))
        if not 0 < len(run_ids) <= RUNS_PER_BROWSER:
            await websocket.close(1008, f"name 1 to {RUNS_PER_BROWSER} runs as ?run=<id>")
            return
        if not may_see(websocket.scope, run_ids):
            await websocket.close(1008, "this link does not give access to all of these runs")
            return
        try:
            cursors = _read_cursors(await websocket.receive_text())
        except WebSocketDisconnect:
            return
        except (KeyError, ValueError, RecursionError):
            await websocket.close(1008, "the first message must be JSON: {run id: cursor}")
            return
        requested = {run_id: cursors.get(run_id, "") for run_id in run_ids}
        viewer = _Viewer(may_watch_peers=websocket.scope[ROLE_KEY] == "operator")
        tasks = [asyncio.create_task(self._feed(websocket, viewer, requested)), asyncio.create_task(_listen(websocket))]
        try:
            # Wait for the pump too: if a bug ends it, the connections must end as well.
            finished, _ = await asyncio.wait([*tasks, self._pumping()], return_when=asyncio.FIRST_COMPLETED)
            with contextlib.suppress(WebSocketDisconnect):
                for task in finished:
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._leave(viewer)  # last: a read that ends at this moment may still have it join

    def _pumping(self) -> asyncio.Task[None]:
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._publish_commits(), name="live-hub")
        return self._pump

    async def _publish_commits(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            with self._guard:
                dirty, self._dirty = self._dirty, set()
            await self._publish(dirty)
            await asyncio.sleep(TICK_S)

    async def _publish(self, run_ids: set[str]) -> None:
        async with self._reading:
            cursors = {run_id: channel.cursor for run_id, channel in self._channels.items() if run_id in run_ids}
            if not cursors:
                return
            for run_id, part in (await self._in_thread(self._reader.since, cursors)).items():
                channel = self._channels.get(run_id)
                if channel is not None:
                    self._send(run_id, channel, part)

    def _send(self, run_id: str, channel: _Channel, part: LivePart) -> None:
        channel.cursor = part["cursor"]
        if is_empty(part):
            return
        channel.seq += 1
        message = encode("delta", self._clock(), run=run_id, seq=channel.seq, **part)
        for viewer in channel.viewers:
            viewer.offer(message)

    async def _feed(self, websocket: WebSocket, viewer: _Viewer, requested: Mapping[str, str]) -> None:
        await websocket.send_text(encode("hello", self._clock(), beat_s=BEAT_S, is_storing=self._is_storing()))
        await self._send_all(websocket, self._catch_up(viewer, requested))
        while True:
            await self._await_with_beats(websocket, viewer.changed.wait())
            viewer.changed.clear()
            if viewer.overrun:
                viewer.overrun = False
                viewer.outbox.clear()
                await self._send_all(websocket, self._catch_up(viewer, dict.fromkeys(requested, "")))
            while viewer.outbox and not viewer.overrun:
                await websocket.send_text(viewer.outbox.popleft())

    async def _send_all(self, websocket: WebSocket, messages: Coroutine[Any, Any, list[str]]) -> None:
        for message in await self._await_with_beats(websocket, messages):
            await websocket.send_text(message)

    async def _await_with_beats(self, websocket: WebSocket, work: Coroutine[Any, Any, Result]) -> Result:
        """Send beats until the work is done: a browser that hears nothing reconnects, and long runs take a while."""
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait([task], timeout=BEAT_S))[0]:
                await websocket.send_text(encode("beat", self._clock(), is_storing=self._is_storing()))
            return task.result()
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _catch_up(self, viewer: _Viewer, requested: Mapping[str, str]) -> list[str]:
        """Return the messages that bring the viewer up to date, and subscribe it to what follows."""
        async with self._reading:
            first_messages = await self._in_thread(self._read_all, requested)
            peer_run_ids = [
                run_id for run_id in requested if run_id not in first_messages and self._joins_relay(run_id, viewer)
            ]
            own_run_ids = [run_id for run_id in requested if run_id not in peer_run_ids]
            return [
                self._joined(viewer, run_id, *first_messages.get(run_id, ("gone", None, ""))) for run_id in own_run_ids
            ]

    def _joins_relay(self, run_id: str, viewer: _Viewer) -> bool:
        """Subscribe the viewer to the relay if another Pitwall has this run; return whether it has."""
        if self._peer_relay is None or not viewer.may_watch_peers or not self._peer_relay.knows(run_id):
            return False
        self._peer_relay.join(run_id, viewer)
        return True

    def _read_all(self, requested: Mapping[str, str]) -> dict[str, tuple[str, LivePart, str]]:
        """Return the first message for each run that exists: its kind, its content and the start of its channel.

        All viewers share a channel, so it never starts at a cursor that one of them sent.
        """
        new_ids = [run_id for run_id, cursor in requested.items() if not cursor or run_id not in self._channels]
        snapshots = dict(self._reader.snapshots(new_ids)) if new_ids else {}
        backfills = {run_id: self._backfill(run_id, cursor) for run_id, cursor in requested.items()}
        if late_ids := [run_id for run_id, part in backfills.items() if not part and run_id not in new_ids]:
            snapshots |= self._reader.snapshots(late_ids)
        messages = {run_id: ("snapshot", part, part["cursor"]) for run_id, part in snapshots.items()}
        starts = {run_id: start for run_id, (_, _, start) in messages.items()}
        return messages | {
            run_id: ("backfill", part, starts.get(run_id, "")) for run_id, part in backfills.items() if part
        }

    def _joined(self, viewer: _Viewer, run_id: str, kind: str, part: LivePart | None, start: str) -> str:
        if part is None:
            return encode(kind, self._clock(), run=run_id, reason="no run has this id")
        channel = self._channels.setdefault(run_id, _Channel(start))
        channel.viewers.add(viewer)
        return encode(kind, self._clock(), run=run_id, seq=channel.seq, **part)

    def _backfill(self, run_id: str, cursor: str) -> LivePart | None:
        """Return what came after a browser's cursor; None if a snapshot is better."""
        if not cursor:
            return None
        try:
            part = self._reader.since({run_id: cursor}).get(run_id)
        except ValueError:
            return None
        if part is None:
            return None
        longest = max((len(points["t"]) for points in part.get("series", {}).values()), default=0)
        return part if longest <= BACKFILL_POINTS else None

    async def _in_thread(self, call: Callable[[*Args], Result], *args: *Args) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._executor, call, *args)

    def _leave(self, viewer: _Viewer) -> None:
        if self._peer_relay is not None:
            self._peer_relay.leave(viewer)
        for channel in self._channels.values():
            channel.viewers.discard(viewer)
        self._channels = {run_id: channel for run_id, channel in self._channels.items() if channel.viewers}


async def _listen(websocket: WebSocket) -> None:
    """Wait until the browser leaves, ignoring what it sends."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


def _read_cursors(text: str) -> dict[str, str]:
    """Parse the browser's first message; raises ValueError if it is not {run id: cursor}."""
    cursors = json.loads(text)
    if not isinstance(cursors, dict) or not all(isinstance(cursor, str) for cursor in cursors.values()):
        raise ValueError("not a mapping of run ids to cursors")
    return cursors
