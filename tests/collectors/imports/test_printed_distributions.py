"""Printed distributions of LLMPerf, vLLM's conversations of several turns, and Hugging Face's inference-benchmarker."""

from __future__ import annotations

from pathlib import Path

from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text
from tests.collectors.imports.test_printed_benchmarks import metrics_of, points_of

LLMPERF = r"""python token_benchmark_ray.py --model "org/model" --mean-input-tokens 550 --mean-output-tokens 150 \
  --num-concurrent-requests 2
100%|##########| 2/2 [00:04<00:00,  2.01s/it]
\Results for token benchmark for org/model queried with the openai api.

inter_token_latency_s
    p25 = 0.0105
    p50 = 0.0115
    mean = 0.0125
    stddev = 0.0015
ttft_s
    p99 = 0.15
    max = 0.175
end_to_end_latency_s
    mean = 1.125
request_output_throughput_token_per_s
    p50 = 90.5
number_output_tokens
    mean = 149.5
Number Of Errored Requests: 1
Overall Output Throughput: 181.25
Number Of Completed Requests: 9
Completed Requests Per Minute: 75.0
"""


def test_printed_summary_of_llmperf(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", LLMPERF)
    assert (load.tool, load.model) == ("LLMPerf", "org/model")
    assert metrics_of(load) == [
        ("itl_ms", "p25", 10.5), ("itl_ms", "median", 11.5), ("itl_ms", "mean", 12.5), ("ttft_ms", "p99", 150),
        ("ttft_ms", "max", 175), ("e2e_ms", "mean", 1125), ("e2e_tps", "median", 90.5),
        ("completion_tokens", "mean", 149.5), ("failed_requests", "total", 1), ("output_tps", "mean", 181.25),
        ("requests", "total", 9), ("request_tps", "mean", 1.25),
    ]  # fmt: skip
    assert points_of(load) == {("pp550 tg150 2 at once", 2, 550, 150)}
    assert results_of(load)[2].sd == 1.5


def test_codes_of_errors_between_the_totals_of_llmperf(tmp_path: Path) -> None:
    text = LLMPERF.replace("Requests: 1\n", "Requests: 1\nError Code Frequency\n{429: 1}\n").replace(
        "181.25", "181.25 tok/s"
    )
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert metrics_of(load)[-4:] == [
        ("failed_requests", "total", 1), ("output_tps", "mean", 181.25), ("requests", "total", 9),
        ("request_tps", "mean", 1.25),
    ]  # fmt: skip


TURNS = """2025-08-01 10:11:12,123 [INFO] - All 2 clients finished
----------------------------------------------------------------------------------------------------
Statistics summary:
runtime_sec = 215.810
requests_per_sec = 0.769
----------------------------------------------------------------------------------------------------
                   count     mean     std      min      25%      50%      99%      max
ttft_ms            166.0    78.25   67.50    45.75    59.75    62.25   353.25   567.50
latency_ms         166.0  2591.25  326.75  1998.50  2341.50  2573.00  3268.50  3862.75
input_num_turns    166.0     7.50    4.50     1.00     3.00     7.00    17.00    17.00
output_num_tokens  166.0   100.00   11.75    80.00    91.00    99.00   120.00   120.00
----------------------------------------------------------------------------------------------------
"""


def test_printed_conversations_of_vllm(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", f"Parameters:\nmodel=org/model\n{TURNS}")
    assert (load.tool, load.model) == ("vllm benchmark_serving_multi_turn.py", "org/model")
    assert metrics_of(load)[:9] == [
        ("duration_s", "total", 215.81), ("request_tps", "mean", 0.769), ("ttft_ms", "mean", 78.25),
        ("ttft_ms", "min", 45.75), ("ttft_ms", "p25", 59.75), ("ttft_ms", "median", 62.25), ("ttft_ms", "p99", 353.25),
        ("ttft_ms", "max", 567.5), ("e2e_ms", "mean", 2591.25),
    ]  # fmt: skip
    assert ("completion_tokens", "median", 99) in metrics_of(load) and ("stated", "mean", 7.5) in metrics_of(load)
    assert (results_of(load)[2].n, results_of(load)[2].sd) == (166, 67.5) and load.notes == []


BENCHMARKER = """┌─────────────────┬───────────────┐
│ Parameter       │ Value         │
├─────────────────┼───────────────┤
│ Max VUs         │ 128           │
│ Tokenizer       │ org/model     │
└─────────────────┴───────────────┘

┌────────────────────┬────────────┬───────────────────┬────────────┬───────────┬───────────────────┬────────────┬─────────────────────┬─────────────────────────────┬──────────────────────────────┐
│ Benchmark          │ QPS        │ E2E Latency (avg) │ TTFT (avg) │ ITL (avg) │ Throughput        │ Error Rate │ Successful Requests │ Prompt tokens per req (avg) │ Decoded tokens per req (avg) │
├────────────────────┼────────────┼───────────────────┼────────────┼───────────┼───────────────────┼────────────┼─────────────────────┼─────────────────────────────┼──────────────────────────────┤
│ warmup             │ 0.52 req/s │ 1.90 sec          │ 31.12 ms   │ 9.41 ms   │ 104.12 tokens/sec │ 0.00%      │ 16/16               │ 200.00                      │ 198.25                       │
│ constant@1.18req/s │ 1.15 req/s │ 2.25 sec          │ 35.25 ms   │ 9.75 ms   │ 229.5 tokens/sec  │ 1.00%      │ 138/139             │ 200.00                      │ 199.50                       │
└────────────────────┴────────────┴───────────────────┴────────────┴───────────┴───────────────────┴────────────┴─────────────────────┴─────────────────────────────┴──────────────────────────────┘
"""  # noqa: E501


def test_printed_table_of_the_inference_benchmarker(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", BENCHMARKER)
    assert load.tool == "inference-benchmarker" and load.params["Tokenizer"] == "org/model"
    assert metrics_of(load) == [
        ("request_tps", "mean", 1.15), ("e2e_ms", "mean", 2250), ("ttft_ms", "mean", 35.25), ("itl_ms", "mean", 9.75),
        ("output_tps", "mean", 229.5), ("requests", "total", 138), ("failed_requests", "total", 1),
        ("prompt_tokens", "mean", 200), ("completion_tokens", "mean", 199.5),
    ]  # fmt: skip
    assert {row.point for row in results_of(load)} == {"constant@1.18req/s"} and "warm-up" in load.notes[0]
