"""Live runs of other Pitwalls: each is subscribed once, its frames are checked and passed on to all who watch it.

What a peer does costs its own runs alone: each peer is asked by a task of its own, each run carried by one, and every
wait is bounded. Where nothing comes, that is sent to the run's watchers: {"type": "away", "run": ID, "reason": "..."}.
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
from web.live.elsewhere.foreign_frames import believed
from web.live.elsewhere.peer_look import STRANGE, PeerState, RemoteRun, runs_of, state_of
from web.live.elsewhere.peers import MOST_PEERS, Peer, PeerBook
from web.live.protocol import encode

LOOK_EVERY_S = 5.0
MOST_SEEN = 2_000  # those that have ended among them
OPEN_S = 5.0
SILENT_S = 13.0  # more than two beats
MOST_FRAME_BYTES = 8 << 20
PAUSES_S = (0.5, 30.0)
OF_RUNS = {"snapshot", "backfill", "delta", "gone"}
WHOLE = {"snapshot", "gone"}
OF_THE_LINE = {"hello", "beat"}


class Watcher(Protocol):
    """Who is given frames, at once and without waiting."""

    def offer(self, message: str) -> None:
        """Take a frame, as JSON; returns at once."""
        ...


class _StrangeError(PitwallError):
    """A frame that none of ours would send."""


class _Straight(connect):
    """A WebSocket that is led nowhere else: the token is for this address."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


@dataclass(eq=False)
class _RelayedRun:
    """One run, its watchers and the task that carries its frames."""

    peer: Peer
    run_id: str
    watchers: set[Watcher] = field(default_factory=set)
    waiting: set[Watcher] = field(default_factory=set)  # for a snapshot, without which the rest means nothing
    again: asyncio.Event = field(default_factory=asyncio.Event)  # somebody has joined and needs a snapshot
    task: asyncio.Task[None] | None = None

    def offer(self, text: str, kind: str) -> None:
        if kind in WHOLE:
            self.watchers |= self.waiting
            self.waiting.clear()
        for watcher in self.watchers | (self.waiting if kind == "away" else set()):
            watcher.offer(text)


