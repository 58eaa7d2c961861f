"""A whole Pitwall as a user starts it: a process on a free port with a data folder of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import httpx
import psutil

from machine.process_start import all_processes
from tests.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
START_S = 180.0  # a machine may be busy


@dataclass
class Pitwall:
    """Start, stop and kill it; `url` and `token` are those of the last start."""

    data: Path
    port: int
    environ: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    token: str = ""
    base_path: str = ""
    out_name: str = "pitwall.out"  # beside the data folder
    root: Path = ROOT  # a benchmark compares checkouts
    command: tuple[str, ...] = (sys.executable, str(ROOT / "pitwall"), "run")
    _answers: dict[tuple[str, int, int], list[tuple[Any, ...]]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.base_path}"

    @property
    def said(self) -> str:
        return (self.data.parent / self.out_name).read_text()

    @property
    def links(self) -> list[str]:
        """Every address that it said."""
        return re.findall(r"\w+://\S+", self.said)

    def start(self) -> None:
        """Start it and wait until it says where to open it."""
        out = self.data.parent / self.out_name
        fields = {
            "PITWALL_DATA": str(self.data),
            "PITWALL_PORT": str(self.port),
        }
        env = os.environ | fields | self.environ
        with out.open("wb") as file:
            self.process = subprocess.Popen(self.command, cwd=self.root, env=env, stdout=file, stderr=subprocess.STDOUT)
        try:
            self._wait_for_its_pages()
        except BaseException:  # whoever starts it ends it only when it is up
            self.kill()
            raise

    def _wait_for_its_pages(self) -> None:
        wait_until(lambda: "token=" in self.said or self.process is None or self.process.poll() is not None, START_S)
        assert "token=" in self.said, self.said
        self.token = self.said.split("token=")[1].split()[0]
        wait_until(self.is_up, START_S)

    def is_up(self) -> bool:
        try:
            return bool(httpx.get(f"{self.url}/healthz", timeout=2).json()["ok"])
        except (httpx.HTTPError, ValueError):
            return False

    def kill(self) -> None:
        """As the kernel would: no word, no clean-up."""
        assert self.process
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def terminate(self, timeout_s: float) -> int:
        assert self.process
        self.process.terminate()
        return self.process.wait(timeout_s)

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        """What another process reads of the published file, which is not asked the same again before it is replaced."""
        file = self.data / "monitor.duckdb"
        asked = query, file.stat().st_ino, file.stat().st_mtime_ns
        if asked not in self._answers:
            with duckdb.connect(str(file), read_only=True) as connection:
                self._answers[asked] = connection.sql(query).fetchall()
        return self._answers[asked]

    def states(self) -> dict[str, str]:
        return {str(name): str(state) for name, state in self.sql("SELECT name, state FROM runs")}

    def pids(self) -> list[int]:
        """The servers that run now, as the store knows them."""
        live = "state IN ('starting', 'ready', 'running') AND pid IS NOT NULL"
        return [pid for (pid,) in self.sql(f"SELECT pid FROM runs WHERE {live}")]

    def end_everything(self) -> None:
        """Nothing of this Pitwall's is left on the machine."""
        if self.process and self.process.poll() is None:
            self.kill()
        for process in all_processes():
            with suppress(psutil.Error):  # gone meanwhile
                if any(str(self.data) in word for word in process.cmdline()):
                    process.kill()


def wait_until(holds: Callable[[], Any], timeout_s: float, every_s: float = 0.25) -> None:
    """Until the condition holds; fails the test with its source when it never does."""
    end = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < end, f"not within {timeout_s} s: {holds}"
        time.sleep(every_s)


def parsed_log(path: Path) -> dict[str, Any]:
    """What `./pitwall parse` says of a log."""
    argv = [sys.executable, str(ROOT / "pitwall"), "parse", str(path)]
    process = subprocess.run(argv, cwd=ROOT, capture_output=True, check=True)
    answer: dict[str, Any] = json.loads(process.stdout)
    return answer


@contextmanager
def running_pitwall(data: Path) -> Iterator[Pitwall]:
    """One that is up on what is in its store already, and gone with everything of it afterwards."""
    pitwall = Pitwall(data, free_ports(1)[0])
    pitwall.start()
    try:
        yield pitwall
    finally:
        pitwall.end_everything()
