"""The JSON of llm-load-test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from tests.collectors.imports.captured import load_of, requests_of

NOTHING = {"min": float("nan"), "mean": float("nan"), "median": float("nan")}


def test_a_summary_and_its_requests(tmp_path: Path) -> None:
    request = {
        "user_id": 1, "input_tokens": 75, "output_text": "x", "output_tokens": 42, "output_tokens_before_timeout": 42,
        "start_time": 1730235864.5, "first_token_time": None, "response_time": 1522.5, "ttft": None, "tpot": 36.25,
        "error_code": None, "error_text": None,
    }  # fmt: skip
    failed = request | {"error_code": 500, "error_text": "timed out", "response_time": None}
    output = {
        "results": [request, failed],
        "config": {"load_options": {"concurrency": 2, "duration": 30},
                   "plugin_options": {"model_name": "acme/a-7b", "host": "https://a.example"}},
        "summary": {
            "tpot": {"mean": 37.5, "median": 35.5, "percentile_99": 54.5}, "ttft": NOTHING, "itl": NOTHING,
            "response_time": {"mean": 1707.5, "percentile_90": 2625.5}, "throughput": 57.5, "full_duration": 31.5,
            "total_requests": 36, "total_failures": 1, "failure_rate": 2.5,
        },
    }  # fmt: skip
    path = tmp_path / "output.json"
    path.write_text(json.dumps(output))
    load = load_of(path)
    assert (load.tool, load.model) == ("llm-load-test", "acme/a-7b")
    assert [(row.metric, row.statistic, row.value) for row in load.result_rows] == [
        ("requests", "total", 35.0), ("output_tps", "mean", 57.5), ("duration_s", "total", 31.5),
        ("failed_requests", "total", 1.0), ("e2e_per_token_ms", "mean", 37.5), ("e2e_per_token_ms", "median", 35.5),
        ("e2e_per_token_ms", "p99", 54.5), ("e2e_ms", "mean", 1707.5), ("e2e_ms", "p90", 2625.5),
    ]  # fmt: skip
    assert {row.concurrency for row in load.result_rows} == {2}
    assert [(row.total_ms, row.completion_tokens, row.error_kind) for row in requests_of(load)] == [
        (1522.5, 42, None), (None, 42, "timeout"),
    ]  # fmt: skip
    path.write_text(json.dumps({"results": [request]}))
    with pytest.raises(ImportRefusedError, match="llm-load-test, but has no summary"):
        load_of(path)
