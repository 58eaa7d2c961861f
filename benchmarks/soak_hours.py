"""Soak test over hours: 8 live runs, a viewer, a reader of the published file; memory over time.

`python -m benchmarks.soak_hours [--hours 2] [--lines FILE]` prints a line every 30 s and, at the end, the growth and
the counts; it fails if a row is missing or duplicated, or anything was refused. Everything is real: app.py as a process
of its own adopts 8 llama.cpp servers launched under its shims (the demo's smallest model), each gets a short request
every few seconds, a WebSocket reads what the Live page reads, and this process opens the published file every ten
seconds. Everything runs at nice 10.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import math
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TextIO

import duckdb
import httpx
import psutil
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from demo.model import TINY, make_model
from demo.presets import demo_config, free_ports
from domain import Run, RunState
from launcher.checks.launch_request import LaunchRequest
from launcher.runs.supervisor import Supervisor
from settings import Settings
from storage.store import Store
from tests.e2e.pitwall_process import Pitwall, parsed_log, wait_until

RUNS = 8
LINE_EVERY_S = 30.0
REQUEST_EVERY_S = 3.0
READ_EVERY_S = 10.0
WARM_UP_H = 1 / 3
GAP_S = 5.0  # between two looks of a collector that looks once a second
MIB = 2**20
LOOKS = """
SELECT count(*), count(*) - count(DISTINCT mono_s), count(*) FILTER (gap_s > {gap_s}), max(gap_s)
FROM (
    SELECT mono_s, mono_s - lag(mono_s) OVER (ORDER BY mono_s) AS gap_s
    FROM counter_samples WHERE run_id = '{run_id}'
)
"""
GROWING = ("counter_samples", "host_samples", "log_samples", "slot_samples", "events")


@dataclass(frozen=True)
class Line:
    """State at one time."""

    hours: float
    rss_mib: float
    private_mib: float  # what no other process shares
    children: int
    children_rss_mib: float
    threads: int
    open_files: int
    data_mib: float
    published_mib: float
    store_mib: float
    pitwall_cores: float  # since the line before
    load: float
    viewer_messages: int
    reads: int
    faults: int


def launched_runs(data: Path) -> list[Run]:
    """Launch real servers under their shims, as Pitwall does, and leave them running."""
    store = Store.open(Settings(data_dir=data))
    supervisor = Supervisor(store, data / "runs", events=store.write)
    supervisor.start()
    target = make_model(data / "demo", TINY).target
    try:
        for number, port in enumerate(free_ports(RUNS)):
            config = demo_config(f"Soak {number}", target, port, [], None)
            supervisor.launch(LaunchRequest(config.config, name=config.name))
        wait_until(lambda: {run.state for run in store.runs()} == {RunState.READY}, 120)
        return store.runs()
    finally:
        supervisor.close()
        store.close()


def keep_asking(base_url: str, stop: threading.Event, counts: Counter[str]) -> None:
    """Send a short request every few seconds."""
    with httpx.Client(base_url=base_url, timeout=60) as client:
        while not stop.wait(REQUEST_EVERY_S):
            body = {"prompt": f"Lap {time.time()}:", "n_predict": 48}
            try:
                client.post("/completion", json=body).raise_for_status()
                counts["requests"] += 1
            except httpx.HTTPError as error:
                counts[f"fault: request {type(error).__name__}"] += 1


def keep_watching(pitwall: Pitwall, run_ids: list[str], stop: threading.Event, counts: Counter[str]) -> None:
    """Read all runs on one WebSocket, as the Live page does."""

    async def watch() -> None:
        cookie = httpx.get(f"{pitwall.url}/?token={pitwall.token}").headers["set-cookie"].split(";")[0]
        address = f"{pitwall.url.replace('http', 'ws')}/ws/live?" + "&".join(f"run={run_id}" for run_id in run_ids)
        while not stop.is_set():
            with contextlib.suppress(ConnectionClosed):
                async with connect(address, additional_headers={"cookie": cookie}, max_size=None) as socket:
                    await socket.send("{}")
                    counts["connections"] += 1
                    while not stop.is_set():
                        await asyncio.wait_for(socket.recv(), 60)
                        counts["messages"] += 1
            counts["fault: viewer cut off"] += not stop.is_set()

    asyncio.run(watch())


def keep_reading(pitwall: Pitwall, stop: threading.Event, counts: Counter[str]) -> None:
    """Check that the rows of the published file never decrease."""
    before: dict[str, int] = {}
    sql = " UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in GROWING)
    while not stop.wait(READ_EVERY_S):
        try:
            now = dict(pitwall.sql(sql))
        except duckdb.Error as error:
            counts[f"fault: reader {str(error)[:80]}"] += 1
            continue
        counts["reads"] += 1
        counts["fault: rows gone"] += any(now[table] < rows for table, rows in before.items())
        before = now


def guard(task: Callable[[], None], counts: Counter[str]) -> None:
    """Report a thread's exception: a dead thread would look like one with nothing to report."""
    try:
        task()
    except BaseException as error:
        counts[f"fault: {error!r}"] += 1
        raise


def faults(counts: Counter[str]) -> int:
    return sum(count for name, count in counts.items() if name.startswith("fault"))


def size_mib(path: Path) -> float:
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file()) / MIB


