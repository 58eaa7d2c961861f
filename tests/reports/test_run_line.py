"""Cached rows of the list of runs: equal to a fresh computation, and dropped when more is stored."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import duckdb
import pytest

from analysis.runs.run_line import RunLine
from domain import Config, Run, RunState, utc_now
from reports.cache.run_cache import ReportCache
from reports.runs import run_line
from reports.runs.run_line import NOT_COMPUTED, compute_lines, lines_of, sort_runs
from reports.runs.run_report import report_on
from samples import Batch, CounterSample, Event
from service import run_lines
from service.run_lines import RunLineKeeper
from settings import Settings
from storage.queries.run_queries import RunFilter, find_runs
from storage.store import Store
from web.words import reason_text

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
RUN_IDS = ("r0", "r1", "r2")


def run_of(run_id: str) -> Run:
    times = {"created_at": NOW, "started_at": NOW, "ready_at": NOW, "ended_at": NOW + timedelta(seconds=60)}
    fields = {"id": run_id, "name": run_id, "color": 0, "config": Config(engine="vllm"), "machine_id": "m"}
    return Run.model_validate(fields | times | {"state": "finished"})


def counters(run_id: str, tps: float, first: int = 0) -> Batch:
    """A server that decodes one request at so many tok/s for a minute, a token a step."""
    fixed = {"first_tokens_total": 1.0, "prompt_tokens_total": 9.0, "requests_running": 1.0}

    def look(second: int) -> CounterSample:
        counts = {"generation_tokens_total": tps * second, "inter_token_count_total": tps * second}
        return CounterSample(run_id, NOW + timedelta(seconds=second), float(second), "vllm.counter", **counts, **fixed)

    return Batch(tuple(map(look, range(first, first + 60))))


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    opened = Store.open(settings)
    for number, run_id in enumerate(RUN_IDS):
        opened.write(counters(run_id, 100.0 + number))
        opened.save_run(run_of(run_id))
    yield opened
    opened.close()


def keep_all(store: Store) -> None:
    keeper = RunLineKeeper(store)
    while keeper.keep_next():
        pass


def computed(store: Store) -> dict[str, RunLine]:
    return compute_lines(store, [run_of(run_id) for run_id in RUN_IDS])


def asked(store: Store) -> dict[str, RunLine]:
    return lines_of(store, [run_of(run_id) for run_id in RUN_IDS])


def stored_typical_tps(store: Store) -> dict[str, float | None]:
    rows = store.query("SELECT run_id, typical_tps FROM run_reports").to_pylist()
    return {row["run_id"]: row["typical_tps"] for row in rows}


def test_kept_line_equals_a_single_computation(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = computed(store)
    assert [round(line["typical_tps"] or 0) for line in fresh.values()] == [100, 101, 102]
    keep_all(store)
    monkeypatch.setattr(run_line, "report_on", lambda *_: pytest.fail("it was kept"))
    assert asked(store) == fresh


@pytest.mark.publishes
def test_it_is_kept_over_a_restart_and_published(store: Store, settings: Settings) -> None:
    fresh = computed(store)
    keep_all(store)
    store.close()
    with duckdb.connect(str(settings.published_path), read_only=True) as reader:
        assert reader.execute("SELECT count(*) FROM run_reports").fetchone() == (3,)
    reopened = Store.open(settings)
    assert asked(reopened) == fresh and RunLineKeeper(reopened).keep_next() == 0
    reopened.close()


def test_other_formulas_have_it_computed_anew(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_all(store)
    monkeypatch.setattr(run_lines, "line_version", lambda: "others")
    assert RunLineKeeper(store).keep_next() == 3
    assert store.query("SELECT DISTINCT formulas FROM run_reports")["formulas"].to_pylist() == ["others"]


def test_rows_that_come_later_end_what_was_kept(store: Store) -> None:
    keep_all(store)
    store.write(counters("r1", 300.0, first=60)).result()
    assert stored_typical_tps(store).keys() == {"r0", "r2"}
    later = asked(store)["r1"]
    keep_all(store)
    assert asked(store)["r1"] == later and later["typical_tps"] != 101


def test_line_computed_amid_new_rows_is_not_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(source: Store, runs: list[Run], reports: Any) -> dict[str, RunLine]:
        lines = compute_lines(source, runs, reports)
        store.write(Batch((Event("r2", NOW, "state", "late"),))).result()
        store.save_run(run_of("r0"))  # and a run that is saved anew
        return lines

    monkeypatch.setattr(run_lines, "compute_each", slowly)
    RunLineKeeper(store).keep_next()
    assert stored_typical_tps(store).keys() == {"r1"}


def test_a_run_that_ends_anew_is_computed_anew(store: Store) -> None:
    keep_all(store)
    store.save_run(run_of("r0").model_copy(update={"ended_at": NOW + timedelta(seconds=90)}))
    assert RunLineKeeper(store).keep_next() == 1


def test_failed_line_is_isolated_and_retried(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = computed(store)
    with monkeypatch.context() as broken:
        broken.setattr(run_line, "compute_lines", fails_for_r2)
        keeper = RunLineKeeper(store)
        assert (keeper.keep_next(), keeper.keep_next()) == (3, 0), "not at once again"
        assert asked(store) == {"r0": fresh["r0"], "r1": fresh["r1"], "r2": NOT_COMPUTED}
    assert RunLineKeeper(store).keep_next() == 1, "a restarted Pitwall tries it again"
    assert asked(store) == fresh and RunLineKeeper(store).keep_next() == 0


def test_it_is_tried_again_after_a_while(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = RunLineKeeper(store)
    with monkeypatch.context() as broken:
        broken.setattr(run_line, "compute_lines", fails_for_r2)
        keeper.keep_next()
    assert keeper.keep_next() == 0 and asked(store)["r2"] == NOT_COMPUTED
    monkeypatch.setattr(run_lines, "RETRY_AFTER_S", 0.0)
    assert keeper.keep_next() == 1 and asked(store)["r2"] == computed(store)["r2"]


@pytest.mark.parametrize("error", [duckdb.InvalidInputException("x"), TypeError(), KeyError("x")])
@pytest.mark.wide
def test_computing_page_reports_only_its_run(store: Store, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Whether the rows cannot be read, or a formula cannot take what they hold."""
    fresh = computed(store)
    monkeypatch.setattr(run_line, "compute_lines", partial(fails_for_r2, error=error))
    assert asked(store) == fresh | {"r2": NOT_COMPUTED}
    assert "could not be computed" in reason_text(asked(store)["r2"].reason)


