"""Reports of GuideLLM from before they stated its version."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from tests.collectors.imports.captured import load_of, requests_of, results_of


def test_a_report_without_a_version(tmp_path: Path) -> None:
    request = {
        "type_": "generative_text_response", "prompt": "Hello", "prompt_tokens": 124, "output_tokens": 128,
        "start_time": 1758664746.5, "request_latency": 2.25, "time_to_first_token_ms": 1014.5,
    }  # fmt: skip
    benchmark = {
        "type_": "generative_benchmark",
        "args": {"strategy": {"type_": "constant", "rate": 10.0, "max_concurrency": None}},
        "worker": {"backend_model": "acme/a-7b", "backend_target": "http://a.example"},
        "metrics": {"time_to_first_token_ms": {"successful": {"mean": 1006.5, "mode": 1.5, "count": 1}}},
        "request_totals": {"successful": 1, "errored": 0, "incomplete": 0},
        "requests": {"successful": [request], "errored": [], "incomplete": [], "total": None},
        "start_time": 1758664746.0, "duration": 60.0,
    }  # fmt: skip
    path = tmp_path / "benchmarks.json"
    path.write_text(json.dumps({"benchmarks": [benchmark]}))
    load = load_of(path)
    assert (load.tool, load.model, load.base_url) == ("guidellm", "acme/a-7b", "http://a.example")
    assert [(row.metric, row.statistic, row.value, row.point) for row in load.result_rows] == [
        ("requests", "total", 1.0, "constant at 10/s"), ("failed_requests", "total", 0.0, "constant at 10/s"),
        ("incomplete_requests", "total", 0.0, "constant at 10/s"), ("ttft_ms", "mean", 1006.5, "constant at 10/s"),
    ]  # fmt: skip
    (row,) = requests_of(load)
    assert (row.ttft_ms, row.total_ms, row.since_phase_s, row.prompt_hash is None) == (1014.5, 2250.0, 0.5, False)


def test_early_table_of_guidellm(tmp_path: Path) -> None:
    """One line of heads; the last of a metric's columns has its extremes and percentiles."""
    columns = {
        "Type": "generative_benchmark", "Run Id": "r", "Id": "i", "Name": "concurrent@8",
        "Start Time": "2025-05-01 10:11:12", "Duration": 30.5, "Successful Requests": 100,
        "Successful Requests per second mean": 3.5, "Successful Time to first token ms mean": 45.5,
        "Successful Time to first token ms median": 44.5, "Successful Time to first token ms std dev": 2.0,
        "Successful Time to first token ms [min, 0.1, 1, 5, 10, 25, 75, 90, 95, 99, max]":
            [30, 30.5, 31, 35, 38, 40, 48, 50, 55, 60, 65],
        "Incomplete Requests": 2, "Errored Requests": 1, "Errored Request latency mean": 0.5,
        "Args": json.dumps({"strategy": {"type_": "concurrent", "streams": 8}}),
        "Worker": json.dumps({"backend_model": "org/model", "backend_target": "http://localhost:8000"}),
    }  # fmt: skip
    path = tmp_path / "benchmarks.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([list(columns), list(columns.values())])
    load = load_of(path)
    assert (load.tool, load.model, load.base_url) == ("guidellm", "org/model", "http://localhost:8000")
    assert [(row.metric, row.statistic, row.value) for row in results_of(load)] == [
        ("duration_s", "total", 30.5), ("requests", "total", 100), ("incomplete_requests", "total", 2),
        ("failed_requests", "total", 1), ("ttft_ms", "mean", 45.5),
        ("ttft_ms", "median", 44.5), ("ttft_ms", "min", 30), ("ttft_ms", "max", 65), ("ttft_ms", "p0.1", 30.5),
        ("ttft_ms", "p1", 31), ("ttft_ms", "p5", 35), ("ttft_ms", "p10", 38), ("ttft_ms", "p25", 40),
        ("ttft_ms", "p75", 48), ("ttft_ms", "p90", 50), ("ttft_ms", "p95", 55), ("ttft_ms", "p99", 60),
        ("request_tps", "mean", 3.5),
    ]  # fmt: skip
    assert {row.concurrency for row in results_of(load)} == {8}
