"""Time from a server's death by signal 9 until the store records it.

    python -m benchmarks.death_noticed [deaths of each kind]

Servers: a bare process; one in a podman container, if podman is installed (its first process is killed, not the
client); and one that Pitwall only watches. Measured from the kill until the run is durably no longer ready in the
store, and until all its processes are gone and the run has its cause.
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


def as_process(supervisor: Supervisor, resources: ExitStack) -> Run:
    return supervisor.launch(request_for())


def as_container(supervisor: Supervisor, resources: ExitStack) -> Run:
    return supervisor.launch(request("localhost/pitwall-bare"))


def watched(supervisor: Supervisor, resources: ExitStack) -> Run:
    (port,) = free_ports(1)
    server = resources.enter_context(
        subprocess.Popen(server_argv(port), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    )
    base_url = f"http://127.0.0.1:{port}"
    wait_for(lambda: psutil.Process(server.pid).net_connections(), 60)
    return supervisor.attach(base_url, Config(port=port), pid=server.pid)


def die(store: Store, supervisor: Supervisor, start: Start) -> tuple[float, float]:
    """Return the seconds from the kill until it is noticed, and until the run has ended."""
    with ExitStack() as resources:
        run_id = start(supervisor, resources).id
        run = wait_for(lambda: (stored := store.run(run_id)) and stored.state is RunState.READY and stored, 120)
        if start is as_container:
            run = wait_for(
                lambda: (
                    (stored_run := store.run(run_id)) and "container" in (stored_run.provenance or {}) and stored_run
                )
            )
        psutil.Process(run.pid).kill()
        killed_at = time.monotonic()
        noticed_s = [until(lambda state: state is not RunState.READY, store, run_id) - killed_at]
        noticed_s.append(until(lambda state: state.is_final, store, run_id) - killed_at)
    return noticed_s[0], noticed_s[1]


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
    with tempfile.TemporaryDirectory() as folder, ExitStack() as resources:
        if shutil.which("podman"):
            resources.enter_context(bare_image(Path(folder)))
            kinds["podman container"] = as_container
        store, supervisor = resources.enter_context(pitwall(Path(folder) / "data"))
        print("| server | deaths | noticed after: median | worst | over after: median | worst |")
        print("|---|---|---|---|---|---|")
        for kind, start in kinds.items():
            noticed, over = zip(*(die(store, supervisor, start) for _ in range(deaths)), strict=True)
            numbers = (median(noticed), max(noticed), median(over), max(over))
            print(f"| {kind} | {deaths} | {' | '.join(f'{seconds:.2f} s' for seconds in numbers)} |", flush=True)


if __name__ == "__main__":
    main()
