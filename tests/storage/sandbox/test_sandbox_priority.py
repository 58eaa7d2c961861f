"""A statement lets other work go first, and only a long one starves on a busy machine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from machine.run_with_timeout import run_bounded
from settings import Settings
from storage.sandbox.client import Sandbox
from storage.sandbox.job import SandboxLimits, SqlRefusedError
from storage.sandbox.priority import LAST, SECOND
from storage.store import Store

pytestmark = pytest.mark.publishes
ENDLESS = "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t"


def _sandboxed() -> psutil.Process | None:
    """This process's own sandbox, if one runs."""
    for child in psutil.Process().children():
        try:
            if "storage.sandbox" in child.cmdline():
                return child
        except psutil.Error:
            continue
    return None


def _niceness_of(thread: threading.Thread) -> list[int]:
    """What the sandbox's computing thread was given, each value once, until the answer or the last place, its end."""
    seen = list[int]()
    while thread.is_alive():
        if one := _sandboxed():
            try:
                now = os.getpriority(os.PRIO_PROCESS, one.pid)
            except ProcessLookupError:
                continue
            if now not in seen:
                seen.append(now)
            if now == LAST:
                one.kill()
        time.sleep(0.01)
    return seen


def _query_thread(sandbox: Sandbox, sql: str) -> threading.Thread:
    def ask() -> None:
        with suppress(SqlRefusedError):
            sandbox.ask(sql)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


@pytest.mark.wide
def test_short_query_yields_less_than_long_query(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    Store.open(settings).close()
    sandbox = Sandbox(settings, run_bounded, SandboxLimits(seconds=30.0))
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    short, long = niceness + SECOND, LAST
    assert long not in _niceness_of(_query_thread(sandbox, "SELECT 1"))
    seen_niceness = _niceness_of(_query_thread(sandbox, ENDLESS))
    assert seen_niceness[-2:] == [short, long]


def test_short_query_answers_on_a_busy_machine(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    Store.open(settings).close()
    cores = os.cpu_count() or 1
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3 * cores)]
    try:
        answer = Sandbox(settings, run_bounded).ask("SELECT count(*) FROM runs")
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    assert answer.table.to_pylist() == [{"count_star()": 0}]
