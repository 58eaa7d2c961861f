"""Effect of a busy host on a measured server: its threads' wait for a CPU, and its speed, with and without burners.

`python -m benchmarks.starvation [--tries 3] [--burners 0 1 2 4] [--quota 0.5]` prints one line per run and a table. The
demo's plain and n-gram servers (llama.cpp) get the demo's load from Pitwall's client; they are launched by the
supervisor and observed by the standard collectors, all on this machine. A burner is a process that only computes. Each
try runs every arrangement once, so that drift affects all equally. Other work on the machine is waited for as long as
`--patience` allows, and is shown with each run; a disturbed run without burners is left out of the table. If the other
work does not end, `--favoured undisturbed` (as root, control groups v1) gives all processes of runs without burners 256
times the usual weight, so that they compete only among themselves; `--favoured all` also does so for runs with burners,
including the burners. `--quota` also runs the servers in a control group limited to this many CPUs.
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
from launcher.checks.launch_request import LaunchRequest
from launcher.runs.supervisor import Supervisor
from machine.identity import machine_id
from settings import Settings
from storage.queries.condition_queries import conditions
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
    """Server, number of burners, and number of allowed CPUs (None: no limit)."""

    config: str
    burners: int
    quota: float | None = None

    def __str__(self) -> str:
        limit = f", limited to {self.quota:g} CPUs" if self.quota else ""
        return f"{self.config.removeprefix('Demo: ')}, {self.burners} burners{limit}"


class MeasuredRun(NamedTuple):
    """One run: the load of other processes around it, its conditions and its decode tok/s."""

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
    """Run burners, each in its own session like another user's job: the scheduler shares cores between sessions."""
    started = [subprocess.Popen([sys.executable, "-c", BURNER], start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


@contextmanager
def limited(run: Run, cpus: float | None, supervisor: Supervisor) -> Iterator[None]:
    """Keep the server's processes in their own control group during the run."""
    if cpus is None:
        yield
        return
    GROUP.mkdir(exist_ok=True)
    (GROUP / "cpu.cfs_period_us").write_text("100000")
    (GROUP / "cpu.cfs_quota_us").write_text(str(round(cpus * 100000)))
    while (pid := next((live_run.pid for live_run in supervisor.live_runs() if live_run.id == run.id), None)) is None:
        time.sleep(0.05)
    (GROUP / "cgroup.procs").write_text(str(pid))
    yield


@contextmanager
def favoured(is_favoured: bool) -> Iterator[None]:
    """Put this process and its new children into a group with a high weight."""
    if is_favoured:
        FAVOURED.mkdir(exist_ok=True)
        (FAVOURED / "cpu.shares").write_text(str(MOST_SHARES))
        (FAVOURED / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        if is_favoured:
            (FAVOURED.parent / "cgroup.procs").write_text(str(os.getpid()))


def busy_ratio(seconds: float) -> float:
    """Return the share of all cores in use over the next seconds."""
    return float(psutil.cpu_percent(interval=seconds)) / 100


def quiet(patience_s: float) -> float:
    """Wait until other processes leave the machine idle; return the share that they use in the end."""
    began = time.monotonic()
    while (busy := busy_ratio(LOOK_S)) > QUIET_RATIO and time.monotonic() - began < patience_s:
        continue
    return busy


def measure(
    store: Store,
    supervisor: Supervisor,
    demo: DemoConfig,
    arrangement: Arrangement,
    patience_s: float,
    is_favoured: bool,
) -> MeasuredRun:
    busy, load_average = quiet(0.0 if is_favoured else patience_s), os.getloadavg()[0]
    with favoured(is_favoured), burning(arrangement.burners):
        request = LaunchRequest(
            demo.config, name=str(arrangement), workload=spec_for("demo-stream", LOAD), makes_model=True
        )
        run = supervisor.launch(request)
        with limited(run, arrangement.quota, supervisor):
            while not (ended := store.run(run.id)) or not ended.state.is_final:
                time.sleep(0.2)
    busy = max(busy, busy_ratio(LOOK_S))
    if ended.cause:
        raise SystemExit(f"{arrangement}: {ended.cause}")
    rows = store.query(
        "SELECT sent_at, total_ms, completion_tokens, decode_ms FROM requests "
        "WHERE run_id = $run AND phase = 'measure' AND error_kind IS NULL ORDER BY sent_at",
        {"run": run.id},
    ).to_pylist()
    ends = [row["sent_at"] + timedelta(milliseconds=row["total_ms"]) for row in rows]
    (run_conditions,) = conditions(store, [Span(run.id, rows[0]["sent_at"], max(ends))])
    speed = sum(row["completion_tokens"] - 1 for row in rows) / sum(row["decode_ms"] for row in rows) * 1000
    return MeasuredRun(load_average, busy, is_favoured, run_conditions, speed)


def try_until_quiet(
    store: Store,
    supervisor: Supervisor,
    demo: DemoConfig,
    arrangement: Arrangement,
    patience_s: float,
    is_favoured: bool,
) -> MeasuredRun:
    """Repeat and print runs until one is undisturbed or patience runs out; return the last one."""
    began = time.monotonic()
    while True:
        measured = measure(store, supervisor, demo, arrangement, patience_s, is_favoured)
        print(line(arrangement, measured), flush=True)
        if measured.was_left_alone or arrangement.burners or time.monotonic() - began > patience_s:
            return measured


def line(arrangement: Arrangement, measured: MeasuredRun) -> str:
    run_conditions = measured.conditions
    ratios = (
        run_conditions.starvation_ratio,
        run_conditions.throttled_ratio,
        run_conditions.steal_ratio,
        run_conditions.host_busy_ratio,
    )
    shares = " | ".join("unknown" if ratio is None else f"{ratio:.1%}" for ratio in ratios)
    cores = f"{run_conditions.own_cores or 0:.2f} | {run_conditions.other_cores or 0:.2f}"
    text = f"{measured.load_average:.2f} | {measured.busy_around:.0%}"
    return f"| {arrangement} | {text} | {shares} | {cores} | {measured.decode_tps:.0f} |"


def summary(arrangement: Arrangement, runs: Sequence[MeasuredRun]) -> str:
    def spread(values: Sequence[float | None], form: str) -> str:
        known_values = [value for value in values if value is not None]
        if not known_values:
            return "unknown"
        return f"{statistics.median(known_values):{form}} ({min(known_values):{form}} to {max(known_values):{form}})"

    if not runs:
        return f"| {arrangement} | none was left alone by others |"
    columns = [
        spread([measured.conditions.starvation_ratio for measured in runs], ".1%"),
        spread([measured.conditions.throttled_ratio for measured in runs], ".1%"),
        spread([measured.conditions.steal_ratio for measured in runs], ".2%"),
        spread([measured.conditions.host_busy_ratio for measured in runs], ".0%"),
        spread([measured.decode_tps for measured in runs], ".0f"),
        spread([measured.busy_around for measured in runs], ".0%"),
    ]
    return f"| {arrangement} | {len(runs)} | " + " | ".join(columns) + " |"


@contextmanager
def own_pitwall(folder: Path) -> Iterator[tuple[Store, Supervisor]]:
    """Compose store, supervisor and collectors as Pitwall does; no server is left at the end."""
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
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    runs_by_arrangement: dict[Arrangement, list[MeasuredRun]] = {}
    with tempfile.TemporaryDirectory() as name, own_pitwall(Path(name)) as (store, supervisor):
        demos = {config.name: config for config in demo_configs(Path(name)) if "draft" not in config.name}
        arrangements = [Arrangement(name, burners) for burners in arguments.burners for name in demos]
        if arguments.quota:
            arrangements += [Arrangement(name, 0, arguments.quota) for name in demos]
        print("| arrangement | load | busy around | starved | throttled | stolen | host busy | own | others | tok/s |")
        for arrangement in arrangements * arguments.tries:
            is_favoured = not arrangement.quota and (
                arguments.favoured == "all" or bool(arguments.favoured and not arrangement.burners)
            )
            measured = try_until_quiet(
                store, supervisor, demos[arrangement.config], arrangement, arguments.patience, is_favoured
            )
            runs_by_arrangement.setdefault(arrangement, []).append(measured)
    print("\n| server and burners | runs | starved | throttled | stolen | host busy | decode tok/s | busy around |")
    print("|---|---|---|---|---|---|---|---|")
    for arrangement, runs in runs_by_arrangement.items():
        print(summary(arrangement, [run for run in runs if run.was_left_alone or arrangement.burners]))


if __name__ == "__main__":
    main()
