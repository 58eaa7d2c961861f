"""The push hub behind a real server, watched by real WebSocket clients."""

from __future__ import annotations

import contextlib
import json
import random
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from domain import Share
from web.access.roles import ROLE_KEY, SHARE_KEY, TOKEN_KEY
from web.live.hub import RUNS_PER_BROWSER, WAITING_MESSAGES, LiveHub
from web.live.protocol import LivePart, Series, is_empty
from web.live.series import TimeSeries
from web.server.routes import build_routes


class ScriptedReader:
    """Runs whose points are whatever the test appends; the cursor is how many the reader gave."""

    def __init__(self, *run_ids: str) -> None:
        self.points: dict[str, list[float]] = {run_id: [] for run_id in run_ids}
        self.since_calls = self.snapshot_calls = 0
        self.has_read = threading.Event()
        self.may_return = threading.Event()
        self.may_return.set()

    def snapshots(self, run_ids: Sequence[str]) -> dict[str, LivePart]:
        self.snapshot_calls += 1
        parts = {run_id: self._whole_part(run_id) for run_id in run_ids if run_id in self.points}
        self.has_read.set()
        self.may_return.wait()
        return parts

    def since(self, cursors: Mapping[str, str]) -> dict[str, LivePart]:
        self.since_calls += 1
        return {run_id: self._part(run_id, int(cursor)) for run_id, cursor in cursors.items()}

    def _whole_part(self, run_id: str) -> LivePart:
        """Thinned, as the store's reader does it."""
        points = np.array(self.points[run_id], dtype=np.float64)
        series = TimeSeries(np.arange(float(len(points))), points).thinned(600).to_protocol()
        return {"cursor": str(len(points)), "series": {"decode_tps": series}}

    def _part(self, run_id: str, start: int) -> LivePart:
        points = self.points[run_id]
        series = Series(t=[float(n) for n in range(start, len(points))], v=[*points[start:]])
        return {"cursor": str(start + len(series["t"])), "series": {"decode_tps": series}}


class LetIn:
    """Stands in for the access check: what it would say of whoever connects."""

    def __init__(self, app: ASGIApp, room: Room) -> None:
        self.app, self.room = app, room

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        share = self.room.share
        fields = {ROLE_KEY: "guest" if share else "operator", SHARE_KEY: share, TOKEN_KEY: None}
        await self.app({**scope, **fields}, receive, send)


class Room:
    """A hub under a real server, and the clients that the test connects to it."""

    def __init__(self, reader: ScriptedReader) -> None:
        self.reader = reader
        self.hub = LiveHub(reader, clock=lambda: 1000.0)
        self.app = Starlette(
            routes=build_routes(self.hub, count_live_runs=lambda: len(reader.points), version="0"),
            lifespan=self._lifespan,
            middleware=[Middleware(LetIn, room=self)],
        )
        self.address = ""
        self.share: Share | None = None  # of whoever connects next

    @contextlib.asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with self.hub:
            yield

    def commit(self, run_id: str, *values: float) -> None:
        self.reader.points[run_id].extend(values)
        self.hub.on_commit([run_id])

    def connect(self, *run_ids: str) -> ClientConnection:
        query = urlencode([("run", run_id) for run_id in run_ids])
        return connect(f"ws://{self.address}/ws/live?{query}", compression=None)

    @contextlib.contextmanager
    def watch(self, *run_ids: str, after: dict[str, str] | None = None) -> Iterator[ClientConnection]:
        with self.connect(*run_ids) as socket:
            socket.send(json.dumps(after or {}))
            yield socket


@pytest.fixture
def room(serve):
    room = Room(ScriptedReader("a", "b"))
    with serve(room.app) as room.address:
        yield room


def receive(socket: ClientConnection) -> dict[str, Any]:
    message = json.loads(socket.recv(timeout=20))
    assert message["server_t"] == 1000.0
    return message


