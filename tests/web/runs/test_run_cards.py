"""The cards of the first look say what is known, and of what is not, why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from analysis.runs.run_line import RunLine
from domain import Config, Run, RunState
from reports.cache.run_cache import ReportCache
from reports.runs.run_report import report_on
from samples import Batch, CounterSample
from settings import Settings
from storage.caches.query_cache import QueryCache
from storage.files.report_files import ReportFiles
from storage.queries import run_data
from storage.store import Store
from web.live.finished_charts import FinishedCharts
from web.runs.first_page import TITLE, first_page
from web.runs.table import run_cards
from web.runs.table.run_cards import IDLE, LAST_SPEED, LATEST_SPEED, NO_RECENT_SPEED, QUEUED, first_cards
from web.theme import three_digits

NOW = datetime.now(UTC)
RUN = Run(
    id="r1", name="<script>alert(1)</script>", color=0, config=Config(engine="vllm"), machine_id="m", created_at=NOW,
    started_at=NOW - timedelta(seconds=30), ready_at=NOW - timedelta(seconds=20), state=RunState.RUNNING,
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Twenty seconds of 100 tok/s up to now."""
    opened = Store.open(Settings(data_dir=tmp_path))
    now = datetime.now(UTC)
    opened.write(Batch(tuple(counters(now, second) for second in range(20))))
    opened.save_run(RUN)
    yield opened
    opened.close()


def counters(now: datetime, second: int, run_id: str = "r1", tokens: float | None = None) -> CounterSample:
    made = 100.0 * second if tokens is None else tokens
    return CounterSample(
        run_id, now - timedelta(seconds=20 - second), float(second), "vllm.counter", first_tokens_total=0.0,
        generation_tokens_total=made, inter_token_count_total=made, prompt_tokens_total=0.0,
        requests_running=1.0 if tokens is None else 0.0,
    )  # fmt: skip


def test_live_run_has_latest_speed_and_plain_text(store: Store) -> None:
    page = first_cards(store, ["r1", "nobody"], ReportCache())
    assert f'100 <small>tok/s</small> <small class="pw-muted">{LATEST_SPEED}</small>' in page
    assert "&lt;script&gt;alert(1)" in page and "<script>" not in page


def test_ended_run_has_the_number_of_compare(store: Store) -> None:
    run = RUN.model_copy(update={"state": RunState.FINISHED, "ended_at": NOW})
    store.save_run(run)
    factors = report_on(store, [run])[0].summary.factors
    assert factors and f"{three_digits(factors.decode_tps)} <small>tok/s</small>" in first_cards(
        store, ["r1"], ReportCache()
    )


def test_ended_run_has_the_speed_of_its_line_first(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs, Run and Live lead with the speed of one stream; the mean of the counters would be another number."""
    store.save_run(RUN.model_copy(update={"state": RunState.FINISHED, "ended_at": NOW}))
    line = RunLine(numbers={"stream_tps": 123.4})
    monkeypatch.setattr(run_cards, "cached_lines", lambda _store, run_ids, _version: dict.fromkeys(run_ids, line))
    page = first_cards(store, ["r1"], ReportCache())
    assert "123 <small>tok/s</small>" in page and "mean while decoding" not in page


def test_counters_are_read_once_for_cards_and_charts(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save_run(RUN.model_copy(update={"state": RunState.FINISHED, "ended_at": NOW}))
    files, read = ReportFiles(tmp_path / "runs"), list[list[str]]()

    def query(sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        read.extend([params["run_ids"]] if params and "$window_s" in sql else [])
        return Store.query(store, sql, params)

    monkeypatch.setattr(store, "query", query)
    reports = ReportCache(files)
    charts = FinishedCharts(files, reports)
    first_cards(store, ["r1"], reports, charts.get)
    charts.get(store, store.runs_of(["r1"]))
    assert read == [["r1"]]


def test_idle_run_keeps_speed_and_unused_has_none(store: Store) -> None:
    now = datetime.now(UTC)
    store.save_run(RUN.model_copy(update={"id": "r2"}))
    rests = [counters(now, second, tokens=1900.0) for second in (20, 21)]
    store.write(Batch((*rests, *(counters(now, second, "r2", 0.0) for second in range(20))))).result()
    worked, never = first_cards(store, ["r1", "r2"], ReportCache()).split("--pw-run:")[1:]
    assert "100 <small>tok/s</small>" in worked and LAST_SPEED in worked
    assert "pw-big" not in never and IDLE in never


def test_a_run_that_waits_says_so(store: Store) -> None:
    store.save_run(RUN.model_copy(update={"state": RunState.QUEUED}))
    page = first_cards(store, ["r1"], ReportCache())
    assert QUEUED in page and "pw-big" not in page


def test_unknown_number_is_a_reason(store: Store) -> None:
    starting = RUN.model_copy(update={"id": "r2", "state": RunState.STARTING, "phase": "loading weights 34 %"})
    failed = RUN.model_copy(update={"id": "r3", "state": RunState.FAILED})
    store.save_run(starting)
    store.save_run(failed)
    page = first_cards(store, ["r2", "r3"], ReportCache())
    assert "pw-big" not in page
    assert NO_RECENT_SPEED in page and "starting: loading weights 34 %" in page and "no window was recorded" in page


def test_no_two_cards_are_of_one_colour(store: Store) -> None:
    store.save_run(RUN.model_copy(update={"id": "r2"}))
    first, second = (
        line.split('"')[0] for line in first_cards(store, ["r1", "r2"], ReportCache()).split("--pw-run:")[1:]
    )
    assert first != second


def test_unknown_runs_give_nothing(store: Store) -> None:
    assert first_cards(store, ["nobody"], ReportCache()) == ""


def test_speed_is_queried_once_a_second_for_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, seconds = list[str](), iter([1, 1, 2])
    shared = QueryCache(lambda: next(seconds))
    monkeypatch.setattr(run_cards, "_speeds_this_second", shared)
    recent_speed = run_data.recent_speed
    monkeypatch.setattr(run_data, "recent_speed", lambda *given: asked.append("asked") or recent_speed(*given))
    pages = [first_cards(store, ["r1"], ReportCache()) for _ in range(3)]
    assert all("100 <small>tok/s" in page for page in pages) and len(asked) == 2


def test_newest_runs_are_read_once_for_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look at Runs: every viewer's browser requests it, before anything else of the page."""
    store.save_run(RUN.model_copy(update={"id": "r2", "name": "newer", "state": RunState.FINISHED, "ended_at": NOW}))
    page = first_page(store)
    assert page.startswith(TITLE) and page.index(">newer<") < page.index("alert(1)") and "<script>" not in page
    statements: list[str] = []
    query = store.query
    monkeypatch.setattr(store, "query", lambda sql, *params: statements.append(sql) or query(sql, *params))
    assert first_page(store) == page and not statements
    store.save_run(RUN.model_copy(update={"id": "r3", "name": "newest"}))
    assert ">newest<" in first_page(store) and statements
