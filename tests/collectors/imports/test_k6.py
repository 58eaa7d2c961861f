"""Summaries of k6: the exported JSON, and the one that handleSummary gets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from tests.collectors.imports.captured import load_of

TIMES = {"avg": 72.5, "min": 60.5, "med": 67.5, "max": 98.5, "p(90)": 93.5, "p(95)": 94.5}
EXPECTED = [
    ("failed_requests", "total", 2.0), ("requests", "total", 18.0), ("request_tps", "mean", 1.85),
    ("e2e_ms", "mean", 72.5), ("e2e_ms", "min", 60.5), ("e2e_ms", "median", 67.5), ("e2e_ms", "max", 98.5),
    ("e2e_ms", "p90", 93.5), ("e2e_ms", "p95", 94.5),
]  # fmt: skip


def test_an_exported_summary(tmp_path: Path) -> None:
    metrics = {
        "http_req_duration": TIMES, "http_reqs": {"count": 20, "rate": 1.85}, "vus_max": {"value": 2, "max": 2},
        "http_req_failed": {"passes": 2, "fails": 18, "value": 0.1}, "http_req_waiting": {"avg": 71.5},
        "answer_latency": {"avg": 70.5}, "ttft_s": {"avg": 0.25, "thresholds": {"p(95)<1": False}},
    }  # fmt: skip
    path = tmp_path / "summary.json"
    path.write_text(json.dumps({"root_group": {"name": ""}, "metrics": metrics}))
    load = load_of(path)
    values = [(row.metric, row.statistic, row.value) for row in load.result_rows]
    assert values == [*EXPECTED, ("ttft_ms", "mean", 250.0)] and {row.concurrency for row in load.result_rows} == {2}
    assert "taken for those of a language model" in load.notes[0] and load.notes[1].endswith(": answer_latency.")


def test_a_summary_with_kinds(tmp_path: Path) -> None:
    metrics = {
        "http_req_duration": {"type": "trend", "contains": "time", "values": TIMES},
        "http_reqs": {"type": "counter", "contains": "default", "values": {"count": 20, "rate": 1.85}},
        "http_req_failed": {"type": "rate", "contains": "default", "values": {"rate": 0.1, "passes": 2, "fails": 18}},
        "time_to_first_token": {"type": "trend", "contains": "time", "values": {"med": 81.5}},
    }
    path = tmp_path / "summary.json"
    path.write_text(json.dumps({"metrics": metrics}))
    load = load_of(path)
    values = [(row.metric, row.statistic, row.value) for row in load.result_rows]
    assert values == [*EXPECTED, ("ttft_ms", "median", 81.5)] and len(load.notes) == 1


def test_a_summary_without_requests_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    path.write_text('{"metrics": {"http_req_duration": {}, "http_reqs": {"count": 0}}}')
    with pytest.raises(ImportRefusedError, match="summary of k6, but timed no request"):
        load_of(path)


def test_a_share_of_failures_above_one_counts_nothing(tmp_path: Path) -> None:
    metrics = {
        "http_req_duration": TIMES, "http_reqs": {"count": 20, "rate": 1.85}, "http_req_failed": {"value": 5},
    }  # fmt: skip
    path = tmp_path / "summary.json"
    path.write_text(json.dumps({"metrics": metrics}))
    values = [(row.metric, row.statistic, row.value) for row in load_of(path).result_rows]
    assert values == EXPECTED[2:]
