"""Runs and a sink that keeps what it is given."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

from domain import Batch, Config, Run, RunState, TailPosition

S = TypeVar("S")


class KeptBatches:
    """A sink in memory with what a store would answer: how far each file is committed."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def __call__(self, batch: Batch) -> Future[None]:
        self.batches.append(batch)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def of(self, kind: type[S]) -> list[S]:
        return [s for batch in self.batches for s in batch.samples if isinstance(s, kind)]

    def position(self, run_id: str, path: str) -> TailPosition | None:
        found = [p for batch in self.batches for p in batch.positions if (p.run_id, p.path) == (run_id, path)]
        return found[-1] if found else None

    def wait_for(self, met: Callable[[], object], timeout_s: float = 20.0) -> None:
        deadline = time.monotonic() + timeout_s
        while not met():
            assert time.monotonic() < deadline, f"not seen in {timeout_s} s; have {self.batches[-5:]}"
            time.sleep(0.02)


@pytest.fixture
def kept() -> KeptBatches:
    return KeptBatches()


@pytest.fixture
def make_run() -> Callable[..., Run]:
    def make(engine: str = "llamacpp", **fields: Any) -> Run:
        given = {"id": "r1", "name": "r1", "color": 0, "machine_id": "here", "state": RunState.RUNNING} | fields
        return Run(config=Config(engine=engine), created_at=datetime(2026, 11, 20, tzinfo=UTC), **given)

    return make
