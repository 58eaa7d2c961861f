"""Runs put into a store before Pitwall starts, for tests of what is shown rather than of how it came to be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from domain import Config, Run, RunState
from load_records import RequestRecord
from machine.identity import machine_id
from samples import Batch, Event
from settings import Settings
from storage.store import Store

BEGAN = datetime(2026, 11, 20, 12, tzinfo=UTC)


def seed_finished(data: Path, text: str = "An old run", log: str = "listening\n", **updates: Any) -> str:
    """One ended run whose every free text is `text`, with an event and a request; its id."""
    data.mkdir(parents=True, exist_ok=True)
    run_id = f"20261120-120000-000-{len(list(data.glob('seed-*.log'))):04d}"
    log_path = data / f"seed-{run_id}.log"
    log_path.write_text(log)
    run = Run(
        id=run_id,
        name=text,
        color=0,
        state=RunState.FAILED,
        machine_id=machine_id(),
        config=Config(engine="vllm", model=text, served_model_name=text, env={"NAME": text}, argv=("vllm", text)),
        created_at=BEGAN,
        started_at=BEGAN,
        ready_at=BEGAN,
        ended_at=BEGAN + timedelta(minutes=1),
        log_path=str(log_path),
        cause=text,
        cause_line=text,
        note=text,
    ).model_copy(update=updates)
    request = RequestRecord(
        run_id, "q1", "w", "measure", text, 0, 1, BEGAN, error_kind="http", error_text=text, finish_reason=text
    )
    store = Store.open(Settings(data_dir=data))
    store.save_run(run)
    store.write(Batch((Event(run_id, BEGAN, "warning", text), request))).result()
    store.close()
    return run_id
