"""Lines that engines, chat tools and testers of servers print: each value under its metric, with lengths and facts."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from collectors.imports.results.metrics import UNITS
from collectors.imports.results.readers import reader_of
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools import answer_lines
from load_records import Result
from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

MLX = "==========\nPrompt: 12 tokens, 150.5 tokens-per-sec\nGeneration: 90 tokens, 45.5 tokens-per-sec\n"
BATCH = (
    "[batch_generate] Finished processing 4/4\n[batch_generate] Prompt: 400 tokens, 1500.5 tokens-per-sec\n"
    "[batch_generate] Generation: 800 tokens, 145.5 tokens-per-sec\n[batch_generate] Peak memory: 5.5 GB\n"
)
MLX_SERVER = (
    "Starting benchmark with 8 concurrency and 32 total requests...\n\nBenchmark completed in 40.00 seconds\n"
    "Successful requests: 32/32\nTotal tokens generated: 8000\nAggregate tokens/sec: 200.00\n\n"
    "Time to First Token (seconds):\n  Min: 0.1000 | Max: 0.9000 | Avg: 0.4000 | P95: 0.8500\n\n"
    "Tokens per Second (per request):\n  Min: 20.00 | Max: 32.00 | Avg: 26.00 | P95: 31.00\n"
)
LMS = (
    "Prediction Stats:\n  Stop Reason: eosFound\n  Tokens/Second: 45.5\n  Time to First Token: 0.25s\n"
    "  Prompt Tokens: 12\n  Predicted Tokens: 90\n  Total Tokens: 102\n"
)
KOBOLD = (
    "[10:11:12] CtxLimit:1132/8192, Amt:90/512, Init:0.02s, Process:1.00s (1032.5T/s), "
    "Generate:2.50s (36.5T/s), Total:3.52s\n"
)
WEBUI = "Output generated in 7.50 seconds (26.5 tokens/s, 199 tokens, context 1200, seed 12345)\n"
EXL2 = " -- Response generated in 2.50 seconds, 128 tokens, 51.25 tokens/second (includes prompt eval.)\n"
EXL2_SPEEDS = (
    " -- Measuring prompt speed...\n ** Length   512 tokens:   3200.5 t/s\n -- Measuring token speed...\n"
    " ** Position  1024 + 127 tokens:   55.25 t/s\n"
)
TABBY = (
    "2026-01-01 10:00:00.000 INFO:     Metrics (ID: 0a1b): 200 tokens generated in 5.0 seconds (Queue: 0.5 s, "
    "Process: 100 cached tokens and 1100 new tokens at 2400.5 T/s, Generate: 44.5 T/s, Context: 1200 tokens)\n"
)
CANDLE = "  10 prompt tokens processed: 40.5 token/s\n 100 tokens generated: 20.5 token/s\n"
FASTLLM = (
    "batch: 1\nprompt token number = 9\nprefill use 0.1 s\nprefill speed = 90.5 tokens / s\noutput 128 tokens\n"
    "use 2.5 s\nspeed = 51.25 tokens / s\n"
)
ORT = (
    "Batch Size = 4, Prompt Length = 128, Max Length = 256\nAverage Tokenization Latency (per token): 0.01 ms\n"
    "Average Tokenization Throughput (per token): 90000.0 tps\nAverage Prompt Processing Latency (per token): 0.4 ms\n"
    "Average Prompt Processing Throughput (per token): 2500.5 tps\n"
    "Average Token Generation Latency (per token): 20.5 ms\n"
    "Average Token Generation Throughput (per token): 195.5 tps\nAverage Wall Clock Time: 2.6 s\n"
    "Average Wall Clock Throughput: 393.5 tps\n"
)
ORT_MODEL = (
    "Batch size: 1, prompt tokens: 128, tokens to generate: 64\nPrompt processing (time to first token):\n"
    "\tavg (us):       50000\n\tavg (tokens/s): 2560\n\tp50 (us):       49900\n\tstddev (us):    120.5\n"
    "Token generation:\n\tavg (us):       20000\n\tavg (tokens/s): 50\nToken sampling:\n\tavg (us):       45.2\n"
    "\tavg (tokens/s): 22123.5\nE2E generation (entire generation loop):\n\tavg (ms):       2590.5\n"
    "Peak working set size (bytes): 5368709120\n"
)
OPENVINO = (
    "[ INFO ] [warm-up][P0] First token latency: 300.00 ms/token, other tokens latency: 44.00 ms/token, len: 128 * 1\n"
    "[ INFO ] [1][P0] First token latency: 200.00 ms/token, other tokens latency: 38.00 ms/token, len: 128 * 1\n"
    "[ INFO ] [Average] P[0] Input token size: 32, 1st token latency: 200.50 ms, 2nd token latency: 38.50 ms, "
    "2nd tokens throughput: 26.25 tokens/s\n"
)
GENAI = (
    "Load time: 1234.50 ms\nGenerate time: 2500.5 ± 10.00 ms\nTokenization time: 0.50 ± 0.01 ms\n"
    "Detokenization time: 0.20 ± 0.01 ms\nTTFT: 200.5 ± 1.00 ms\n"
    "TPOT: 38.5 ± 0.50 ms\nThroughput : 26.25 ± 0.30 tokens/s\n"
)
EXECUTORCH = (
    "I 00:00:12.345678 executorch:stats.h:104] \tPrompt Tokens: 10    Generated Tokens: 100\n"
    "I 00:00:12.345679 executorch:stats.h:110] \tModel Load Time:\t\t1.500000 (seconds)\n"
    "I 00:00:12.345680 executorch:stats.h:117] \tTotal inference time:\t\t3.0 (seconds)\t\t "
    "Rate: \t33.5 (tokens/second)\n"
    "I 00:00:12.345681 executorch:stats.h:127] \t\tPrompt evaluation:\t0.1 (seconds)\t\t Rate: "
    "\t100.5 (tokens/second)\n"
    "I 00:00:12.345682 executorch:stats.h:136] \t\tGenerated 100 tokens:\t2.9 (seconds)\t\t "
    "Rate: \t34.5 (tokens/second)\n"
    "I 00:00:12.345683 executorch:stats.h:147] \tTime to first generated token:\t0.12 (seconds)\n"
)
LITERT = (
    "BenchmarkInfo:\n  Init Phases (2):\n    Total init time: 1550.00 ms\n--------------------\n"
    "  Time to first token: 0.35 s\n--------------------\n  Prefill Turns (Total 1 turns):\n"
    "    Prefill Turn 1: Processed 256 tokens in 200.00ms duration.\n      Prefill Speed: 1280.50 tokens/sec.\n"
    "--------------------\n  Decode Turns (Total 1 turns):\n"
    "    Decode Turn 1: Processed 255 tokens in 5.0s duration.\n      Decode Speed: 51.25 tokens/sec.\n"
)
RKLLM = (
    "I rkllm:  Model init time (ms)  2500.5\nI rkllm: ------------------------------\n"
    "I rkllm:  Stage         Total Time (ms)  Tokens    Time per Token (ms)      Tokens per Second\n"
    "I rkllm: ------------------------------\nI rkllm:  Prefill       500.5           100       5.00        200.5\n"
    "I rkllm:  Generate      9900.5         99       100.5                   9.95\nI rkllm: ----------------------\n"
    "I rkllm:  Peak Memory Usage (GB)\nI rkllm:  1.50\n"
)
TGI = (
    '2026-01-01T10:00:00.0Z  INFO generate{total_time="2.5s" validation_time="1ms" queue_time="2ms" '
    'inference_time="2.4s" time_per_token="24ms" seed="None"}: text_generation_router::server: Success\n'
)
OLLAMA_BENCH = (
    "goos: linux\n# Model: gem3 | Params: 4.3B | Quant: Q4_K_M | Family: gem3\n"
    "BenchmarkModel/name=gem3/step=prefill 1 2000000.00 ns/token 500.00 token/sec\n"
    "BenchmarkModel/name=gem3/step=generate 1 20000000.00 ns/token 50.00 token/sec\n"
    "BenchmarkModel/name=gem3/step=ttft 1 250000000 ns/op\nBenchmarkModel/name=gem3/step=load 1 1500000000 ns/op\n"
    "BenchmarkModel/name=gem3/step=total 1 5500000000 ns/op\n"
)
PARALLEL = (
    "main: n_parallel = 8, n_sequences = 128, cont_batching = 1, system tokens = 259\n"
    "Total prompt tokens:   2000, speed: 400.50 t/s\nTotal gen tokens:      5000, speed: 1000.50 t/s\n"
    "Total speed (AVG):           speed: 1401.00 t/s\nCache misses:             0\n"
)
SERVER_BENCH = (
    "Benchmark duration:                100.00 s\n"
    "Request throughput:                2.00 requests/s = 120.00 requests/min\n"
    "Average prompt length:             1000.50 tokens\nAverage prompt latency:            250.00 ms\n"
    "Average total generation speed:    500.00 tokens/s\nAverage generation speed per slot: 31.25 tokens/s / slot\n"
)
PERPLEXITY = "[1]5.1234,[2]5.5678,\nFinal estimate: PPL = 6.2345 +/- 0.03456\n"
K6 = (
    "     http_req_duration..............: avg=2.5s    min=1.2s  med=2.4s  max=5s    p(90)=4s    p(95)=4.5s\n"
    "       { expected_response:true }...: avg=2.6s    min=1.2s  med=2.4s  max=5s    p(90)=4s    p(95)=4.5s\n"
    "     http_req_failed................: 2.00%  ✓ 2        ✗ 98\n"
    "     http_reqs......................: 100    3.333333/s\n"
    "     vus_max........................: 8      min=8      max=8\n"
)
K6_LLAMA = (
    "     llamacpp_emit_first_token_second: avg=0.25\n     llamacpp_prompt_processing_second: avg=900.5\n"
    "     llamacpp_tokens_second..: avg=30.5 p(95)=39\n     http_req_duration.......: avg=6.5s p(90)=8s\n"
)
OHA = (
    "Summary:\n  Success rate:\t100.00%\n  Total:\t30.0000 secs\n  Slowest:\t5.0000 secs\n  Fastest:\t1.2000 secs\n"
    "  Average:\t2.5000 secs\n  Requests/sec:\t3.3333\n\n  Total data:\t1.20 MiB\n\nResponse time distribution:\n"
    "  50.00% in 2.4000 secs\n  99.90% in 4.9000 secs\n\nStatus code distribution:\n  [200] 100 responses\n"
)
WRK = (
    "Running 30s test @ http://localhost:8000/v1/completions\n  4 threads and 8 connections\n"
    "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     2.50s   500.00ms   5.00s    70.00%\n"
    "    Req/Sec     0.80      0.40     2.00     80.00%\n"
    "  Latency Distribution\n     50%    2.40s \n     99%    4.90s \n"
    "  100 requests in 30.00s, 1.00MB read\nRequests/sec:      3.33\nTransfer/sec:     34.13KB\n"
)
AB = (
    "Concurrency Level:      8\nTime taken for tests:   30.000 seconds\nComplete requests:      100\n"
    "Failed requests:        2\nRequests per second:    3.33 [#/sec] (mean)\n"
    "Time per request:       2400.000 [ms] (mean)\n"
    "Time per request:       300.000 [ms] (mean, across all concurrent requests)\n\nConnection Times (ms)\n"
    "              min  mean[+/-sd] median   max\nTotal:       1200 2391 500.0   2381    5001\n\n"
    "Percentage of the requests served within a certain time (ms)\n  50%   2381\n  99%   5000\n"
    " 100%   5001 (longest request)\n"
)
AUTOCANNON = (
    "8 connections\n\n│ Stat    │ 2.5%    │ 50%     │ 97.5%   │ 99%     │ Avg       │ Stdev    │ Max     │\n"
    "│ Latency │ 1200 ms │ 2400 ms │ 4800 ms │ 4900 ms │ 2500.5 ms │ 500.5 ms │ 5000 ms │\n"
    "│ Stat      │ 1%  │ 2.5% │ 50% │ 97.5% │ Avg  │ Stdev│ Min │\n"
    "│ Req/Sec   │ 0   │ 0    │ 3   │ 6     │ 3.34 │ 1.2  │ 1   │\n\n100 requests in 30.5s, 120 kB read\n"
)
LOCUST = (
    "Type     Name                      # reqs      # fails |    Avg     Min     Max    Med |   req/s  failures/s\n"
    "--------|--------------------------|-------|-------------|-------|-------|-------|-------|--------|-----------\n"
    "POST     /v1/chat/completions         100     2(2.00%) |   2500    1200    5000   2400 |    3.33        0.07\n"
    "         Aggregated                   100     2(2.00%) |   2500    1200    5000   2400 |    3.33        0.07\n"
)

PRINTS: list[tuple[str, str, tuple[int | None, int | None, int | None], dict[str, float]]] = [
    ("mlx_lm", MLX, (1, 12, 90), {"prompt_tps": 150.5, "decode_tps": 45.5}),
    (
        "mlx_lm batch_generate", BATCH, (None, None, None),
        {"requests total": 4, "prompt_tokens total": 400, "prompt_tps": 1500.5, "completion_tokens total": 800,
         "batch_decode_tps": 145.5, "stated max": 5.5},
    ),
    (
        "mlx_lm server_benchmark", MLX_SERVER, (8, None, None),
        {"duration_s total": 40, "requests total": 32, "completion_tokens total": 8000, "output_tps mean": 200,
         "ttft_ms min": 100, "ttft_ms max": 900, "ttft_ms mean": 400, "ttft_ms p95": 850, "decode_tps min": 20,
         "decode_tps max": 32, "decode_tps mean": 26, "decode_tps p95": 31},
    ),
    ("lms chat", LMS, (1, 12, 90), {"decode_tps": 45.5, "ttft_ms": 250}),
    ("llama-cli", "\n[ Prompt: 204.5 t/s | Generation: 67.5 t/s ]\n", (1, None, None),
     {"prompt_tps": 204.5, "decode_tps": 67.5}),
    (
        "KoboldCpp", KOBOLD, (1, None, 90),
        {"prompt_ms": 1000, "prompt_tps": 1032.5, "decode_ms": 2500, "decode_tps": 36.5, "e2e_ms": 3520},
    ),
    ("text-generation-webui", WEBUI, (1, 1200, 199), {"e2e_ms": 7500, "e2e_tps": 26.5}),
    ("ExLlamaV2 test_inference", EXL2, (1, None, 128), {"e2e_ms": 2500, "e2e_tps": 51.25}),
    ("TabbyAPI", TABBY, (None, 1200, 200), {"e2e_ms": 5000, "stated": 0.5, "prompt_tps": 2400.5, "decode_tps": 44.5}),
    ("candle", CANDLE, (1, 10, 100), {"prompt_tps": 40.5, "decode_tps": 20.5}),
    ("MLC LLM /stats", "prefill: 123.5 tok/s, decode: 45.5 tok/s\n", (1, None, None),
     {"prompt_tps": 123.5, "decode_tps": 45.5}),
    ("fastllm", FASTLLM, (1, 9, None), {"prompt_ms": 100, "prompt_tps": 90.5, "decode_ms": 2500, "decode_tps": 51.25}),
    (
        "ONNX Runtime GenAI benchmark_e2e", ORT, (4, 128, None),
        {"prompt_tps mean": 2500.5, "tpot_ms mean": 20.5, "batch_decode_tps mean": 195.5, "e2e_ms mean": 2600,
         "total_tps mean": 393.5, "stated mean": 0.4},
    ),
    (
        "ONNX Runtime GenAI model_benchmark", ORT_MODEL, (1, 128, 64),
        {"ttft_ms mean": 50, "prompt_tps mean": 2560, "ttft_ms median": 49.9, "tpot_ms mean": 20,
         "decode_tps mean": 50, "e2e_ms mean": 2590.5, "stated mean": 22123.5, "stated max": 5368709120},
    ),
    ("OpenVINO llm_bench", OPENVINO, (1, 32, None),
     {"ttft_ms mean": 200.5, "tpot_ms mean": 38.5, "decode_tps mean": 26.25}),
    (
        "OpenVINO benchmark_genai", GENAI, (1, None, None),
        {"model_load_s": 1.2345, "e2e_ms mean": 2500.5, "ttft_ms mean": 200.5, "tpot_ms mean": 38.5,
         "decode_tps mean": 26.25, "stated mean": 0.2},
    ),
    (
        "ExecuTorch", EXECUTORCH, (1, 10, 100),
        {"model_load_s": 1.5, "e2e_ms": 3000, "e2e_tps": 33.5, "prompt_ms": 100, "prompt_tps": 100.5,
         "decode_ms": 2900, "decode_tps": 34.5, "ttft_ms": 120},
    ),
    (
        "LiteRT-LM", LITERT, (1, 256, 255),
        {"model_load_s": 1.55, "ttft_ms": 350, "prompt_ms": 200, "prompt_tps": 1280.5, "decode_ms": 5000,
         "decode_tps": 51.25},
    ),
    (
        "RKLLM", RKLLM, (1, 100, 99),
        {"model_load_s": 2.5005, "prompt_ms": 500.5, "prompt_tps": 200.5, "decode_ms": 9900.5, "tpot_ms": 100.5,
         "decode_tps": 9.95, "stated max": 1.5},
    ),
    ("text-generation-inference", TGI, (None, None, None), {"e2e_ms": 2500, "e2e_per_token_ms": 24}),
    (
        "ollama bench", OLLAMA_BENCH, (1, None, None),
        {"prompt_tps": 500, "tpot_ms": 20, "decode_tps": 50, "ttft_ms": 250, "model_load_s": 1.5, "e2e_ms": 5500},
    ),
    (
        "llama-parallel", PARALLEL, (8, None, None),
        {"requests total": 128, "prompt_tokens total": 2000, "prompt_tps mean": 400.5, "completion_tokens total": 5000,
         "output_tps mean": 1000.5, "total_tps mean": 1401},
    ),
    (
        "llama.cpp server-bench.py", SERVER_BENCH, (None, None, None),
        {"duration_s total": 100, "request_tps mean": 2, "prompt_tokens mean": 1000.5, "ttft_ms mean": 250,
         "output_tps mean": 500, "decode_tps mean": 31.25},
    ),
    ("llama-perplexity", PERPLEXITY, (1, None, None), {"stated mean": 6.2345}),
    (
        "k6", K6, (8, None, None),
        {"e2e_ms mean": 2500, "e2e_ms min": 1200, "e2e_ms median": 2400, "e2e_ms max": 5000, "e2e_ms p90": 4000,
         "e2e_ms p95": 4500, "failed_requests total": 2, "requests total": 100, "request_tps mean": 3.333333},
    ),
    (
        "k6", K6_LLAMA, (None, None, None),
        {"decode_tps mean": 30.5, "decode_tps p95": 39, "prompt_tps_per_request mean": 900.5, "ttft_ms mean": 250,
         "e2e_ms mean": 6500, "e2e_ms p90": 8000},
    ),
    (
        "oha or hey", OHA, (None, None, None),
        {"duration_s total": 30, "e2e_ms max": 5000, "e2e_ms min": 1200, "e2e_ms mean": 2500,
         "request_tps mean": 3.3333, "e2e_ms median": 2400, "e2e_ms p99.9": 4900, "requests total": 100},
    ),
    (
        "wrk", WRK, (8, None, None),
        {"e2e_ms mean": 2500, "e2e_ms max": 5000, "e2e_ms median": 2400, "e2e_ms p99": 4900, "requests total": 100,
         "duration_s total": 30, "request_tps mean": 3.33},
    ),
    (
        "ApacheBench", AB, (8, None, None),
        {"duration_s total": 30, "requests total": 100, "failed_requests total": 2, "request_tps mean": 3.33,
         "e2e_ms mean": 2400, "e2e_ms median": 2381, "e2e_ms p99": 5000, "e2e_ms max": 5001},
    ),
    (
        "autocannon", AUTOCANNON, (8, None, None),
        {"e2e_ms p2.5": 1200, "e2e_ms median": 2400, "e2e_ms p97.5": 4800, "e2e_ms p99": 4900, "e2e_ms mean": 2500.5,
         "e2e_ms max": 5000, "request_tps p1": 0, "request_tps p2.5": 0, "request_tps median": 3,
         "request_tps p97.5": 6, "request_tps mean": 3.34, "request_tps min": 1, "requests total": 100,
         "duration_s total": 30.5},
    ),
    (
        "Locust", LOCUST, (None, None, None),
        {"requests total": 100, "failed_requests total": 2, "e2e_ms mean": 2500, "e2e_ms min": 1200,
         "e2e_ms max": 5000, "e2e_ms median": 2400, "request_tps mean": 3.33},
    ),
]  # fmt: skip


def key_of(row: Result) -> str:
    return row.metric if row.statistic == "stated" else f"{row.metric} {row.statistic}"


@pytest.mark.parametrize("frame", ["{}", "Seen on my machine:\n\n```\n{}```\n\nIs that slow?\n"])
@pytest.mark.parametrize(
    ("tool", "text", "lengths", "values"), PRINTS, ids=[f"{row[0]} {len(row[1])}" for row in PRINTS]
)
def test_values_of_a_tool(
    tmp_path: Path, tool: str, text: str, lengths: tuple[int | None, ...], values: dict[str, float], frame: str
) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", frame.replace("{}", text))
    rows = results_of(load)
    assert load.tool == tool
    assert {key_of(row): row.value for row in rows} == values
    assert {(row.concurrency, row.prompt_tokens, row.output_tokens) for row in rows} == {lengths}
    assert load.params.get("heading") in (None, "Seen on my machine")


def test_each_length_of_exllamas_speeds_is_a_point(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", EXL2_SPEEDS)
    assert [(row.point, row.metric, row.value, row.depth_tokens) for row in results_of(load)] == [
        ("pp512", "prompt_tps", 3200.5, None), ("tg127 @ d1024", "decode_tps", 55.25, 1024),
    ]  # fmt: skip


def test_answers_below_each_other_are_numbered_and_share_their_facts(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "log.txt", KOBOLD + KOBOLD.replace("36.5", "30.5").replace("1132", "1300"))
    assert {row.point for row in results_of(load)} == {"answer 1", "answer 2"}
    assert load.params["max_tokens"] == "512" and load.params["answer 2: context"] == "1300/8192"


def test_models_of_ollamas_benchmark_are_loads(tmp_path: Path) -> None:
    loads = loads_of_text(tmp_path, "bench.txt", OLLAMA_BENCH + OLLAMA_BENCH[12:].replace("gem3", "hf.co/a/b:Q4"))
    assert [(load.model, load.params["quantization"]) for load in loads] == [
        ("gem3", "Q4_K_M"),
        ("hf.co/a/b:Q4", "Q4_K_M"),
    ]


def test_level_and_model_stand_in_the_command(tmp_path: Path) -> None:
    (load,) = loads_of_text(
        tmp_path, "oha.txt", "$ oha -n 100 -c 8 -m POST http://localhost:8000/v1/chat/completions\n" + OHA
    )
    assert load.model is None and {row.concurrency for row in results_of(load)} == {8}
    (load,) = loads_of_text(tmp_path, "mlx.txt", "$ mlx_lm.generate --model org/small-4bit -m 90\n" + MLX)
    assert load.model == "org/small-4bit"


def test_a_title_above_an_answer_is_its_arm_and_words_of_the_answer_are_none(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", f"It is slow\n\nMLX [v0.2]\n{MLX[11:]}")
    assert load.params["heading"] == "MLX [v0.2]"
    loads = loads_of_text(tmp_path, "post.md", f"### 4 bit\n```\n{MLX}```\n```\nHello there\n{MLX}```\n")
    assert [load.params.get("heading") for load in loads] == ["4 bit", None]


def test_messages_of_the_tool_hide_no_title(tmp_path: Path) -> None:
    lines = "INFO:Loading small-hf...\nINFO:Loaded the model in 6.5 seconds.\n" + WEBUI
    (load,) = loads_of_text(tmp_path, "post.md", f"### 8 bit\n\n```\n{lines}```\n")
    assert (load.params["heading"], load.model) == ("8 bit", "small-hf")
    assert {key_of(row): row.value for row in results_of(load)} == {
        "model_load_s": 6.5, "e2e_ms": 7500, "e2e_tps": 26.5,
    }  # fmt: skip


def test_cache_memory_of_mlx(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", MLX + "Peak memory: 4.5 GB\nCache memory: 2.5 GB\n")
    assert [(row.point, row.value) for row in results_of(load) if row.metric == "stated"] == [
        ("one answer: peak memory", 4.5), ("one answer: cache memory", 2.5),
    ]  # fmt: skip


def test_times_of_nothing_are_left_out_with_a_note(tmp_path: Path) -> None:
    text = EXECUTORCH.replace("\t", "        ").replace("0.12 (s", "0.0 (s").replace("0.1 (s", "0.0 (s")
    loads = loads_of_text(tmp_path, "post.md", f"Before:\n\n{text.replace('100.5', 'inf')}\nAfter:\n\n{EXECUTORCH}")
    assert [load.params["heading"] for load in loads] == ["Before", "After"]
    assert not {"ttft_ms", "prompt_ms", "prompt_tps"} & {row.metric for row in results_of(loads[0])}
    assert "Times and speeds of 0 were left out: nothing was measured." in loads[0].notes
    assert not loads[1].notes


def test_every_group_names_a_metric() -> None:
    for tool in answer_lines.TOOLS:
        for pattern in (*tool.lines, *(pattern for patterns in tool.sections.values() for pattern in patterns)):
            for group in pattern.groupindex:
                name = group.partition("__")[0]
                if name.startswith("stated_"):
                    assert name.rpartition("_")[2] in answer_lines.STATED_UNITS
                elif name not in answer_lines.NO_READINGS and not name.startswith("fact_"):
                    assert answer_lines.metric_of(name)[0] in UNITS


@pytest.mark.parametrize(
    "line",
    [
        "http_req_duration" + "." * 500, "Prompt: 1 tokens, " + "9" * 500, "│ Latency " + "│ 1 ms " * 80,
        "Total: " * 80,
        "POST " + "a" * 500, "# reqs", "[ Prompt: " * 50, "Requests/sec:" + " " * 500,
    ],
)  # fmt: skip
def test_lines_without_an_end_are_read_in_linear_time(line: str) -> None:
    needles = " ".join(tool.needle for tool in answer_lines.TOOLS)
    times = []
    for count in (1_000, 4_000):
        text = f"{needles}\n" + f"{line}\n" * count
        start = time.process_time()
        answer_lines.has_printed(text)
        times.append(time.process_time() - start)
    assert times[1] < 12 * times[0] + 0.5


# --- files ------------------------------------------------------------------------------------------------------------
KOBOLD_CSV = (
    "Timestamp,Backend,Layers,Model,MaxCtx,GenAmount,ProcessingTime,ProcessingSpeed,GenerationTime,GenerationSpeed,"
    "TotalTime,Output,Flags\n"
    "2026-08-01 10:00:00.000000+00:00,cublas.so,43,small.Q4,8192,100,5.00,1618.5,2.50,40.0,7.50, 1 1,Threads=8\n"
    "2026-08-01 10:10:00.000000+00:00,vulkan.so,43,small.Q4,8192,100,10.00,809.5,5.00,20.0,15.00, 1 1,Threads=8\n"
)
ORT_CSV = (
    "Batch Size,Prompt Length,Tokens Generated,Max Length,Tokenization Throughput (tps),Tokenization Latency (ms),"
    "Prompt Processing Throughput (tps),Prompt Processing Latency (ms),Token Generation Throughput (tps),"
    "Token Generation Latency (ms),Sampling Throughput (tps),Sampling Latency (ms),Wall Clock Throughput (tps),"
    "Wall Clock Time (s)\n1,128,64,256,90000.5,0.01,2500.5,0.4,50.5,19.5,20000.5,0.05,98.5,2.5\n"
)
OLLAMA_CSV = (
    "NAME,STEP,COUNT,NS_PER_COUNT,TOKEN_PER_SEC\n# Model: gem3 | Params: 4.3B\ngem3,prefill,100,2000000.00,500.00\n"
    "gem3,generate,200,20000000.00,50.00\ngem3,ttft,1,250000000,0\n"
    "gem3,load,1,1500000000,0\ngem3,total,1,5500000000,0\n"
)


def test_csv_of_koboldcpp_has_a_load_for_each_row(tmp_path: Path) -> None:
    loads = loads_of_text(tmp_path, "bench.csv", KOBOLD_CSV)
    assert [(load.model, load.params["Backend"], load.ts.minute) for load in loads] == [
        ("small.Q4", "cublas.so", 0), ("small.Q4", "vulkan.so", 10),
    ]  # fmt: skip
    assert {key_of(row): row.value for row in results_of(loads[1])} == {
        "prompt_ms": 10000, "prompt_tps": 809.5, "decode_ms": 5000, "decode_tps": 20, "e2e_ms": 15000,
    }  # fmt: skip


def test_csv_of_onnx_runtime_genai(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "bench.csv", ORT_CSV)
    rows = [row for row in results_of(load) if row.metric != "stated"]
    assert {key_of(row): row.value for row in rows} == {
        "prompt_tps mean": 2500.5, "decode_tps mean": 50.5, "tpot_ms mean": 19.5, "total_tps mean": 98.5,
        "e2e_ms mean": 2500,
    }  # fmt: skip
    assert {(row.concurrency, row.prompt_tokens, row.output_tokens) for row in rows} == {(1, 128, 64)}


def test_csv_of_openvinos_benchmark_without_its_warm_up(tmp_path: Path) -> None:
    text = (
        "iteration,model,device,pretrain_time(s),input_size,generation_time(s),output_size,latency(ms),1st_latency(ms),"
        "2nd_avg_latency(ms),batch_size\n0,small,GPU,5.5,32,6.0,128,46.5,300.5,44.5,1\n"
        "1,small,GPU,5.5,32,5.0,128,39.5,200.5,38.5,1\n"
    )
    (load,) = loads_of_text(tmp_path, "bench.csv", text)
    assert load.model == "small" and load.notes == ["The warm-up was left out: 1 of the lines."]
    assert {key_of(row): row.value for row in results_of(load)} == {
        "model_load_s": 5.5, "e2e_ms": 5000, "e2e_per_token_ms": 39.5, "ttft_ms": 200.5, "tpot_ms": 38.5,
    }  # fmt: skip
    assert {(row.concurrency, row.prompt_tokens, row.output_tokens) for row in results_of(load)} == {(1, 32, 128)}


def test_csv_of_ollamas_benchmark(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "bench.csv", OLLAMA_CSV)
    assert {key_of(row): row.value for row in results_of(load)} == {
        "prompt_tps": 500, "tpot_ms": 20, "decode_tps": 50, "ttft_ms": 250, "model_load_s": 1.5, "e2e_ms": 5500,
    }  # fmt: skip
    assert {(row.prompt_tokens, row.output_tokens) for row in results_of(load)} == {(100, 200)}


def test_an_incomplete_row_is_left_out_with_a_note(tmp_path: Path) -> None:
    loads = loads_of_text(tmp_path, "bench.csv", KOBOLD_CSV[:-40])
    assert len(loads) == 1 and loads[0].notes == ["1 incomplete rows were left out."]


@pytest.mark.parametrize(
    ("response", "values"),
    [
        (
            '{"model": "small", "usage": {"prompt_tokens": 24, "completion_tokens": 53}, "stats": '
            '{"tokens_per_second": 51.5, "time_to_first_token": 0.125, "generation_time": 0.95, "stop_reason": "eos"}, '
            '"model_info": {"quant": "Q4_K_M"}}',
            {"decode_tps": 51.5, "ttft_ms": 125, "decode_ms": 950},
        ),
        (
            '{"model_instance_id": "small", "stats": {"input_tokens": 24, "total_output_tokens": 53, '
            '"tokens_per_second": 51.5, "time_to_first_token_seconds": 0.125, "model_load_time_seconds": 2.5}}',
            {"decode_tps": 51.5, "ttft_ms": 125, "model_load_s": 2.5},
        ),
    ],
)
def test_responses_of_lm_studio(tmp_path: Path, response: str, values: dict[str, float]) -> None:
    (load,) = loads_of_text(tmp_path, "response.json", response)
    assert load.model == "small" and {key_of(row): row.value for row in results_of(load)} == values
    assert {(row.prompt_tokens, row.output_tokens) for row in results_of(load)} == {(24, 53)}


def test_a_question_about_such_a_tool_is_no_result(tmp_path: Path) -> None:
    path = tmp_path / "question.md"
    path.write_text("How do I read `Requests/sec:` and `Prompt: 12 tokens` in tokens-per-sec of mlx?\n")
    assert reader_of(ResultFile(path, path.name)) is None
