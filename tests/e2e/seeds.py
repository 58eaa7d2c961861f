"""Runs put into a store before Pitwall starts, for tests of what is shown rather than of how it came to be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from domain import Config, Run, RunState
from load_records import RequestRecord
from machine.identity import machine_id
from samples import Batch, CounterSample, Event, GpuSample
from settings import Settings
from storage.store import Store
from tests.many_runs import many_runs

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


def seed_time_series(data: Path, seconds: int, names: dict[str, float]) -> list[str]:
    """Ended runs of so many seconds by name and tok/s, a look a second; one look in the middle is five times as fast.

    Names that end in a number, as "A #2", are repeats of one arm. Their GPU is throttled in the second quarter, and
    their server preempts a request in the third; their ids.
    """
    data.mkdir(parents=True, exist_ok=True)
    store = Store.open(Settings(data_dir=data))
    ids = []
    arms = list(dict.fromkeys(name.split(" #")[0] for name in names))
    for number, (name, tps) in enumerate(names.items()):
        began, arm = BEGAN + timedelta(days=number), arms.index(name.split(" #")[0])
        run_id = f"{began:%Y%m%d-%H%M%S}-000-c{number:03d}"
        ids.append(run_id)
        config = Config(
            engine="vllm",
            model="m",
            max_num_seqs=arm + 1,
            argv=("vllm", "serve", "m", "--max-num-seqs", str(arm + 1)),
        )
        ended = began + timedelta(seconds=seconds)
        store.save_run(
            Run(id=run_id, name=name, color=arm, state=RunState.FINISHED, machine_id=machine_id(), config=config,
                created_at=began, started_at=began, ready_at=began + timedelta(seconds=10), ended_at=ended)
        )  # fmt: skip
        store.write(Batch(tuple(_looks(run_id, began, seconds, tps)))).result()
    store.close()
    return ids


def _looks(run_id: str, began: datetime, seconds: int, tps: float) -> Iterator[CounterSample | GpuSample]:
    made = 0.0
    for second in range(seconds):
        at, mono = began + timedelta(seconds=second), float(second)
        made += tps * (5 if second == seconds // 2 else 1 + 0.1 * math.sin(second / 40)) if second > 10 else 0
        yield CounterSample(
            run_id, at, mono, "vllm.counter", generation_tokens_total=made, first_tokens_total=0.0,
            inter_token_count_total=made, prompt_tokens_total=0.0, requests_running=float(second > 10),
            requests_waiting=0.0, preemptions_total=float(second > seconds * 5 // 8),
        )  # fmt: skip
        is_throttled = seconds // 4 <= second < seconds // 2
        yield GpuSample(
            run_id, at, mono, "m", 0, power_w=300 + 40 * math.sin(second / 60), sm_clock_mhz=1200.0 if is_throttled
            else 1900.0, throttle_reasons=0x08 if is_throttled else 0,
        )  # fmt: skip


def seed_many(data: Path) -> None:
    """20 runs that have ended, of several arms and loads (tests/many_runs.py)."""
    store = Store.open(Settings(data_dir=data))
    many_runs(store)
    store.close()
