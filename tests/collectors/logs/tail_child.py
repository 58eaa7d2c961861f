"""Follows a file until it is killed. Its store is one file of JSON lines, a line per batch, each one write(2)."""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import Future
from datetime import UTC, datetime
from pathlib import Path

from collectors.logs.requests import request_collector
from collectors.loop import CollectorLoop
from domain import Config, Run, RunState
from load_records import RequestRecord
from samples import Batch, TailPosition

run_dir, store = Path(sys.argv[1]), Path(sys.argv[2])


def sink(batch: Batch) -> Future[None] | None:
    ids = [s.request_id for s in batch.samples if isinstance(s, RequestRecord)]
    if not ids and not batch.positions:
        return None
    line = json.dumps({"ids": ids, "positions": [[p.generation, p.inode, p.offset] for p in batch.positions]})
    fd = os.open(store, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(fd, line.encode() + b"\n")
    os.close(fd)
    return None


def position(run_id: str, path: str) -> TailPosition | None:
    lines = store.read_text().splitlines() if store.exists() else []
    found = [p for line in lines for p in json.loads(line)["positions"]]
    return TailPosition(run_id, path, *found[-1]) if found else None


run = Run(
    id="r1",
    name="r1",
    color=0,
    machine_id="here",
    config=Config(),
    state=RunState.RUNNING,
    run_dir=str(run_dir),
    created_at=datetime.now(UTC),
)
CollectorLoop(sink, lambda: [run], [request_collector(position)]).start()
time.sleep(3600)
