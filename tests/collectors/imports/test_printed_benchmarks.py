"""Printed output that people paste: what a tool wrote to the terminal, with the words around it."""

from __future__ import annotations

import json
import textwrap
from datetime import datetime
from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder
from collectors.imports.results.readers import reader_of
from collectors.imports.results.source import ResultFile
from load_records import Accuracy
from reasons import Code
from tests.collectors.imports.captured import accuracies_of, captured, load_of, loads_of, results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text


def metrics_of(load: LoadBuilder) -> list[tuple[str, str, float | None]]:
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
    (load,) = loads_of_text(tmp_path, "post.txt", SERVED)
    assert points_of(load) == {("pp512 tg64 4 at once", 4, 512, 64)}
    assert (load.tool, load.model, load.planned_requests) == ("vllm bench serve", "org/model", 8)
    assert "hunter2" not in str(load.params) and load.params["heading"] == "Fast"


def test_command_after_a_summary_is_of_the_next(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", SERVED.split("64 \\\n")[1].split("concurrency 4\n")[1] + SERVED[:160])
    assert load.model is None and points_of(load) == {("all requests", None, None, None)}


COMMENTED = """#!/bin/bash
vllm serve org/model --port 8000
# Traffic request rate: inf
# Maximum request concurrency: 16
# 100%|████| 8/8 [00:30<00:00,  4.71s/it]
# ============ Serving Benchmark Result ============
# Successful requests:                     8
# Benchmark duration (s):                  30.5
# Output token throughput (tok/s):         90.5
# ==================================================
"""


@pytest.mark.parametrize("mark", ["# ", "> ", "bench-1  | ", "[pod/bench-0/main] "])
def test_summary_behind_a_mark_on_every_line(tmp_path: Path, mark: str) -> None:
    """Comments of a script, quotations, and the names of containers; the settings are printed above the summary."""
    (load,) = loads_of_text(tmp_path, "post.sh", COMMENTED.replace("# ", mark))
    assert metrics_of(load) == [("requests", "total", 8.0), ("duration_s", "total", 30.5), ("output_tps", "mean", 90.5)]
    assert points_of(load) == {("16 at once", 16, None, None)} and load.params["request_rate"] == "inf"
    assert load.model == "org/model" and load.notes == []


@pytest.mark.parametrize(
    "command",
    [
        "python -m sglang.launch_server --model-path org/model --port 30000",
        "vllm serve org/model",
        "vllm serve \\\n  --model org/model",
        "llama-server -m org/model -c 4096",
        "python -m vllm.entrypoints.openai.api_server --model=org/model",
    ],
)
def test_model_of_the_server_above_a_summary(tmp_path: Path, command: str) -> None:
    summary = SERVED.split("concurrency 4\n")[1]
    (load,) = loads_of_text(tmp_path, "post.txt", f"{command}\n\nvllm bench serve --num-prompts 8\n{summary}")
    assert load.model == "org/model"


LOAD_TEST = """2026/03/12 02:23:54 Running load test with concurrency 4...
2026/03/12 02:25:54 ============ Serving Benchmark Result ============
2026/03/12 02:25:54 Benchmark Duration (sec): 120.0
2026/03/12 02:25:54 Number of total requests: 600
2026/03/12 02:25:54 Success Rate (Percent): 100.00
2026/03/12 02:25:54 Concurrency: 4
2026/03/12 02:25:54 Request throughput (req/sec): 5.5
2026/03/12 02:25:54 Prompt throughput (tokens/second) avg: 32.5
2026/03/12 02:25:54 Generation throughput (tokens/second) avg: 21.5
2026/03/12 02:25:54 End to End Latency (ms) avg: 182.5
2026/03/12 02:25:54 End to End Latency (ms) p50: 182.0

2026/03/12 02:28:00 ============ Serving Benchmark Result ============
2026/03/12 02:28:00 Number of total requests: 700
2026/03/12 02:28:00 Success Rate (Percent): 99.00
2026/03/12 02:28:00 Concurrency: 8
2026/03/12 02:28:00 End to End Latency (sec) p90: 0.25
"""


def test_configured_rate_is_a_setting(tmp_path: Path) -> None:
    text = SERVED.replace("Output token", "Request rate configured (RPS):           10.50\nOutput token")
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert metrics_of(load) == [("requests", "total", 8.0), ("output_tps", "mean", 90.5)]
    assert load.params["Request rate configured (RPS)"] == 10.5


def test_summaries_of_another_load_tester(tmp_path: Path) -> None:
    """Its words differ, its concurrency is that of the load, and requests are known only if all succeeded."""
    first, second = loads_of_text(tmp_path, "post.log", LOAD_TEST)
    assert metrics_of(first) == [
        ("duration_s", "total", 120.0), ("request_tps", "mean", 5.5), ("prompt_tps", "mean", 32.5),
        ("output_tps", "mean", 21.5), ("e2e_ms", "mean", 182.5), ("e2e_ms", "median", 182.0),
        ("requests", "total", 600.0),
    ]  # fmt: skip
    assert (first.tool, first.planned_requests) == ("serving benchmark", 600) and metrics_of(second) == [
        ("e2e_ms", "p90", 250.0)
    ]
    assert (
        first.ts == datetime(2026, 3, 12, 2, 23, 54).astimezone()
        and second.ts == datetime(2026, 3, 12, 2, 28).astimezone()
    )
    assert points_of(second) == {("8 at once", 8, None, None)} and second.params["Success Rate (Percent)"] == 99.0


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
    first, second, third = loads_of_text(tmp_path, "post.txt", OFFLINE)
    assert [load.tool for load in (first, second)] == ["vllm bench latency"] * 2
    assert {load.model for load in (first, second, third)} == {"org/model"} and third.tool == "vllm bench throughput"
    assert metrics_of(first) == [("e2e_ms", "p10", 310.0), ("e2e_ms", "median", 320.0), ("e2e_ms", "p99", 350.0)]
    assert points_of(first) == {("pp64 tg16 2 at once", 2, 64, 16)}
    assert metrics_of(second) == [("e2e_ms", "mean", 305.0), ("e2e_ms", "median", 300.0)]
    assert (first.params["heading"], second.params["heading"]) == ("first kernel", "second kernel")
    assert metrics_of(third) == [
        ("request_tps", "mean", 3.5), ("total_tps", "mean", 280.25), ("output_tps", "mean", 56.05),
        ("prompt_tokens", "total", 6400.0), ("completion_tokens", "total", 1600.0),
    ]  # fmt: skip


def test_json_of_vllm_bench_latency(tmp_path: Path) -> None:
    result = {"avg_latency": 0.3, "latencies": [0.2, 0.4], "percentiles": {"10": 0.21, "50": 0.3, "99": 0.39}}
    (load,) = loads_of_text(tmp_path, "latency.json", json.dumps(result))
    assert load.tool == "vllm bench latency"
    assert metrics_of(load) == [
        ("e2e_ms", "mean", 300.0), ("e2e_ms", "p10", 210.0), ("e2e_ms", "median", 300.0), ("e2e_ms", "p99", 390.0),
    ]  # fmt: skip
    assert [row.n for row in results_of(load)] == [2, 2, 2, 2] and results_of(load)[0].sd == pytest.approx(141.42136)


def test_json_of_vllm_bench_throughput(tmp_path: Path) -> None:
    result = {"elapsed_time": 20.0, "num_requests": 100, "total_num_tokens": 14000, "requests_per_second": 5.0,
              "tokens_per_second": 700.0}  # fmt: skip
    (load,) = loads_of_text(tmp_path, "throughput.json", json.dumps(result))
    assert load.tool == "vllm bench throughput" and load.params == {"total_num_tokens": 14000}
    assert metrics_of(load) == [
        ("duration_s", "total", 20.0), ("requests", "total", 100.0), ("request_tps", "mean", 5.0),
        ("total_tps", "mean", 700.0),
    ]  # fmt: skip


# --- sglang.bench_one_batch -------------------------------------------------------------------------------------------
ONE_BATCH = """python -m sglang.bench_one_batch --model-path org/model --batch-size 4 --input-len 128 --output-len 8
Warmup ...
Prefill. latency: 0.50000 s, throughput:   1024.00 token/s
Decode 0. Batch size: 4, latency: 0.02000 s, throughput:    200.00 token/s
Decode.  median latency: 0.02000 s, median throughput:    200.00 token/s
Total. latency:  0.640 s, throughput:    850.00 token/s
Benchmark ...
Prefill. latency: 0.12500 s, throughput:   4096.00 token/s
Decode 0. Batch size: 4, latency: 0.01000 s, throughput:    400.00 token/s
Decode 1. Batch size: 4, latency: 0.01600 s, throughput:    250.00 token/s
Decode.  median latency: 0.01250 s, median throughput:    320.00 token/s
Total. latency:  0.212 s, throughput:   2566.04 token/s
"""


def test_printed_benchmark_of_one_batch(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", ONE_BATCH)
    assert (load.tool, load.model) == ("sglang.bench_one_batch", "org/model")
    assert metrics_of(load) == [
        ("prompt_tps", "stated", 4096.0), ("prompt_ms", "stated", 125.0), ("batch_decode_tps", "median", 320.0),
        ("tpot_ms", "median", 12.5), ("total_tps", "stated", 2566.04), ("e2e_ms", "stated", 212.0),
    ]  # fmt: skip
    assert points_of(load) == {("pp128 tg8 4 at once", 4, 128, 8)}
    assert load.params["decode_tps_by_step"] == [400.0, 250.0] and "warm-up" in load.notes[0]


def test_benchmark_of_one_batch_without_a_command(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", "\n".join(ONE_BATCH.splitlines()[7:]))
    assert points_of(load) == {("4 at once", 4, None, None)} and load.model is None and load.notes == []


# --- ollama run --verbose ---------------------------------------------------------------------------------------------
OLLAMA = """$ ollama run qwen:0.5b --verbose
>>> hi
Hello!

Old:
total duration:       1m2.5s
load duration:        750.5µs
prompt eval count:    30 token(s)
prompt eval duration: 250ms
prompt eval rate:     120.00 tokens/s
eval count:           100 token(s)
eval duration:        4s
eval rate:            25.00 tokens/s

New:
total duration:       2.25s
eval count:           50 token(s)
eval duration:        1.25s
eval rate:            40.00 tokens/s
"""


def test_timings_of_ollama(tmp_path: Path) -> None:
    first, second = loads_of_text(tmp_path, "post.txt", OLLAMA)
    assert (first.tool, first.model, first.params["heading"]) == ("ollama", "qwen:0.5b", "Old")
    assert metrics_of(first) == [
        ("e2e_ms", "stated", 62500.0), ("model_load_s", "stated", pytest.approx(0.0007505)),
        ("prompt_tokens", "total", 30.0), ("prompt_ms", "stated", 250.0), ("prompt_tps", "stated", 120.0),
        ("completion_tokens", "total", 100.0), ("decode_ms", "stated", 4000.0), ("decode_tps", "stated", 25.0),
    ]  # fmt: skip
    assert points_of(first) == {("one request", 1, 30, 100)}
    assert second.params["heading"] == "New" and ("decode_tps", "stated", 40.0) in metrics_of(second)


# --- mlx_lm.benchmark -------------------------------------------------------------------------------------------------
MLX = """Run (`mlx_lm.benchmark --model org/model -p 64 -g 16 -n 2`):
```
Running warmup..
Timing with prompt_tokens=64, generation_tokens=16, batch_size=2.
Trial 1:  prompt_tps=300.5, generation_tps=20.5, peak_memory=4.125
Trial 2:  prompt_tps=310.5, generation_tps=21.5, peak_memory=4.125
Averages: prompt_tps=305.5, generation_tps=21.0, peak_memory=4.125
```
Before: prompt_tps=1.5, generation_tps=2.5, peak_memory=3.5
"""


def test_printed_benchmark_of_mlx_lm(tmp_path: Path) -> None:
    first, second = loads_of_text(tmp_path, "post.txt", MLX)
    assert (first.tool, first.model) == ("mlx_lm.benchmark", "org/model")
    rows = results_of(first)
    assert metrics_of(first) == [
        ("prompt_tps", "mean", 305.5),
        ("batch_decode_tps", "mean", 21.0),
        ("stated", "max", 4.125),
    ]
    assert [row.n for row in rows] == [2, 2, None] and rows[0].sd == pytest.approx(7.0710678) and rows[2].unit == "GB"
    assert rows[0].point == "pp64 tg16 2 at once" and rows[2].point == "pp64 tg16 2 at once: peak memory"
    assert first.params["trials"] == [
        {"prompt_tps": 300.5, "generation_tps": 20.5}, {"prompt_tps": 310.5, "generation_tps": 21.5},
    ]  # fmt: skip
    assert second.params["heading"] == "Before" and ("prompt_tps", "mean", 1.5) in metrics_of(second)


# --- accuracies -------------------------------------------------------------------------------------------------------
HARNESS = """Main:
|Tasks|Version|     Filter     |n-shot|  Metric   |   |Value|   |Stderr|
|-----|------:|----------------|-----:|-----------|---|----:|---|-----:|
|gsm8k|      3|flexible-extract|     5|exact_match|↑  |0.75 |±  |0.0125|
|     |       |strict-match    |     5|exact_match|↑  |0.5  |±  |   N/A|
|wikitext|   2|none            |     0|word_perplexity|↓ |8.25|±  |   N/A|

this PR
|       Task       |Version|        Metric        |Value |   |Stderr|
|------------------|------:|----------------------|-----:|---|-----:|
|all               |       |math_pass@1:4_samples |0.4375|±  |0.0625|
|lighteval:aime24:0|      2|math_pass@1:4_samples |0.4375|±  |0.0625|
"""


def test_printed_tables_of_lm_eval_and_lighteval(tmp_path: Path) -> None:
    first, second = loads_of_text(tmp_path, "post.md", HARNESS)
    assert (first.tool, first.params["heading"]) == ("lm-eval", "Main")
    assert [(a.task, a.filter, a.metric, a.value, a.stderr, a.version) for a in accuracies_of(first)] == [
        ("gsm8k", "flexible-extract", "exact_match", 0.75, 0.0125, "3"),
        ("gsm8k", "strict-match", "exact_match", 0.5, None, "3"),
    ]  # fmt: skip
    assert {a.reason for a in accuracies_of(first)} == {str(Code.ITEM_COUNT_NOT_TOLD)}
    assert [a.protocol for a in accuracies_of(first)] == [{"num_fewshot": 5}] * 2
    (perplexity,) = results_of(first)
    assert (perplexity.point, perplexity.value, perplexity.unit) == ("wikitext, none: word_perplexity", 8.25, "1")
    assert (second.tool, second.params["heading"]) == ("lighteval", "this PR")
    assert [(a.task, a.filter, a.value) for a in accuracies_of(second)] == [
        ("all", "none", 0.4375), ("lighteval:aime24:0", "none", 0.4375),
    ]  # fmt: skip


RETYPED = """# Full GSM8K run

| Filter | Metric | Value | Stderr |
|--------|--------|-------|--------|
| flexible-extract | exact_match | **0.6125** | ±0.0125 |
| strict-match | exact_match | 0.0000 | ± 0.0000 |
"""


def test_table_of_lm_eval_that_was_retyped(tmp_path: Path) -> None:
    """The task is the only one that the text names, or it is not stated."""
    (load,) = loads_of_text(tmp_path, "post.md", RETYPED)
    assert load.tool == "lm-eval"
    assert [(a.task, a.filter, a.metric, a.value, a.stderr) for a in accuracies_of(load)] == [
        ("gsm8k", "flexible-extract", "exact_match", 0.6125, 0.0125),
        ("gsm8k", "strict-match", "exact_match", 0.0, 0.0),
    ]
    (load,) = loads_of_text(tmp_path, "two.md", RETYPED.replace("run", "run, then MMLU"))
    assert {a.task for a in accuracies_of(load)} == {"not stated"}


def test_printed_scores_of_evalplus(tmp_path: Path) -> None:
    text = "humaneval (base tests)\npass@1:\t0.75\npass@10:\t0.875\nhumaneval+ (base + extra tests)\npass@1:\n\t0.5\n"
    (load,) = loads_of_text(tmp_path, "scores.txt", text)
    assert load.tool == "EvalPlus"
    assert [(a.task, a.metric, a.value, a.n) for a in accuracies_of(load)] == [
        ("humaneval", "pass@1", 0.75, None), ("humaneval", "pass@10", 0.875, None), ("humaneval+", "pass@1", 0.5, None),
    ]  # fmt: skip


EVALUATED = """gsm8k
```
Accuracy: 0.875
Invalid: 0.125
Latency: 12.500 s
Output throughput: 640.250 token/s
```
gpqa
====================
Repeat: 2, mean: 0.625
Scores: ['0.500', '0.750']
Mean latency: 90.500 s
====================
Output throughput: 170.5 token/s
[METRIC] gpqa_mean_score=0.6250000001 labels={"model": "/models/m/", "eval": "gpqa"}

Total latency: 9.5 s
Score: 0.9375
"""


def test_printed_evaluations_of_sglang(tmp_path: Path) -> None:
    first, second, third = loads_of_text(tmp_path, "post.txt", EVALUATED)
    assert [(a.task, a.metric, a.value) for a in accuracies_of(first)] == [("gsm8k", "accuracy", 0.875)]
    assert metrics_of(first) == [
        ("stated", "stated", 0.125), ("duration_s", "total", 12.5), ("output_tps", "mean", 640.25),
    ]  # fmt: skip
    assert [(a.task, a.metric, a.value) for a in accuracies_of(second)] == [("gpqa", "mean score", 0.6250000001)]
    assert metrics_of(second) == [("duration_s", "mean", 90.5), ("output_tps", "mean", 170.5)]
    assert second.model == "/models/m/" and second.params["scores"] == ["0.500", "0.750"]
    assert metrics_of(third) == [("duration_s", "total", 9.5)]
    assert [(a.task, a.value) for a in accuracies_of(third)] == [("not named", 0.9375)]


# --- the tables of AIPerf and GenAI-Perf ------------------------------------------------------------------------------
CONSOLE = """
                NVIDIA AIPerf | LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━┓
┃              Metric ┃      avg ┃    p50 ┃    std ┃
┡━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━┩
│ Time to First Token │    20.50 │  13.50 │   3.00 │
│                (ms) │          │        │        │
│      Time to Second │     3.75 │   3.25 │    N/A │
│          Token (ms) │          │        │        │
│     Request Latency │ 2,940.50 │ 2,2…   │    N/A │
│                (ms) │          │        │        │
│ Inter Token Latency │     4.50 │   4.25 │   0.50 │
│                (ms) │          │        │        │
│        Output Token │   527.25 │    N/A │    N/A │
│          Throughput │          │        │        │
│        (tokens/sec) │          │        │        │
│ Output Token        │   250.00 │ 251.00 │   2.00 │
│ Throughput Per User │          │        │        │
│   (tokens/sec/user) │          │        │        │
│       Request Count │    10.00 │    N/A │    N/A │
│          (requests) │          │        │        │
└─────────────────────┴──────────┴────────┴────────┘

CLI Command: aiperf profile --model 'org/model' --input-file
'prompts.jsonl' --streaming --concurrency
2
Benchmark Duration: 15.75 sec
CSV Export:
artifacts/x.csv
"""


def test_table_that_aiperf_prints(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", CONSOLE)
    rows = results_of(load)
    assert (load.tool, load.model, load.planned_requests) == ("aiperf", "org/model", None)
    assert metrics_of(load) == [
        ("ttft_ms", "mean", 20.5), ("ttft_ms", "median", 13.5), ("stated", "mean", 3.75), ("stated", "median", 3.25),
        ("e2e_ms", "mean", 2940.5), ("e2e_ms", "median", None), ("tpot_ms", "mean", 4.5), ("tpot_ms", "median", 4.25),
        ("output_tps", "mean", 527.25), ("decode_tps", "mean", 250.0), ("decode_tps", "median", 251.0),
        ("requests", "total", 10.0), ("duration_s", "total", 15.75),
    ]  # fmt: skip
    assert {row.concurrency for row in rows} == {2}
    assert rows[0].n == 10 and rows[0].sd == pytest.approx(3.0 * (10 / 9) ** 0.5)
    assert rows[6].sd is None and rows[6].reason == "sd_count_not_told"
    assert (rows[2].point, rows[2].unit) == ("2 at once: Time to Second Token", "ms")


def test_printed_table_agrees_with_the_files_of_aiperf() -> None:
    printed, written_by_aiperf = (
        {
            (row.metric, row.statistic): row.value
            for row in results_of(load_of(captured(f"aiperf/run/{name}")))
            if row.metric != "stated"
        }
        for name in ("profile_export_console.txt", "profile_export_aiperf.json")
    )
    common_keys = printed.keys() & written_by_aiperf.keys()
    assert len(common_keys) > 20
    for key in common_keys:
        assert printed[key] == pytest.approx(written_by_aiperf[key], abs=0.0051)


def test_tables_of_one_run_are_one_load(tmp_path: Path) -> None:
    usage = (
        CONSOLE.split("\n\nCLI")[0]
        .replace("Metrics\n", "Metrics: Usage\n")
        .replace("Request Latency", "Usage of Tokens")
    )
    (load,) = loads_of_text(tmp_path, "post.txt", f"{usage}{CONSOLE}")
    assert (
        load.model == "org/model"
        and ("stated", "mean", 2940.5) in metrics_of(load)
        and ("e2e_ms", "mean", 2940.5) in metrics_of(load)
    )
    again = CONSOLE.split("\n\nCLI")[0]
    assert len(loads_of_text(tmp_path, "two.txt", f"{again}{CONSOLE}")) == 2


OLD_CONSOLE = """genai-perf profile -m org/model --concurrency 4
[2026-04-17 09:57:37] INFO     Parsing total 20 requests.     parser.py:124
                  LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃                         Statistic ┃           avg ┃           p75 ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│              Request latency (ns) │ 4,110,500,000 │ 4,626,500,000 │
│            Output sequence length │        331.00 │        376.00 │
│ Output token throughput (per sec) │         91.25 │           N/A │
│         Request goodput (per sec) │          0.25 │           N/A │
└───────────────────────────────────┴───────────────┴───────────────┘
"""


def test_table_that_genai_perf_prints(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", OLD_CONSOLE)
    assert (load.tool, load.model) == ("GenAI-Perf", "org/model")
    assert load.ts == datetime(2026, 4, 17, 9, 57, 37).astimezone()
    assert metrics_of(load) == [
        ("e2e_ms", "mean", 4110.5), ("e2e_ms", "p75", 4626.5), ("completion_tokens", "mean", 331.0),
        ("completion_tokens", "p75", 376.0), ("output_tps", "mean", 91.25), ("goodput_rps", "mean", 0.25),
    ]  # fmt: skip
    assert {row.concurrency for row in results_of(load)} == {4}


def test_table_of_genai_perf_whose_end_was_cut_off(tmp_path: Path) -> None:
    table = OLD_CONSOLE[OLD_CONSOLE.index("┏") : OLD_CONSOLE.index("│ Output token throughput")]
    text = f"genai-perf -m org/model --service-kind openai\n\nOnly these:\n\n{table}"
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert (load.tool, load.model) == ("GenAI-Perf", "org/model")
    assert (
        metrics_of(load)[:2] == [("e2e_ms", "mean", 4110.5), ("e2e_ms", "p75", 4626.5)] and len(metrics_of(load)) >= 4
    )


# --- GuideLLM's tables ------------------------------------------------------------------------------------------------
GUIDE = """
ℹ Request Token Statistics (Completed Requests)
|============|=======|=======|=======|========|
| Benchmark  | Input Tok    || Output Tok      ||
| Strategy   | Per Req      || Per Stream Iter ||
|            | Mdn   | p95   | Mdn   | p95    |
|------------|-------|-------|-------|--------|
| concurrent | 512.0 | 513.0 | 1.0   | 1.5    |
| concurrent | 512.0 | 514.0 | 1.0   | --     |
|============|=======|=======|=======|========|

ℹ Request Latency Statistics (Completed Requests)
|============|=========|========|========|========|======|======|======|======|
| Benchmark  | Request Latency || TTFT           || ITL        || TPOT       ||
| Strategy   | Sec             || ms             || ms         || ms         ||
|            | Mdn     | p95    | Mdn    | p95    | Mdn  | p95  | Mdn  | p95  |
|------------|---------|--------|--------|--------|------|------|------|------|
| concurrent | 2.5     | 3.5    | 150.5  | 250.5  | 10.5 | 11.5 | 12.5 | 13.5 |
| concurrent | 4.5     | 5.5    | 350.5  | 450.5  | 20.5 | 21.5 | 22.5 | 23.5 |
|============|=========|========|========|========|======|======|======|======|

ℹ Server Throughput Statistics (All Requests)
|============|=======|======|=========|==============|
| Benchmark  | Requests             ||| Input Tokens |
| Strategy   | Concurrency || Per Sec | Per Sec      |
|            | Mdn   | Mean | Mean                  ||
|------------|-------|------|---------|--------------|
| concurrent | 8.0   | 8.0  | 1.5     | 768.5        |
| concurrent | 16.0  | 15.5 | 2.5     | 1280.5       |
|============|=======|======|=========|==============|

ℹ Request Latency Statistics (Completed Requests)
|=============|=========|========|
| Benchmark   | Request Latency ||
| Strategy    | Sec             ||
|             | Mdn     | p95    |
|-------------|---------|--------|
| synchronous | 9.5     | 9.75   |
|=============|=========|========|
"""


def test_tables_that_guidellm_prints(tmp_path: Path) -> None:
    first, second = loads_of_text(tmp_path, "post.txt", GUIDE)
    rows = [(row.point, row.metric, row.statistic, row.value) for row in results_of(first)]
    assert [row[1:] for row in rows if row[0] == "benchmark 1, concurrent"] == [
        ("prompt_tokens", "median", 512.0), ("prompt_tokens", "p95", 513.0), ("tokens_per_piece", "median", 1.0),
        ("tokens_per_piece", "p95", 1.5), ("e2e_ms", "median", 2500.0), ("e2e_ms", "p95", 3500.0),
        ("ttft_ms", "median", 150.5), ("ttft_ms", "p95", 250.5), ("tpot_ms", "median", 10.5), ("tpot_ms", "p95", 11.5),
        ("e2e_per_token_ms", "median", 12.5), ("e2e_per_token_ms", "p95", 13.5), ("mean_concurrency", "median", 8.0),
        ("mean_concurrency", "mean", 8.0), ("request_tps", "mean", 1.5), ("prompt_tps", "mean", 768.5),
    ]  # fmt: skip
    assert ("benchmark 2, concurrent", "request_tps", "mean", 2.5) in rows and len(rows) == 31
    assert (first.tool, {row.concurrency for row in results_of(first)}) == ("guidellm", {8, None})
    assert [(row.point, row.statistic, row.value, row.concurrency) for row in results_of(second)] == [
        ("benchmark 1, synchronous", "median", 9500.0, 1), ("benchmark 1, synchronous", "p95", 9750.0, 1),
    ]  # fmt: skip


GUIDE_SUMMARY = """✔ OpenAIHTTPBackend backend validated with model org/model-8b
ℹ Run Summary Info
|=============|==========|=======|======|=========|=====|========|
| Benchmark   | Timings               ||| Input Tok || Output Tok |
| Strategy    | Start    | Dur   | Warm | Comp    | Inc | Comp   |
|             |          | Sec   | Sec  | Tot     | Tot | Tot    |
|-------------|----------|-------|------|---------|-----|--------|
| synchronous | 22:07:57 | 350.5 | 0.5  | 99500.0 | 0.0 | 5250.0 |
|=============|==========|=======|======|=========|=====|========|
""".replace("Input Tok |", "Input Tokens |").replace("Output Tok |", "Output Tokens |")


def test_run_summary_of_guidellm(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", GUIDE_SUMMARY)
    assert load.model == "org/model-8b"
    assert [(row.metric, row.statistic, row.value, row.unit) for row in results_of(load)] == [
        ("duration_s", "total", 350.5, "s"), ("stated", "total", 0.5, "s"),
        ("prompt_tokens", "total", 99500.0, "tokens"), ("stated", "total", 0.0, "tokens"),
        ("completion_tokens", "total", 5250.0, "tokens"),
    ]  # fmt: skip


OLD_GUIDE = """Benchmarks Info:
=====================================================
Metadata |||| Requests Made ||| Prompt Tok/Req ||| Output Tok/Req ||| Prompt Tok Total||| Output Tok Total||
    Benchmark| Start Time| End Time| Duration (s)|Comp|Inc|Err| Comp| Inc|Err|Comp|Inc|Err|Comp|Inc|Err|Comp|Inc|Err
-------------|-----------|---------|-------------|----|---|---|-----|----|---|----|---|---|----|---|---|----|---|---
  synchronous|   10:00:00| 10:01:00|         60.0|  40|  1|  2|128.5|64.0|0.0|32.5|8.0|0.0|5140| 64|  0|1300|  8|  0
 concurrent@8|   10:02:00| 10:03:00|         61.0| 320|  8|  0|129.5|64.0|0.0|33.5|8.0|0.0|9999| 64|  0|1301|  8|  0
=====================================================

Benchmarks Stats:
=====================================================
Metadata   | Request Stats         || Out Tok/sec| Tot Tok/sec| Req Latency (ms)||| TTFT (ms)||| ITL (ms)|| TPOT (ms)
    Benchmark| Per Second| Concurrency| mean| mean| mean| median| p99| mean| median| p99| mean| p99| mean
-------------|-----------|------------|-----|-----|-----|-------|----|-----|-------|----|-----|----|-----
  synchronous|       0.75|        1.00| 24.5| 99.5| 1.25|    1.5| 1.75| 20.5|  21.5| 30.5|  7.5| 9.5|  8.5
 concurrent@8|       5.75|        8.00| 90.5| 98.5| 2.25|    2.5| 2.75| 40.5|  41.5| 50.5| 17.5| 9.75
=====================================================
"""


def test_summary_that_guidellm_printed(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", OLD_GUIDE)
    rows = [(row.metric, row.statistic, row.value, row.concurrency) for row in results_of(load)
            if row.point == "benchmark 1, synchronous"]  # fmt: skip
    assert rows == [
        ("duration_s", "total", 60.0, 1), ("requests", "total", 40.0, 1), ("incomplete_requests", "total", 1.0, 1),
        ("failed_requests", "total", 2.0, 1), ("prompt_tokens", "mean", 128.5, 1),
        ("completion_tokens", "mean", 32.5, 1), ("prompt_tokens", "total", 5140.0, 1),
        ("completion_tokens", "total", 1300.0, 1), ("request_tps", "mean", 0.75, 1),
        ("mean_concurrency", "mean", 1.0, 1), ("output_tps", "mean", 24.5, 1), ("total_tps", "mean", 99.5, 1),
        ("e2e_ms", "mean", 1.25, 1), ("e2e_ms", "median", 1.5, 1), ("e2e_ms", "p99", 1.75, 1),
        ("ttft_ms", "mean", 20.5, 1), ("ttft_ms", "median", 21.5, 1), ("ttft_ms", "p99", 30.5, 1),
        ("tpot_ms", "mean", 7.5, 1), ("tpot_ms", "p99", 9.5, 1), ("e2e_per_token_ms", "mean", 8.5, 1),
    ]  # fmt: skip
    inexact = [row.value for row in results_of(load) if row.point == "benchmark 1, synchronous: Prompt Tok/Req, Inc"]
    assert inexact == [64.0] and load.params["benchmark 1, synchronous: Metadata, Start Time"] == "10:00:00"
    assert load.tool == "guidellm" and load.notes == [
        "Benchmark 2 of a table was left out: its cells do not fit its columns."
    ]
    assert {row.concurrency for row in results_of(load)} == {1, 8}


def test_summary_of_guidellm_that_a_terminal_wrapped(tmp_path: Path) -> None:
    """Lines break at blanks after 60 to 100 characters, and only the beginnings of lines tell where one begins."""
    whole = loads_of_text(tmp_path, "post.txt", OLD_GUIDE)[0]
    for width in (60, 80, 100):
        lines = [piece for line in OLD_GUIDE.splitlines() for piece in wrapped(line, width) or [""]]
        load = loads_of_text(tmp_path, f"{width}.txt", "\n".join(lines))[0]
        assert [(row.point, row.metric, row.value) for row in results_of(load)] == [
            (row.point, row.metric, row.value) for row in results_of(whole)
        ]


def wrapped(line: str, width: int) -> list[str]:
    """A line as a console wraps it: it breaks at blanks, and words that are too long break where they must."""
    return textwrap.wrap(line, width, drop_whitespace=False, break_on_hyphens=False)


# --- tables of llama.cpp's scripts and forks --------------------------------------------------------------------------
INDENTED = """VI. RESULT
            # Run 1
                  Device 0: AMD Radeon RX 9900 XT, gfx1030 (0x1030), VMM: no
                | model       |     size | params | backend | ngl |   test |           t/s |
                | ----------- | -------: | -----: | ------- | --: | -----: | ------------: |
                | org 8B Q8_0 | 6.24 GiB | 8.91 B | ROCm    |  99 | pp8192 | 653.25 ± 0.50 |
                build: 0a50d9909 (10108)
"""


def test_indented_table_of_llama_bench(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", INDENTED)
    assert metrics_of(load) == [("prompt_tps", "mean", 653.25)] and load.model == "org 8B Q8_0"
    assert (load.tool_version, load.params["gpu_info"]) == ("b10108", "AMD Radeon RX 9900 XT")


COMPARED = """| GPU      | Model       | Microbatch size | Test         | t/s master | t/s my/branch | Speedup |
|:---------|:------------|----------------:|:-------------|-----------:|--------------:|--------:|
| RTX 9090 | org 8B Q8_0 |             512 | pp512@d1024  |     1500.5 |        1600.5 |    1.07 |
| RTX 9090 | org 8B Q8_0 |             512 | tg64         |       50.5 |          60.5 |    1.20 |
"""


def test_compared_builds_of_llama_bench(tmp_path: Path) -> None:
    first, second = loads_of_text(tmp_path, "post.md", COMPARED)
    assert [load.params["build"] for load in (first, second)] == ["master", "my/branch"]
    assert first.params["gpu_info"] == "RTX 9090" and first.params["n_ubatch"] == 512 and first.model == "org 8B Q8_0"
    assert [(row.point, row.metric, row.statistic, row.value, row.depth_tokens) for row in results_of(second)] == [
        ("pp512 @ d1024, build my/branch", "prompt_tps", "mean", 1600.5, 1024),
        ("tg64, build my/branch", "decode_tps", "mean", 60.5, 0),
    ]  # fmt: skip


SPECULATED = """llama-spec-bench --model /models/m.gguf --spec-type mtp:n_max=2

| task     | run | stage   |  tokens | stop  | time(s) |   tok/s | rounds |    accepted |    rate |  a.len | pos accept        |
|----------|-----|---------|---------|-------|---------|---------|--------|-------------|---------|--------|-------------------|
| code     |   1 | base    |     100 | eog   |   5.000 |   20.00 |      - |           - |       - |      - | -                 |
| code     |   1 | mtp     |     100 | limit |   2.500 |   40.00 |     50 |      60/100 |  60.00% |   2.20 | 70.0% 50.0%       |
"""  # noqa: E501


def test_table_of_llama_spec_bench(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", SPECULATED)
    assert (load.tool, load.model) == ("llama-spec-bench", "/models/m.gguf")
    rows = [(row.point, row.metric, row.statistic, row.value) for row in results_of(load)]
    base, name = "code, run 1, base", "code, run 1, mtp"
    assert rows == [
        (base, "completion_tokens", "total", 100), (base, "duration_s", "total", 5),
        (base, "decode_tps", "stated", 20),
        (name, "completion_tokens", "total", 100), (name, "duration_s", "total", 2.5),
        (name, "decode_tps", "stated", 40), (f"{name}: rounds", "stated", "stated", 50),
        (f"{name}: accepted draft tokens", "stated", "total", 60), (f"{name}: draft tokens", "stated", "total", 100),
        (name, "acceptance_rate", "mean", 0.6), (name, "acceptance_length", "mean", 2.2),
        (f"{name}, draft position 0", "position_acceptance_rate", "mean", 0.7),
        (f"{name}, draft position 1", "position_acceptance_rate", "mean", 0.5),
    ]  # fmt: skip
    assert load.params["stops"] == {base: "eog", name: "limit"}


def test_heading_above_a_command(tmp_path: Path) -> None:
    text = (
        "### Fourth test\n\n```sh\nvllm bench latency \\\n  --model org/model \\\n  --input-len 64\n```\n\n"
        "```txt\nAvg latency: 0.5 seconds\n```\n"
    )
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert (load.params["heading"], load.model) == ("Fourth test", "org/model")


# --- llama-speculative ------------------------------------------------------------------------------------------------
DRAFTED = """./llama-speculative-simple -m target.gguf -md draft.gguf --draft 4

encoded   20 tokens in    2.500 seconds, speed:    8.000 t/s
decoded  100 tokens in   20.000 seconds, speed:    5.000 t/s

n_draft   = 4
n_predict = 100
n_drafted = 80
n_accept  = 20
accept    = 25.000%
"""


def test_printed_timings_of_llama_speculative(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", DRAFTED)
    assert (load.tool, load.model) == ("llama-speculative", "target.gguf")
    assert metrics_of(load) == [
        ("prompt_tps", "stated", 8.0), ("prompt_ms", "stated", 2500.0), ("decode_tps", "stated", 5.0),
        ("decode_ms", "stated", 20000.0), ("stated", "total", 80.0), ("stated", "total", 20.0),
        ("acceptance_rate", "mean", 0.25),
    ]  # fmt: skip
    assert ("one request", 1, 20, 100) in points_of(load)
    assert load.params == {"n_draft": 4, "n_predict": 100, "model_draft": "draft.gguf"}


# --- cut and changed texts --------------------------------------------------------------------------------------------
TEXTS = (
    SERVED,
    OFFLINE,
    ONE_BATCH,
    OLLAMA,
    MLX,
    HARNESS,
    EVALUATED,
    CONSOLE,
    OLD_CONSOLE,
    GUIDE,
    COMPARED,
    SPECULATED,
    DRAFTED,
)


@pytest.mark.parametrize("text", TEXTS)
def test_cut_or_changed_texts_are_read_or_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "post.txt"
    variants = [text[:end] for end in range(40, len(text), 97)]
    variants += [text.replace(old, new) for old, new in ((":", ""), ("|", "||"), ("0", "∞"), (" ", ""), ("\n", "\n\n"))]
    for variant in variants:
        path.write_text(variant)
        if reader_of(ResultFile(path, path.name)) is None:
            continue
        try:
            loads = loads_of(path)
        except ImportRefusedError as error:
            assert str(error).startswith("post.txt")
            continue
        for load in loads:
            keys = [(row.point, row.metric, row.statistic) for row in results_of(load)]
            assert (keys and len(keys) == len(set(keys))) or accuracies_of(load)


@pytest.mark.parametrize("mark", ["             <========", " (-10.5%)", " ← better", " 🔥"])
def test_a_mark_behind_a_value_is_no_part_of_it(mark: str, tmp_path: Path) -> None:
    path = tmp_path / "post.txt"
    edge = "=" * 50
    path.write_text(
        f"============ Serving Benchmark Result ============\nSuccessful requests: 8\n"
        f"Median TTFT (ms):   27.44{mark}\nP99 TTFT (ms):  97.69\n{edge}\n"
    )
    values = {(row.metric, row.statistic): row.value for row in results_of(load_of(path))}
    assert (values["ttft_ms", "median"], values["ttft_ms", "p99"]) == (27.44, 97.69)


def test_total_throughput_of_older_versions(tmp_path: Path) -> None:
    text = SERVED.replace("Output token throughput (tok/s):", "Total throughput (tok/s):       ")
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert metrics_of(load) == [("requests", "total", 8.0), ("total_tps", "mean", 90.5)]


def test_the_settings_that_a_tool_prints_first_are_no_heading(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    settings = (
        "Traffic request rate: 4.0\nBurstiness factor: 1.0 (Poisson process)\nMaximum request concurrency: None\n"
    )
    path.write_text(
        f"New kernel\n```\n{settings}============ Serving Benchmark Result ============\n"
        "Successful requests:                     10\nOutput token throughput (tok/s):         252.5\n```\n"
    )
    assert load_of(path).params["heading"] == "New kernel"


def test_offline_throughput_of_sglang(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        "====== Offline Throughput Benchmark Result =======\n"
        "Backend:                                 engine\n"
        "Successful requests:                     2\n"
        "Benchmark duration (s):                  6.50\n"
        "Total generated tokens:                  240\n"
        "Last generation throughput (tok/s):      37.25\n"
        "Output token throughput (tok/s):         36.50\n"
        "==================================================\n"
    )
    load = load_of(path)
    assert load.tool == "sglang.bench_offline_throughput"
    assert [(row.metric, row.statistic, row.value) for row in load.result_rows] == [
        ("requests", "total", 2.0), ("duration_s", "total", 6.5), ("completion_tokens", "total", 240.0),
        ("stated", "stated", 37.25), ("output_tps", "mean", 36.5),
    ]  # fmt: skip


def test_tasks_of_sglangs_evaluations_are_those_of_the_command(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    command = "python3 benchmark/gsm8k/bench_sglang.py --num-questions 20 --parallel 20"
    block = "```shell\nAccuracy: 0.955\nInvalid: 0.000\nLatency: 57.5 s\nOutput throughput: 2430.5 token/s\n```\n\n"
    path.write_text(f"```shell\n{command}\n```\n\nmain branch:\n\n{block}pr:\n\n{block}")
    first, second = loads_of(path)
    assert (first.params["heading"], second.params["heading"]) == ("main branch", "pr")
    assert [row.task for load in (first, second) for row in load.rows if isinstance(row, Accuracy)] == ["gsm8k"] * 2


def test_an_early_line_of_sglang_states_the_speed_of_the_output_alone(tmp_path: Path) -> None:
    path = tmp_path / "online.jsonl"
    line = (
        '{"backend": "sglang", "dataset_name": "NAME", "request_rate": 2.0, "max_concurrency": null,'
        ' "total_input_tokens": 152, "total_output_tokens": 160, "median_ttft_ms": 218.5, "output_throughput": 504.5,'
        ' "sharegpt_output_len": null, "random_input_len": 1024, "random_output_len": 512, "duration": 3.5,'
        ' "completed": 300}\n'
    )
    path.write_text(line.replace("NAME", "random") + line.replace("NAME", "sharegpt"))
    loads = loads_of(path)
    for load in loads:
        assert [(row.metric, row.value) for row in load.result_rows] == [
            ("output_tps", 504.5), ("duration_s", 3.5), ("requests", 300.0), ("prompt_tokens", 152.0),
            ("completion_tokens", 160.0), ("ttft_ms", 218.5),
        ]  # fmt: skip
    assert [load.result_rows[0].prompt_tokens for load in loads] == [1024, None]
