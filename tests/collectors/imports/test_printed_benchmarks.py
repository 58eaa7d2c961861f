"""Printed output that people paste: what a tool wrote to the terminal, with the words around it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collectors.imports.results.builder import LoadBuilder
from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import written


def told(load: LoadBuilder) -> list[tuple[str, str, float | None]]:
    return [(row.metric, row.statistic, row.value) for row in results_of(load)]


def points_of(load: LoadBuilder) -> set[tuple[str, int | None, int | None, int | None]]:
    return {(row.point, row.concurrency, row.prompt_tokens, row.output_tokens) for row in results_of(load)}


# --- the command above a summary, and its heading ---------------------------------------------------------------------
SERVED = """### After

vllm bench serve \\
    --model org/model --api-key hunter2 \\
    --random-input-len 512 --random-output-len 64 \\
    --num-prompts=8 --max-concurrency 4
======== Fast Serving Benchmark Result ========
Successful requests:                     8
Output token throughput (tok/s):         90.5
===============================================
"""


def test_command_above_a_summary(tmp_path: Path) -> None:
    (load,) = written(tmp_path, "post.txt", SERVED)
    assert points_of(load) == {("pp512 tg64 4 at once", 4, 512, 64)}
    assert (load.tool, load.model, load.planned_requests) == ("vllm bench serve", "org/model", 8)
    assert "hunter2" not in str(load.params) and load.params["heading"] == "Fast"


def test_command_after_a_summary_is_of_the_next(tmp_path: Path) -> None:
    (load,) = written(tmp_path, "post.txt", SERVED.split("64 \\\n")[1].split("concurrency 4\n")[1] + SERVED[:160])
    assert load.model is None and points_of(load) == {("all requests", None, None, None)}


# --- vllm bench latency, vllm bench throughput ------------------------------------------------------------------------
OFFLINE = """vllm bench latency \\
  --model org/model \\
  --input-len 64 \\
  --output-len 16 \\
  --batch-size 2

first kernel:
Bench iterations: 100%|████████| 30/30 [00:09<00:00,  3.17it/s]
10% percentile latency: 0.31 seconds
50% percentile latency: 0.32 seconds
99% percentile latency: 0.35 seconds

second kernel:
Avg latency: 0.305 seconds
50% percentile latency: 3e-1 seconds

vllm bench throughput --model org/model --input-len 64 --output-len 16
Throughput: 3.50 requests/s, 280.25 total tokens/s, 56.05 output tokens/s
Total num prompt tokens:  6400
Total num output tokens:  1600
"""


def test_printed_offline_benchmarks_of_vllm(tmp_path: Path) -> None:
    first, second, third = written(tmp_path, "post.txt", OFFLINE)
    assert [load.tool for load in (first, second)] == ["vllm bench latency"] * 2
    assert {load.model for load in (first, second, third)} == {"org/model"} and third.tool == "vllm bench throughput"
    assert told(first) == [("e2e_ms", "p10", 310.0), ("e2e_ms", "median", 320.0), ("e2e_ms", "p99", 350.0)]
    assert points_of(first) == {("pp64 tg16 2 at once", 2, 64, 16)}
    assert told(second) == [("e2e_ms", "mean", 305.0), ("e2e_ms", "median", 300.0)]
    assert (first.params["heading"], second.params["heading"]) == ("first kernel", "second kernel")
    assert told(third) == [
        ("request_tps", "mean", 3.5), ("total_tps", "mean", 280.25), ("output_tps", "mean", 56.05),
        ("prompt_tokens", "total", 6400.0), ("completion_tokens", "total", 1600.0),
    ]  # fmt: skip


def test_json_of_vllm_bench_latency(tmp_path: Path) -> None:
    result = {"avg_latency": 0.3, "latencies": [0.2, 0.4], "percentiles": {"10": 0.21, "50": 0.3, "99": 0.39}}
    (load,) = written(tmp_path, "latency.json", json.dumps(result))
    assert load.tool == "vllm bench latency"
    assert told(load) == [
        ("e2e_ms", "mean", 300.0), ("e2e_ms", "p10", 210.0), ("e2e_ms", "median", 300.0), ("e2e_ms", "p99", 390.0),
    ]  # fmt: skip
    assert [row.n for row in results_of(load)] == [2, 2, 2, 2] and results_of(load)[0].sd == pytest.approx(141.42136)


def test_json_of_vllm_bench_throughput(tmp_path: Path) -> None:
    result = {"elapsed_time": 20.0, "num_requests": 100, "total_num_tokens": 14000, "requests_per_second": 5.0,
              "tokens_per_second": 700.0}  # fmt: skip
    (load,) = written(tmp_path, "throughput.json", json.dumps(result))
    assert load.tool == "vllm bench throughput" and load.params == {"total_num_tokens": 14000}
    assert told(load) == [
        ("duration_s", "total", 20.0), ("requests", "total", 100.0), ("request_tps", "mean", 5.0),
        ("total_tps", "mean", 700.0),
    ]  # fmt: skip
