"""The process ends in bounded time, whatever its threads wait for."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.launcher.servers import wait_for
from tests.ports import free_ports
from web.server.closing import CUT_SHORT

ROOT = Path(__file__).resolve().parents[3]


def test_endless_thread_does_not_hold_the_process() -> None:
    code = (
        "import threading\nfrom web.server.closing import exit_within\n"
        "threading.Thread(target=threading.Event().wait).start()\nexit_within(0.2)\n"
    )
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (process.returncode, process.stderr) == (1, CUT_SHORT)


def test_one_that_ends_by_itself_says_nothing() -> None:
    code = "from web.server.closing import exit_within\nexit_within(60)\n"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert (process.returncode, process.stderr) == (0, "")


HANGING = """
import asyncio, contextlib, ctypes, sys
from starlette.applications import Starlette
from starlette.routing import Route

def hang():  # in the system, where no handler of Python's runs: as on a disk that does not answer
    mutex, libc = ctypes.create_string_buffer(64), ctypes.CDLL(None)
    libc.pthread_mutex_lock(mutex), libc.pthread_mutex_lock(mutex)

def say(words):
    print(words, flush=True)

async def answer(request):
    say("asked")
    await asyncio.Event().wait()

@contextlib.asynccontextmanager
async def lifespan(app):
    if PLACE == "start":
        say("starting")
        hang()
    say("started")
    yield
    say("closing")
    hang()

app = Starlette(lifespan=lifespan, routes=[Route("/", answer)])
"""


@contextmanager
def served(folder: Path, place: str, close_within_s: float) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server of an application that hangs at this place, and its port."""
    (folder / "app.py").write_text(f"PLACE = {place!r}\n{HANGING}")
    (port,) = free_ports(1)
    code = f"from web.server.listener import serve\nserve('127.0.0.1', {port}, close_within_s={close_within_s})"
    environ = os.environ | {"PYTHONPATH": f"{folder}:{ROOT}"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=environ, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield process, port
        finally:
            process.kill()


def ending(process: subprocess.Popen[str]) -> tuple[int, str, int]:
    """Its status after SIGTERM, what it said from then on, and how often it said that it was cut short."""
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err.count(CUT_SHORT)


def test_hanging_request_and_close_are_cut_short(tmp_path: Path) -> None:
    with served(tmp_path, "closing", 3.0) as (process, port):
        assert process.stdout and process.stdout.readline() == "started\n"
        with connected(port) as asking:
            asking.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            assert process.stdout.readline() == "asked\n"
            assert ending(process) == (1, "closing\n", 1)


def test_a_start_that_hangs_is_cut_short(tmp_path: Path) -> None:
    with served(tmp_path, "start", 0.2) as (process, _):
        assert process.stdout and process.stdout.readline() == "starting\n"
        assert ending(process) == (1, "", 1)


def connected(port: int) -> socket.socket:
    """The server says that it has started a moment before it listens."""
    return wait_for(lambda: _connected(port))


def _connected(port: int) -> socket.socket | None:
    try:
        return socket.create_connection(("127.0.0.1", port), timeout=60)
    except ConnectionRefusedError:
        return None
