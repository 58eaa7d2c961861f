"""The statements that Compare and Run show are those they ask, and may be run in the sandbox."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from domain import Config, Run
from machine.run_with_timeout import run_bounded
from reports.runs.run_report import PEAK_WINDOW_S
from samples import Batch, CounterSample
from settings import Settings
from storage.queries import run_data
from storage.sandbox.client import Sandbox
from storage.store import Store
from web.compare.sources.sql_dialog import statements

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
IDS = ["r1", "it's"]


@pytest.fixture
def settings(tmp_path) -> Settings:  # type: ignore[no-untyped-def]
    settings = Settings(data_dir=tmp_path / "data")
    store = Store.open(settings)
    for run_id in IDS:
        run = Run(id=run_id, name=run_id, color=0, config=Config(), machine_id="m", created_at=NOW, ready_at=NOW)
        store.save_run(run)
        store.write(Batch(tuple(counters(run_id, second) for second in range(20)))).result()
    store.close()
    return settings


def counters(run_id: str, second: int) -> CounterSample:
    return CounterSample(
        run_id, NOW + timedelta(seconds=second + 1), float(second), "vllm.counter",
        generation_tokens_total=50.0 * second, first_tokens_total=1.0, inter_token_count_total=25.0 * second,
        requests_running=1.0, drafts_total=25.0 * second, draft_tokens_total=75.0 * second,
        accepted_tokens_total=25.0 * second,
    )  # fmt: skip


@pytest.mark.publishes
def test_shown_sql_gives_the_page_numbers(settings: Settings) -> None:
    shown_statements = statements(IDS)
    sandbox = Sandbox(settings, run_bounded)
    windows, acceptance, _requests = (sandbox.ask(one.sql).table.to_pylist() for one in shown_statements)
    store = Store.open(settings)
    requested_windows = run_data.windows(store, IDS, PEAK_WINDOW_S)
    ratios = run_data.acceptance(store, IDS)
    store.close()
    assert [row["decode_tps"] for row in windows if row["run_id"] == "it's"] == [
        w.decode_tps for w in requested_windows["it's"]
    ]
    assert len(windows) > 10
    assert {row["run_id"]: row["acceptance_length"] for row in acceptance} == dict.fromkeys(IDS, 2.0)
    assert ratios["r1"].length == 2.0
