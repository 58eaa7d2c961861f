"""Process of the recorder: its port, its end, and its output."""

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

from domain import utc_now
from errors import PitwallError
from machine.private_files import private_folder
from workloads.recording.access import COUNT_PATH, MODELS_PATH, TOKEN_BYTES, RecorderToken, RecordingLimits
from workloads.recording.client_connection import ClientConnection, Routes
from workloads.recording.recorded_text import RecordedText
from workloads.recording.recorder import Recorder
from workloads.recording.recorder_job import RecorderOptions, RecorderStatus, initial_status, write_status
from workloads.recording.relay import upstream_at
from workloads.requests.protocols import PATHS

LOOPBACK = "127.0.0.1"
SAVE_EVERY_S = 10.0
REPORT_EVERY_S = 1.0
STOP_WITHIN_S = 5.0


class RecorderBusyError(PitwallError):
    """Another recorder is running for this run, or the port is in use."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Settings of a recording."""

    run_id: str
    base_url: str
    out: Path  # requests.jsonl
    ask: RecorderOptions
    port: int = 0  # any free one
    token: str | None = None  # already shown to the operator; None: generated and printed
    status: Path | None = None  # status file


async def record(recording: Recording, api_key: str | None, report: Callable[[str], None]) -> None:
    """Record until the time is over, SIGINT or SIGTERM; raises RecorderBusyError, OSError."""
    folder, limits = recording.out.parent, RecordingLimits(duration_s=recording.ask.minutes * 60)
    private_folder(folder)
    with single_recorder_lock(folder / "recorder.lock"), listening(recording.port) as sock:
        async with upstream_at(recording.base_url, api_key, limits, time.monotonic) as upstream:
            expires_s, expires_at = (
                time.monotonic() + limits.duration_s,
                utc_now() + timedelta(seconds=limits.duration_s),
            )
            token = RecorderToken(time.monotonic, expires_s, recording.token or secrets.token_urlsafe(TOKEN_BYTES))
            recorder = Recorder(recording.run_id, recording.out, upstream, token, limits)
            if recording.ask.keeps_text:
                recorder.recorded_text = RecordedText(folder / f"recorded-{recorder.load_id}.jsonl", limits.text_bytes)
            recorder.begin()
            async with serving(recorder, sock):
                token_text = "shown on the run's page" if recording.token else f"shown this once: {token.value}"
                report(_start_text(sock, token_text, limits, recorder.recorded_text))
                status = initial_status(sock.getsockname()[1], recorder.load_id, expires_at, recording.ask.keeps_text)
                async with _reporting(recording.status, status, recorder):
                    await _until_over(limits.duration_s, recorder)
            recorder.end()
            report(_end_text(recorder))


@asynccontextmanager
async def _reporting(path: Path | None, status: RecorderStatus, recorder: Recorder) -> AsyncIterator[None]:
    """Write the number of requests to the status file, once a second on changes, and at the end."""

    def write() -> None:
        if path:
            write_status(path, status.model_copy(update={"requests": recorder.count}))

    async def report_loop() -> None:
        reported_count = 0
        while True:
            await asyncio.sleep(REPORT_EVERY_S)
            if recorder.count != reported_count:
                reported_count = recorder.count
                await asyncio.to_thread(write)

    write()
    task = asyncio.create_task(report_loop())
    try:
        yield
    finally:
        task.cancel()
        write()


@contextmanager
def single_recorder_lock(path: Path) -> Iterator[None]:
    """Hold a lock that the system releases when the process ends."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise RecorderBusyError("Another recorder is already running for this run.") from error
    finally:
        os.close(handle)


@contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """Open a socket on the loopback interface only; port 0: any free port."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((LOOPBACK, port))
        except OSError as error:
            raise RecorderBusyError(f"Cannot listen on port {port}: {error.strerror}.") from error
        yield sock


@asynccontextmanager
async def serving(recorder: Recorder, sock: socket.socket) -> AsyncIterator[None]:
    """Serve clients within the context; requests in flight at the end are aborted and recorded as cancelled."""
    connections: set[ClientConnection] = set()
    routes, limits = routes_of(recorder), recorder.limits
    server = await asyncio.get_running_loop().create_server(
        lambda: ClientConnection(routes, connections, limits.head_s, limits.body_bytes), sock=sock
    )
    writer = asyncio.create_task(recorder.write())
    writer.add_done_callback(lambda _: recorder.is_over.set())  # it ends only if nothing can be written
    try:
        yield
    finally:
        server.close()
        await _close(connections)
        await _finish(recorder, writer)


async def _close(connections: set[ClientConnection]) -> None:
    """Abort all connections and wait until the tasks of their requests have ended."""
    tasks = [connection.task for connection in connections if connection.task]
    for connection in list(connections):
        connection.abort()
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=STOP_WITHIN_S)


async def _finish(recorder: Recorder, writer: asyncio.Task[None]) -> None:
    """Wait until all completed exchanges are recorded; raises what recording raised."""
    drained = asyncio.create_task(recorder.finished.join())
    await asyncio.wait({drained, writer}, return_when=asyncio.FIRST_COMPLETED)
    writer.cancel()
    drained.cancel()
    with suppress(asyncio.CancelledError):
        await writer


def routes_of(recorder: Recorder) -> Routes:
    """Return what is forwarded: the paths of every protocol."""
    posts = {("POST", path): recorder.post for path in PATHS.values()}
    return posts | {
        ("GET", MODELS_PATH): recorder.pass_through,
        ("POST", COUNT_PATH): recorder.pass_through,
        ("GET", PATHS["responses"]): recorder.refuse_websocket,
    }


async def _until_over(duration_s: float, recorder: Recorder) -> None:
    """Save the recorded text periodically, until the time is over or a signal arrives."""
    loop, is_over = asyncio.get_running_loop(), recorder.is_over
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, is_over.set)
    ends_s = loop.time() + duration_s
    while not is_over.is_set() and loop.time() < ends_s:
        with suppress(TimeoutError):
            async with asyncio.timeout(min(SAVE_EVERY_S, ends_s - loop.time())):
                await is_over.wait()
        if recorder.recorded_text:
            await asyncio.to_thread(recorder.recorded_text.save)


def _start_text(
    sock: socket.socket, token_text: str, limits: RecordingLimits, recorded_text: RecordedText | None
) -> str:
    text = f"\nText is stored in {recorded_text.path}." if recorded_text else ""
    return (
        f"Recording for {limits.duration_s / 60:g} minutes; Ctrl-C ends it.\n"
        f"Base URL: http://{LOOPBACK}:{sock.getsockname()[1]}/v1\nAPI key, {token_text}{text}"
    )


def _end_text(recorder: Recorder) -> str:
    left_out = recorder.recorded_text.left_out if recorder.recorded_text else 0
    omission_text = f" The text of {left_out} was not stored for lack of space." if left_out else ""
    return f"Recorded as load {recorder.load_id}, requests: {recorder.count}.{omission_text}"
