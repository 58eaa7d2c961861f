"""The recorder's process: its port, its end, and what it prints."""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from aiohttp import web

from domain import utc_now
from errors import PitwallError
from machine.private_files import private_folder
from workloads.recording.access import MODELS, POSTED, TOKEN_BYTES, Limits, Token
from workloads.recording.kept_text import KeptText
from workloads.recording.recorder import Recorder
from workloads.recording.recorder_job import RecorderAsk, RecorderStatus, status_of, write_status
from workloads.recording.relay import upstream_at

LOOPBACK = "127.0.0.1"
SAVE_EVERY_S = 10.0
TELL_EVERY_S = 1.0
STOP_WITHIN_S = 5.0


class RecorderBusyError(PitwallError):
    """Another recorder writes for this run already, or has the port."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One that is asked for."""

    run_id: str
    base_url: str
    out: Path  # requests.jsonl
    ask: RecorderAsk
    port: int = 0  # any free one
    token: str | None = None  # that the operator has seen; without it one is made, and printed
    status: Path | None = None  # where it reports how far it is


async def record(recording: Recording, api_key: str | None, say: Callable[[str], None]) -> None:
    """Record until the time is over or SIGINT or SIGTERM comes; raises RecorderBusyError, OSError."""
    folder, limits = recording.out.parent, Limits(duration_s=recording.ask.minutes * 60)
    private_folder(folder)
    with only_one(folder / "recorder.lock"), listening(recording.port) as sock:
        async with upstream_at(recording.base_url, api_key, limits, time.monotonic) as upstream:
            expires_s, expires_at = (
                time.monotonic() + limits.duration_s,
                utc_now() + timedelta(seconds=limits.duration_s),
            )
            token = Token(time.monotonic, expires_s, recording.token or secrets.token_urlsafe(TOKEN_BYTES))
            recorder = Recorder(recording.run_id, recording.out, upstream, token, limits)
            if recording.ask.keeps_text:
                recorder.kept = KeptText(folder / f"recorded-{recorder.load_id}.jsonl", limits.text_bytes)
            recorder.begin()
            async with serving(recorder, sock):
                shown = "shown on the run's page" if recording.token else f"shown this once: {token.word}"
                say(_opening(sock, shown, limits, recorder.kept))
                status = status_of(sock.getsockname()[1], recorder.load_id, expires_at, recording.ask.keeps_text)
                async with _reporting(recording.status, status, recorder):
                    await _until_over(limits.duration_s, recorder)
            recorder.end()
            say(_closing(recorder))


@asynccontextmanager
async def _reporting(path: Path | None, status: RecorderStatus, recorder: Recorder) -> AsyncIterator[None]:
    """Write how many requests have come, once a second where there are more, and at the end."""

    def write() -> None:
        if path:
            write_status(path, status.model_copy(update={"requests": recorder.count}))

    async def go_on() -> None:
        known = 0
        while True:
            await asyncio.sleep(TELL_EVERY_S)
            if recorder.count != known:
                known = recorder.count
                await asyncio.to_thread(write)

    write()
    task = asyncio.create_task(go_on())
    try:
        yield
    finally:
        task.cancel()
        write()


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Held as long as the process lives, however it ends."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise RecorderBusyError("Another recorder is at work for this run.") from error
    finally:
        os.close(handle)


@contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """A socket of the loopback alone; 0: any free port."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((LOOPBACK, port))
        except OSError as error:
            raise RecorderBusyError(f"Cannot listen on port {port}: {error.strerror}.") from error
        yield sock


@asynccontextmanager
async def serving(recorder: Recorder, sock: socket.socket) -> AsyncIterator[None]:
    """Take clients meanwhile; what is under way at the end is cut off and recorded as cancelled."""
    # Its timeout between requests holds from the first byte of a connection on, so that no head may take longer.
    runner = web.AppRunner(
        application(recorder), handler_cancellation=True, access_log=None, keepalive_timeout=recorder.limits.head_s
    )
    await runner.setup()
    assert runner.server
    server = await asyncio.get_running_loop().create_server(runner.server, sock=sock)
    writer = asyncio.create_task(recorder.write())
    writer.add_done_callback(lambda _: recorder.is_over.set())  # it ends only where nothing can be written
    try:
        yield
    finally:
        server.close()
        for task in list(recorder.tasks):
            task.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_WITHIN_S):
                await runner.cleanup()
        await _finish(recorder, writer)


async def _finish(recorder: Recorder, writer: asyncio.Task[None]) -> None:
    """Until all that ended is recorded; raises what recording raised."""
    drained = asyncio.create_task(recorder.ended.join())
    await asyncio.wait({drained, writer}, return_when=asyncio.FIRST_COMPLETED)
    writer.cancel()
    drained.cancel()
    with suppress(asyncio.CancelledError):
        await writer


def application(recorder: Recorder) -> web.Application:
    """Three addresses and no other."""
    app = web.Application(client_max_size=recorder.limits.body_bytes)
    app.router.add_get(MODELS, recorder.models, allow_head=False)
    for path in POSTED:
        app.router.add_post(path, recorder.post)
    return app


async def _until_over(duration_s: float, recorder: Recorder) -> None:
    """Save the kept text now and then, until the time is over or a signal comes."""
    loop, is_over = asyncio.get_running_loop(), recorder.is_over
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, is_over.set)
    ends_s = loop.time() + duration_s
    while not is_over.is_set() and loop.time() < ends_s:
        with suppress(TimeoutError):
            async with asyncio.timeout(min(SAVE_EVERY_S, ends_s - loop.time())):
                await is_over.wait()
        if recorder.kept:
            await asyncio.to_thread(recorder.kept.save)


def _opening(sock: socket.socket, shown: str, limits: Limits, kept: KeptText | None) -> str:
    text = f"\nText is kept in {kept.path}." if kept else ""
    return (
        f"Recording for {limits.duration_s / 60:g} minutes; Ctrl-C ends it.\n"
        f"Base URL: http://{LOOPBACK}:{sock.getsockname()[1]}/v1\nAPI key, {shown}{text}"
    )


def _closing(recorder: Recorder) -> str:
    left_out = recorder.kept.left_out if recorder.kept else 0
    lost = f" For want of room the text of {left_out} was not kept." if left_out else ""
    return f"Recorded as load {recorder.load_id}, requests: {recorder.count}.{lost}"
