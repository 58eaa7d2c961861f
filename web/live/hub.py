"""The push hub: one in the server; each commit is read once per run, encoded once and sent to all who watch.

One lock orders all reads: a browser joins a run in the same turn as its snapshot is read, so that no delta
can fall between the two. What overlaps is dropped by the browser (see web.live.protocol).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, TypeVar, TypeVarTuple

from starlette.websockets import WebSocket, WebSocketDisconnect

from web.access.roles import ROLE_KEY, may_see
from web.live.elsewhere.relay import Elsewhere
from web.live.protocol import LivePart, LiveReader, encode, is_empty

BACKFILL_POINTS = 1200  # more than this was missed: a snapshot says it in fewer
WAITING_MESSAGES = 100  # per browser, before it is sent a snapshot instead
WAITING_BYTES = 16 << 20  # likewise: what other Pitwalls send may be large
RUNS_PER_BROWSER = 16
BEAT_S = 5.0
TICK_S = 0.5  # two turns a second at the most, however often the store commits

Args = TypeVarTuple("Args")
Answer = TypeVar("Answer")


@dataclass(eq=False)
class _Viewer:
    """One browser and what waits to be sent to it."""

    outbox: deque[str] = field(default_factory=deque)
    may_look_elsewhere: bool = False
    overrun: bool = False  # too slow for its deltas: they are gone, snapshots must replace them
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def offer(self, message: str) -> None:
        if len(self.outbox) >= WAITING_MESSAGES or sum(map(len, self.outbox)) >= WAITING_BYTES:
            self.overrun = True
            self.outbox.clear()
        self.outbox.append(message)
        self.changed.set()


@dataclass
class _Channel:
    """One watched run: how far it has been read, and who watches."""

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
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """`is_storing` says whether the store takes what it is given: without commits there is nothing to push.

        `elsewhere` has the live runs of other Pitwalls; they are for the operator alone.
        """
        self._elsewhere = elsewhere
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
        """Note that these runs have something new; called from any thread, returns at once."""
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
            await websocket.close(1008, "this link does not show all of these runs")
            return
        try:
            cursors = _read_cursors(await websocket.receive_text())
        except WebSocketDisconnect:
            return
        except (KeyError, ValueError, RecursionError):
            await websocket.close(1008, "say first, as JSON, what you have: {run id: cursor}")
            return
        wanted = {run_id: cursors.get(run_id, "") for run_id in run_ids}
        viewer = _Viewer(may_look_elsewhere=websocket.scope[ROLE_KEY] == "operator")
        ours = [asyncio.create_task(self._feed(websocket, viewer, wanted)), asyncio.create_task(_listen(websocket))]
        try:
            # The pump is waited for too: where it dies of a bug, the browsers must not look alive.
            done, _ = await asyncio.wait([*ours, self._pumping()], return_when=asyncio.FIRST_COMPLETED)
            with contextlib.suppress(WebSocketDisconnect):
                for task in done:
                    task.result()
        finally:
            self._leave(viewer)
            for task in ours:
                task.cancel()
            await asyncio.gather(*ours, return_exceptions=True)

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
            cursors = {run_id: one.cursor for run_id, one in self._channels.items() if run_id in run_ids}
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

    async def _feed(self, websocket: WebSocket, viewer: _Viewer, wanted: Mapping[str, str]) -> None:
        await websocket.send_text(encode("hello", self._clock(), beat_s=BEAT_S, is_storing=self._is_storing()))
        for message in await self._catch_up(viewer, wanted):
            await websocket.send_text(message)
        while True:
            try:
                await asyncio.wait_for(viewer.changed.wait(), BEAT_S)
            except TimeoutError:
                await websocket.send_text(encode("beat", self._clock(), is_storing=self._is_storing()))
                continue
            viewer.changed.clear()
            if viewer.overrun:
                viewer.overrun = False
                viewer.outbox.clear()
                for message in await self._catch_up(viewer, dict.fromkeys(wanted, "")):
                    await websocket.send_text(message)
            while viewer.outbox and not viewer.overrun:
                await websocket.send_text(viewer.outbox.popleft())

    async def _catch_up(self, viewer: _Viewer, wanted: Mapping[str, str]) -> list[str]:
        """The messages that bring the viewer up to date, and its place among those who get what follows."""
        async with self._reading:
            found = await self._in_thread(self._read_all, wanted)
            away = [run_id for run_id in wanted if run_id not in found and self._goes_elsewhere(run_id, viewer)]
            here = [run_id for run_id in wanted if run_id not in away]
            return [self._joined(viewer, run_id, *found.get(run_id, ("gone", None, ""))) for run_id in here]

    def _goes_elsewhere(self, run_id: str, viewer: _Viewer) -> bool:
        """Whether another Pitwall has this run, whose frames will come by themselves."""
        if self._elsewhere is None or not viewer.may_look_elsewhere or not self._elsewhere.knows(run_id):
            return False
        self._elsewhere.join(run_id, viewer)
        return True

    def _read_all(self, wanted: Mapping[str, str]) -> dict[str, tuple[str, LivePart, str]]:
        """The first message for each run that exists: its kind, its content and where its channel goes on.

        A channel is of all who watch: it never begins at what one of them says to have.
        """
        first = [run_id for run_id, cursor in wanted.items() if not cursor or run_id not in self._channels]
        whole = dict(self._reader.snapshots(first)) if first else {}
        missed = {run_id: self._missed(run_id, cursor) for run_id, cursor in wanted.items()}
        if late := [run_id for run_id, part in missed.items() if not part and run_id not in first]:
            whole |= self._reader.snapshots(late)
        found = {run_id: ("snapshot", part, part["cursor"]) for run_id, part in whole.items()}
        starts = {run_id: start for run_id, (_, _, start) in found.items()}
        return found | {run_id: ("backfill", part, starts.get(run_id, "")) for run_id, part in missed.items() if part}

    def _joined(self, viewer: _Viewer, run_id: str, kind: str, part: LivePart | None, start: str) -> str:
        if part is None:
            return encode(kind, self._clock(), run=run_id, reason="no run has this id")
        channel = self._channels.setdefault(run_id, _Channel(start))
        channel.viewers.add(viewer)
        return encode(kind, self._clock(), run=run_id, seq=channel.seq, **part)

    def _missed(self, run_id: str, cursor: str) -> LivePart | None:
        """What came after a browser's cursor; None when a snapshot serves it better."""
        if not cursor:
            return None
        try:
            part = self._reader.since({run_id: cursor}).get(run_id)
        except ValueError:
            return None
        if part is None:
            return None
        longest = max((len(one["t"]) for one in part.get("series", {}).values()), default=0)
        return part if longest <= BACKFILL_POINTS else None

    async def _in_thread(self, call: Callable[[*Args], Answer], *args: *Args) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._executor, call, *args)

    def _leave(self, viewer: _Viewer) -> None:
        if self._elsewhere is not None:
            self._elsewhere.leave(viewer)
        for channel in self._channels.values():
            channel.viewers.discard(viewer)
        self._channels = {run_id: channel for run_id, channel in self._channels.items() if channel.viewers}


async def _listen(websocket: WebSocket) -> None:
    """Until the browser leaves; what it says meanwhile means nothing."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


def _read_cursors(text: str) -> dict[str, str]:
    """The browser's first message; raises ValueError when it is not {run id: cursor}."""
    said = json.loads(text)
    if not isinstance(said, dict) or not all(isinstance(cursor, str) for cursor in said.values()):
        raise ValueError("not a mapping of run ids to cursors")
    return said
