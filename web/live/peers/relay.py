"""Relays live runs of other Pitwalls: each run is subscribed once, its frames are checked and sent to all its watchers.

A faulty peer affects only its own runs: each peer is polled by its own task, each run is carried by another, and every
wait is bounded. If no data comes, the run's watchers get {"type": "away", "run": ID, "reason": "..."}.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol, Self
from urllib.parse import quote

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus, WebSocketException

from errors import PitwallError
from web.live.peers.foreign_frames import checked_frame
from web.live.peers.peer_look import STRANGE, PeerRun, PeerState, peer_state, read_live_runs
from web.live.peers.peers import MOST_PEERS, Peer, PeerBook
from web.live.protocol import encode

LOOK_EVERY_S = 5.0
MOST_KNOWN = 2_000  # including ended runs
OPEN_S = 5.0
SILENT_S = 13.0  # more than two beats
MOST_FRAME_BYTES = 8 << 20
PAUSES_S = (0.5, 30.0)
RUN_KINDS = {"snapshot", "backfill", "delta", "gone"}
COMPLETE_KINDS = {"snapshot", "gone"}
CONNECTION_KINDS = {"hello", "beat"}


class Watcher(Protocol):
    """A receiver of frames that never blocks."""

    def offer(self, message: str) -> None:
        """Take a frame as JSON; returns at once."""
        ...


class _BadFrameError(PitwallError):
    """A frame that no Pitwall would send."""


class _DirectConnection(connect):
    """A WebSocket that follows no redirect: the token is for this address only."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


@dataclass(eq=False)
class _RelayedRun:
    """One run, its watchers and the task that carries its frames."""

    peer: Peer
    run_id: str
    watchers: set[Watcher] = field(default_factory=set)
    waiting: set[Watcher] = field(default_factory=set)  # for a snapshot, without which deltas are meaningless
    joined: asyncio.Event = field(default_factory=asyncio.Event)  # a new watcher needs a snapshot
    task: asyncio.Task[None] | None = None

    def offer(self, text: str, kind: str) -> None:
        if kind in COMPLETE_KINDS:
            self.watchers |= self.waiting
            self.waiting.clear()
        for watcher in self.watchers | (self.waiting if kind == "away" else set()):
            watcher.offer(text)


