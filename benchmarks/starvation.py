"""What a busy host does to a measured server: its threads' wait for a CPU, and its speed, quiet and beside burners.

`python -m benchmarks.starvation [--tries 3] [--burners 0 1 2 4] [--quota 0.5]` prints a line a run and a table. The
demo's plain and n-gram servers (llama.cpp) are put under the demo's load by Pitwall's own client, launched by the
supervisor and looked at by the standard collectors, all on this machine. A burner is a process that only computes. Each
try takes every arrangement once, so that what drifts falls on all alike. Other work on the machine is waited out as far
as `--patience` allows, and is shown with each run; a run without burners that it fell upon is left out of the table.
Where it does not end, `--favoured undisturbed` (as root, control groups v1) gives all processes of runs without burners
256 times the usual weight: others have what they leave, and they compete among themselves alone; `--favoured all` does
so for runs with burners too, burners and all. `--quota` also runs the servers in a control group that may use so many
CPUs.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import psutil

from analysis.runs.conditions import Conditions, Span
from collectors.loop import CollectorLoop
from collectors.standard import standard_collectors
from demo.presets import DemoConfig, demo_configs
from domain import Run
from launcher.checks.preflight import LaunchRequest
from launcher.runs.supervisor import Supervisor
from machine.identity import machine_id
from settings import Settings
from storage.ask.condition_queries import conditions
from storage.store import Store
from workloads import spec_for
from workloads.process.prepare import prepare_workload

BURNER = "while True: pass"
QUIET_RATIO = 0.1  # of all cores, used by others before a run begins
LOOK_S = 3.0
GROUP = Path("/sys/fs/cgroup/cpu/pitwall-limited")
FAVOURED = Path("/sys/fs/cgroup/cpu/pitwall-favoured")
MOST_SHARES = 262_144  # of what a session has 1,024 of
LOAD = {"requests": 8, "tokens": 250, "warmup_tokens": 16}


class Arrangement(NamedTuple):
    """Which server, beside how many burners, with how many CPUs allowed (None: no limit)."""

    config: str
    burners: int
    quota: float | None = None

    def __str__(self) -> str:
        limit = f", limited to {self.quota:g} CPUs" if self.quota else ""
        return f"{self.config.removeprefix('Demo: ')}, {self.burners} burners{limit}"


class Seen(NamedTuple):
    """One run: how busy others kept the machine around it, its conditions and its decode tokens a second."""

    load_average: float
    busy_around: float  # share of all cores before it or after it, whichever is higher
    is_favoured: bool
    conditions: Conditions
    decode_tps: float

    @property
    def was_left_alone(self) -> bool:
        return self.is_favoured or self.busy_around <= QUIET_RATIO


@contextmanager
def burning(count: int) -> Iterator[None]:
    """Each in a session of its own, as another person's job is: the scheduler shares cores between sessions."""
    started = [subprocess.Popen([sys.executable, "-c", BURNER], start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


@contextmanager
def limited(run: Run, cpus: float | None, supervisor: Supervisor) -> Iterator[None]:
    """The server's processes in a control group of their own while the run goes on."""
    if cpus is None:
        yield
        return
    GROUP.mkdir(exist_ok=True)
    (GROUP / "cpu.cfs_period_us").write_text("100000")
    (GROUP / "cpu.cfs_quota_us").write_text(str(round(cpus * 100000)))
    while (pid := next((one.pid for one in supervisor.live_runs() if one.id == run.id), None)) is None:
        time.sleep(0.05)
    (GROUP / "cgroup.procs").write_text(str(pid))
    yield


@contextmanager
def favoured(wanted: bool) -> Iterator[None]:
    """This process, and what it starts meanwhile, in a group whose weight leaves others what it does not want."""
    if wanted:
        FAVOURED.mkdir(exist_ok=True)
        (FAVOURED / "cpu.shares").write_text(str(MOST_SHARES))
        (FAVOURED / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        if wanted:
            (FAVOURED.parent / "cgroup.procs").write_text(str(os.getpid()))


def busy_ratio(seconds: float) -> float:
    """Share of all cores in use over the next seconds."""
    return float(psutil.cpu_percent(interval=seconds)) / 100


def quiet(patience_s: float) -> float:
    """Wait until others leave the machine alone; the share they use at last."""
    began = time.monotonic()
    while (busy := busy_ratio(LOOK_S)) > QUIET_RATIO and time.monotonic() - began < patience_s:
        continue
    return busy


def measure(
    store: Store, supervisor: Supervisor, demo: DemoConfig, asked: Arrangement, patience_s: float, is_favoured: bool
) -> Seen:
    busy, load_average = quiet(0.0 if is_favoured else patience_s), os.getloadavg()[0]
    with favoured(is_favoured), burning(asked.burners):
        request = LaunchRequest(demo.config, name=str(asked), workload=spec_for("demo-stream", LOAD), makes_model=True)
        run = supervisor.launch(request)
        with limited(run, asked.quota, supervisor):
            while not (ended := store.run(run.id)) or not ended.state.is_final:
                time.sleep(0.2)
    busy = max(busy, busy_ratio(LOOK_S))
    if ended.cause:
        raise SystemExit(f"{asked}: {ended.cause}")
    rows = store.query(
        "SELECT sent_at, total_ms, completion_tokens, decode_ms FROM requests "
        "WHERE run_id = $run AND phase = 'measure' AND error_kind IS NULL ORDER BY sent_at",
        {"run": run.id},
    ).to_pylist()
    ends = [row["sent_at"] + timedelta(milliseconds=row["total_ms"]) for row in rows]
    (found,) = conditions(store, [Span(run.id, rows[0]["sent_at"], max(ends))])
    speed = sum(row["completion_tokens"] - 1 for row in rows) / sum(row["decode_ms"] for row in rows) * 1000
    return Seen(load_average, busy, is_favoured, found, speed)


def try_until_quiet(
    store: Store, supervisor: Supervisor, demo: DemoConfig, asked: Arrangement, patience_s: float, is_favoured: bool
) -> Seen:
    """Runs, each printed, until others left one alone or patience is out; the last of them."""
    began = time.monotonic()
    while True:
        seen = measure(store, supervisor, demo, asked, patience_s, is_favoured)
        print(line(asked, seen), flush=True)
        if seen.was_left_alone or asked.burners or time.monotonic() - began > patience_s:
            return seen


def line(asked: Arrangement, seen: Seen) -> str:
    its = seen.conditions
    ratios = (
        its.starvation_ratio,
        its.throttled_ratio,
        its.steal_ratio,
        its.host_busy_ratio,
    )
    shares = " | ".join("unknown" if ratio is None else f"{ratio:.1%}" for ratio in ratios)
    cores = f"{its.own_cores or 0:.2f} | {its.other_cores or 0:.2f}"
    return (
        f"| {asked} | {seen.load_average:.2f} | {seen.busy_around:.0%} | {shares} | {cores} | {seen.decode_tps:.0f} |"
    )


def summary(asked: Arrangement, runs: Sequence[Seen]) -> str:
    def spread(values: Sequence[float | None], form: str) -> str:
        known = [value for value in values if value is not None]
        if not known:
            return "unknown"
        return f"{statistics.median(known):{form}} ({min(known):{form}} to {max(known):{form}})"

    if not runs:
        return f"| {asked} | none was left alone by others |"
    columns = [
        spread([one.conditions.starvation_ratio for one in runs], ".1%"),
        spread([one.conditions.throttled_ratio for one in runs], ".1%"),
        spread([one.conditions.steal_ratio for one in runs], ".2%"),
        spread([one.conditions.host_busy_ratio for one in runs], ".0%"),
        spread([one.decode_tps for one in runs], ".0f"),
        spread([one.busy_around for one in runs], ".0%"),
    ]
    return f"| {asked} | {len(runs)} | " + " | ".join(columns) + " |"


@contextmanager
def own_pitwall(folder: Path) -> Iterator[tuple[Store, Supervisor]]:
    """Store, supervisor and collectors as Pitwall composes them; no server is left at the end."""
    store = Store.open(Settings(data_dir=folder))
    supervisor = Supervisor(store, folder / "runs", events=store.write, prepare_workload=prepare_workload)
    loop = CollectorLoop(store.write, supervisor.live_runs, standard_collectors(machine_id(), store.tail_position))
    supervisor.start()
    loop.start()
    try:
        yield store, supervisor
    finally:
        loop.stop()
        supervisor.close(stop_servers=True)
        store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--burners", type=int, nargs="+", default=[0, 1, 2, 4])
    parser.add_argument("--quota", type=float)
    parser.add_argument("--favoured", choices=("undisturbed", "all"))
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to wait for a quiet machine")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    found: dict[Arrangement, list[Seen]] = {}
    with tempfile.TemporaryDirectory() as name, own_pitwall(Path(name)) as (store, supervisor):
        demos = {one.name: one for one in demo_configs(Path(name)) if "draft" not in one.name}
        arrangements = [Arrangement(name, burners) for burners in given.burners for name in demos]
        if given.quota:
            arrangements += [Arrangement(name, 0, given.quota) for name in demos]
        print("| arrangement | load | busy around | starved | throttled | stolen | host busy | own | others | tok/s |")
        for asked in arrangements * given.tries:
            is_favoured = not asked.quota and (given.favoured == "all" or bool(given.favoured and not asked.burners))
            seen = try_until_quiet(store, supervisor, demos[asked.config], asked, given.patience, is_favoured)
            found.setdefault(asked, []).append(seen)
    print("\n| server and burners | runs | starved | throttled | stolen | host busy | decode tok/s | busy around |")
    print("|---|---|---|---|---|---|---|---|")
    for asked, runs in found.items():
        print(summary(asked, [run for run in runs if run.was_left_alone or asked.burners]))


if __name__ == "__main__":
    main()