def values(message: dict[str, Any]) -> list[float | None]:
    return message["series"]["decode_tps"]["v"]


def test_snapshot_then_deltas_in_sequence(room: Room) -> None:
    room.commit("a", 1, 2)
    with room.watch("a", "none") as socket:
        assert receive(socket)["type"] == "hello"
        first, gone_receive = receive(socket), receive(socket)
        assert (first["type"], first["seq"], values(first)) == ("snapshot", 0, [1, 2])
        assert (gone_receive["type"], gone_receive["run"]) == ("gone", "none")
        room.commit("b", 9)
        for number in (3, 4):
            room.commit("a", number)
            delta = receive(socket)
            assert (delta["type"], delta["run"], delta["seq"], values(delta)) == ("delta", "a", number - 2, [number])


def test_viewer_receives_only_shared_runs(room: Room) -> None:
    at = datetime(2026, 11, 20, tzinfo=UTC)
    room.share = Share(id="s", run_ids=("a",), page="live", created_at=at, created_by="operator", expires_at=at)
    with room.watch("a") as socket:
        assert [receive(socket)["type"] for _ in range(2)] == ["hello", "snapshot"]
    for runs in (["b"], ["a", "b"], ["a", "none"]):
        with pytest.raises(ConnectionClosed, match="does not give access to all of these"), room.watch(*runs) as socket:
            receive(socket)


def test_one_read_serves_all_viewers(room: Room) -> None:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(room.watch("a")) for _ in range(5)]
        for socket in sockets:
            receive(socket), receive(socket)
        room.commit("a", 1)
        assert [values(receive(socket)) for socket in sockets] == [[1]] * 5
    assert room.reader.since_calls == 1


def test_a_commit_without_news_sends_nothing(room: Room) -> None:
    with room.watch("a") as socket:
        receive(socket), receive(socket)
        room.commit("a")
        while not room.reader.since_calls:
            time.sleep(0.01)
        room.commit("a", 5)
        delta = receive(socket)
        assert (delta["seq"], values(delta)) == (1, [5])


def test_reconnect_gets_only_missed_rows(room: Room) -> None:
    room.commit("a", 1, 2)
    with room.watch("a") as socket:
        receive(socket)
        cursor = receive(socket)["cursor"]
    room.commit("a", 3, 4)
    with room.watch("a", after={"a": cursor}) as socket:
        receive(socket)
        backfill = receive(socket)
        assert (backfill["type"], values(backfill)) == ("backfill", [3, 4])
        room.commit("a", 5)
        delta = receive(socket)
        assert (delta["seq"], values(delta)) == (backfill["seq"] + 1, [5])


@pytest.mark.parametrize("cursor", ["", "not ours", "0"])
def test_unusable_cursor_gets_a_snapshot(room: Room, cursor: str) -> None:
    room.commit("a", *range(5000))
    with room.watch("a", after={"a": cursor}) as socket:
        receive(socket)
        message = receive(socket)
        assert message["type"] == "snapshot"
        assert {0, 4999} <= set(values(message))


def test_all_watched_runs_are_read_in_one_go(room: Room) -> None:
    with room.watch("a", "b", "nobody") as socket:
        assert [receive(socket)["type"] for _ in range(4)] == ["hello", "snapshot", "snapshot", "gone"]
    assert room.reader.snapshot_calls == 1


def test_no_gap_between_snapshot_and_commits(room: Room) -> None:
    with room.watch("a") as first:
        receive(first), receive(first)
        room.reader.has_read.clear()
        room.reader.may_return.clear()
        with room.watch("a") as second:
            assert room.reader.has_read.wait(20)
            room.commit("a", 1)  # after the second one's snapshot was read and before it was sent
            room.reader.may_return.set()
            assert [receive(second)["type"], values(receive(second))] == ["hello", []]
            assert values(receive(second)) == [1]
        assert values(receive(first)) == [1]


