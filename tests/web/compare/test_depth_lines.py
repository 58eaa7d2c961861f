"""Depths until which suites hold: one sentence on Compare, in both reports and on the command line."""

from __future__ import annotations

import json

import pytest

from analysis.guard import RowCode, RowStatus
from cli.main import main
from domain import Run
from load_records import TOOLS_AT_DEPTH, Load, SuiteCheck
from reports.arms.report_data import ReportData
from samples import Batch
from settings import Settings
from storage.store import Store
from tests.analysis.comparison.ideal_engine import T0
from tests.web.report_export.conftest import Report, report, runs
from web.compare.answer.accuracy_table import accuracy_cells, depth_lines
from web.compare.answer.sentence import remarks
from web.report_export.markdown import report_markdown
from web.report_export.sections import accuracy

__all__ = ["report", "runs"]
DEPTHS = (0, 8000, 32000)
BROKEN = {1: (48, 48, 30)}  # arm -> cases of 48 that pass at each depth
LINE = (
    "Tool calls on {} hold until 32k tokens in the one conversation tried; for others, 36 would settle 8k; "
    "on {} hold until 8k tokens, break at 32k (30 of 48 passed) in the one conversation tried; for others, 36 would "
    "settle 8k."
)  # fmt: skip


def checks(run: Run, passed: tuple[int, ...]) -> list[SuiteCheck]:
    return [
        SuiteCheck(
            run.id, f"depth-{run.id}", T0, "tool calls", f"case {n}", "whole", n < count, None, {}, depth, 1,
            f"{depth} {n}",
        )
        for depth, count in zip(DEPTHS, passed, strict=True)
        for n in range(48)
    ]  # fmt: skip


@pytest.fixture
def data(store: Store, runs: list[Run], report: Report) -> ReportData:
    for arm in (0, 1):
        run = runs[3 * arm]
        plan = Load(run.id, f"depth-{run.id}", T0, "pitwall", TOOLS_AT_DEPTH)
        store.write(Batch((plan, *checks(run, BROKEN.get(arm, (48, 48, 48)))))).result()
    return report(runs)


def test_depths_are_the_same_everywhere(data: ReportData) -> None:
    arms = data.comparison.arms
    line = LINE.format(*(arm.name for arm in arms))
    assert depth_lines(arms, data.depths) == [line]
    assert line in accuracy(data, {arm.id: 0 for arm in arms})
    assert "break at 32k" in report_markdown(data)
    (answer, *_) = data.comparison.answers
    assert f"tool calls hold until 8k tokens ({arms[0].name}: 32k)" in " ".join(remarks(answer, {}))
    (row,) = [row for row in answer.rows if row.code is RowCode.QUALITY]
    assert row.status is RowStatus.TOLD and row.values["depths"] == [("tool calls", 8000, 32000)]


def test_a_depth_is_a_task_that_is_paired_by_request(data: ReportData) -> None:
    cells = {title: texts for title, *texts in accuracy_cells(data.comparison.arms, data.accuracies)}
    assert list(cells) == [f"tool calls after {depth} tokens" for depth in ("0", "8k", "32k")]
    assert cells["tool calls after 8k tokens"][1].startswith("100.0 %, +0.0 points")
    text = cells["tool calls after 32k tokens"][1]
    assert text.startswith("62.5 %, -37.5 points (") and "18 lost and 0 won of 48 items, p < 0.001" in text


@pytest.mark.publishes
def test_command_line_has_the_depths(
    store: Store,
    settings: Settings,
    data: ReportData,
    runs: list[Run],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store.publish()
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))
    ids = [run.id for run in runs]
    line = LINE.format(*(arm.name for arm in data.comparison.arms))
    main(["compare", *ids, "--json"])
    assert json.loads(capsys.readouterr().out)["depths"] == [line]
    main(["compare", *ids])
    assert line in capsys.readouterr().out
