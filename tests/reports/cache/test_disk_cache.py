"""Results of an ended run outlive Pitwall on the disk, and are never returned once the run has changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from domain import Config, Run, RunState
from engines import all_definitions
from load_records import RequestRecord
from reports.cache.codecs import REPORTS
from reports.cache.run_cache import EvidenceCache, ReportCache, RunCache
from reports.runs.evidence import evidence_of
from reports.runs.run_report import report_on
from reports.source_hash import source_hash
from samples import Batch, CounterSample, Event, GpuSample, HostSample
from settings import Settings
from storage.files.report_files import ReportFiles, unpack
from storage.queries.row_counts import stored_row_counts
from storage.rows import TIME_COLUMNS
from storage.store import Store
from tests.wide import wide_params
from web.live.finished_charts import ChartData, FinishedCharts, compute_charts
from web.live.series import TimeSeries

T0 = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
RESET_AT = 20


class Clock:
    def __init__(self) -> None:
        self.now = T0 + timedelta(hours=1)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture
def store(settings: Settings, clock: Clock) -> Iterator[Store]:
    store = Store.open(settings, clock)
    yield store
    store.close()


@pytest.fixture
def files(settings: Settings) -> ReportFiles:
    return ReportFiles(settings.runs_dir)


def counters(run_id: str, second: int) -> CounterSample:
    made = 100.0 * (second % RESET_AT)
    return CounterSample(
        run_id, T0 + timedelta(seconds=second), float(second), "vllm.counter", generation_tokens_total=made,
        first_tokens_total=0.0, inter_token_count_total=made / 2, prompt_tokens_total=0.0, requests_running=1.0,
        drafts_total=made / 2, draft_tokens_total=made, accepted_tokens_total=made / 2,
        accepted_per_pos_total=[made / 4, made / 4],
    )  # fmt: skip


def served(store: Store, run_id: str, seconds: int) -> Run:
    """A run that has ended, with a reset of its counters where it is long enough, host, GPU and a request."""
    fields = {"created_at": T0, "ready_at": T0, "ended_at": T0 + timedelta(seconds=seconds)}
    run = Run(
        id=run_id, name=run_id, color=0, config=Config(engine="vllm"), machine_id="m", state=RunState.FINISHED, **fields
    )
    store.save_run(run)
    at = T0 + timedelta(seconds=1)
    beside = (
        HostSample(
            run_id, at, 1.0, "m", cpu_ratio=1.5, rss_bytes=100, process_count=3, host_cpu_ratio=0.5, host_cores=2
        ),
        GpuSample(run_id, at, 1.0, "m", 0, power_w=100.25),
        RequestRecord(run_id, "q", "w", "measure", "c", 0, 1, at, ttft_ms=1 / 3, total_ms=900.0, http_status=200),
    )
    store.write(Batch((*(counters(run_id, second) for second in range(seconds)), *beside))).result()
    return run


@pytest.fixture
def runs(store: Store) -> list[Run]:
    """With counters, with a reset in them, and with nothing at all."""
    return [served(store, "r1", 15), served(store, "r2", 45), served(store, "r3", 0)]


class Computing:
    """Counts the runs of which something was computed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kept: RunCache[object]) -> None:
        self.computed: list[str] = []
        make = kept._compute

        def counting_make(store: Store, runs: list[Run]) -> object:
            self.computed += [run.id for run in runs]
            return make(store, runs)

        monkeypatch.setattr(kept, "_compute", counting_make)


Opened = Callable[[ReportFiles], RunCache[object]]


@pytest.fixture(params=[ReportCache, EvidenceCache, FinishedCharts])
def opened(request: pytest.FixtureRequest) -> Opened:
    """As after a start: with what lies on the disk, and nothing in memory."""
    made: Opened = request.param
    return made


def test_kept_report_and_drawing_equal_fresh(store: Store, files: ReportFiles, runs: list[Run]) -> None:
    ReportCache(files).get(store, runs)
    FinishedCharts(files).get(store, runs)
    EvidenceCache(files).get(store, runs)
    assert list(ReportCache(files).get(store, runs).values()) == report_on(store, runs)
    assert list(EvidenceCache(files).get(store, runs).values()) == evidence_of(store, runs)
    fresh = compute_charts(store, runs)
    for run_id, value in FinishedCharts(files).get(store, runs).items():
        _expect_same(value, fresh[run_id])


def _expect_same(chart_data: ChartData, other: ChartData) -> None:
    assert replace(chart_data, series={}) == replace(other, series={})
    assert list(chart_data.series) == list(other.series)
    for name, series in chart_data.series.items():
        assert _columns(series) == _columns(other.series[name])


def _columns(course: TimeSeries) -> list[tuple[str, bytes] | None]:
    """To the bit; NaN equals itself."""
    return [None if one is None else (str(one.dtype), one.tobytes()) for one in (course.t, course.v, course.excluded)]


