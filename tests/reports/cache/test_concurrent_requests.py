"""Concurrent requests for an ended run are computed once, and again when more of it is stored."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest

from domain import Config, Run
from reports.cache.run_cache import RunCache

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
R1, R2, R3 = (
    Run(id=name, name=name, color=0, config=Config(), machine_id="m", created_at=NOW) for name in ("r1", "r2", "r3")
)
PATIENCE_S = 60.0


class Slow:
    """Computes how often a run was computed; each computation waits until it may end."""

    def __init__(self) -> None:
        self.times = Counter[str]()
        self.begun, self.may_end = threading.Semaphore(0), threading.Event()

    def __call__(self, store: object, runs: Sequence[Run]) -> dict[str, int]:
        self.times.update(run.id for run in runs)
        times_by_id = {run.id: self.times[run.id] for run in runs}
        self.begun.release()
        assert self.may_end.wait(PATIENCE_S)
        return times_by_id


class Asking:
    """Threads that ask; each has made its claims when `ask` returns."""

    def __init__(self, pool: ThreadPoolExecutor, kept: RunCache[int]) -> None:
        self._pool, self._kept = pool, kept
        self._claimed = threading.Semaphore(0)
        claims = kept._claim

        def noted(runs: Sequence[Run]) -> Any:
            actual_claims = claims(runs)
            self._claimed.release()
            return actual_claims

        kept._claim = noted  # type: ignore[method-assign]

    def ask(self, *runs: Run) -> Future[dict[str, int]]:
        asked = self._pool.submit(self._kept.get, None, runs)  # type: ignore[arg-type]
        assert self._claimed.acquire(timeout=PATIENCE_S)
        return asked


def test_run_is_computed_once_for_all_waiters() -> None:
    slow = Slow()
    run_cache = RunCache(slow, 10)
    with ThreadPoolExecutor(3) as pool:
        asking = Asking(pool, run_cache)
        told = [asking.ask(R1, R2), asking.ask(R2, R3), asking.ask(R1, R2, R3)]
        slow.may_end.set()
        assert [one.result(PATIENCE_S) for one in told] == [
            {"r1": 1, "r2": 1},
            {"r2": 1, "r3": 1},
            dict.fromkeys(("r1", "r2", "r3"), 1),
        ]
    assert slow.times == {"r1": 1, "r2": 1, "r3": 1}
    assert run_cache._computing == {}


def test_later_request_recomputes_after_new_rows() -> None:
    slow = Slow()
    run_cache = RunCache(slow, 10)
    with ThreadPoolExecutor(2) as pool:
        asking = Asking(pool, run_cache)
        before = asking.ask(R1)
        assert slow.begun.acquire(timeout=PATIENCE_S)
        run_cache.invalidate(["r1"])
        after = asking.ask(R1)
        slow.may_end.set()
        assert (before.result(PATIENCE_S), after.result(PATIENCE_S)) == ({"r1": 1}, {"r1": 2})
    assert run_cache.get(None, [R1]) == {"r1": 2}  # type: ignore[arg-type]


def test_error_reaches_waiters_and_next_retries() -> None:
    may_fail, fails = threading.Event(), [True]

    def make(store: object, runs: Sequence[Run]) -> dict[str, int]:
        assert may_fail.wait(PATIENCE_S)
        if fails[0]:
            raise OSError("the disk is gone")
        return {run.id: 7 for run in runs}

    run_cache = RunCache(make, 10)
    with ThreadPoolExecutor(2) as pool:
        asking = Asking(pool, run_cache)
        told = [asking.ask(R1), asking.ask(R1)]
        may_fail.set()
        for one in told:
            with pytest.raises(OSError, match="the disk is gone"):
                one.result(PATIENCE_S)
    fails[0] = False
    assert run_cache.get(None, [R1]) == {"r1": 7}  # type: ignore[arg-type]
