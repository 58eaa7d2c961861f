"""Every place that shows a number of a run or an arm shows the same one, or the same reason."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.csv as pa_csv
import pytest

from analysis.metrics.definition import Repeats
from analysis.metrics.registry import BY_KEY, LISTED, MetricId
from analysis.verdict.mean import mean_of
from cli.results.compare import as_json
from domain import Run
from reports.arms.arm_metrics import has_differences
from reports.arms.comparison import ComparisonOptions, ComparisonReport
from reports.arms.report_data import ReportData, ReportProvenance, report_data
from reports.runs.metric_inputs import metrics_of_runs
from reports.runs.run_line import compute_lines, lines_of, sort_runs
from reports.runs.run_metrics import MetricValue, RunMetrics, highest_output, objective_of
from reports.runs.run_report import RunReport, report_on
from service.run_lines import RunLineKeeper
from settings import Settings
from storage.queries.explore_queries import METRICS as EXPLORE_METRICS
from storage.queries.explore_queries import View, explore_sql, read_view
from storage.queries.load_queries import loads, outcomes
from storage.queries.run_queries import RunFilter
from storage.store import Store
from tests.analysis.comparison.ideal_engine import T0
from tests.consistency.seeds import SEEDS
from web.compare.answer.metric_table import TableColumns, metric_sections
from web.compare.answer.sentence import detail
from web.compare.run_tiles import all_numbers_table, number_tiles, tile_metrics
from web.live.live_tiles import report_tiles
from web.live.ratio_refusals import counts_several_concurrencies
from web.loads.panels.load_results import results_table, shown_results
from web.metric_words import metric_text
from web.report_export.markdown import report_markdown
from web.report_export.tables import as_zip, data_tables
from web.words import reason_text

PROVENANCE = ReportProvenance("test", T0, "0.1.0")
LIVE_TILES = {"decode_tps": "mean_decode_tps", "tokens_per_step": "tokens_per_step", "steps_per_s": "steps_per_s",
              "acceptance_length": "acceptance_length"}  # fmt: skip
# Too few requests, no draft positions and no agents are seeded for these; only the list of runs shows the last.
NOT_SEEDED = {f"{latency}_p{share}_ms" for latency in ("ttft", "tpot", "e2e") for share in (95, 99)}
NOT_SEEDED |= {"position_acceptance", "work_s", "output_concurrency"}


class Seeded(NamedTuple):
    """A store with runs of every kind, and the metrics that all places must show."""

    store: Store
    runs: list[Run]
    reports: Mapping[str, RunReport]
    metrics: Mapping[str, RunMetrics]


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seeded]:
    store = Store.open(Settings(data_dir=tmp_path_factory.mktemp("one_number")))
    run_ids = [run_id for seed in SEEDS for run_id in seed(store)]
    runs = store.runs_of(run_ids)
    reports = report_on(store, runs)
    yield Seeded(store, runs, {report.run.id: report for report in reports}, metrics_of_runs(store, reports))
    store.close()


def listed_value(metrics: RunMetrics, key: str) -> float | None:
    """The value that the list of runs shows of a metric."""
    if key in ("output_tps", "output_concurrency"):
        output = highest_output(metrics)
        return output and output[key == "output_tps"]
    value = metrics.get(MetricId(key)) or metrics.get(MetricId(key, 1))
    return value.value if value else None


def without_tags(text: str) -> str:
    """Markup without tags."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


def test_each_registered_metric_is_computed(seeded: Seeded) -> None:
    computed = {metric.key for metrics in seeded.metrics.values() for metric in metrics}
    assert set(BY_KEY) - computed == NOT_SEEDED


def test_list_of_runs(seeded: Seeded) -> None:
    lines = compute_lines(seeded.store, seeded.runs)
    for run in seeded.runs:
        for metric in LISTED:
            assert lines[run.id][metric.key] == listed_value(seeded.metrics[run.id], metric.key), (run.id, metric.key)


def test_sql_views_and_explore(seeded: Seeded) -> None:
    keeper = RunLineKeeper(seeded.store)
    while keeper.keep_next():
        pass
    rows = {row["run_id"]: row for row in seeded.store.query("FROM run_reports").to_pylist()}
    assert rows.keys() == {run.id for run in seeded.runs}
    for metric in LISTED:
        assert metric.column
        sql = explore_sql(RunFilter(marks=()), View(metric.column.name, "started"), EXPLORE_METRICS)
        explored = {row["run_id"]: row["y"] for row in read_view(seeded.store, sql)}
        for run in seeded.runs:
            value = listed_value(seeded.metrics[run.id], metric.key)
            assert rows[run.id][metric.key] == value, (run.id, metric.key)
            assert explored[run.id] == value, (run.id, metric.key)
    lines = lines_of(seeded.store, seeded.runs, lambda _: pytest.fail("the lines are stored"))
    assert lines == compute_lines(seeded.store, seeded.runs)
    _check_metric_view(seeded)


