"""The speed that a log prints, where nothing else tells one: of real logs, apart from all that is ranked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from analysis.metrics.registry import LIST_COLUMNS
from analysis.runs.conditions import Span
from analysis.runs.printed_speed import PrintedSpeed, most_printed, printed_fallback
from analysis.runs.run_line import RunLine
from analysis.runs.speed_summary import SpeedSummary, WindowFactors
from collectors.imports.log_import import ImportOptions, LogImporter
from domain import Config, Run
from reports.arms.comparison import ComparisonOptions, comparison_of
from reports.arms.other_loads import without_loads
from reports.cache.run_cache import ReportCache
from reports.runs.metric_inputs import metrics_of_runs
from reports.runs.run_line import compute_lines, lines_of, sort_runs
from reports.runs.run_metrics import RunMetrics
from reports.runs.run_report import RunReport, report_on
from samples import Batch, CounterSample, LogSample, Sample
from service.run_lines import RunLineKeeper
from settings import Settings
from storage.queries.run_data import printed_speeds
from storage.store import Store
from web.compare.answer.metric_table import TableColumns, metric_sections
from web.compare.run_tiles import number_tiles
from web.runs.table import run_table
from web.runs.table.run_cards import LOG_SPEED, first_cards

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
# Read off the logs by hand: lines above 0, of the two ranks of dp2 the sums of each moment.
PRINTED = {
    "vllm/0.32-ngram.log": PrintedSpeed("vllm.log", 1583.3, 9),
    "vllm/0.32-dp2.log": PrintedSpeed("vllm.log", ((306.3 + 353.8) + (204.6 + 255.3)) / 2, 2),
    "sglang/0.5.23-cpu.log": PrintedSpeed("sglang.log", (2.12 + 85.36) / 2, 2),
}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, list[Run]]]:
    """The logs as they are imported, and their runs."""
    folder = tmp_path_factory.mktemp("logs")
    store = Store.open(Settings(data_dir=folder))
    importer = LogImporter(store, folder / "runs", lambda: NOW)
    ids = [importer.import_log(FIXTURES / name, ImportOptions(name), lambda share: None).run_ids[0] for name in PRINTED]
    yield store, store.runs_of(ids)
    store.close()


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    opened = Store.open(settings)
    yield opened
    opened.close()


def metrics(store: Store, reports: Sequence[RunReport]) -> Mapping[str, RunMetrics]:
    return metrics_of_runs(store, reports)


def run_of(run_id: str) -> Run:
    times = {"created_at": NOW, "started_at": NOW, "ready_at": NOW, "ended_at": NOW + timedelta(seconds=60)}
    fields = {"id": run_id, "name": run_id, "color": 0, "config": Config(engine="vllm"), "machine_id": "m"}
    return Run.model_validate(fields | times | {"state": "finished"})


def line(second: int, tps: float, rank: int | None = None, definition: str = "vllm.log") -> Sample:
    at = NOW + timedelta(seconds=second)
    return LogSample("r", at, second, second, definition, engine_index=rank, window_s=10.0, generation_tps=tps)


def printed_speeds_of(store: Store, *samples: Sample) -> list[PrintedSpeed]:
    store.write(Batch(samples)).result()
    store.save_run(run_of("r"))
    return printed_speeds(store, ["r"])["r"]


def test_log_number_is_median_of_generating_lines(logs: tuple[Store, list[Run]]) -> None:
    reports = report_on(*logs)
    assert [report.summary.alone.typical_tps for report in reports] == [None, None, None]
    for report, expected in zip(reports, PRINTED.values(), strict=True):
        assert report.printed
        assert (report.printed.definition, report.printed.lines) == (expected.definition, expected.lines)
        assert report.printed.median_tps == pytest.approx(expected.median_tps)


def test_early_rank_is_not_the_whole_run(store: Store) -> None:
    assert printed_speeds_of(store, line(10, 900.0, 0), line(20, 100.0, 0), line(20, 50.0, 1)) == [
        PrintedSpeed("vllm.log", 150.0, 1)
    ]


def test_counters_silence_the_log_speed(store: Store) -> None:
    assert printed_speeds_of(store, line(10, 90.0)) == [PrintedSpeed("vllm.log", 90.0, 1)]
    assert printed_speeds_of(store, CounterSample("r", NOW, 0.0, "vllm.counter", generation_tokens_total=1.0)) == []


def test_idle_lines_have_no_speed_and_kinds_split(store: Store) -> None:
    printed_speeds = printed_speeds_of(store, line(10, 0.0), line(20, 90.0), line(30, 10.0, definition="sglang.log"))
    assert printed_speeds == [PrintedSpeed("sglang.log", 10.0, 1), PrintedSpeed("vllm.log", 90.0, 1)]


def test_definition_with_most_lines_is_shown() -> None:
    few, many = PrintedSpeed("a.log", 900.0, 2), PrintedSpeed("b.log", 10.0, 3)
    assert most_printed([few, many]) is most_printed([many, few]) is many
    assert most_printed([]) is None


def test_beside_a_measured_speed_it_is_not_told() -> None:
    printed = PrintedSpeed("vllm.log", 90.0, 3)
    assert (
        printed_fallback(SpeedSummary(10.0, "vllm.log", 3, 0, factors=WindowFactors(80.0, None, None)), printed) is None
    )
    assert printed_fallback(SpeedSummary(10.0, "vllm.log", 2, 0), printed) is printed


def test_apart_from_other_loads_it_is_not_known(logs: tuple[Store, list[Run]]) -> None:
    store, runs = logs
    (report,) = report_on(store, runs[:1])
    assert report.printed and without_loads(report, [Span(runs[0].id, NOW, NOW, "load")]).printed is None


def test_run_list_does_not_sort_printed_speed(logs: tuple[Store, list[Run]]) -> None:
    store, runs = logs
    fresh = compute_lines(store, runs)
    printed = [line.printed for line in fresh.values() if line.printed]
    assert [(speed.definition, speed.lines) for speed in printed] == [
        ("vllm.log", 9),
        ("vllm.log", 2),
        ("sglang.log", 2),
    ]
    assert all(line["typical_tps"] is None for line in fresh.values())
    assert all(sort_runs(runs, fresh, key) == runs for key, metric in LIST_COLUMNS.items() if metric.unit == "tok/s")
    while RunLineKeeper(store).keep_next():
        pass
    assert lines_of(store, runs, lambda _: pytest.fail("it was kept")) == fresh


def test_list_cell_names_its_definition() -> None:
    line = RunLine(printed=PrintedSpeed("vllm.log", 100.94, 1))
    assert run_table.printed_cell(line.printed) == "vllm.log: 101 tok/s, 1 line"
    assert run_table.printed_cell(run_table.OTHER_MACHINE_LINE.printed) is None


def test_the_tile_says_what_it_is_without_a_hover(logs: tuple[Store, list[Run]]) -> None:
    store, runs = logs
    reports = report_on(store, runs)
    actual_metrics = metrics(store, reports)
    ngram, sglang = (number_tiles(report, actual_metrics[report.run.id]) for report in (reports[0], reports[2]))
    assert '<dt>Log only (not ranked)</dt><dd><span class="pw-apart">1,583 <small>tok/s</small></span></dd>' in ngram
    assert "first tokens and idle time included; 9 lines (vllm.log)." in ngram
    assert "decode tokens over the time since the last decode line, idle time included; 2 lines (sglang.log)" in sglang
    assert "Decode speed typical" in ngram.partition("Not known: ")[2]


def test_compare_hatches_printed_speed_rows(logs: tuple[Store, list[Run]]) -> None:
    store, runs = logs
    actual_metrics = metrics(store, report_on(store, runs))
    comparison = comparison_of(store, runs, ComparisonOptions())
    everyone = dict.fromkeys(arm.id for arm in comparison.arms)
    shown_metric_sections = metric_sections(
        TableColumns(comparison.arms, lambda _: everyone, {run.id: 0 for run in runs}, 0.02), actual_metrics
    )
    body = shown_metric_sections.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = {
        row.partition("(not ranked) (")[2].partition(")")[0]: row for row in body.split("<tr>") if "not ranked" in row
    }
    assert rows.keys() == {"vllm.log", "sglang.log"}
    assert [row.count("pw-apart") for row in rows.values()] == [2, 1]
    assert "×" not in body
    assert (
        "Log only (not ranked) (sglang.log): median of the log lines" in shown_metric_sections.partition("</tbody>")[2]
    )


def test_first_look_splits_printed_from_measured(
    logs: tuple[Store, list[Run]],
) -> None:
    store, runs = logs
    card = first_cards(store, [runs[0].id], ReportCache())
    assert '<span class="pw-apart">1,583 <small>tok/s</small></span>' in card.replace("1583", "1,583")
    assert LOG_SPEED in card and "no window" not in card
