"""Whole Pitwall that processes a queue of server starts, and its command line's answers about them, for checks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from demo.presets import free_ports
from domain import RunState
from launcher.checks.launch_request import LaunchRequest
from launcher.runs.rounds import new_seed, repeat_requests
from launcher.runs.supervisor import Supervisor
from settings import Settings
from storage.store import Store
from tests.e2e.pitwall_process import Pitwall, wait_until

ROOT = Path(__file__).resolve().parent.parent
CLAIMS = ("better", "worse")
LIVES_S = 300.0
LOOK_EVERY_S = 5.0  # seldom: what is measured meanwhile should not notice


@contextmanager
def supervising(data: Path) -> Iterator[Supervisor]:
    """Yield a supervisor that does not tick, while no Pitwall is running."""
    store = Store.open(Settings(data_dir=data))
    supervisor = Supervisor(store, data / "runs", events=store.write)
    supervisor.adopt_all()
    try:
        yield supervisor
    finally:
        supervisor.close()
        store.close()


def put_in_queue(data: Path, requests: Sequence[LaunchRequest], repeats: int) -> None:
    """Queue rounds of one start each, as the Launch page does."""
    with supervising(data) as supervisor:
        supervisor.launch_batch(repeat_requests(requests, repeats, new_seed()), one_after_the_other=True)


def work_off(data: Path, limit_s: float, look_every_s: float = LOOK_EVERY_S) -> None:
    """Let a Pitwall process the queue, and end it afterwards; no server is left in any case."""
    pitwall = Pitwall(data, free_ports(1)[0])
    try:
        pitwall.start()
        wait_until(lambda: are_over(pitwall), limit_s, every_s=look_every_s)
        pitwall.terminate(LIVES_S)
    finally:
        if pitwall.process and pitwall.process.poll() is None:
            pitwall.kill()
        with supervising(data) as supervisor:
            supervisor.close(stop_servers=True)


def are_over(pitwall: Pitwall) -> bool:
    states = pitwall.sql("SELECT name, state, cause FROM runs ORDER BY run_id")
    if failed := [f"{name}: {cause}" for name, state, cause in states if state == RunState.FAILED]:
        sys.exit("\n".join(failed))
    return all(state == RunState.FINISHED for _, state, _ in states)


def compare(data: Path, runs: Sequence[str], objective: str) -> dict[str, Any]:
    """Return the command line's comparison of these runs."""
    argv = [sys.executable, str(ROOT / "pitwall"), "compare", *runs, "--json"]
    env = os.environ | {"PITWALL_DATA": str(data)}
    process = subprocess.run([*argv, "--objective", objective], env=env, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(process.stdout)
    return answer


def runs_by_arm(data: Path, left_out: Collection[str] = ()) -> dict[str, list[str]]:
    """Return run ids by name without the repeat's number, sorted by it."""
    ids_by_name: dict[str, list[str]] = {}
    for run_id, name in Pitwall(data, 0).sql("SELECT run_id, name FROM runs ORDER BY name"):
        if name not in left_out:
            ids_by_name.setdefault(name.partition(" #")[0], []).append(run_id)
    return ids_by_name