def _check_metric_view(seeded: Seeded) -> None:
    """The view `metrics` has every metric of every run, each with its value or the code of its reason."""
    view = {
        (row["run_id"], MetricId(row["metric"], row["concurrency"], row["detail"])): row
        for row in seeded.store.query("FROM metrics").to_pylist()
    }
    values = {(run.id, metric): value for run in seeded.runs for metric, value in seeded.metrics[run.id].items()}
    assert view.keys() == values.keys()
    for place, value in values.items():
        reason = value.reason.code if value.reason and value.value is None else None
        assert (view[place]["value"], view[place]["reason"]) == (value.value, reason), place
        assert view[place]["title"] == BY_KEY[place[1].key].title


def test_tiles_and_numbers_of_run(seeded: Seeded) -> None:
    for run in seeded.runs:
        metrics = seeded.metrics[run.id]
        tiles_html = number_tiles(seeded.reports[run.id], metrics)
        tiles = {
            without_tags(label): without_tags(cell)
            for label, cell in re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", tiles_html)
        }
        table = dict(re.findall(r'<tr><th scope="row">(.*?)</th><td>(.*?)</td>', all_numbers_table(metrics)))
        for metric, value in metrics.items():
            cell = without_tags(table[metric.title])
            expected = metric_text(metric, value.value) if value.value is not None else reason_text(value.reason)
            assert cell.startswith(str(expected)), (run.id, metric.title)
            if metric in tile_metrics(metrics) and value.value is not None and metric.key != "startup_s":
                assert tiles[metric.title].startswith(metric_text(metric, value.value)), (run.id, metric.title)


def test_tiles_of_live(seeded: Seeded) -> None:
    for run in seeded.runs:
        tiles = report_tiles(seeded.reports[run.id])
        for tile, key in LIVE_TILES.items():
            value = seeded.metrics[run.id][MetricId(key)]
            assert tiles[tile]["v"] == value.value, (run.id, key)
            if value.value is None:
                assert tiles[tile]["why"] == reason_text(value.reason), (run.id, key)


def test_table_of_loads(seeded: Seeded) -> None:
    """The points of a load give its metrics: kinds of prompt their geometric mean, concurrent points themselves."""
    for run in seeded.runs:
        metrics, by_load = seeded.metrics[run.id], outcomes(seeded.store, [run.id])[run.id]
        for load in loads(seeded.store, [run.id])[run.id]:
            outcome = by_load.get(str(load.load_id))
            if outcome is None or load.plan is None or load.plan.tool != "pitwall":
                continue
            rows = shown_results(load, outcome)
            pooled = [row for row in rows if row.statistic == "pooled"]
            streams = [row.value or 0.0 for row in pooled if row.metric == "decode_tps" and row.concurrency == 1]
            if streams:
                assert mean_of(streams) == pytest.approx(metrics[MetricId("stream_tps")].value), run.id
            counts = Counter((row.metric, row.concurrency) for row in pooled)
            for row in pooled:
                if row.metric != "decode_tps" and counts[row.metric, row.concurrency] == 1:
                    metric = MetricId(row.metric, row.concurrency)
                    assert row.value == pytest.approx(metrics[metric].value), (run.id, metric)
            head, cells = results_table(rows)
            assert all(len(cell_row) == len(head) for cell_row in cells)


ARMS = {
    "five-prompts": lambda run: run.workload_names == "five-prompts",
    "ladder": lambda run: run.workload_names == "ladder",
    "tool": lambda run: run.id.startswith("tool-"),
    "grid": lambda run: run.id.startswith("grid-"),
    "mixed": lambda run: run.id.startswith("mixed-"),
}


