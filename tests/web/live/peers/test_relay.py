"""Live runs of another Pitwall: two hubs on real stores behind real access checks, one goes away and comes back."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.sync.client import ClientConnection, connect

from domain import Config, Run, RunState
from samples import Batch, GpuSample
from settings import Settings
from storage.store import Store
from web.access.access_rules import access_for
from web.access.auth import AuthMiddleware
from web.access.sessions import SessionBook
from web.access.shares import ShareBook
from web.access.tokens import Scope, TokenBook
from web.live.hub import LiveHub
from web.live.peers import relay
from web.live.peers.peers import Peer, PeerBook
from web.live.peers.relay import PeerRelay
from web.live.reader import StoreReader
from web.server.api.live_api import live_routes

pytestmark = pytest.mark.wide

SECRET = b"a secret of more than enough length"
NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
PATIENCE_S = 120.0
OTHERS = '{"type": "snapshot", "run": "r-other", "server_t": 1, "seq": 1, "cursor": "", '
Serve = Callable[..., AbstractContextManager[str]]


@dataclass
class Box:
    """One Pitwall's live half."""

    settings: Settings
    store: Store
    elsewhere: PeerRelay
    hub: LiveHub
    address: str = ""

    def app(self) -> Starlette:
        self.access = access_for(self.settings, SECRET)
        access_check = Middleware(
            AuthMiddleware,
            access=self.access,
            shares=ShareBook(SECRET, ""),
            sessions=SessionBook(self.settings.sessions_path),
            tokens=TokenBook(self.settings.tokens_path),
        )

        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            async with self.elsewhere, self.hub:
                yield

        routes: list[BaseRoute] = live_routes(self.hub, lambda: self.store.runs([RunState.RUNNING]))
        routes.append(WebSocketRoute("/ws/live", self.hub.serve))
        return Starlette(routes=routes, middleware=[access_check], lifespan=lifespan)

    def add_run(self, run_id: str) -> None:
        self.store.save_run(
            Run(
                id=run_id, name=run_id, color=0, config=Config(), machine_id="m", created_at=NOW, started_at=NOW,
                state=RunState.RUNNING,
            )
        )  # fmt: skip

    def add_watts(self, run_id: str, second: int) -> None:
        sample = GpuSample(run_id, NOW + timedelta(seconds=second), float(second), "m", 0, power_w=100.0 + second)
        self.store.write(Batch((sample,))).result()

    def cookie(self) -> dict[str, str]:
        answer = httpx.get(f"http://{self.address}/?token={self.access.token}")
        return {"cookie": f"{self.access.cookie_name}={answer.cookies[self.access.cookie_name]}"}

    @contextmanager
    def watch(self, *run_ids: str) -> Iterator[ClientConnection]:
        """As the operator's browser does."""
        query = "&".join(f"run={run_id}" for run_id in run_ids)
        with connect(f"ws://{self.address}/ws/live?{query}", additional_headers=self.cookie()) as line:
            line.send("{}")
            assert frame(line)["type"] == "hello"
            yield line


def frame(line: ClientConnection) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(line.recv(timeout=PATIENCE_S))
    return fields


def frame_of(line: ClientConnection, kind: str, run_id: str) -> dict[str, Any]:
    end_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s:
        actual_frame = frame(line)
        if (actual_frame["type"], actual_frame.get("run")) == (kind, run_id):
            return actual_frame
    raise AssertionError(f"no {kind} of {run_id} came")


def wait_for(holds: Callable[[], object], text: str) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end_s, text
        time.sleep(0.05)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "LOOK_EVERY_S", 0.1)
    monkeypatch.setattr(relay, "PAUSES_S", (0.1, 0.5))


@pytest.fixture
def boxes(tmp_path: Path) -> Iterator[tuple[Box, Box]]:
    with ExitStack() as stack:
        made = []
        for name in ("mine", "theirs"):
            settings = Settings(data_dir=tmp_path / name)
            store = stack.enter_context(closing(Store.open(settings)))
            elsewhere = PeerRelay(PeerBook(settings.peers_path))
            hub = LiveHub(StoreReader(lambda store=store: store), peer_relay=elsewhere)
            store.on_commit(hub.on_commit)
            box = Box(settings, store, elsewhere, hub)
            box.add_run(f"r-{name}")
            made.append(box)
        yield made[0], made[1]


