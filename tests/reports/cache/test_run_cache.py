"""The report of a run that has ended is computed once, until more of it is stored, and names the run as it is now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from domain import Config, Run, RunState
from reports.cache.run_cache import ReportCache
from reports.runs.run_report import report_on
from samples import Batch, CounterSample
from storage.store import Store
from tests.counted_windows import CountedWindows

T0 = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def counters(run_id: str, second: int) -> CounterSample:
    return CounterSample(
        run_id, T0 + timedelta(seconds=second), float(second), "vllm.counter", generation_tokens_total=100.0 * second,
        first_tokens_total=0.0, inter_token_count_total=100.0 * second, prompt_tokens_total=0.0, requests_running=1.0,
    )  # fmt: skip


@pytest.fixture
def ids(store: Store) -> list[str]:
    """Runs that have ended, of unlike lengths."""
    lengths = {"r1": 10, "r2": 20, "r3": 30}
    for run_id, seconds in lengths.items():
        fields = {"created_at": T0, "ready_at": T0, "ended_at": T0 + timedelta(seconds=seconds)}
        store.save_run(
            Run(id=run_id, name=run_id, color=0, config=Config(engine="vllm"), machine_id="m", state=RunState.FINISHED,
                **fields)
        )  # fmt: skip
        store.write(Batch(tuple(counters(run_id, second) for second in range(seconds)))).result()
    return list(lengths)


def test_run_is_computed_once_and_equals_fresh(store: Store, ids: list[str]) -> None:
    counted_windows, report_cache = CountedWindows(store), ReportCache()
    runs = store.runs_of(ids)
    first = report_cache.get(counted_windows, runs[:2])
    both = report_cache.get(counted_windows, runs)
    assert counted_windows.asked == [[run.id for run in runs[:2]], [runs[2].id]]
    assert list(both.values()) == report_on(store, runs)
    assert all(both[run_id] == first[run_id] for run_id in first)


def test_new_rows_and_new_name_are_noticed(store: Store, ids: list[str]) -> None:
    counted_windows, report_cache = CountedWindows(store), ReportCache()
    runs = store.runs_of(ids)
    report_cache.get(counted_windows, runs)
    report_cache.invalidate([runs[0].id])
    renamed = [run.model_copy(update={"name": "Renamed"}) for run in runs]
    found = report_cache.get(counted_windows, renamed)
    assert counted_windows.asked[1:] == [[runs[0].id]]
    assert {value.run.name for value in found.values()} == {"Renamed"}


def test_no_more_windows_are_kept_than_fit(store: Store, ids: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    runs = store.runs_of(ids)
    weights = [1 + len(report.windows) for report in report_on(store, runs)]
    assert min(weights) > 3
    monkeypatch.setattr("reports.cache.run_cache.MOST_WINDOWS", sum(weights[1:]))
    counted_windows, report_cache = CountedWindows(store), ReportCache()
    for run in runs:
        report_cache.get(counted_windows, [run])
    report_cache.get(counted_windows, runs[1:])
    assert len(counted_windows.asked) == 3, "the last two are kept"
    report_cache.get(counted_windows, runs[:1])
    assert len(counted_windows.asked) == 4, "the first had to go"
