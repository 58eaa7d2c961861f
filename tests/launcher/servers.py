"""Real small servers, a store that is a dict, and ways to wait for a run."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

import psutil

from domain import Config, Run, RunState
from launcher.checks.launch_request import LaunchRequest
from machine.process_start import all_processes
from samples import Batch
from tests.ports import free_ports

SERVER = """
import http.server, os, signal, subprocess, sys, time
port, kind = int(sys.argv[1]), sys.argv[2]
print("hello from the server", kind, flush=True)
if kind == "exits":
    print("it all went wrong", flush=True)
    print('INFO:     127.0.0.1:40404 - "GET /metrics HTTP/1.1" 200 OK', flush=True)  # no evidence of anything
    sys.exit(3)
if kind == "exits-well":
    sys.exit(0)
if kind == "never-ready":
    time.sleep(600)
if kind.startswith("gated:"):  # listens once that file is there
    while not os.path.exists(kind.removeprefix("gated:")):
        time.sleep(0.02)
if kind == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if kind == "engine-core":  # as vLLM: an engine process with workers of its own, deaf to the death of the API server
    worker = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    core = f"import subprocess, sys, time; a = [sys.executable, '-c', {worker!r}]"
    core += "; [subprocess.Popen([*a, f'Worker_TP{i}']) for i in range(2)]; time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", core, "EngineCore"])
if kind == "hides":  # and takes the marker off
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", f"hidden-{port}"], {})
        os._exit(0)
    os.wait()
if kind == "forks":
    if os.fork() == 0:  # a double fork into a session of its own: no descendant by parentage any more
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
        os._exit(0)
    os.wait()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/leave":
            os._exit(int(kind == "leaves-badly"))
        self.send_response(200); self.end_headers(); self.wfile.write(b"ok")
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


class TakesRuns(Protocol):
    def save_run(self, run: Run) -> None: ...


def stored_at_once(store: TakesRuns, runs: Sequence[Run]) -> Future[None]:
    """The `queue_runs` of a store that takes each run before it returns."""
    for run in runs:
        store.save_run(run)
    future: Future[None] = Future()
    future.set_result(None)
    return future


class DictStore:
    """A RunStore in memory: every saved state of every run, in order."""

    def __init__(self) -> None:
        self.saved: list[Run] = []
        self.events: list[Any] = []
        self._lock = threading.Lock()

    def save_run(self, run: Run) -> None:
        with self._lock:
            self.saved.append(run)

    def queue_runs(self, runs: Sequence[Run]) -> Future[None]:
        return stored_at_once(self, runs)

    def run(self, run_id: str) -> Run | None:
        return next((run for run in reversed(self.saved) if run.id == run_id), None)

    def runs(self, states: Iterable[RunState] | None = None, limit: int | None = None) -> list[Run]:
        runstate = set(RunState if states is None else states)
        return [run for run in {run.id: run for run in self.saved}.values() if run.state in runstate][-(limit or 0) :]

    def names_like(self, names: Collection[str]) -> list[str]:
        return [run.name for run in self.saved]

    def runs_of_batch(self, batch_id: str) -> list[Run]:
        return [run for run in self.runs() if run.batch_id == batch_id]

    def take(self, batch: Batch) -> None:
        self.events.extend(batch.samples)

    def states(self, run_id: str) -> list[RunState]:
        states = [run.state for run in self.saved if run.id == run_id]
        return [state for i, state in enumerate(states) if i == 0 or states[i - 1] is not state]


class StuckStore(DictStore):
    """Stores nothing until it is told to, as on a disk that is full."""

    def __init__(self, is_stuck: bool = True) -> None:
        super().__init__()
        self.is_stuck = is_stuck
        self.given: list[list[Run]] = []
        self._waiting: list[tuple[Sequence[Run], Future[None]]] = []

    def queue_runs(self, runs: Sequence[Run]) -> Future[None]:
        self.given.append(list(runs))
        if not self.is_stuck:
            return super().queue_runs(runs)
        self._waiting.append((runs, Future()))
        return self._waiting[-1][1]

    def take_all(self) -> None:
        self.is_stuck = False
        waiting, self._waiting = self._waiting, []
        for runs, stored in waiting:
            super().queue_runs(runs)
            stored.set_result(None)


def server_argv(port: int, kind: str = "plain") -> tuple[str, ...]:
    return (sys.executable, "-c", SERVER, str(port), kind)


def request_for(kind: str = "plain", port: int | None = None, **given: Any) -> LaunchRequest:
    port = port or free_ports(1)[0]
    config = Config(argv=server_argv(port, kind), host="127.0.0.1", port=port)
    return LaunchRequest(**{"config": config, "name": kind, "ready_path": "/health", **given})


def wait_for(
    is_so: Callable[[], Any], timeout_s: float = 90.0, told: Callable[[], object] = lambda: "waited in vain"
) -> Any:
    deadline = time.monotonic() + timeout_s
    while not (value := is_so()):
        assert time.monotonic() < deadline, told()
        time.sleep(0.05)
    return value


def wait_for_state(store: Any, run_id: str, *states: RunState) -> Run:
    return wait_for(lambda: (run := store.run(run_id)) and run.state in states and run, told=lambda: store.run(run_id))


def marked(run_id: str) -> list[psutil.Process]:
    """Everything alive that bears the run's marker, its workload included."""
    found = []
    for process in all_processes():
        try:
            marker = process.environ().get("PITWALL_RUN_ID", "")
            if marker.split("/")[0] == run_id and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found