class PeerRelay:
    """An async context on the hub's event loop; any thread may call `runs`, `states` and `troubles`."""

    def __init__(self, peers: PeerBook, clock: Callable[[], float] = time.time) -> None:
        self.peers = peers
        self._clock = clock
        self._live_runs: dict[str, list[PeerRun]] = {}
        self._states: dict[str, PeerState] = {}
        self._known_runs: dict[str, tuple[Peer, PeerRun]] = {}  # by run id, as last seen
        self._relayed: dict[str, _RelayedRun] = {}
        self._pollers: dict[Peer, asyncio.Task[None]] = {}
        self._threads = ThreadPoolExecutor(MOST_PEERS, thread_name_prefix="peer-look")
        self._watch_task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._watch_task = asyncio.create_task(self._watch(), name="peers")
        return self

    async def __aexit__(self, *error: object) -> None:
        tasks = [self._watch_task, *self._pollers.values(), *(relayed.task for relayed in self._relayed.values())]
        for task in tasks:
            if task is not None:
                task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def runs(self) -> list[PeerRun]:
        """Return the live runs of all peers that respond."""
        return [run for runs in self._live_runs.copy().values() for run in runs]

    def troubles(self) -> dict[str, str]:
        """Return by peer name why its runs are unknown."""
        return {name: state.why for name, state in self._states.copy().items() if state.why is not None}

    def states(self) -> dict[str, PeerState]:
        """Return by peer name the result of the last request; a peer not yet contacted has none."""
        return self._states.copy()

    def last_seen(self, run_id: str) -> PeerRun:
        """Return a run as last seen; raises KeyError unless `knows` is true."""
        return self._known_runs[run_id][1]

    def knows(self, run_id: str) -> bool:
        """Whether a peer has listed this run, which may have ended there since."""
        return run_id in self._known_runs

    def join(self, run_id: str, watcher: Watcher) -> None:
        """Carry this run for one more watcher, which gets a snapshot first."""
        relayed = self._relayed.get(run_id)
        if relayed is None:
            relayed = self._relayed[run_id] = _RelayedRun(self._known_runs[run_id][0], run_id)
            relayed.task = asyncio.create_task(self._carry(relayed), name=f"relay-{run_id}")
        relayed.waiting.add(watcher)
        relayed.joined.set()

    def leave(self, watcher: Watcher) -> None:
        """Remove a watcher, and stop carrying runs that nobody watches."""
        for relayed in list(self._relayed.values()):
            relayed.watchers.discard(watcher)
            relayed.waiting.discard(watcher)
            if not relayed.watchers | relayed.waiting:
                del self._relayed[relayed.run_id]
                if relayed.task:
                    relayed.task.cancel()

    async def _watch(self) -> None:
        """Keep one polling task for each confirmed peer."""
        while True:
            peers = set(await asyncio.to_thread(self.peers.all))
            for removed in self._pollers.keys() - peers:
                self._pollers.pop(removed).cancel()
                self._forget(removed)
            for new_peer in peers - self._pollers.keys():
                self._pollers[new_peer] = asyncio.create_task(self._poll(new_peer), name=f"peer-{new_peer.name}")
            await asyncio.sleep(LOOK_EVERY_S)

    def _forget(self, peer: Peer) -> None:
        self._live_runs.pop(peer.name, None)
        self._states.pop(peer.name, None)
        self._known_runs = {run_id: entry for run_id, entry in self._known_runs.items() if entry[0] != peer}
        for relayed in [relayed for relayed in self._relayed.values() if relayed.peer == peer]:
            del self._relayed[relayed.run_id]
            if relayed.task:
                relayed.task.cancel()
            relayed.offer(_away(self._clock(), relayed.run_id, f"{peer.name} is no longer watched"), "away")

    async def _poll(self, peer: Peer) -> None:
        while True:
            loop, asked_at = asyncio.get_running_loop(), datetime.fromtimestamp(self._clock(), UTC)
            started_s, trouble = loop.time(), None
            try:
                self._note(peer, await loop.run_in_executor(self._threads, read_live_runs, peer))
            except (PitwallError, OSError) as problem:
                self._live_runs.pop(peer.name, None)
                trouble = problem
            self._states[peer.name] = peer_state(asked_at, loop.time() - started_s, trouble)
            await asyncio.sleep(LOOK_EVERY_S)

    def _note(self, peer: Peer, runs: list[PeerRun]) -> None:
        """Store the live runs that a peer lists, except those that another peer listed first.

        Such a run stays with the first peer even if that one is silent or the run has ended, until it is not watched.
        """
        live = {run.id for name, peer_runs in self._live_runs.items() if name != peer.name for run in peer_runs}
        foreign_ids = live | {run_id for run_id, (owner, _) in self._known_runs.items() if owner != peer}
        accepted = [run for run in runs if run.id not in foreign_ids]
        self._live_runs[peer.name] = accepted
        entries = {run.id: (peer, run) for run in accepted}
        older = [(run_id, entry) for run_id, entry in self._known_runs.items() if run_id not in entries]
        self._known_runs = dict([*older, *entries.items()][-MOST_KNOWN:])

    async def _carry(self, relayed: _RelayedRun) -> None:
        pause_s, longest_s = PAUSES_S
        while True:
            relayed.joined.clear()
            try:
                async with self._connection(relayed) as socket:
                    await socket.send("{}")
                    while text := await _next_frame(socket, relayed):
                        pause_s = PAUSES_S[0]
                        if kind := _kind_of_run(text, relayed.run_id):
                            relayed.offer(_checked(text), kind)
                continue  # a new watcher has joined
            except (OSError, TimeoutError, WebSocketException, _BadFrameError) as trouble:
                reason = f"{relayed.peer.name}: {_reason(trouble)}"
            relayed.offer(_away(self._clock(), relayed.run_id, reason), "away")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(relayed.joined.wait(), pause_s)
            pause_s = min(pause_s * 2, longest_s)

    def _connection(self, relayed: _RelayedRun) -> connect:
        peer = relayed.peer
        address = f"{peer.url}/api/live?run={quote(relayed.run_id)}".replace("http", "ws", 1)
        return _DirectConnection(
            address,
            additional_headers={"Authorization": f"Bearer {peer.token}"},
            open_timeout=OPEN_S,
            close_timeout=1.0,
            max_size=MOST_FRAME_BYTES,
            proxy=None,
            ssl=ssl.create_default_context(cafile=peer.trusted) if address.startswith("wss") else None,
        )


async def _next_frame(socket: ClientConnection, relayed: _RelayedRun) -> str:
    """Return the next frame, or '' once a watcher has joined. Raises TimeoutError if none comes."""
    receiving, joining = asyncio.ensure_future(socket.recv()), asyncio.ensure_future(relayed.joined.wait())
    try:
        await asyncio.wait({receiving, joining}, timeout=SILENT_S, return_when=asyncio.FIRST_COMPLETED)
        if joining.done():
            return ""
        if not receiving.done():
            raise TimeoutError
        text = receiving.result()
    finally:
        joining.cancel()
        receiving.cancel()
    if not isinstance(text, str):
        raise _BadFrameError(STRANGE)
    return text


def _kind_of_run(text: str, run_id: str) -> str:
    """Return the kind of a frame to pass on, else ''. Raises _BadFrameError for another run's or an unknown frame."""
    try:
        frame: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise _BadFrameError(STRANGE) from None
    kind = frame.get("type") if isinstance(frame, dict) else None
    if kind in CONNECTION_KINDS:
        return ""
    if kind not in RUN_KINDS or frame.get("run") != run_id:
        raise _BadFrameError(STRANGE)
    return str(kind)


def _checked(text: str) -> str:
    try:
        return checked_frame(text)
    except ValueError:
        raise _BadFrameError(STRANGE) from None


def _reason(trouble: Exception) -> str:
    if isinstance(trouble, TimeoutError):
        return "it sends no data"
    if isinstance(trouble, InvalidStatus):
        return f"it refuses with status {trouble.response.status_code}"
    if isinstance(trouble, WebSocketException):
        return "it closed the connection"
    return str(trouble) if isinstance(trouble, _BadFrameError) else "it does not answer"


def _away(now_s: float, run_id: str, reason: str) -> str:
    return encode("away", now_s, run=run_id, reason=reason)
