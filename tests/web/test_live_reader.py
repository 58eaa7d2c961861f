"""What the Live page is told of a run that has ended is of the whole of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from domain import Batch, Config, CounterSample, Run, RunState
from settings import Settings
from storage.store import Store
from web.live_reader import Cursor, StoreReader

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
        assert part["now"]["decode_tps"]["v"] == 100.0
    finally:
        store.close()