def test_beats_come_while_long_runs_are_read(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.live.hub.BEAT_S", 0.05)
    room.reader.may_return.clear()
    with room.watch("a") as socket:
        assert [receive(socket)["type"] for _ in range(3)] == ["hello", "beat", "beat"]
        room.reader.may_return.set()
        kinds = [receive(socket)["type"]]
        while kinds[-1] == "beat":
            kinds.append(receive(socket)["type"])
        assert kinds[-1] == "snapshot"


def test_a_viewer_that_leaves_as_its_read_ends_is_forgotten(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots = room.reader.snapshots

    def read(run_ids: Sequence[str]) -> dict[str, LivePart]:
        time.sleep(random.uniform(0, 0.004))
        return snapshots(run_ids)

    monkeypatch.setattr(room.reader, "snapshots", read)
    for _ in range(400):
        with room.watch("a", "b"):
            time.sleep(random.uniform(0, 0.006))
    end = time.monotonic() + 10
    while room.hub._channels and time.monotonic() < end:
        time.sleep(0.05)
    assert not room.hub._channels


@pytest.mark.wide
def test_slow_viewer_gets_a_snapshot(room: Room, monkeypatch) -> None:
    monkeypatch.setattr("web.live.hub.TICK_S", 0.0)
    with room.watch("a") as slow, room.watch("a") as quick:
        for socket in (slow, quick):
            receive(socket), receive(socket)
        for number in range(2 * WAITING_MESSAGES):
            room.commit("a", *[float(number)] * 10_000)  # more than the sockets between us can hold
            assert receive(quick)["seq"] == number + 1
        receives = [receive(slow)]
        while receives[-1]["type"] != "snapshot":
            assert receives[-1]["seq"] == len(receives)
            receives.append(receive(slow))
        assert len(receives) < 2 * WAITING_MESSAGES
        room.commit("a", -1.0)
        assert receive(slow)["seq"] == receives[-1]["seq"] + 1


@pytest.mark.parametrize("count", [0, RUNS_PER_BROWSER + 1])
def test_too_few_or_many_runs_are_refused(room: Room, count: int) -> None:
    with room.connect(*map(str, range(count))) as socket:
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=20)
        assert "name 1 to 16 runs" in closed.value.rcvd.reason


@pytest.mark.parametrize("text", ["", "[]", '{"a": 1}', "no JSON", b"{}"])
def test_empty_first_message_is_refused(room: Room, text: str | bytes) -> None:
    with room.connect("a") as socket:
        socket.send(text)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=20)
        assert "{run id: cursor}" in closed.value.rcvd.reason


def test_reader_bug_ends_only_its_connection(room: Room, caplog) -> None:
    with room.watch("a") as socket:
        receive(socket), receive(socket)
        good = room.reader.since
        room.reader.since = lambda cursors: 1 / 0
        room.commit("a", 1)
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=20)
    assert "ZeroDivisionError" in caplog.text
    room.reader.since = good
    with room.watch("a") as socket:
        receive(socket), receive(socket)
        room.commit("a", 2)
        assert values(receive(socket)) == [2]


def test_the_server_ends_while_browsers_watch(serve) -> None:
    room = Room(ScriptedReader("a"))
    with contextlib.ExitStack() as stack:
        with serve(room.app) as room.address:
            sockets = [stack.enter_context(room.watch("a")) for _ in range(3)]
            for socket in sockets:
                receive(socket), receive(socket)
        for socket in sockets:
            with pytest.raises(ConnectionClosed):
                socket.recv(timeout=20)
    room.hub.on_commit(["a"])  # the writer may outlive the hub


def test_only_news_is_news() -> None:
    assert is_empty({"cursor": "1", "series": {"decode_tps": {"t": [], "v": []}}})
    assert not is_empty({"cursor": "1", "now": {"decode_tps": {"v": None, "why": "idle"}}})
