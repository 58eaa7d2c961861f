"""Locust's statistics: rows of latencies of tokens, rows of endpoints, and those of other servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from tests.collectors.imports.captured import load_of

HEAD = (
    "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,"
    "Max Response Time,Average Content Size,Requests/s,Failures/s,50%,95%,99%,100%\n"
)
AGGREGATED = ",Aggregated,24,1,900,950.5,80.5,4000.5,0,1.5,0,900,3000,4000,4000\n"


def write_csv(tmp_path: Path, rows: str) -> Path:
    path = tmp_path / "a_stats.csv"
    path.write_text(HEAD + rows + AGGREGATED)
    return path


def test_rows_of_latencies_of_tokens(tmp_path: Path) -> None:
    rows = "STREAM,TTFT,12,1,90,95.5,80.5,400.5,0,1.5,0,90,300,400,400\n"
    rows += "POST,/v1/chat/completions,12,0,70,75.5,60.5,100.5,0,1.5,0,70,90,95,100\n"
    values = [(row.metric, row.statistic, row.value) for row in load_of(write_csv(tmp_path, rows)).result_rows]
    assert values[:9] == [
        ("requests", "total", 12.0), ("failed_requests", "total", 1.0), ("request_tps", "mean", 1.5),
        ("ttft_ms", "median", 90.0), ("ttft_ms", "mean", 95.5), ("ttft_ms", "min", 80.5), ("ttft_ms", "max", 400.5),
        ("ttft_ms", "p95", 300.0), ("ttft_ms", "p99", 400.0),
    ]  # fmt: skip
    assert values[12] == ("stated", "median", 70.0) and len(values) == 18


def test_response_time_of_an_endpoint(tmp_path: Path) -> None:
    rows = "POST,/v1/chat/completions,12,0,70,75.5,60.5,100.5,0,1.5,0,70,90,95,100\n"
    results = load_of(write_csv(tmp_path, rows)).result_rows
    assert [row.value for row in results if row.metric == "e2e_ms"] == [70.0, 75.5, 60.5, 100.5, 90.0, 95.0]
    assert results[0].point == "POST /v1/chat/completions"


def test_statistics_of_another_server_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportRefusedError, match="Locust's statistics, but none of its rows"):
        load_of(write_csv(tmp_path, "GET,/cart,12,0,70,75.5,60.5,100.5,0,1.5,0,70,90,95,100\n"))
