"""Starts the real demo engine for tests."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class DemoServer:
    """A running `python -m demo serve`; `log` grows while it runs."""

    base_url: str
    port: int
    log: Path
    process: subprocess.Popen[bytes]

    def counters(self) -> dict[str, float]:
        """Its /metrics by name, without labelled ones."""
        lines = httpx.get(f"{self.base_url}/metrics").text.splitlines()
        pairs = [line.split() for line in lines if line.startswith("llamacpp:") and "{" not in line]
        return {name.removeprefix("llamacpp:"): float(value) for name, value in pairs}


@contextmanager
def running_demo(argv: list[str], port: int, log: Path) -> Iterator[DemoServer]:
    """Start `python -m demo serve` with these flags, wait until it is healthy, end it with SIGTERM."""
    command = [sys.executable, "-m", "demo", "serve", *argv, "--port", str(port), "--metrics", "--slots"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)
    server = DemoServer(f"http://127.0.0.1:{port}", port, log, process)
    try:
        wait_until(lambda: process.poll() is not None or is_healthy(server.base_url))
        assert process.poll() is None, log.read_text(errors="replace")
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def is_healthy(base_url: str) -> bool:
    try:
        return httpx.get(f"{base_url}/health").status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def wait_until(is_so: Callable[[], bool], limit_s: float = 180.0) -> None:
    """Poll until it is so; fails the test after `limit_s`."""
    ends = time.monotonic() + limit_s
    while not is_so():
        assert time.monotonic() < ends, "it never came to be"
        time.sleep(0.05)
