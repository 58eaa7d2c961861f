"""The windows of a run as columns: the same windows, in and out of a file."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pyarrow as pa
import pytest

from analysis.runs.speed_summary import summarize
from analysis.runs.windows import DecodingStretch, Window, WindowColumns
from storage.queries.window_rows import WindowRows

WINDOWS = [
    Window(1.0, 2.0, 2.0, 5.0, None, 2.5, None, None, None, "active", "vllm.counter", 1.0, 1.0),
    Window(3.0, None, 2.0, 7.0, 1.0, 3.5, None, None, 1.5, None, "vllm.counter", 1.0, None, 2.0, 1.0, False),
    Window(
        5.0, 2.0, 2.0, None, None, None, None, None, None, "idle", "vllm.counter",
        bridged=DecodingStretch(9.0, 3.0, None, 2.0, None),
    ),
]  # fmt: skip


def test_columns_hold_the_same_windows() -> None:
    rows = WindowRows.of(WINDOWS)
    assert rows == WINDOWS and len(rows) == 3 and rows != WINDOWS[:2]
    assert (rows[0], rows[-1], rows[1:], rows[::-2]) == (WINDOWS[0], WINDOWS[-1], WINDOWS[1:], WINDOWS[::-2])
    assert summarize(list(rows)) == summarize(WINDOWS)
    with pytest.raises(IndexError):
        rows[3]


@pytest.mark.parametrize("windows", [WINDOWS, WINDOWS[1:], WINDOWS[:1], []], ids=["all", "bridged", "first", "none"])
def test_columns_of_rows_equal_those_of_windows(windows: list[Window]) -> None:
    stored, fields = (asdict(WindowColumns.of(rows)) for rows in (WindowRows.of(windows), windows))
    for name, column in fields.items():
        np.testing.assert_equal(stored[name], column, name)


def test_windows_in_any_order_are_sorted() -> None:
    content = WindowRows.of([WINDOWS[place] for place in (2, 0, 1)]).to_bytes()
    assert WindowRows.sorted(pa.ipc.open_stream(content).read_all().to_struct_array().combine_chunks()) == WINDOWS


@pytest.mark.parametrize("windows", [WINDOWS, []], ids=["some", "none"])
def test_a_file_returns_what_was_written(windows: list[Window]) -> None:
    assert WindowRows.from_bytes(WindowRows.of(windows).to_bytes()) == windows


@pytest.mark.parametrize("length", [0, 2, 50, 2000])
def test_a_cut_file_is_a_value_error(length: int) -> None:
    content = WindowRows.of(WINDOWS).to_bytes()
    assert len(content) > 2000
    with pytest.raises(ValueError, match="not the windows of a run"):
        WindowRows.from_bytes(content[:length])