def test_after_a_start_nothing_is_computed_again(
    store: Store, files: ReportFiles, runs: list[Run], opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(files).get(store, runs)
    kept = opened(files)
    counting = Computing(monkeypatch, kept)
    kept.get(store, runs)
    assert counting.computed == []


def test_what_is_prepared_is_found(
    store: Store, files: ReportFiles, runs: list[Run], opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(files).prepare(store, runs)
    kept = opened(files)
    counting = Computing(monkeypatch, kept)
    kept.get(store, [run.model_copy(update={"name": "Renamed", "color": 5}) for run in runs])
    assert counting.computed == [], "a page that shows runs beside each other gives them other colours"


def _more_counters(store: Store, files: ReportFiles) -> None:
    store.write(Batch((counters("r2", 45),))).result()


def _more_events(store: Store, files: ReportFiles) -> None:
    store.write(Batch((Event("r2", T0, "note", "late"),))).result()


def _another_end(store: Store, files: ReportFiles) -> None:
    run = store.run("r2")
    assert run
    store.save_run(run.model_copy(update={"ended_at": T0 + timedelta(minutes=5)}))


def _cut(store: Store, files: ReportFiles) -> None:
    for path in _paths(files):
        path.write_bytes(path.read_bytes()[:-20])


def _flipped(store: Store, files: ReportFiles) -> None:
    for path in _paths(files):
        content = bytearray(path.read_bytes())
        content[-10] ^= 0xFF
        path.write_bytes(content)


def _of_another_form(store: Store, files: ReportFiles) -> None:
    for path in _paths(files):
        basis = path.read_bytes().split(b"\n")[0].decode()
        files.write("r2", path.name, basis, b'{"windows": 3}')


def _nested_deeply(store: Store, files: ReportFiles) -> None:
    _rewrite(files, lambda content: b"[" * 5000 + b"]" * 5000)


def _of_other_types(store: Store, files: ReportFiles) -> None:
    _rewrite(files, lambda content: b'[{"decode": [1, 2, 3, 4]}, [], 7, {"a": "x"}]')


def _rewrite(files: ReportFiles, change: Callable[[bytes], bytes]) -> None:
    for path in _paths(files):
        basis, _, packed = path.read_bytes().partition(b"\n")
        files.write("r2", path.name, basis.decode(), change(unpack(packed)))


def _paths(files: ReportFiles) -> list[Path]:
    return [path for path in (files._runs_dir / "r2" / "known").iterdir() if path.is_file()]


CHANGES = (
    _more_counters,
    _more_events,
    _another_end,
    _cut,
    _flipped,
    _of_another_form,
    _nested_deeply,
    _of_other_types,
)


@pytest.mark.parametrize("change", [CHANGES[0], *wide_params(*CHANGES[1:])], ids=lambda one: one.__name__)
def test_what_no_longer_holds_is_computed_again(
    store: Store, files: ReportFiles, runs: list[Run], opened: Opened, monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Store, ReportFiles], None],
) -> None:  # fmt: skip
    opened(files).get(store, runs)
    change(store, files)
    kept = opened(files)
    counting = Computing(monkeypatch, kept)
    kept.get(store, store.runs_of(["r1", "r2", "r3"]))
    assert counting.computed == ["r2"]


def test_other_formulas_have_it_computed_again(
    store: Store, files: ReportFiles, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    ReportCache(files).get(store, runs)
    monkeypatch.setattr("reports.cache.run_cache.REPORTS", replace(REPORTS, version=lambda: "others"))
    report_cache = ReportCache(files)
    counting = Computing(monkeypatch, report_cache)  # type: ignore[arg-type]
    report_cache.get(store, runs)
    assert counting.computed == ["r1", "r2", "r3"]


def test_changed_definition_recomputes_evidence(
    store: Store, files: ReportFiles, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    EvidenceCache(files).get(store, runs)
    first, *others = all_definitions()
    monkeypatch.setattr("reports.source_hash.all_definitions", lambda: (first._replace(formula="another"), *others))
    source_hash.cache_clear()
    evidence_cache = EvidenceCache(files)
    counting = Computing(monkeypatch, evidence_cache)  # type: ignore[arg-type]
    evidence_cache.get(store, runs)
    source_hash.cache_clear()
    assert counting.computed == ["r1", "r2", "r3"]


def test_sealing_and_merging_keep_cached_results(
    store: Store, runs: list[Run], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.files.merge.MIN_FILES", 2)
    ids = [run.id for run in runs]
    before = stored_row_counts(store, ids)
    assert before["r1"]["counter_samples"] == 15 and before["r3"] == {
        "gpu_samples": 1,
        "host_samples": 1,
        "requests": 1,
    }
    clock.now += timedelta(days=1)
    assert store.seal()
    assert stored_row_counts(store, ids) == before
    assert store.merge()
    assert stored_row_counts(store, ids) == before


def test_rows_of_every_table_are_counted(store: Store) -> None:
    asked = []

    class Asked:
        def query(self, sql: str, params: object = None) -> object:
            asked.append(sql)
            return store.query(sql, params)  # type: ignore[arg-type]

    stored_row_counts(Asked(), ["r1"])  # type: ignore[arg-type]
    assert all(f"raw.{table} " in asked[0] for table in TIME_COLUMNS)


def test_no_large_reports_kept_or_bombs_unpacked(files: ReportFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write("r1", "report", "basis", bytes(2000))
    assert files.read("r1", "report", "basis") == bytes(2000)
    monkeypatch.setattr("storage.files.report_files.MAX_BYTES", 1000)
    assert files.read("r1", "report", "basis") is None
    files.write("r9", "report", "basis", bytes(2000))
    assert files.read("r9", "report", "basis") is None


def test_cache_lies_in_the_private_run_folder(
    store: Store, settings: Settings, files: ReportFiles, runs: list[Run]
) -> None:
    ReportCache(files).get(store, runs)
    (path,) = _paths(files)
    assert path.parent.parent == settings.runs_dir / "r2"
    assert path.stat().st_mode & 0o077 == 0
    assert np.frombuffer(path.read_bytes(), np.uint8).size < 16_000
