"""Pitwall's own tables of stored runs, as values by row and column: what its pages and commands show."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from load_records import Result
from reports.arms.report_data import ReportData, ReportProvenance, report_data
from storage.queries import load_queries
from storage.queries.load_queries import LoadOutcome
from storage.store import Store
from web.loads.panels.load_results import shown_results
from web.publish.published_text import DifferenceStyle, as_csv_text

NO_PRICES = Path("prices-that-are-not-there.toml")
RESULTS = "Results"


class ShownCell(NamedTuple):
    """One cell of a table to publish; `difference` from the first column: a ratio or points."""

    value: float
    sd: float | None
    difference: float | None


class PublishedCells:
    """The tables to publish of a comparison, read from the text of `./pitwall report --table csv`."""

    def __init__(self, store: Store, run_ids: Sequence[str]) -> None:
        self.data: ReportData = report_data(
            store, run_ids, ReportProvenance("a test", datetime.now(UTC), "test"), NO_PRICES
        )
        text = as_csv_text(self.data.published_tables, DifferenceStyle.RATIO)
        self.cells = {
            (row["table"], row["row"], row["arm"]): ShownCell(
                float(row["value"]), _number(row["sd"]), _number(row["difference"])
            )
            for row in csv.DictReader(io.StringIO(text))
            if row["value"]
        }

    def cell(self, row: str, arm: str, table: str = RESULTS) -> ShownCell | None:
        return self.cells.get((table, row, arm))

    def value(self, row: str, arm: str, table: str = RESULTS) -> float | None:
        """Return a cell's value; None if there is no such row."""
        cell = self.cell(row, arm, table)
        return None if cell is None else cell.value

    def difference(self, row: str, arm: str, table: str = RESULTS) -> float:
        """Return the difference of an arm from the first column."""
        cell = self.cells[table, row, arm]
        assert cell.difference is not None, f"{row} of {arm} has no difference"
        return cell.difference


def _number(text: str) -> float | None:
    return float(text) if text else None


class LoadRows:
    """The results of a run's only load, as Run shows them: by point, metric and statistic."""

    def __init__(self, store: Store, run_id: str) -> None:
        (load,) = [load for load in load_queries.loads(store, [run_id])[run_id] if load.plan]
        outcome = load_queries.outcomes(store, [run_id])[run_id].get(str(load.load_id), LoadOutcome())
        self.requests = load.measured
        self.rows: dict[tuple[str, str, str], Result] = {
            (row.point, row.metric, row.statistic): row for row in shown_results(load, outcome)
        }

    def value(self, point: str, metric: str, statistic: str = "mean") -> float | None:
        row = self.rows.get((point, metric, statistic))
        return None if row is None else row.value

    def sd(self, point: str, metric: str, statistic: str = "mean") -> float | None:
        row = self.rows.get((point, metric, statistic))
        return None if row is None else row.sd
