"""A live run on another machine than this one, and messages as an agent sends them."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from domain import Config, Run, RunState
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
AGENT = "a" * 32
Message = Callable[..., bytes]


@pytest.fixture
def run(store: Store) -> Run:
    run = Run(
        id="r1", name="two nodes", color=0, config=Config(), machine_id="head", created_at=NOW, state=RunState.RUNNING
    )
    store.save_run(run)
    return run


def batch(number: int, **fields: Any) -> dict[str, Any]:
    """A look at a machine of one GPU, `number` seconds after NOW."""
    t = NOW.timestamp() + number
    gpu = {"t": t, "mono_s": 100.0 + number, "gpu_index": 0, "power_w": 250.0} | fields.pop("gpu", {})
    host = {"t": t, "mono_s": 100.0 + number, "host_cores": 8} | fields.pop("host", {})
    clock = {"offset_s": -2.0, "uncertainty_s": 0.001}
    actual_fields = {"number": number, "gpus": [gpu], "hosts": [host]} | clock
    return actual_fields | {name.removeprefix("its_"): value for name, value in fields.items()}


def message(*batches: dict[str, Any], **fields: Any) -> bytes:
    actual_fields = {"agent": AGENT, "machine": "worker", "host": "worker-1", "thinned": 0, "batches": list(batches)}
    return json.dumps(actual_fields | fields).encode()
