"""Sockets that do not say what they want are few and not for long; whoever speaks is served."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.sync.client import connect

from tests.launcher.servers import wait_for
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
        connection = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        request.addfinalizer(connection.close)
        connection.sendall(words)
        return connection

    return open_socket


def rest_of(socket: socket.socket) -> bytes:
    """What comes until the other side closes; raises TimeoutError where it never does."""
    content = b""
    try:
        while data := socket.recv(4096):
            content += data
    except ConnectionResetError:
        pass
    return content


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
def test_incomplete_request_socket_is_closed(serve: Serve, opened: Opened, words: bytes) -> None:
    limited = LimitedHttp.with_limits(ConnectionLimits(100, 100), timeout_s=0.2)
    with serve(APP, http=limited, timeout_keep_alive=600) as address:
        rest_of(opened(address, words))


def test_newest_socket_evicts_longest_waiter(serve: Serve, opened: Opened) -> None:
    limited = LimitedHttp.with_limits(ConnectionLimits(100, 3), timeout_s=600)
    with serve(APP, http=limited) as address:
        sockets = [opened(address, HALF) for _ in range(3)]
        for _ in range(3):
            assert httpx.get(f"http://{address}/").text == "here"
        first = opened(address, HALF)
        assert rest_of(sockets[0]) == b""
        first.sendall(b"now\r\nConnection: close\r\n\r\n")
        assert rest_of(first).endswith(b"here"), "the newest is served"


def test_sockets_that_work_are_never_put_out(serve: Serve, opened: Opened) -> None:
    limited = LimitedHttp.with_limits(ConnectionLimits(2, 2), timeout_s=600)
    with serve(APP, http=limited) as address, connect(f"ws://{address}/ws") as watching:
        halves = [opened(address, HALF) for _ in range(5)]
        assert all(rest_of(halve) == b"" for halve in halves[:4])
        watching.send("still here")
        assert watching.recv(timeout=PATIENCE_S) == "still here"


class Sender:
    """An ASGI application that sends more than a system takes; `ended` is set when it has nothing more to wait for."""

    def __init__(self, chunk: int = 1 << 20, chunks: int = 64) -> None:
        self.chunk, self.chunks, self.ended = chunk, chunks, threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != "/much":
            await APP(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in reversed(range(self.chunks)):
            await send({"type": "http.response.body", "body": b"x" * self.chunk, "more_body": number > 0})
        self.ended.set()


async def look(limited: type[LimitedHttp], number: int) -> None:
    for timer in list(limited.unread._timers):
        limited.unread.check(timer, number)


def unread_of(limited: type[LimitedHttp]) -> int:
    return len(limited.unread._timers)


MUCH = b"GET /much HTTP/1.1\r\nHost: here\r\n\r\n"


def test_unread_answers_evict_the_socket(serve: Serve, opened: Opened) -> None:
    much, limited = Sender(), LimitedHttp.with_limits(ConnectionLimits(100, 100), timeout_s=600, unread_timeout_s=0.2)
    with serve(much, http=limited) as address:
        opened(address, MUCH * 50)
        assert much.ended.wait(PATIENCE_S), "it waits for a reader for ever"


@pytest.mark.parametrize("words", [MUCH, MUCH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")])
def test_single_piece_answer_unread_is_evicted(serve: Serve, opened: Opened, words: bytes) -> None:
    """Nobody waits to send more of it: uvicorn has done with such a request, and its socket would stay."""
    much = Sender(chunk=64 << 20, chunks=1)
    limited = LimitedHttp.with_limits(ConnectionLimits(100, 100), timeout_s=600, unread_timeout_s=0.2)
    with serve(much, http=limited) as address:
        one = opened(address, words)
        assert much.ended.wait(PATIENCE_S)
        wait_for(lambda: unread_of(limited) == 0)
        assert len(rest_of(one)) < 64 << 20, "what the system had taken, and no more"


def test_slow_reader_outlasts_any_limit(serve: Serve, opened: Opened) -> None:
    """The looks are taken by hand, each after something was read: no clock decides."""
    much = Sender(chunk=16 << 20, chunks=1)
    limited = LimitedHttp.with_limits(ConnectionLimits(100, 100), timeout_s=0.001, unread_timeout_s=600)
    with serve(much, http=limited) as address:
        one = opened(address, MUCH)
        wait_for(lambda: unread_of(limited) == 1)
        assert much.ended.wait(PATIENCE_S), "what waits becomes less from now on, never more"
        (slow,) = limited.unread._timers
        write_buffer_size, read = slow.transport.get_write_buffer_size(), 0
        while unread_of(limited):
            assert not limited.room._timers, "it does not wait for its next request yet"
            now = slow.transport.get_write_buffer_size()
            if now and now == write_buffer_size:
                read += len(one.recv(1 << 20))
                continue
            asyncio.run_coroutine_threadsafe(look(limited, write_buffer_size), slow.loop).result(PATIENCE_S)
            write_buffer_size = now
        one.shutdown(socket.SHUT_WR)
        assert read + len(rest_of(one)) > 16 << 20


def test_longest_unread_socket_goes_when_full(serve: Serve, opened: Opened) -> None:
    limited = LimitedHttp.with_limits(ConnectionLimits(2, 2), timeout_s=600, unread_timeout_s=600)
    with serve(Sender(), http=limited) as address:
        sockets = []
        for count in (1, 2):
            sockets.append(opened(address, MUCH))
            wait_for(lambda: unread_of(limited) == count)  # noqa: B023
        assert httpx.get(f"http://{address}/").text == "here"
        assert unread_of(limited) == 1
        sockets[1].close()  # uvicorn's end waits for whoever is still being answered


def test_socket_share_leaves_files_to_the_store() -> None:
    assert limits_for(1024) == ConnectionLimits(624, 312)
    assert limits_for(524_288) == ConnectionLimits(523_888, 4096), "and the heads of those that wait fit into memory"
    assert limits_for(256) == ConnectionLimits(128, 64)
