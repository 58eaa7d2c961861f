"""Sockets that do not say what they want are few and not for long; whoever speaks is served."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.sync.client import connect

from tests.web.conftest import Serve
from web.server.connections import ConnectionLimits, LimitedHttp, limits_for

PATIENCE_S = 60.0
HALF = b"GET / HTTP/1.1\r\nHost: here\r\nX-Slow: "
Opened = Callable[[str, bytes], socket.socket]


async def answer(request: Any) -> PlainTextResponse:
    return PlainTextResponse("here")


async def echo(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text(await websocket.receive_text())
    await websocket.receive()


APP = Starlette(routes=[Route("/", answer, methods=["GET", "POST"]), WebSocketRoute("/ws", echo)])


@pytest.fixture
def opened(request: pytest.FixtureRequest) -> Opened:
    def open_socket(address: str, words: bytes) -> socket.socket:
        host, port = address.split(":")
        one = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        request.addfinalizer(one.close)
        one.sendall(words)
        return one

    return open_socket


def rest_of(one: socket.socket) -> bytes:
    """What comes until the other side closes; raises TimeoutError where it never does."""
    said = b""
    try:
        while data := one.recv(4096):
            said += data
    except ConnectionResetError:
        pass
    return said


@pytest.mark.parametrize(
    "words",
    [
        b"",
        HALF,
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n" + HALF,
        b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\nhalf a body",
    ],
    ids=["nothing", "half a head", "an answered request, then half of one", "half a body"],
)
def test_a_socket_that_says_no_whole_request_is_closed(serve: Serve, opened: Opened, words: bytes) -> None:
    limited = LimitedHttp.within(ConnectionLimits(100, 100), timeout_s=0.2)
    with serve(APP, http=limited, timeout_keep_alive=600) as address:
        rest_of(opened(address, words))


def test_the_newest_puts_out_the_one_that_waited_longest(serve: Serve, opened: Opened) -> None:
    limited = LimitedHttp.within(ConnectionLimits(100, 3), timeout_s=600)
    with serve(APP, http=limited) as address:
        sockets = [opened(address, HALF) for _ in range(3)]
        for _ in range(3):
            assert httpx.get(f"http://{address}/").text == "here"
        first = opened(address, HALF)
        assert rest_of(sockets[0]) == b""
        first.sendall(b"now\r\nConnection: close\r\n\r\n")
        assert rest_of(first).endswith(b"here"), "the newest is served"


def test_sockets_that_work_are_never_put_out(serve: Serve, opened: Opened) -> None:
    limited = LimitedHttp.within(ConnectionLimits(2, 2), timeout_s=600)
    with serve(APP, http=limited) as address, connect(f"ws://{address}/ws") as watching:
        halves = [opened(address, HALF) for _ in range(5)]
        assert all(rest_of(one) == b"" for one in halves[:4])
        watching.send("still here")
        assert watching.recv(timeout=PATIENCE_S) == "still here"


def test_what_is_left_for_sockets_leaves_files_to_the_store() -> None:
    assert limits_for(1024) == ConnectionLimits(624, 312)
    assert limits_for(524_288).open > 500_000
    assert limits_for(256) == ConnectionLimits(128, 64)
