"""How long it takes until the store says that a server which was killed -9 is gone.

    python -m benchmarks.death_noticed [deaths of each kind]

A server as a bare process, one in a podman container (its first process is killed, not the client) where podman is
installed, and one that Pitwall only watches. From the kill until the run is no longer ready in the store, durably; and
until everything of it is cleared away and it has its cause.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import psutil

from demo.presets import free_ports
from domain import Config, Run, RunState
from launcher.runs.supervisor import Supervisor
from settings import Settings
from storage.store import Store
from tests.launcher.processes.podman import bare_image, request
from tests.launcher.servers import request_for, server_argv, wait_for

Start = Callable[[Supervisor, ExitStack], Run]


def as_process(supervisor: Supervisor, ours: ExitStack) -> Run:
    return supervisor.launch(request_for())


def as_container(supervisor: Supervisor, ours: ExitStack) -> Run:
    return supervisor.launch(request("localhost/pitwall-bare"))


def watched(supervisor: Supervisor, ours: ExitStack) -> Run:
    (port,) = free_ports(1)
    server = ours.enter_context(
        subprocess.Popen(server_argv(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    )
    base_url = f"http://127.0.0.1:{port}"
    wait_for(lambda: psutil.Process(server.pid).net_connections(), 60)
    return supervisor.attach(base_url, Config(port=port), pid=server.pid)


def die(store: Store, supervisor: Supervisor, start: Start) -> tuple[float, float]:
    """Seconds from the kill until it is noticed, and until the run is over."""
    with ExitStack() as ours:
        run_id = start(supervisor, ours).id
        run = wait_for(lambda: (found := store.run(run_id)) and found.state is RunState.READY and found, 120)
        if start is as_container:
            run = wait_for(lambda: (found := store.run(run_id)) and "container" in (found.provenance or {}) and found)
        psutil.Process(run.pid).kill()
        killed_at = time.monotonic()
        seen = [until(lambda state: state is not RunState.READY, store, run_id) - killed_at]
        seen.append(until(lambda state: state.is_final, store, run_id) - killed_at)
    return seen[0], seen[1]


def until(is_so: Callable[[RunState], bool], store: Store, run_id: str) -> float:
    while not is_so(store.run(run_id).state):  # type: ignore[union-attr]
        time.sleep(0.005)
    return time.monotonic()


@contextmanager
def pitwall(folder: Path) -> Iterator[tuple[Store, Supervisor]]:
    store = Store.open(Settings(data_dir=folder))
    supervisor = Supervisor(store, folder / "runs", events=store.write)
    supervisor.start()
    yield store, supervisor
    supervisor.close(stop_servers=True)
    store.close()


def main() -> None:
    deaths = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    kinds: dict[str, Start] = {"process": as_process, "watched, pid known": watched}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ours:
        if shutil.which("podman"):
            ours.enter_context(bare_image(Path(folder)))
            kinds["podman container"] = as_container
        store, supervisor = ours.enter_context(pitwall(Path(folder) / "data"))
        print("| server | deaths | noticed after: median | worst | over after: median | worst |")
        print("|---|---|---|---|---|---|")
        for kind, start in kinds.items():
            noticed, over = zip(*(die(store, supervisor, start) for _ in range(deaths)), strict=True)
            numbers = (median(noticed), max(noticed), median(over), max(over))
            print(f"| {kind} | {deaths} | {' | '.join(f'{seconds:.2f} s' for seconds in numbers)} |", flush=True)


if __name__ == "__main__":
    main()
