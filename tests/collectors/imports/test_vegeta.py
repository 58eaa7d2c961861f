"""Reports of vegeta, printed and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from tests.collectors.imports.captured import load_of

EXPECTED = [
    ("requests", "total", 9.0), ("failed_requests", "total", 1.0), ("request_tps", "mean", 1.5),
    ("duration_s", "total", 6.0),
    ("e2e_ms", "min", 230.5), ("e2e_ms", "mean", 1350.0), ("e2e_ms", "median", 834.5), ("e2e_ms", "p95", 2900.0),
    ("e2e_ms", "max", 61000.0),
]  # fmt: skip


def test_a_printed_report(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text(
        "$ vegeta attack -rate 2 -duration 5s | vegeta report\n"
        "Requests      [total, rate, throughput]  10, 2.00, 1.50\n"
        "Duration      [total, attack, wait]      6s, 4.5s, 1.5s\n"
        "Latencies     [min, mean, 50, 95, max]   230.5ms, 1.35s, 834.5ms, 2.9s, 1m1s\n"
        "Bytes In      [total, mean]              9686, 968.60\n"
        "Success       [ratio]                    90.00%\n"
        "Status Codes  [code:count]               200:9  500:1\n"
        "Error Set:\n500 Internal Server Error\n"
    )
    load = load_of(path)
    assert [(row.metric, row.statistic, row.value) for row in load.result_rows] == EXPECTED
    assert load.tool == "vegeta" and load.params["rate"] == 2.0 and "language model" in load.notes[0]


def test_a_report_as_json(tmp_path: Path) -> None:
    latencies_ns = {
        "total": 13_500_000_000, "min": 230_500_000, "mean": 1_350_000_000, "50th": 834_500_000,
        "95th": 2_900_000_000, "max": 61_000_000_000,
    }  # fmt: skip
    report = {
        "latencies": latencies_ns, "earliest": "2026-02-08T13:29:28.5Z", "duration": 4_500_000_000,
        "wait": 1_500_000_000, "requests": 10, "rate": 2.0, "throughput": 1.5, "success": 0.9,
        "status_codes": {"200": 9, "500": 1}, "errors": ["500 Internal Server Error"],
    }  # fmt: skip
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    load = load_of(path)
    assert [(row.metric, row.statistic, row.value) for row in load.result_rows] == EXPECTED
    assert load.ts.isoformat() == "2026-02-08T13:29:28.500000+00:00"


def test_a_report_without_requests_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text('{"latencies": {"50th": 0, "max": 0}, "requests": 0, "success": 0, "status_codes": {}}')
    with pytest.raises(ImportRefusedError, match="report of vegeta, but has no request"):
        load_of(path)