BROKEN_FILE = duckdb.InvalidInputException("a sealed file is broken")


def fails_for_r2(
    source: Store, runs: list[Run], reports: Any = None, error: Exception = BROKEN_FILE
) -> dict[str, RunLine]:
    if any(run.id == "r2" for run in runs):
        raise error
    return compute_lines(source, runs, reports)


def ids_of_filter(store: Store, **asked: object) -> list[str]:
    return [run.id for run in find_runs(store, RunFilter(**asked), 10)]


def test_runs_sort_by_speed_with_unknown_last(store: Store) -> None:
    failed = run_of("r9").model_copy(update={"state": RunState.FAILED, "started_at": NOW + timedelta(hours=1)})
    store.save_run(failed)
    assert ids_of_filter(store, order_by="typical")[0] == "r9", "nothing is known yet: the newest is the first"
    keep_all(store)
    assert ids_of_filter(store, order_by="typical") == ["r2", "r1", "r0", "r9"]
    assert ids_of_filter(store, order_by="peak")[-1] == "r9" and ids_of_filter(store) == ["r9", "r2", "r1", "r0"]
    assert ids_of_filter(store, order_by="typical", is_reversed=True) == ["r0", "r1", "r2", "r9"], (
        "the unknown stays last"
    )
    assert ids_of_filter(store, is_reversed=True) == ["r0", "r1", "r2", "r9"]
    assert ids_of_filter(store, order_by="state")[0] == "r9", "failed, before finished"
    assert ids_of_filter(store, order_by="name", is_reversed=True) == ids_of_filter(store, order_by="name")[::-1]


