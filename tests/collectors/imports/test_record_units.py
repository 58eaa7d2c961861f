"""Times without a unit in records whose other values prove it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.collectors.imports.captured import load_of, results_of

ONE_STREAM = {
    "successful_requests": 10, "concurrency": 1, "total_time": 38.5, "requests_per_second": 0.25974,
    "latency": {"average": 3.8498, "p99": 6.75}, "time_to_first_token": {"average": 1.25, "p99": 3.75},
    "tokens_per_second": {"average": 17.25},
}  # fmt: skip


def rows_of_records(tmp_path: Path, *records: dict[str, Any]) -> tuple[dict[tuple[str, str], float | None], list[str]]:
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(records))
    load = load_of(path)
    return {(row.metric, row.statistic): row.value for row in results_of(load)}, load.notes


def in_milliseconds(value: Any) -> Any:
    return {name: item * 1e3 for name, item in value.items()} if isinstance(value, dict) else value * 1e3


@pytest.mark.parametrize("is_of_seconds", [True, False])
def test_the_rate_and_the_level_prove_the_unit(tmp_path: Path, is_of_seconds: bool) -> None:
    times = ("total_time", "latency", "time_to_first_token")
    record = ONE_STREAM if is_of_seconds else {
        name: in_milliseconds(value) if name in times else value for name, value in ONE_STREAM.items()
    }  # fmt: skip
    rows, notes = rows_of_records(tmp_path, record)
    assert rows["duration_s", "stated"] == pytest.approx(38.5)
    assert rows["e2e_ms", "mean"] == pytest.approx(3849.8) and rows["e2e_ms", "p99"] == pytest.approx(6750)
    assert rows["ttft_ms", "mean"] == pytest.approx(1250) and rows["ttft_ms", "p99"] == pytest.approx(3750)
    (note,) = (note for note in notes if note.startswith("Units that the file proves"))
    assert f"are in {'seconds' if is_of_seconds else 'milliseconds'}" in note


def test_a_load_of_several_streams_proves_it_too(tmp_path: Path) -> None:
    record = ONE_STREAM | {"concurrency": 8, "total_time": 5.0, "requests_per_second": 2.0}
    rows, _ = rows_of_records(tmp_path, record)
    assert rows["duration_s", "stated"] == 5.0 and rows["e2e_ms", "mean"] == pytest.approx(3849.8)


@pytest.mark.parametrize(
    ("change", "metrics"),
    [
        ({"requests_per_second": 0.3}, set()),  # another count, or another time
        ({"concurrency": 4}, {"duration_s"}),  # a tenth of the requests were running, or of another unit
        ({"concurrency": None}, {"duration_s"}),
        ({"latency": {"average": 5.5, "p99": 6.75}}, {"duration_s"}),  # more than can run at once
        ({"time_to_first_token": {"average": 1250.0, "p99": 3750.0}}, {"duration_s", "e2e_ms"}),
    ],
)
def test_what_is_not_proved_stays_without_a_unit(tmp_path: Path, change: dict[str, Any], metrics: set[str]) -> None:
    rows, _ = rows_of_records(tmp_path, ONE_STREAM | change)
    assert {metric for metric, _ in rows if metric in ("duration_s", "e2e_ms", "ttft_ms")} == metrics
