"""Reports of GuideLLM from before they stated its version."""

from __future__ import annotations

import json
from pathlib import Path

from tests.collectors.imports.captured import load_of, requests_of


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