def test_just_ended_run_is_sorted_by_its_speed(store: Store) -> None:
    """Nothing is kept of it yet, and only two runs are shown: it is among them, and in its place."""
    keep_all(store)
    store.write(counters("r3", 101.5))
    store.save_run(run_of("r3").model_copy(update={"started_at": NOW - timedelta(hours=1), "ended_at": utc_now()}))
    runs = find_runs(store, RunFilter(order_by="typical"), 2)
    assert {run.id for run in runs} == {"r3", "r2"}
    lines = lines_of(store, runs)
    assert [run.id for run in sort_runs(runs, lines, "typical")] == ["r2", "r3"]
    assert [run.id for run in sort_runs(runs, lines, "typical", is_reversed=True)] == ["r3", "r2"]
    assert sort_runs(runs, lines, "newest") == runs and sort_runs(runs, {}, "peak") == runs


def test_runs_are_found_by_when_they_started(store: Store) -> None:
    later = run_of("r9").model_copy(update={"started_at": NOW + timedelta(hours=1)})
    store.save_run(later)
    assert ids_of_filter(store, since=NOW + timedelta(minutes=30)) == ["r9"]
    assert len(ids_of_filter(store, since=NOW)) == 4


def test_the_peak_is_that_of_one_request_alone(store: Store) -> None:
    """20 s of one request at 50 tok/s, then 20 s of four at 160 together."""
    fixed = {"first_tokens_total": 1.0, "prompt_tokens_total": 9.0}

    def look(second: int) -> CounterSample:
        tokens = 50.0 * min(second, 20) + 160.0 * max(0, second - 20)
        running = 1.0 if second <= 20 else 4.0
        return CounterSample("both", NOW + timedelta(seconds=second), float(second), "vllm.counter",
                             generation_tokens_total=tokens, inter_token_count_total=tokens,
                             requests_running=running, **fixed)  # fmt: skip

    store.write(Batch(tuple(map(look, range(41)))))
    store.save_run(run_of("both"))
    (line,) = compute_lines(store, [run_of("both")]).values()
    assert line["peak_tps"] == pytest.approx(50.0)
    (report,) = report_on(store, [run_of("both")])
    assert report.summary.alone.peak and report.summary.alone.peak.maximum == pytest.approx(50.0), "of the same windows"


def test_floor_is_the_slowest_decoding(store: Store) -> None:
    """Twenty seconds at 50 tok/s, then twenty at 80: the 10th percentile is of the slow ones."""
    fixed = {"first_tokens_total": 1.0, "prompt_tokens_total": 9.0, "requests_running": 1.0}
    samples = []
    for second in range(41):
        tokens = 50.0 * min(second, 20) + 80.0 * max(0, second - 20)
        totals = {"generation_tokens_total": tokens, "inter_token_count_total": tokens}
        samples.append(
            CounterSample("floor", NOW + timedelta(seconds=second), float(second), "vllm.counter", **totals, **fixed)
        )
    store.write(Batch(tuple(samples)))
    store.save_run(run_of("floor"))
    (line,) = compute_lines(store, [run_of("floor")]).values()
    assert line["floor_tps"] == pytest.approx(50.0) and line["peak_tps"] == pytest.approx(80.0)


@pytest.mark.parametrize("is_of_reports", [True, False], ids=["reports", "charts"])
def test_lines_wait_while_somebody_waits_for_a_page(
    store: Store, monkeypatch: pytest.MonkeyPatch, is_of_reports: bool
) -> None:
    """Both would share the cores; the page goes first."""
    monkeypatch.setattr(run_lines, "INTERVAL_S", 0.0)
    monkeypatch.setattr(run_lines, "BUSY_PAUSE_S", 0.01)
    is_waited_for, looks = threading.Event(), list[bool]()

    class BusyCache(ReportCache):
        @property
        def is_computing(self) -> bool:
            looks.append(is_waited_for.is_set())
            return is_waited_for.is_set()

    is_waited_for.set()
    keeper = RunLineKeeper(store, BusyCache()) if is_of_reports else RunLineKeeper(store, caches=[BusyCache()])
    event = threading.Event()
    monkeypatch.setattr(keeper, "keep_next", lambda: event.set() or 0)
    keeper.start()
    try:
        assert not event.wait(0.2) and len(looks) > 1
        is_waited_for.clear()
        assert event.wait(30)
    finally:
        keeper.close()
