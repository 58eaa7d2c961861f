"""The speed that a log prints, where nothing else tells one: of real logs, apart from all that is ranked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from analysis.runs.conditions import Span
from analysis.runs.printed import PrintedSpeed, in_place_of, most_printed
from analysis.runs.run_line import RunLine
from analysis.runs.windows import SpeedSummary
from collectors.imports.log_import import LogImporter, Wish
from domain import Config, Run
from reports.arms.comparison import Asking, comparison_of
from reports.arms.facts import facts_of
from reports.arms.other_loads import apart_from
from reports.runs.ended import EndedReports
from reports.runs.run_line import compute_lines, in_order, lines_of
from reports.runs.run_metrics import Values, metrics_of
from reports.runs.run_report import RunReport, report_on
from samples import Batch, CounterSample, LogSample, Sample
from service.run_lines import RunLineKeeper
from settings import Settings
from storage.ask.queries import printed_speeds
from storage.ask.run_queries import NUMBERS
from storage.store import Store
from web.compare.answer.metric_table import Shown, metric_sections
from web.compare.comparison import number_tiles
from web.runs.table import run_table
from web.runs.table.run_cards import BY_LOG, first_cards

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
    ids = [importer.take(FIXTURES / name, Wish(name), lambda share: None).run_ids[0] for name in PRINTED]
    yield store, store.runs_of(ids)
    store.close()


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    opened = Store.open(settings)
    yield opened
    opened.close()


def metrics(store: Store, reports: Sequence[RunReport]) -> dict[str, Values]:
    facts = {one.run_id: one for one in facts_of(store, [report.run for report in reports])}
    return {report.run.id: metrics_of(report, facts[report.run.id], {}) for report in reports}


def run_of(run_id: str) -> Run:
    times = {"created_at": NOW, "started_at": NOW, "ready_at": NOW, "ended_at": NOW + timedelta(seconds=60)}
    fields = {"id": run_id, "name": run_id, "color": 0, "config": Config(engine="vllm"), "machine_id": "m"}
    return Run.model_validate(fields | times | {"state": "finished"})


def line(second: int, tps: float, rank: int | None = None, definition: str = "vllm.log") -> Sample:
    at = NOW + timedelta(seconds=second)
    return LogSample("r", at, second, second, definition, engine_index=rank, window_s=10.0, generation_tps=tps)


def asked(store: Store, *samples: Sample) -> list[PrintedSpeed]:
    store.write(Batch(samples)).result()
    store.save_run(run_of("r"))
    return printed_speeds(store, ["r"])["r"]


def test_the_logs_own_number_is_the_median_of_the_lines_that_generate(logs: tuple[Store, list[Run]]) -> None:
    reports = report_on(*logs)
    assert [report.summary.typical_tps for report in reports] == [None, None, None]
    for report, expected in zip(reports, PRINTED.values(), strict=True):
        assert report.printed
        assert (report.printed.definition, report.printed.lines) == (expected.definition, expected.lines)
        assert report.printed.median_tps == pytest.approx(expected.median_tps)


def test_a_rank_that_spoke_before_the_others_is_not_the_run(store: Store) -> None:
    assert asked(store, line(10, 900.0, 0), line(20, 100.0, 0), line(20, 50.0, 1)) == [
        PrintedSpeed("vllm.log", 150.0, 1)
    ]


def test_where_counters_tell_of_a_run_its_log_does_not(store: Store) -> None:
    assert asked(store, line(10, 90.0)) == [PrintedSpeed("vllm.log", 90.0, 1)]
    assert asked(store, CounterSample("r", NOW, 0.0, "vllm.counter", generation_tokens_total=1.0)) == []


def test_idle_lines_say_no_speed_and_definitions_stay_apart(store: Store) -> None:
    told = asked(store, line(10, 0.0), line(20, 90.0), line(30, 10.0, definition="sglang.log"))
    assert told == [PrintedSpeed("sglang.log", 10.0, 1), PrintedSpeed("vllm.log", 90.0, 1)]


def test_of_several_definitions_the_one_of_most_lines_is_told() -> None:
    few, many = PrintedSpeed("a.log", 900.0, 2), PrintedSpeed("b.log", 10.0, 3)
    assert most_printed([few, many]) is most_printed([many, few]) is many
    assert most_printed([]) is None


def test_beside_a_measured_speed_it_is_not_told() -> None:
    printed = PrintedSpeed("vllm.log", 90.0, 3)
    assert in_place_of(SpeedSummary(10.0, "vllm.log", 3, 0, typical_tps=80.0), printed) is None
    assert in_place_of(SpeedSummary(10.0, "vllm.log", 2, 0), printed) is printed


def test_apart_from_other_loads_it_is_not_known(logs: tuple[Store, list[Run]]) -> None:
    store, runs = logs
    (report,) = report_on(store, runs[:1])
    assert report.printed and apart_from(report, [Span(runs[0].id, NOW, NOW, "load")]).printed is None


def test_the_list_of_runs_has_it_in_no_order_of_speeds(logs: tuple[Store, list[Run]]) -> None:
    store, runs = logs
    fresh = compute_lines(store, runs)
    told = [(one.printed_definition, one.printed_lines, one.typical_tps) for one in fresh.values()]
    assert told == [("vllm.log", 9, None), ("vllm.log", 2, None), ("sglang.log", 2, None)]
    assert all(in_order(runs, fresh, by) == runs for by in NUMBERS)
    while RunLineKeeper(store).keep_next():
        pass
    assert lines_of(store, runs, lambda _: pytest.fail("it was kept")) == fresh


def test_its_cell_in_the_list_is_a_text_that_names_its_definition() -> None:
    line = RunLine(None, None, None, None, None, None, None, 100.94, 1, "vllm.log")
    assert run_table.printed_cell(line) == "vllm.log: 101 tok/s, 1 line"
    assert run_table.printed_cell(run_table.ELSEWHERE) is None


def test_the_tile_says_what_it_is_without_a_hover(logs: tuple[Store, list[Run]]) -> None:
    store, runs = logs
    reports = report_on(store, runs)
    facts = facts_of(store, runs)
    ngram, sglang = number_tiles(reports[0], facts[0]), number_tiles(reports[2], facts[2])
    assert '<dt>By its log, not ranked</dt><dd><span class="pw-apart">1,583 <small>tok/s</small></span></dd>' in ngram
    assert "first tokens and idle time included; 9 lines (vllm.log)." in ngram
    assert "decode tokens over the time since the last decode line, idle time included; 2 lines (sglang.log)" in sglang
    assert "Decode speed typical" in ngram.partition("Not known: ")[2]


def test_compare_shows_it_hatched_without_a_ratio_a_row_a_definition(logs: tuple[Store, list[Run]]) -> None:
    store, runs = logs
    told = metrics(store, report_on(store, runs))
    comparison = comparison_of(store, runs, Asking())
    everyone = frozenset(arm.id for arm in comparison.arms)
    shown = metric_sections(Shown(comparison.arms, lambda _: everyone, {run.id: 0 for run in runs}, 0.02), told)
    body = shown.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = {
        row.partition("not ranked (")[2].partition(")")[0]: row for row in body.split("<tr>") if "not ranked" in row
    }
    assert rows.keys() == {"vllm.log", "sglang.log"}
    assert [row.count("pw-apart") for row in rows.values()] == [2, 1]
    assert "×" not in body
    assert "By its log, not ranked (sglang.log): median of the lines" in shown.partition("</tbody>")[2]


def test_the_first_look_says_what_the_log_prints_apart_from_what_is_measured(
    logs: tuple[Store, list[Run]],
) -> None:
    store, runs = logs
    card = first_cards(store, [runs[0].id], EndedReports())
    assert '<span class="pw-apart">1,583 <small>tok/s</small></span>' in card.replace("1583", "1,583")
    assert BY_LOG in card and "no window" not in card