class Elsewhere:
    """`async with` beside the hub. Used by the event loop's thread; `runs`, `states` and `troubles` by any."""

    def __init__(self, peers: PeerBook, clock: Callable[[], float] = time.time) -> None:
        self.peers = peers
        self._clock = clock
        self._found: dict[str, list[RemoteRun]] = {}
        self._states: dict[str, PeerState] = {}
        self._seen: dict[str, tuple[Peer, RemoteRun]] = {}  # by run id, where and as it was seen last
        self._relayed: dict[str, _RelayedRun] = {}
        self._lookers: dict[Peer, asyncio.Task[None]] = {}
        self._threads = ThreadPoolExecutor(MOST_PEERS, thread_name_prefix="peer-look")
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._watching = asyncio.create_task(self._watch(), name="peers")
        return self

    async def __aexit__(self, *error: object) -> None:
        tasks = [self._watching, *self._lookers.values(), *(relayed.task for relayed in self._relayed.values())]
        for task in tasks:
            if task is not None:
                task.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def runs(self) -> list[RemoteRun]:
        """The live runs of all peers that answer."""
        return [run for runs in self._found.copy().values() for run in runs]

    def troubles(self) -> dict[str, str]:
        """Peer -> why its runs are not known."""
        return {name: state.why for name, state in self._states.copy().items() if state.why is not None}

    def states(self) -> dict[str, PeerState]:
        """Peer -> what came of asking it last; none for one that was not asked yet."""
        return self._states.copy()

    def named(self, run_id: str) -> RemoteRun:
        """A run as it was seen last; raises KeyError for one that `knows` does not."""
        return self._seen[run_id][1]

    def knows(self, run_id: str) -> bool:
        """Whether a peer has named this run, though it may have ended there since."""
        return run_id in self._seen

    def join(self, run_id: str, watcher: Watcher) -> None:
        """Carry this run for one more; a snapshot comes first."""
        relayed = self._relayed.get(run_id)
        if relayed is None:
            relayed = self._relayed[run_id] = _RelayedRun(self._seen[run_id][0], run_id)
            relayed.task = asyncio.create_task(self._carry(relayed), name=f"relay-{run_id}")
        relayed.waiting.add(watcher)
        relayed.again.set()

    def leave(self, watcher: Watcher) -> None:
        """What nobody watches is carried no longer."""
        for relayed in list(self._relayed.values()):
            relayed.watchers.discard(watcher)
            relayed.waiting.discard(watcher)
            if not relayed.watchers | relayed.waiting:
                del self._relayed[relayed.run_id]
                if relayed.task:
                    relayed.task.cancel()

    async def _watch(self) -> None:
        """A looker for each peer that is confirmed, and none for others."""
        while True:
            peers = set(await asyncio.to_thread(self.peers.all))
            for gone in self._lookers.keys() - peers:
                self._lookers.pop(gone).cancel()
                self._forget(gone)
            for new in peers - self._lookers.keys():
                self._lookers[new] = asyncio.create_task(self._look_on(new), name=f"peer-{new.name}")
            await asyncio.sleep(LOOK_EVERY_S)

    def _forget(self, peer: Peer) -> None:
        self._found.pop(peer.name, None)
        self._states.pop(peer.name, None)
        self._seen = {run_id: seen for run_id, seen in self._seen.items() if seen[0] != peer}
        for relayed in [relayed for relayed in self._relayed.values() if relayed.peer == peer]:
            del self._relayed[relayed.run_id]
            if relayed.task:
                relayed.task.cancel()
            relayed.offer(_away(self._clock(), relayed.run_id, f"{peer.name} is no longer watched"), "away")

    async def _look_on(self, peer: Peer) -> None:
        while True:
            loop, asked_at = asyncio.get_running_loop(), datetime.fromtimestamp(self._clock(), UTC)
            begun_s, trouble = loop.time(), None
            try:
                self._note(peer, await loop.run_in_executor(self._threads, runs_of, peer))
            except (PitwallError, OSError) as problem:
                self._found.pop(peer.name, None)
                trouble = problem
            self._states[peer.name] = state_of(asked_at, loop.time() - begun_s, trouble)
            await asyncio.sleep(LOOK_EVERY_S)

    def _note(self, peer: Peer, runs: list[RemoteRun]) -> None:
        """What a peer says is live there; of a run that another one named first, it is not believed.

        Neither when that one is silent or its run has ended: only once it is no longer watched.
        """
        live = {run.id for name, of_it in self._found.items() if name != peer.name for run in of_it}
        others = live | {run_id for run_id, (first, _) in self._seen.items() if first != peer}
        own = [run for run in runs if run.id not in others]
        self._found[peer.name] = own
        named = {run.id: (peer, run) for run in own}
        before = [(run_id, seen) for run_id, seen in self._seen.items() if run_id not in named]
        self._seen = dict([*before, *named.items()][-MOST_SEEN:])

    async def _carry(self, relayed: _RelayedRun) -> None:
        pause_s, longest_s = PAUSES_S
        while True:
            relayed.again.clear()
            try:
                async with self._opened(relayed) as socket:
                    await socket.send("{}")
                    while text := await _next(socket, relayed):
                        pause_s = PAUSES_S[0]
                        if kind := _kind_of_run(text, relayed.run_id):
                            relayed.offer(_believed(text), kind)
                continue  # somebody has joined
            except (OSError, TimeoutError, WebSocketException, _StrangeError) as trouble:
                reason = f"{relayed.peer.name}: {_words(trouble)}"
            relayed.offer(_away(self._clock(), relayed.run_id, reason), "away")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(relayed.again.wait(), pause_s)
            pause_s = min(pause_s * 2, longest_s)

    def _opened(self, relayed: _RelayedRun) -> connect:
        peer = relayed.peer
        address = f"{peer.url}/api/live?run={quote(relayed.run_id)}".replace("http", "ws", 1)
        return _Straight(
            address,
            additional_headers={"Authorization": f"Bearer {peer.token}"},
            open_timeout=OPEN_S,
            close_timeout=1.0,
            max_size=MOST_FRAME_BYTES,
            proxy=None,
            ssl=ssl.create_default_context(cafile=peer.trusted) if address.startswith("wss") else None,
        )


async def _next(socket: ClientConnection, relayed: _RelayedRun) -> str:
    """The next frame; '' once somebody has joined. Raises TimeoutError where none comes."""
    coming, joined = asyncio.ensure_future(socket.recv()), asyncio.ensure_future(relayed.again.wait())
    try:
        await asyncio.wait({coming, joined}, timeout=SILENT_S, return_when=asyncio.FIRST_COMPLETED)
        if joined.done():
            return ""
        if not coming.done():
            raise TimeoutError
        text = coming.result()
    finally:
        joined.cancel()
        coming.cancel()
    if not isinstance(text, str):
        raise _StrangeError(STRANGE)
    return text


def _kind_of_run(text: str, run_id: str) -> str:
    """The kind of a frame that is to be passed on, else ''. Raises _StrangeError for another run's, or none of ours."""
    try:
        said: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise _StrangeError(STRANGE) from None
    kind = said.get("type") if isinstance(said, dict) else None
    if kind in OF_THE_LINE:
        return ""
    if kind not in OF_RUNS or said.get("run") != run_id:
        raise _StrangeError(STRANGE)
    return str(kind)


def _believed(text: str) -> str:
    try:
        return believed(text)
    except ValueError:
        raise _StrangeError(STRANGE) from None


def _words(trouble: Exception) -> str:
    if isinstance(trouble, TimeoutError):
        return "nothing comes from it"
    if isinstance(trouble, InvalidStatus):
        return f"it refuses with status {trouble.response.status_code}"
    if isinstance(trouble, WebSocketException):
        return "it has closed the line"
    return str(trouble) if isinstance(trouble, _StrangeError) else "it does not answer"


def _away(now_s: float, run_id: str, reason: str) -> str:
    return encode("away", now_s, run=run_id, reason=reason)
