"""Limits of SQL: memory, time, rows or turns; each ends with one clear sentence."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from machine.run_with_timeout import run_bounded
from settings import Settings
from storage.sandbox.client import BUSY_NOTE, ROOT, Sandbox, SandboxExit
from storage.sandbox.job import MIB, Fault, SandboxJob, SandboxLimits, SqlRefusedError
from tests.launcher.servers import wait_for
from tests.storage.sandbox.test_sandbox_attacks import LIMITS, refusal
from tests.storage.sandbox.test_sandbox_attacks import sandbox as sandbox
from tests.storage.sandbox.test_sandbox_attacks import settings as settings
from tests.storage.sandbox.test_sandbox_attacks import untouched as untouched

pytestmark = pytest.mark.wide

ENDLESS = "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t"
HASTY = replace(LIMITS, seconds=3.0)  # for what never ends by itself


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range = 7",
        ENDLESS,
        "SELECT repeat('a', 2000000000)",
        "SELECT sum(length(repeat('a', 2000000000 + range))) FROM range(1000)",
        "SELECT list(range) FROM range(1000000000)",
        "SELECT string_agg(repeat('a', 1000), '') FROM range(10000000)",
        "SELECT sum(len(regexp_replace(repeat('ab', 99999) || range, '(.{1,50}){1,20}b?', 'c', 'g'))) FROM range(9999)",
        "SELECT array_agg(a ORDER BY hash(a)) FROM range(1000000000) t(a)",
        "SELECT repeat('x', 1000000) FROM range(10000)",
    ],
)
def test_a_bomb_ends_with_a_sentence(settings: Settings, sql: str) -> None:
    sandbox = Sandbox(settings, run_bounded, HASTY)
    actual_refusal = refusal(sandbox, sql)
    assert actual_refusal.fault is Fault.LIMIT
    assert "The query" in str(actual_refusal)


@pytest.mark.parametrize(
    "sql", ["SELECT " + "(" * 100_000, "SELECT " + "1+" * 50_000 + "1", "SELECT " + "[" * 5_000 + "]" * 5_000]
)
def test_deep_nesting_is_refused(sandbox: Sandbox, sql: str) -> None:
    assert refusal(sandbox, sql).fault in (Fault.STATEMENT, Fault.LIMIT)


def test_a_nul_is_refused_in_a_sentence(sandbox: Sandbox) -> None:
    actual_refusal = refusal(sandbox, "SELECT 1 \0 AS one")
    assert actual_refusal.fault is Fault.STATEMENT and "NUL character" in str(actual_refusal)


@pytest.mark.parametrize(("load", "ended_by", "is_told"), [(99.0, signal.SIGALRM, True), (0.0, signal.SIGALRM, False),
                                                           (99.0, signal.SIGXCPU, False)])  # fmt: skip
def test_starved_query_is_reported_as_such(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, load: float, ended_by: signal.Signals, is_told: bool
) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (load, load, load))
    killed = subprocess.CompletedProcess([], -ended_by, b"", b"")
    actual_refusal = refusal(Sandbox(settings, lambda *_: killed, HASTY), "SELECT 1")
    assert (
        str(actual_refusal).startswith("The query was stopped at its time limit of 3 s")
        and (BUSY_NOTE in str(actual_refusal)) is is_told
    )


def test_long_answers_are_cut_and_say_so(sandbox: Sandbox) -> None:
    by_rows = sandbox.ask("SELECT range AS i FROM range(100000)")
    assert (by_rows.table.num_rows, by_rows.truncated) == (LIMITS.most_rows, True)
    exactly = sandbox.ask(f"SELECT range AS i FROM range({LIMITS.most_rows})")
    assert (exactly.table.num_rows, exactly.truncated) == (LIMITS.most_rows, False)


def test_many_at_once_wait_their_turn_or_are_told(settings: Settings) -> None:
    limits = SandboxLimits(seconds=2.0, memory_bytes=64 * MIB, at_once=2, wait_s=0.1)
    faults: list[Fault] = []

    def run_when_the_others_were_told(
        argv: Sequence[str], cwd: Path, environ: Mapping[str, str], stdin: bytes, timeout_s: float
    ) -> SandboxExit:
        wait_for(lambda: faults.count(Fault.BUSY) == 10)
        return run_bounded(argv, cwd, environ, stdin, timeout_s)

    sandbox = Sandbox(settings, run_when_the_others_were_told, limits)

    def attack() -> None:
        try:
            sandbox.ask(ENDLESS)
        except SqlRefusedError as said:
            faults.append(said.fault)

    threads = [threading.Thread(target=attack) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(faults) == sorted([Fault.LIMIT] * 2 + [Fault.BUSY] * 10)

    def is_given_a_turn() -> bool:
        try:
            return sandbox.ask("SELECT 1 AS one").table.to_pylist() == [{"one": 1}]
        except SqlRefusedError as said:
            assert said.fault is Fault.LIMIT, "a machine may be too busy for 2 s; a turn there is"
            return False

    wait_for(is_given_a_turn)


def test_orphaned_query_ends_by_itself(settings: Settings) -> None:
    """The asker is gone, so the kernel's alarm ends it."""
    job = SandboxJob(ENDLESS, str(settings.published_path), str(settings.parquet_dir), SandboxLimits(seconds=1.0))
    ended = run_bounded([sys.executable, "-m", "storage.sandbox"], ROOT, {}, job.encode(), 60.0)
    assert ended.returncode == -signal.SIGALRM


def test_without_a_published_file_it_is_told(tmp_path: Path) -> None:
    actual_refusal = refusal(Sandbox(Settings(data_dir=tmp_path), run_bounded), "SELECT 1")
    assert actual_refusal.fault is Fault.UNAVAILABLE
