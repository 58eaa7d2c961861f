"""Tables for publication: every number of Compare with its difference, in four formats."""

from __future__ import annotations

import csv
import io
from statistics import fmean, stdev

import pytest

from analysis.metrics.registry import MetricId
from domain import Run
from load_records import Accuracy, Result
from reports.arms.accuracy import accuracy_rows
from reports.arms.published_table import Difference, PublicationTable, PublishedCell, PublishedRow, published_tables
from reports.arms.report_data import ReportData
from storage.queries.load_queries import LoadOutcome
from tests.analysis.comparison.ideal_engine import T0
from tests.web.report_export.conftest import Report
from web.publish.published_text import FORMATS, DifferenceStyle, as_csv_text, as_latex, as_markdown, cell_text

OUTPUT = MetricId("output_tps", 4)


@pytest.fixture
def data(runs: list[Run], report: Report) -> ReportData:
    return report([run for run in runs if run.kind == "launched"])


def row(data: ReportData, metric: MetricId) -> PublishedRow:
    return next(row for row in data.published_tables[0].rows if row.metric == metric)


def test_each_kind_of_speed_has_its_rows(data: ReportData) -> None:
    keys = {row.metric.key for row in data.published_tables[0].rows if row.metric}
    assert {"prompt_tps", "stream_tps", "output_tps", "request_tps", "ttft_ms", "tpot_ms"} <= keys
    titles = [row.title for row in data.published_tables[0].rows]
    assert (
        titles.index("Prefill speed, one at a time")
        < titles.index("Stream speed")
        < titles.index("Output speed, 8 at once")
    )


def test_difference_is_that_of_the_verdict(data: ReportData) -> None:
    for published in data.published_tables[0].rows:
        if published.metric:
            for arm, cell in zip(data.comparison.arms, published.cells, strict=True):
                assert cell.value == data.arm_metrics[arm.id][published.metric].value, published.title
    (answer,) = data.comparison.answers
    assert answer.judgement
    compared = row(data, MetricId("output_tps", 8)).cells[1].difference
    assert compared == Difference(answer.judgement.ratio, False, *answer.judgement.interval or (), is_ranked=True)


def test_unranked_differences_are_as_seen() -> None:
    published_cell = PublishedCell(262.0, Difference(1.31, is_ranked=False))
    assert cell_text(OUTPUT, published_cell, DifferenceStyle.PERCENT) == "262 (+31.0 %, as seen)"
    ranked = PublishedCell(262.0, Difference(1.31, False, 1.25, 1.37, is_ranked=True))
    assert cell_text(OUTPUT, ranked, DifferenceStyle.RATIO) == "262 (1.31×, 1.25× to 1.37×)"
    points = PublishedCell(81.9, Difference(-2.3, is_points=True))
    assert cell_text(None, points, DifferenceStyle.RATIO) == "81.90 (-2.3 points, as seen)"
    assert cell_text(OUTPUT, PublishedCell(None), DifferenceStyle.RATIO) == "–"


def test_formats_escape_hostile_names() -> None:
    cells = (PublishedCell(1.0), PublishedCell(2.0, Difference(2.0)))
    tables = [PublicationTable("Results", ("a|b & c_1", "<b>\\x"), (PublishedRow("50 % # {x}", "", cells),))]
    assert r"a\|b" in as_markdown(tables, DifferenceStyle.PERCENT)
    latex = as_latex(tables, DifferenceStyle.RATIO)
    assert r"a|b \& c\_1" in latex and r"\textbackslash{}x" in latex and r"50 \% \# \{x\}" in latex
    assert r"2.00$\times$" in latex
    assert "<b>" not in FORMATS["html"](tables, DifferenceStyle.RATIO)
    rows = list(csv.DictReader(io.StringIO(as_csv_text(tables, DifferenceStyle.RATIO))))
    assert [row["arm"] for row in rows] == ["a|b & c_1", "<b>\\x"] and rows[1]["difference"] == "2.0"


def test_grid_pools_mean_and_sd(data: ReportData) -> None:
    """Three values on each of two starts: the mean and the sd of all six."""
    arm = data.comparison.arms[0]
    starts = [[70.1, 71.3, 69.9], [74.2, 73.0, 73.3]]
    outcomes = {
        run.run_id: {"g": LoadOutcome([
            Result(run.run_id, "g", T0, "pp512 tg128 d0 c1", "decode_tps", "mean", "tok/s", "llama-benchy 0.4.0",
                   fmean(values), n=3, sd=stdev(values), concurrency=1, prompt_tokens=512, output_tokens=128),
        ])}
        for run, values in zip(arm.runs, starts, strict=False)
    }  # fmt: skip
    tables = published_tables(data.comparison, data.arm_metrics, outcomes, ())
    (grid,) = [published for published in tables if published.title == "decode_tps"]
    (point,) = grid.rows
    everything = [value for values in starts for value in values]
    assert point.cells[0].value == pytest.approx(fmean(everything)) and point.cells[0].sd == pytest.approx(
        stdev(everything)
    )
    assert "71.97 ± 1.79" in as_markdown([grid], DifferenceStyle.RATIO)


def test_accuracy_differs_in_points(data: ReportData) -> None:
    outcomes = {
        arm.runs[0].run_id: {"a": LoadOutcome(accuracy=[
            Accuracy(arm.runs[0].run_id, "a", T0, "mmlu_pro", "none", "acc", correct=value, n=1000, value=value / 1000)
        ])}
        for arm, value in zip(data.comparison.arms, (842, 819), strict=True)
    }  # fmt: skip
    accuracies = accuracy_rows(data.comparison, outcomes, {})
    tables = published_tables(data.comparison, data.arm_metrics, outcomes, accuracies)
    task = next(row for row in tables[0].rows if row.title == "mmlu_pro")
    assert task.unit == "%" and task.cells[0].value == pytest.approx(84.2)
    assert task.cells[1].difference and task.cells[1].difference.is_points
    assert task.cells[1].difference.value == pytest.approx(-2.3)
    assert task.cells[1].difference.low is None and not task.cells[1].difference.is_ranked, "no items are stored"


def test_row_titles_have_their_units() -> None:
    """'s' stands in the title, but not as its unit; 'requests' does."""
    titles = {"model_load_s": "Loading the weights, s", "full_context_concurrency": "Full-length requests"}
    for key, title in titles.items():
        metric = MetricId(key)
        rows = (PublishedRow(metric.title, metric.definition.unit, (PublishedCell(8.96),), metric),)
        assert f"| {title} | " in as_markdown([PublicationTable("Results", ("a",), rows)], DifferenceStyle.PERCENT)