def look(pitwall: psutil.Process, data: Path, counts: Counter[str], hours: float, cores: float) -> Line:
    memory = pitwall.memory_full_info()
    children = pitwall.children(recursive=True)
    return Line(
        hours,
        memory.rss / MIB,
        memory.uss / MIB,
        len(children),
        sum(child.memory_info().rss for child in children) / MIB,
        pitwall.num_threads(),
        pitwall.num_fds(),
        size_mib(data),
        size_mib(data / "monitor.duckdb"),
        size_mib(data / "store.duckdb"),
        cores,
        os.getloadavg()[0],
        counts["messages"],
        counts["reads"],
        faults(counts),
    )


def look_for(hours: float, process: psutil.Process, data: Path, counts: Counter[str]) -> Iterator[Line]:
    began_s = last = time.monotonic()
    used_s = sum(process.cpu_times()[:2])
    while last - began_s < hours * 3600:
        time.sleep(min(LINE_EVERY_S, hours * 3600))
        now, now_used = time.monotonic(), sum(process.cpu_times()[:2])
        with contextlib.suppress(FileNotFoundError, psutil.NoSuchProcess):  # a file or a child that just went
            yield look(process, data, counts, (now - began_s) / 3600, (now_used - used_s) / (now - last))
        last, used_s = now, now_used


def say(text: str, out: TextIO) -> None:
    print(text, file=out, flush=True)


def growth(lines: list[Line], name: str, since_h: float) -> float:
    """Return the growth in MiB per hour since then, by least squares."""
    recent = [line for line in lines if line.hours >= since_h]
    if len(recent) < 2:
        return math.nan
    return statistics.linear_regression(
        [point.hours for point in recent], [getattr(point, name) for point in recent]
    ).slope


def say_memory(lines: list[Line], out: TextIO) -> None:
    warm_up = WARM_UP_H if lines[-1].hours > 2 * WARM_UP_H else 0.0
    say("| | after warm-up | at the end | at most | growth an hour | in the second half |", out)
    for name in ("rss_mib", "private_mib", "threads", "open_files", "published_mib", "store_mib", "data_mib"):
        values = [getattr(line, name) for line in lines if line.hours >= warm_up]
        slopes = " | ".join(f"{growth(lines, name, since_h):+.2f}" for since_h in (warm_up, lines[-1].hours / 2))
        say(f"| {name} | {values[0]:.1f} | {values[-1]:.1f} | {max(values):.1f} | {slopes} |", out)
    say(f"CPU: {statistics.mean(line.pitwall_cores for line in lines):.3f} cores", out)


def say_counts(pitwall: Pitwall, runs: list[Run], hours: float, out: TextIO) -> int:
    """Check that there is one reading per second and each log line once; return the number of wrong rows."""
    say("| run | looks | expected | twice | gaps | longest gap, s | log samples | in the log | not the same |", out)
    wrong = 0
    for run in runs:
        looks, twice, gaps, longest_s = pitwall.sql(LOOKS.format(run_id=run.id, gap_s=GAP_S))[0]
        lines = f"SELECT line FROM log_samples WHERE run_id = '{run.id}'"
        stored = Counter(line for (line,) in pitwall.sql(lines))
        written_counts = Counter(sample["line"] for sample in parsed_log(Path(str(run.log_path)))["samples"])
        differing = (stored - written_counts).total() + (written_counts - stored).total()
        rows = (
            looks,
            round(hours * 3600),
            twice,
            gaps,
            f"{longest_s:.1f}",
            stored.total(),
            written_counts.total(),
            differing,
        )
        say("| " + " | ".join(map(str, (run.name, *rows))) + " |", out)
        wrong += twice + differing
    return wrong


def soak(hours: float, folder: Path, out: TextIO) -> int:
    """Run the test; return the number of wrong rows and of faults."""
    data, counts, stop = folder / "data", Counter[str](), threading.Event()
    pitwall = Pitwall(data, free_ports(1)[0])
    try:
        runs = launched_runs(data)
        pitwall.start()
        assert pitwall.process
        tasks: list[Callable[[], None]] = [
            *(partial(keep_asking, str(run.base_url), stop, counts) for run in runs),
            partial(keep_watching, pitwall, [run.id for run in runs], stop, counts),
            partial(keep_reading, pitwall, stop, counts),
        ]
        for task in tasks:
            threading.Thread(target=guard, args=(task, counts), daemon=True).start()
        say("\t".join(["time", *(field.name for field in fields(Line))]), out)
        lines = []
        for line in look_for(hours, psutil.Process(pitwall.process.pid), data, counts):
            lines.append(line)
            say("\t".join([f"{datetime.now(UTC):%H:%M:%S}", *(f"{value:.4g}" for value in astuple(line))]), out)
        stop.set()
        say(f"ended with {pitwall.terminate(300)}", out)
        say_memory(lines, out)
        wrong = say_counts(pitwall, runs, lines[-1].hours, out)
        say("\n".join(f"{name}: {count}" for name, count in sorted(counts.items()) if count), out)
        say(pitwall.said, out)
        return wrong + faults(counts)
    finally:
        pitwall.end_everything()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hours", type=float, default=2.0)
    parser.add_argument("--lines", type=argparse.FileType("w"), default=sys.stdout)
    arguments = parser.parse_args()
    os.nice(10)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="pitwall-soak-") as folder:
        wrong = soak(arguments.hours, Path(folder), arguments.lines)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