@pytest.fixture
def mine(serve: Serve, boxes: tuple[Box, Box]) -> Iterator[Box]:
    with serve(boxes[0].app()) as boxes[0].address:
        yield boxes[0]


@pytest.fixture
def serving_peer(serve: Serve, boxes: tuple[Box, Box]) -> Iterator[Box]:
    with serve(boxes[1].app()) as boxes[1].address:
        yield boxes[1]


def confirm(mine: Box, address: str, token: str) -> None:
    peer = Peer(name="box-2", url=f"http://{address}", token=token, confirmed_by="a test", confirmed_at=NOW)
    PeerBook(mine.settings.peers_path).confirm(peer)


def token_of(box: Box, *scopes: Scope) -> str:
    book = TokenBook(box.settings.tokens_path)
    return book.make(scopes or [Scope.LIVE], None, timedelta(days=1), "", "a test")[1]


def test_remote_run_is_watched_beside_own_run(mine: Box, serving_peer: Box) -> None:
    confirm(mine, serving_peer.address, token_of(serving_peer))
    wait_for(lambda: mine.elsewhere.knows("r-theirs"), "the other's run is not known")
    with mine.watch("r-mine", "r-theirs") as watch, mine.watch("r-theirs") as two:
        assert frame_of(watch, "snapshot", "r-mine")["meta"]["name"] == "r-mine"
        for line in (watch, two):
            assert frame_of(line, "snapshot", "r-theirs")["meta"]["name"] == "r-theirs"
        serving_peer.add_watts("r-theirs", 1)
        for line in (watch, two):
            delta = frame_of(line, "delta", "r-theirs")
            assert delta["series"]["gpu_power_w"]["v"] == [101.0]
        subscribed = [channel for channel in serving_peer.hub._channels.values() if channel.viewers]
        assert [len(channel.viewers) for channel in subscribed] == [1], "once for all who watch here"
        mine.add_watts("r-mine", 1)
        assert frame_of(watch, "delta", "r-mine")["series"]["gpu_power_w"]["v"] == [101.0]
    wait_for(
        lambda: not any(channel.viewers for channel in serving_peer.hub._channels.values()),
        "nobody watches it any more",
    )


def test_programs_and_guests_see_own_runs_alone(mine: Box, serving_peer: Box) -> None:
    confirm(mine, serving_peer.address, token_of(serving_peer))
    wait_for(lambda: mine.elsewhere.knows("r-theirs"), "the other's run is not known")
    headers = {"authorization": f"Bearer {token_of(mine)}"}
    with connect(f"ws://{mine.address}/api/live?run=r-theirs", additional_headers=headers) as line:
        line.send("{}")
        assert frame_of(line, "gone", "r-theirs")


def test_refusing_peer_costs_its_lane_and_returns(mine: Box, serving_peer: Box) -> None:
    confirm(mine, serving_peer.address, token_of(serving_peer))
    wait_for(lambda: mine.elsewhere.knows("r-theirs"), "the other's run is not known")
    with mine.watch("r-mine", "r-theirs") as line:
        frame_of(line, "snapshot", "r-theirs")
        book = TokenBook(serving_peer.settings.tokens_path)
        book.revoke(book.all()[0].id, "a test")
        assert frame_of(line, "away", "r-theirs")["reason"].startswith("box-2: ")
        wait_for(lambda: "401" in mine.elsewhere.troubles().get("box-2", ""), "its refusal is not told")
        mine.add_watts("r-mine", 1)
        assert frame_of(line, "delta", "r-mine"), "the own lane goes on"
    confirm(mine, serving_peer.address, token_of(serving_peer))
    wait_for(lambda: not mine.elsewhere.troubles() and mine.elsewhere.knows("r-theirs"), "the new token is not used")
    with mine.watch("r-theirs") as again:
        frame_of(again, "snapshot", "r-theirs")


