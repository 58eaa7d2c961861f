"""`make test-vllm`: launches a real vLLM and kills one of its processes with signal 9, each in turn.

After the API server, the engine core or the worker is killed, nothing may be left and its memory must be free; after
the shim is killed, the server must continue, and nothing may be left after Stop. Prints a table, exits 1 otherwise.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
import psutil

from collectors.logs.failure_cause import failure_of
from demo.presets import free_ports
from domain import Config, Run, RunState
from launcher.checks.launch_request import LaunchRequest
from launcher.processes.descendants import is_living, name_of
from launcher.processes.process import processes_of, server_process, shim_process
from launcher.runs.supervisor import Supervisor
from scripts.vllm.check_vllm import ENVIRONMENT, READY_WITHIN_S, wait_until
from settings import Settings
from storage.store import Store

GONE_WITHIN_S = 30.0
GIB = 2**30
Victim = Callable[[Path], psutil.Process | None]


class Outcome(NamedTuple):
    """Result of one kill: what was used before, what was left after the run's end, and the recorded cause."""

    victim: str
    processes: int
    held_gib: float
    gone_after_s: float
    left: int
    said: str


def titled(title_part: str) -> Victim:
    """Return a finder of the run's process whose title contains this text."""
    return lambda directory: next((p for p in processes_of(directory) if title_part in name_of(p)), None)


VICTIMS: dict[str, Victim] = {
    "API server": server_process,
    "EngineCore": titled("EngineCor"),
    "Worker": titled("Worker"),
    "supervisor": shim_process,
}


@contextmanager
def launching(scratch: Path) -> Iterator[tuple[Supervisor, Store]]:
    store = Store.open(Settings(data_dir=scratch / "data"))
    supervisor = Supervisor(store, scratch / "data" / "runs", events=store.write, explain_failure=failure_of)
    supervisor.start()
    try:
        yield supervisor, store
    finally:
        supervisor.close(stop_servers=True)
        store.close()


def request(vllm: Path, model: Path) -> LaunchRequest:
    port = free_ports(1)[0]
    argv = [str(vllm / "bin/vllm"), "serve", str(model), "--served-model-name", "tiny", "--port", str(port)]
    argv += ["--host", "127.0.0.1", "--enforce-eager", "--max-model-len", "2048", "--max-num-seqs", "8"]
    env = ENVIRONMENT | {"PATH": f"{vllm / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    config = Config(engine="vllm", model=str(model), argv=tuple(argv), env=env, host="127.0.0.1", port=port)
    return LaunchRequest(config, ready_timeout_s=READY_WITHIN_S)


def kill(supervisor: Supervisor, store: Store, request: LaunchRequest, victim: str) -> Outcome | None:
    """Launch one server, kill one of its processes, wait for the run's end; None if vLLM has no such process."""
    run = supervisor.launch(request)
    wait_until(lambda: state_of(store, run) not in (RunState.QUEUED, RunState.STARTING), READY_WITHIN_S, "not ready")
    directory = Path(run.run_dir or "")
    if state_of(store, run) is not RunState.READY:
        sys.exit(f"vLLM did not start: {store.run(run.id)}\n{(directory / 'server.log').read_text()[-3000:]}")
    family, process = processes_of(directory), VICTIMS[victim](directory)
    held_gib = sum(member.memory_info().rss for member in family) / GIB
    if process:
        process.kill()
    began = time.monotonic()
    if process and victim == "supervisor":
        wait_until(lambda: not is_living(process), GONE_WITHIN_S, "the supervisor was not killed")
        answer(run)
    if not process or victim == "supervisor":
        supervisor.stop(run.id)
    wait_until(lambda: state_of(store, run).is_final, 3 * GONE_WITHIN_S, "the run did not end")
    gone_after_s, total = time.monotonic() - began, sum(map(is_living, family))
    return Outcome(victim, len(family), held_gib, gone_after_s, total, words_of(store, run)) if process else None


def state_of(store: Store, run: Run) -> RunState:
    stored = store.run(run.id)
    return stored.state if stored else RunState.QUEUED


def answer(run: Run) -> None:
    """Request one completion from the server that has lost its shim."""
    body = {"model": "tiny", "prompt": "one two three", "max_tokens": 8}
    httpx.post(f"{run.base_url}/v1/completions", json=body, timeout=60.0).raise_for_status()


def words_of(store: Store, run: Run) -> str:
    """Return how the run ended, and the processes that had to be ended."""
    sql = "SELECT data FROM events WHERE run_id = ? AND kind = 'state' ORDER BY ts DESC LIMIT 1"
    ended = store.run(run.id)
    rows = store.query(sql, [run.id]).to_pylist()
    return f"{(ended and (ended.cause or ended.note)) or 'finished'} {rows[0]['data'] if rows else ''}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vllm", type=Path, help="the environment that scripts/install_vllm.sh made")
    parser.add_argument("model", type=Path, help="the folder that scripts/vllm/make_tiny_llama.py wrote")
    flags = parser.parse_args()
    outcomes = []
    with tempfile.TemporaryDirectory() as scratch, launching(Path(scratch)) as (supervisor, store):
        for victim in VICTIMS:
            outcome = kill(supervisor, store, request(flags.vllm.absolute(), flags.model.absolute()), victim)
            print(outcome or f"{victim}: this vLLM has no such process", flush=True)
            outcomes += [outcome] if outcome else []
    print("\n| killed | processes | held, GiB | gone after, s | left |\n| --- | --- | --- | --- | --- |")
    for result in outcomes:
        figures = f"{result.processes} | {result.held_gib:.2f} | {result.gone_after_s:.1f} | {result.left}"
        print(f"| {result.victim} | {figures} |")
    return int(any(outcome.left or outcome.gone_after_s > GONE_WITHIN_S for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
