"""The tiles of a run's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from domain import Config, Run, RunState
from reports.runs.metric_inputs import metrics_of_runs
from reports.runs.run_report import report_on
from settings import Settings
from storage.store import Store
from tests.analysis.comparison.ideal_engine import T0
from web.compare.run_tiles import number_tiles


@pytest.mark.parametrize(("kind", "lists_unknown"), [("imported", False), ("launched", True)])
def test_file_without_a_known_number_has_no_list_of_unknown_ones(
    tmp_path: Path, kind: Literal["imported", "launched"], lists_unknown: bool
) -> None:
    """Another tool's results stand below; that none of ten numbers is known stands in 'Every number'."""
    run = Run(
        id="r", name="r", color=0, kind=kind, config=Config(), machine_id="m", created_at=T0, state=RunState.FINISHED
    )
    store = Store.open(Settings(data_dir=tmp_path))
    try:
        store.save_run(run)
        (report,) = report_on(store, [run])
        metrics = metrics_of_runs(store, [report])["r"]
        assert ("not known" in number_tiles(report, metrics).lower()) is lists_unknown
    finally:
        store.close()
