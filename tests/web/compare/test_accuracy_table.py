"""Accuracies on the same items: one difference on Compare, in the viewpoints, the tables, the report and the JSON."""

from __future__ import annotations

import json

import pytest

from analysis.loads.agent_tasks import TaskEnd, TaskRepeat
from cli.main import main
from domain import Run
from load_records import AGENT_TASK, Accuracy, AccuracyItem, SuiteCheck
from reports.arms.report_data import ReportData
from samples import Batch
from settings import Settings
from storage.store import Store
from tests.analysis.comparison.ideal_engine import T0
from tests.web.report_export.conftest import Report, report, runs
from web.compare.answer.accuracy_table import accuracy_cells
from web.report_export.markdown import report_markdown
from web.report_export.sections import viewpoint_rows
from web.report_export.tables import accuracy_fields

__all__ = ["report", "runs"]
TEXT = "81.9 %, -2.3 points (-2.9 to -1.7), 82 lost and 13 won of 3,000 items, p < 0.001"
RIGHT = {0: range(2526), 1: [*range(82, 2526), *range(2987, 3000)]}  # arm -> its items with the right answer


def scored(store: Store, run: Run, right: set[int], **fields: str) -> None:
    names = {"run_id": run.id, "load_id": f"eval-{run.id}", "ts": T0, "task": "mmlu_pro", "filter": "none"}
    items = [AccuracyItem(**names, item_hash=f"h{n}", item_id=str(n), score=float(n in right)) for n in range(3000)]
    share = len(right) / 3000
    accuracy = Accuracy(**names, metric="acc", correct=len(right), n=3000, value=share, **fields)
    store.write(Batch((accuracy, *items))).result()


@pytest.fixture
def stored_runs(store: Store, runs: list[Run]) -> list[Run]:
    for place, right in RIGHT.items():
        scored(store, runs[3 * place], set(right), protocol_hash="p")
    return runs


@pytest.fixture
def data(report: Report, stored_runs: list[Run]) -> ReportData:
    return report(stored_runs)


def test_points_are_the_same_everywhere(data: ReportData) -> None:
    assert list(accuracy_cells(data.comparison.arms, data.accuracies)) == [["mmlu_pro", "84.2 %", TEXT]]
    (row,) = [row for row in data.published_tables[0].rows if row.title == "mmlu_pro"]
    difference = row.cells[1].difference
    assert difference and difference.is_ranked and difference.is_points
    assert (difference.value, difference.low, difference.high) == pytest.approx((-2.3, -2.95, -1.67), abs=0.01)
    (quality,) = [line for line in viewpoint_rows(data) if line.title == "Quality, mmlu_pro"]
    assert (quality.best, quality.margin) == (data.comparison.arms[0].name, "+2.3 points (+1.7 to +2.9)")
    assert "82 lost and 13 won" in report_markdown(data)


def test_another_metric_is_not_paired(store: Store, report: Report, stored_runs: list[Run]) -> None:
    """The items are those of one metric; the count of right answers tells that an accuracy is of another."""
    names = {"load_id": f"eval-{stored_runs[3].id}", "ts": T0, "task": "mmlu_pro", "filter": "none"}
    other_accuracy = Accuracy(stored_runs[3].id, **names, metric="acc_norm", correct=2400, n=3000, value=0.8)
    base = Accuracy(stored_runs[0].id, f"eval-{stored_runs[0].id}", T0, "mmlu_pro", "none", "acc_norm", 2400, 3000, 0.8)
    store.write(Batch((other_accuracy, base))).result()
    rows = {row.title: row for row in report(stored_runs).accuracies}
    (comparison,) = rows["mmlu_pro, acc_norm"].comparisons.values()
    assert comparison.difference is None and comparison.reason and not comparison.is_ranked
    assert rows["mmlu_pro, acc"].comparisons[comparison.arm.id].difference


def test_other_protocols_are_not_ranked(store: Store, report: Report, runs: list[Run]) -> None:
    for place, right in RIGHT.items():
        scored(store, runs[3 * place], set(right), protocol_hash=f"p{place}")
    (row,) = report(runs).accuracies
    (comparison,) = row.comparisons.values()
    assert comparison.difference and not comparison.is_ranked


def repeated(store: Store, run: Run, solved: int, task_hash: str = "h") -> None:
    """Five repeats of an agent task, of which so many were solved."""
    ends = [TaskEnd.SOLVED] * solved + [TaskEnd.LATE] * (5 - solved)
    checks = [
        SuiteCheck(
            run.id, f"task-{run.id}", T0, AGENT_TASK, "parser", "agent", end is TaskEnd.SOLVED, None,
            TaskRepeat(end=end).as_json(), repeat=n, item_hash=task_hash,
        )
        for n, end in enumerate(ends, 1)
    ]  # fmt: skip
    store.write(Batch(tuple(checks))).result()


def test_repeats_of_an_agent_task_are_pooled_over_starts(store: Store, report: Report, runs: list[Run]) -> None:
    for run, solved in zip((runs[0], runs[1], runs[3], runs[4]), (1, 1, 5, 4), strict=True):
        repeated(store, run, solved)
    data = report(runs)
    ((title, baseline, contender),) = accuracy_cells(data.comparison.arms, data.accuracies)
    assert (title, baseline) == ("agent task parser", "20.0 %")
    assert contender.startswith("90.0 %, +70.0 points (") and "9 of 10 solved against 2 of 10, p = 0.0055" in contender
    assert "9 of 10 solved against 2 of 10" in report_markdown(data)
    (fields,) = [accuracy_fields(comparison) for comparison in data.accuracies[0].comparisons.values()]
    assert (fields["baseline_n"], fields["n"], fields["lost"], fields["is_ranked"]) == (10, 10, None, True)


def test_another_agent_task_is_not_ranked(store: Store, report: Report, runs: list[Run]) -> None:
    repeated(store, runs[0], 1)
    repeated(store, runs[3], 5, task_hash="another folder")
    (row,) = report(runs).accuracies
    (comparison,) = row.comparisons.values()
    assert comparison.difference and not comparison.is_ranked


@pytest.mark.publishes
def test_json_has_points_and_interval(
    store: Store,
    settings: Settings,
    stored_runs: list[Run],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store.close()
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))
    assert main(["compare", *(run.id for run in stored_runs), "--json"]) == 0
    (accuracy,) = json.loads(capsys.readouterr().out)["accuracy"]
    assert (accuracy["points"], accuracy["low"], accuracy["high"]) == pytest.approx((-2.3, -2.95, -1.67), abs=0.01)
    assert (accuracy["lost"], accuracy["won"], accuracy["n"], accuracy["is_ranked"]) == (82, 13, 3000, True)
