"""What the Live page is told of a run that has ended is of the whole of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain import Config, Run, RunState
from samples import Batch, CounterSample
from settings import Settings
from storage.store import Store
from web.live.reader import Cursor, StoreReader

T0 = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
RATES = [100.0, 100.0, 100.0, 100.0, 5.0]


def counters(second: int) -> CounterSample:
    made = sum(RATES[:second])
    return CounterSample(
        "r1", T0 + timedelta(seconds=second), float(second), "vllm.counter", generation_tokens_total=made,
        first_tokens_total=0.0, inter_token_count_total=made, prompt_tokens_total=0.0, requests_running=1.0,
    )  # fmt: skip


def test_its_numbers_are_not_those_of_its_last_seconds(tmp_path: Path) -> None:
    store = Store.open(Settings(data_dir=tmp_path))
    try:
        store.write(Batch(tuple(counters(second) for second in range(len(RATES) + 1))))
        store.save_run(
            Run(id="r1", name="A", color=0, config=Config(engine="vllm"), machine_id="m", created_at=T0,
                state=RunState.FINISHED)
        )  # fmt: skip
        seen = Cursor(engine=(T0 + timedelta(seconds=4)).isoformat())
        part = StoreReader(lambda: store).since({"r1": seen.text()})["r1"]
        assert part["series"]["decode_tps"]["v"] == [5.0], "only what is new is sent"
        assert part["now"]["decode_tps"]["v"] == pytest.approx(sum(RATES) / len(RATES)), "as on Compare"
    finally:
        store.close()


def test_a_line_of_the_log_has_its_time_and_a_warning_its_sentence(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "INFO 11-20 12:00:07 [loggers.py:257] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
        "Avg generation throughput: 107.2 tokens/s, Running: 1 reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%\n"
        "(EngineCore pid=1) ERROR 11-20 12:00:09 [core.py:1] torch.OutOfMemoryError: CUDA out of memory.\n"
        "nothing in particular\n"
    )
    run = Run(id="r1", name="A", color=0, config=Config(engine="vllm"), machine_id="m", created_at=T0, started_at=T0,
              pid_started_at=T0.timestamp(), ended_at=T0 + timedelta(seconds=20), log_path=str(log),
              state=RunState.FAILED)  # fmt: skip
    store = Store.open(Settings(data_dir=tmp_path))
    try:
        for kind in ("launched", "imported"):
            store.save_run(run.model_copy(update={"kind": kind}))
            part = StoreReader(lambda: store).snapshots(["r1"])["r1"]
            times = {line["line"]: line["t"] for line in part["log"]}
            stamped = None if kind == "imported" else (T0 + timedelta(seconds=7)).timestamp()
            assert (times[1], times[3]) == (stamped, None), kind
        assert "memory" in str(part["log"][1]["why"]) and part["log"][0]["why"] is None
    finally:
        store.close()
