"""Answers as files: what a spreadsheet would run is text."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest

from storage.sandbox.job import SqlAnswer
from storage.user_sql.formats import as_csv


@pytest.mark.parametrize("text", ["=1+1", "+HYPERLINK(1)", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "=\n1"])
def test_formula_like_text_stays_text(text: str) -> None:
    actual_cells = cells(pa.table({"a": [text, None, "", "b=c"], "n": [1] * 4}))
    assert [row[0] for row in actual_cells] == ["a", "'" + text, "", "", "b=c"]
    assert cells(pa.table({text: pa.array([1])}))[0] == ["'" + text]


def test_numbers_stay_numbers() -> None:
    table = pa.table({"n": pa.array([-1.5, 2.0]), "i": pa.array([-3, 4]), "t": pa.array(["-1.5", "+2e-3"])})
    assert cells(table)[1:] == [["-1.5", "-3", "-1.5"], ["2", "4", "+2e-3"]]


def cells(table: pa.Table) -> list[list[str]]:
    answer = SqlAnswer(table, truncated=False, elapsed_ms=1.0)
    return list(csv.reader(io.StringIO(as_csv(answer).decode(), newline="")))
