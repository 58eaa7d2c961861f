"""Delay of the store's commits while expensive SQL queries are being answered.

    python -m benchmarks.sql_load [seconds]

The writer takes 2,000 rows per second, alternately alone and while eight threads send resource bombs to the sandbox
without a pause. The ratio of the two is the cost of an attack for viewers.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path

import numpy as np

from benchmarks.store_write import PACED_BATCHES_PER_S, batches, paced
from machine.run_with_timeout import run_bounded
from settings import Settings
from storage.sandbox.client import Sandbox
from storage.sandbox.job import SandboxLimits, SqlRefusedError
from storage.store import Store

ATTACKERS = 8
TURNS = 4
BOMBS = (
    "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range = 7",
    "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t",
    "SELECT repeat('a', 2000000000)",
    "SELECT list(range) FROM range(1000000000)",
    "SELECT count(*) FROM counter_samples a, counter_samples b, counter_samples c WHERE hash(a, b, c) = 7",
)
LIMITS = SandboxLimits(seconds=5.0)


def attack(sandbox: Sandbox, ended: threading.Event, answers: Counter[str]) -> None:
    for sql in cycle(BOMBS):
        if ended.is_set():
            return
        try:
            sandbox.ask(sql)
            answers["answered"] += 1
        except SqlRefusedError as refusal:
            answers[refusal.fault] += 1


@contextmanager
def attacked(sandbox: Sandbox, answers: Counter[str]) -> Iterator[None]:
    """Send bombs from all threads until the block is left."""
    ended = threading.Event()
    attackers = [threading.Thread(target=attack, args=(sandbox, ended, answers)) for _ in range(ATTACKERS)]
    for attacker in attackers:
        attacker.start()
    yield
    ended.set()
    for attacker in attackers:
        attacker.join()


def main(seconds: float) -> None:
    batch_list = batches(int(seconds / TURNS * PACED_BATCHES_PER_S))
    quiet: list[float] = []
    loud: list[float] = []
    answers: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder) / "data")
        store = Store.open(settings)
        sandbox = Sandbox(settings, run_bounded, LIMITS)
        for _ in range(TURNS):  # in turns, for what else the machine does changes too
            quiet += paced(store, batch_list)
            with attacked(sandbox, answers):
                loud += paced(store, batch_list)
        store.close()
    print("| rows/s | commit alone: p50 | p99 | attacked: p50 | p99 | ratio p50 | p99 | attacks |")
    print("|---|---|---|---|---|---|---|---|")
    before, after = np.percentile(quiet, [50, 99]), np.percentile(loud, [50, 99])
    times = " | ".join(f"{value:.0f} ms" for value in (*before, *after))
    ratios = " | ".join(f"{value:.2f}" for value in after / before)
    fault_text = ", ".join(f"{count} {fault}" for fault, count in answers.most_common())
    print(f"| 2,000 | {times} | {ratios} | {fault_text} |")
    print(f"\nload average {os.getloadavg()[0]:.0f}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