def test_a_peer_that_says_nothing_holds_nobody_up(
    mine: Box, serving_peer: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A FAKE slow peer: it names its runs and then takes connections without a word."""
    confirm(mine, serving_peer.address, token_of(serving_peer))
    wait_for(lambda: mine.elsewhere.knows("r-theirs"), "the other's run is not known")
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        monkeypatch.setattr(relay, "OPEN_S", 0.2)
        peer, run = mine.elsewhere._known_runs["r-theirs"]
        silent = peer.model_copy(update={"url": f"http://127.0.0.1:{deaf.getsockname()[1]}"})
        monkeypatch.setattr(mine.elsewhere, "knows", lambda run_id: run_id == "r-theirs")
        monkeypatch.setattr(mine.elsewhere, "_known_runs", {"r-theirs": (silent, run)})
        monkeypatch.setattr(relay, "read_live_runs", lambda peer: [])
        with mine.watch("r-mine", "r-theirs") as line:
            frame_of(line, "snapshot", "r-mine")
            assert frame_of(line, "away", "r-theirs")
            mine.add_watts("r-mine", 1)
            assert frame_of(line, "delta", "r-mine")


@pytest.mark.parametrize(
    "frames",
    [
        ['{"type": "snapshot", "run": "r-mine", "seq": 1, "cursor": ""}'],
        ['{"type": "hello"}', '{"type": "more", "run": "r-other"}'],
        ["no json"],
        ["[1]"],
        ["[" * 100_000],
        [OTHERS + '"marks": [' + ",".join(['{"t": 1, "kind": "load", "text": "x"}'] * 100_000) + "]}"],
        [OTHERS + '"marks": [{"t": NaN, "kind": "load", "text": "x"}]}'],
        [OTHERS + '"marks": [{"t": 1, "kind": {}, "text": "x"}]}'],
        [OTHERS + '"marks": "none"}'],
        [OTHERS + '"series": {"decode_tps": {"t": [1, 2], "v": [1]}}}'],
        [OTHERS + '"series": {"decode_tps": {"t": [1e300], "v": [1]}}}'],
        [OTHERS + '"now": {"decode_tps": {"v": "fast", "why": null}}}'],
    ],
    ids=range(12),
)
def test_frames_of_other_runs_are_dropped(serve: Serve, mine: Box, frames: list[str]) -> None:
    """A FAKE hostile peer."""

    async def live(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.receive_text()
        for text in frames:
            await websocket.send_text(text)
        await websocket.receive()

    async def runs(request: Any) -> Any:
        from starlette.responses import JSONResponse

        return JSONResponse({"runs": [{"id": "r-other", "name": "x", "state": "running", "kind": "launched"}]})

    with serve(Starlette(routes=[Route("/api/live", runs), WebSocketRoute("/api/live", live)])) as address:
        confirm(mine, address, "x" * 20)
        wait_for(lambda: mine.elsewhere.knows("r-other"), "the run is not known")
        with mine.watch("r-mine", "r-other") as line:
            frame_of(line, "snapshot", "r-mine")
            end = frame(line)
            while end["type"] == "beat":
                end = frame(line)
            assert (end["type"], end["run"]) == ("away", "r-other")


def test_redirect_is_not_followed_with_token(serve: Serve, mine: Box, serving_peer: Box) -> None:
    texts: list[str] = []

    async def elsewhere(request: Any) -> RedirectResponse:
        texts.append(request.headers["authorization"])
        return RedirectResponse(f"http://{serving_peer.address}/api/live")

    token = token_of(serving_peer)
    with serve(Starlette(routes=[Route("/api/live", elsewhere)])) as address:
        confirm(mine, address, token)
        wait_for(lambda: "307" in mine.elsewhere.troubles().get("box-2", ""), "the redirect is not told")
    assert set(texts) == {f"Bearer {token}"}
    assert TokenBook(serving_peer.settings.tokens_path).all()[0].last_used_at is None