@pytest.fixture(scope="module", params=list(ARMS))
def data(request: pytest.FixtureRequest, seeded: Seeded, tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    """A report on arms; where the seed has one arm, its second run is made an arm of its own."""
    run_ids = [run.id for run in seeded.runs if ARMS[request.param](run)]
    apart = frozenset(run_ids[1:]) if len(run_ids) == 2 else frozenset()
    prices = tmp_path_factory.mktemp("prices") / "prices.toml"
    return report_data(seeded.store, run_ids, PROVENANCE, prices, ComparisonOptions(apart=apart))


def arm_values(data: ReportData) -> Iterator[tuple[str, MetricId, MetricValue]]:
    for arm in data.comparison.arms:
        for metric, value in data.arm_metrics[arm.id].items():
            yield arm.id, metric, value


def test_live_and_compare_give_ratios_of_the_same_runs(seeded: Seeded, data: ReportData) -> None:
    """Means of decode speed over several concurrencies have no ratio in either place."""
    means = [metric for values in data.arm_metrics.values() for metric in values if metric.key == "mean_decode_tps"]
    on_compare = all(has_differences(metric, data.arm_metrics) for metric in means)
    reports = [seeded.reports[run.run_id] for arm in data.comparison.arms for run in arm.runs]
    assert on_compare != counts_several_concurrencies(reports)


def test_arms_are_means_of_their_runs(seeded: Seeded, data: ReportData) -> None:
    for arm in data.comparison.arms:
        for metric, value in data.arm_metrics[arm.id].items():
            values = [
                seeded.metrics[run.run_id][metric].value for run in arm.runs if metric in seeded.metrics[run.run_id]
            ]
            known_values = [number for number in values if number is not None]
            if metric.definition.repeats is not Repeats.MEDIAN:
                assert value.value == (pytest.approx(mean_of(known_values)) if known_values else None), (arm.id, metric)


def test_rows_of_compare(data: ReportData) -> None:
    report = data.comparison
    columns = TableColumns(report.arms, lambda _: {}, {run.id: 0 for run in data.runs}, 0.02)
    html = metric_sections(columns, data.arm_metrics)
    rows = {
        without_tags(title): [without_tags(cell) for cell in re.findall(r"<td>(.*?)</td>", cells)]
        for title, cells in re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', html)
    }
    positions = {arm.id: position for position, arm in enumerate(report.arms)}
    for arm_id, metric, value in arm_values(data):
        if value.value is not None:
            assert rows[metric.title][positions[arm_id]].startswith(metric_text(metric, value.value)), metric.title


def test_sentence_viewpoints_and_json(data: ReportData) -> None:
    """The answer's values are those of the rows and of the viewpoint."""
    report: ComparisonReport = data.comparison
    actual_fields: dict[str, Any] = as_json(report, ())
    compared = next(ranking for ranking in data.rankings if ranking.viewpoint.value == "compared")
    by_arm = {candidate.arm_id: candidate.value for candidate in compared.candidates}
    for answer, fields in zip(report.answers, actual_fields["answers"], strict=True):
        for arm, name in zip(answer.pair.arms, ("baseline", "other"), strict=True):
            metrics = data.arm_metrics[arm.id]
            (metric,) = [metric for metric in metrics if objective_of(metric) == report.objective]
            value = metrics[metric].value
            assert value is not None and mean_of(fields["values"][name]) == pytest.approx(value)
            assert by_arm[arm.id] == pytest.approx(value)
            if text := detail(answer):
                assert metric_text(metric, value) in text
    for key, viewpoint in (("typical_tps", "typical"), ("peak_tps", "peak_p99"), ("floor_tps", "floor")):
        ranking = next(ranking for ranking in data.rankings if ranking.viewpoint.value == viewpoint)
        for candidate in ranking.candidates:
            value = data.arm_metrics[candidate.arm_id][MetricId(key, 1)].value
            assert candidate.value == (None if value is None else pytest.approx(value)), (viewpoint, candidate.arm_id)


def test_csv_and_markdown_of_report(seeded: Seeded, data: ReportData, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(as_zip(data_tables(data)))) as archive:
        rows = pa_csv.read_csv(io.BytesIO(archive.read("numbers.csv"))).to_pylist()
    for row in rows:
        value = next(v for m, v in seeded.metrics[row["run_id"]].items() if m.title == row["metric"])
        assert row["value"] == (None if value.value is None else pytest.approx(value.value)), row["metric"]
        assert (row["reason"] or None) == (reason_text(value.reason) if value.value is None else None), row["metric"]
    lines = report_markdown(data).splitlines()
    after_numbers = lines.index("## Speed")
    for _, metric, value in arm_values(data):
        if value.value is not None:
            starts = (f"| {metric.title} (", f"| {metric.title} |")
            numbers = next(line for line in lines[after_numbers:] if line.startswith(starts))
            assert metric_text(metric, value.value) in numbers, metric.title


def test_foreign_numbers_stand_apart(seeded: Seeded) -> None:
    """A tool's maximum is no output speed, and no page sorts its numbers among measured ones."""
    lines = compute_lines(seeded.store, seeded.runs)
    guide = lines["guide-000"]
    assert guide["output_tps"] is None and guide["stream_tps"] is None
    assert guide.stated and (guide.stated.statistic, guide.stated.value) == ("mean", 187.2659299644405)
    order = [run.id for run in sort_runs(seeded.runs, lines, "typical")]
    known_order = [run_id for run_id in order if lines[run_id]["typical_tps"] is not None]
    assert known_order[-1] == "log-000" and order[: len(known_order)] == known_order, (
        "an imported log follows every measured run"
    )


def test_troubles_of_the_seeds(seeded: Seeded) -> None:
    """The numbers that each trouble must give."""
    metrics = seeded.metrics
    assert metrics["tool-000"][MetricId("stream_tps")].value == pytest.approx(10.0)
    assert metrics["mixed-000"][MetricId("typical_tps", 1)].value == pytest.approx(50.0)
    assert metrics["mixed-000"][MetricId("typical_tps", 4)].value == pytest.approx(160.0)
    assert metrics["mixed-000"][MetricId("floor_tps", 1)].value == pytest.approx(50.0)
    results = outcomes(seeded.store, ["grid-000"])["grid-000"]["l"].results
    (sum_of_rates,) = [row.value for row in results if row.metric == "sum_of_rates_tps"]
    assert sum_of_rates == pytest.approx(20.0), "two requests at once of 10 tok/s each, three times"
