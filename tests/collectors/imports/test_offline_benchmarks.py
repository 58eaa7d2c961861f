"""Benchmarks without a server: vLLM's latency and start-up, their records for PyTorch, LMDeploy's profiler."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.collectors.imports.captured import results_of, value
from tests.collectors.imports.test_posted_benchmarks import loads_of_text
from tests.collectors.imports.test_printed_benchmarks import metrics_of, points_of


def test_deviation_of_a_latency_stands_within_its_lines(tmp_path: Path) -> None:
    (load,) = loads_of_text(
        tmp_path, "post.txt",
        "vllm bench latency --model org/model --batch-size 8 --num-iters 5\n"
        "Avg latency: 1.5 seconds\nStd latency: 0.02 seconds\n"
        "50% percentile latency: 1.45 seconds\n99% percentile latency: 1.75 seconds\n",
    )  # fmt: skip
    assert metrics_of(load) == [("e2e_ms", "mean", 1500.0), ("e2e_ms", "median", 1450.0), ("e2e_ms", "p99", 1750.0)]
    assert results_of(load)[0].sd == pytest.approx(20 * (5 / 4) ** 0.5)


STARTUP = """============================================================
STARTUP TIME BENCHMARK RESULTS
============================================================

COLD STARTUP:
Avg startup time: 43.50 seconds
Avg compilation time: 18.25 seconds
Startup time percentiles:
  50%: 43.00 seconds
  99%: 44.75 seconds
Compilation time percentiles:
  50%: 18.00 seconds
  99%: 19.25 seconds

WARM STARTUP:
Avg total startup time: 20.75 seconds
Startup time percentiles:
  50%: 20.50 seconds
============================================================
"""
COLD = [
    ("time_to_ready_s", "mean", 43.5), ("compile_s", "mean", 18.25), ("time_to_ready_s", "median", 43.0),
    ("time_to_ready_s", "p99", 44.75), ("compile_s", "median", 18.0), ("compile_s", "p99", 19.25),
]  # fmt: skip


def test_printed_start_up_of_vllm(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", f"vllm bench startup --model org/model\n{STARTUP}")
    assert (load.tool, load.model) == ("vllm bench startup", "org/model")
    assert metrics_of(load) == [*COLD, ("time_to_ready_s", "mean", 20.75), ("time_to_ready_s", "median", 20.5)]
    assert [row.point for row in results_of(load)][5:7] == ["cold start", "warm start"]


def test_json_of_a_start_up_of_vllm(tmp_path: Path) -> None:
    result = {
        "avg_cold_startup_time": 43.5, "cold_startup_times": [42.5, 43.5, 44.5],
        "cold_startup_percentiles": {"50": 43.5, "99": 44.48}, "avg_cold_encoder_compilation_time": 2.5,
        "cold_encoder_compilation_times": [2.5], "cold_encoder_compilation_percentiles": {"50": 2.5},
        "avg_warm_compilation_time": 3.5, "warm_compilation_times": [3.5], "warm_compilation_percentiles": {"50": 3.5},
    }  # fmt: skip
    (load,) = loads_of_text(tmp_path, "startup.json", json.dumps(result, indent=4))
    assert metrics_of(load) == [
        ("time_to_ready_s", "mean", 43.5), ("time_to_ready_s", "median", 43.5), ("time_to_ready_s", "p99", 44.48),
        ("stated", "mean", 2.5), ("stated", "median", 2.5), ("compile_s", "mean", 3.5), ("compile_s", "median", 3.5),
    ]  # fmt: skip
    assert (results_of(load)[0].sd, results_of(load)[0].n) == (1.0, 3)


def records(name: str, values: list[float], extra: dict[str, object]) -> str:
    return json.dumps([{
        "benchmark": {"name": "vLLM benchmark", "extra_info": {"args": {
            "model": "org/model", "batch_size": 8, "input_len": 32, "output_len": 128, "max_concurrency": 4,
        }}},
        "model": {"name": "org/model"},
        "metric": {"name": name, "benchmark_values": values, "extra_info": extra},
    }])  # fmt: skip


def test_record_of_a_latency_for_pytorch(tmp_path: Path) -> None:
    text = records("latency", [1.5, 1.75], {"avg_latency": 1.625, "percentiles": {"50": 1.625}})
    (load,) = loads_of_text(tmp_path, "latency.pytorch.json", text)
    assert load.tool == "vllm bench latency" and load.model == "org/model"
    assert metrics_of(load) == [("e2e_ms", "mean", 1625.0), ("e2e_ms", "median", 1625.0)]
    assert points_of(load) == {("pp32 tg128 8 at once", 8, 32, 128)}


def test_record_of_a_throughput_for_pytorch(tmp_path: Path) -> None:
    text = records("requests_per_second", [2.5], {"elapsed_time": 40.0, "num_requests": 100, "tokens_per_second": 9})
    text = json.dumps([*json.loads(text), *json.loads(records("tokens_per_second", [1250.5], {"elapsed_time": 40.0}))])
    (load,) = loads_of_text(tmp_path, "throughput.pytorch.json", text)
    assert load.tool == "vllm bench throughput"
    assert metrics_of(load) == [
        ("duration_s", "total", 40.0), ("requests", "total", 100), ("request_tps", "mean", 2.5),
        ("total_tps", "mean", 1250.5),
    ]  # fmt: skip


def test_records_of_a_served_load_for_pytorch(tmp_path: Path) -> None:
    extra = {"completed": 8, "tokenizer_id": "org/model", "request_throughput": 2.5, "max_concurrency": 4}
    rows = [
        json.loads(records(name, [number], extra))[0] for name, number in (("mean_ttft_ms", 210.5), ("p99_itl_ms", 30))
    ]
    (load,) = loads_of_text(tmp_path, "serve.pytorch.json", json.dumps(rows))
    assert metrics_of(load) == [
        ("request_tps", "mean", 2.5), ("requests", "total", 8), ("ttft_ms", "mean", 210.5), ("itl_ms", "p99", 30),
    ]  # fmt: skip
    assert load.tool == "vllm bench serve" and load.model == "org/model"
    assert {row.concurrency for row in results_of(load)} == {4}


PROFILE = """
================================ Profile Throughput ================================
Benchmark duration                          45.125
Total requests                                1000
Successful requests                            998
Concurrency                                     64
Stream output                                 true
Total input tokens                          248339
Total generated tokens                      240582
Input throughput (tok/s)                  5503.500
Output throughput (tok/s)                 5331.500
Request throughput (req/s)                  22.125
------------------------------------------------------------------------------------
                                              mean       P50       P75       P95       P99
End-to-end Latency                           2.500     2.250     3.500     4.500     5.500
Time to First Token (TTFT)                   0.250     0.225     0.350     0.450     0.550
Time per Output Token (TPOT)                 0.011     0.010     0.012     0.015     0.019
Inter-token Latency (ITL)                    0.010     0.009     0.012     0.015     0.019
Tokens per Tick                              1.000         1         1         1         1
====================================================================================
"""


def test_printed_profile_of_lmdeploy(tmp_path: Path) -> None:
    (load,) = loads_of_text(
        tmp_path, "post.txt", f"python3 profile_throughput.py S.json org/model --concurrency 64{PROFILE}"
    )
    assert (load.tool, load.params["heading"]) == ("lmdeploy profiler", "Profile Throughput")
    rows = results_of(load)
    assert metrics_of(load)[:8] == [
        ("duration_s", "total", 45.125), ("requests", "total", 998), ("failed_requests", "total", 2),
        ("prompt_tokens", "total", 248339), ("completion_tokens", "total", 240582), ("prompt_tps", "mean", 5503.5),
        ("output_tps", "mean", 5331.5), ("request_tps", "mean", 22.125),
    ]  # fmt: skip
    assert (value(rows, "e2e_ms", "mean"), value(rows, "ttft_ms", "median")) == (2500, 225)
    assert (value(rows, "tpot_ms", "p75"), value(rows, "itl_ms", "p99")) == (12, 19)
    assert value(rows, "tokens_per_piece", "mean") == 1
    assert {row.concurrency for row in rows} == {64} and load.params["Stream output"] == "true"


def test_table_of_lmdeploy_s_profiles(tmp_path: Path) -> None:
    (load,) = loads_of_text(
        tmp_path, "profile.csv",
        "backend,bs,dataset_name,num_prompts,completed,total_input_tokens,total_output_tokens,duration,"
        "request_throughput,input_throughput,output_throughput,mean_e2e_latency_ms,mean_ttft_ms,mean_tpot_ms,mean_itl_ms\n"
        "turbomind,64,sharegpt,1000,998,248339,240582,45.125,22.125,5503.5,5331.5,2500.5,-,11.5,10.5\n",
    )  # fmt: skip
    assert load.tool == "lmdeploy profiler" and metrics_of(load) == [
        ("requests", "total", 998), ("prompt_tokens", "total", 248339), ("completion_tokens", "total", 240582),
        ("duration_s", "total", 45.125), ("request_tps", "mean", 22.125), ("prompt_tps", "mean", 5503.5),
        ("output_tps", "mean", 5331.5), ("e2e_ms", "mean", 2500.5), ("tpot_ms", "mean", 11.5), ("itl_ms", "mean", 10.5),
    ]  # fmt: skip
    assert {row.concurrency for row in results_of(load)} == {64}


def test_table_of_lmdeploy_s_generations(tmp_path: Path) -> None:
    loads = loads_of_text(
        tmp_path, "generation.csv",
        "batch,prompt_tokens,completion_tokens,throughput(total tok/s),throughput(out tok/s),mem(GB),FTL(ave)(s),"
        "FTL(min)(s),FTL(max)(s),50%(s),75%(s),95%(s),99%(s)\n"
        "1,128,256,210.5,105.5,20.5,0.025,0.02,0.03,0.009,0.01,0.011,0.012\n"
        "16,128,256,2910.5,1455.5,20.75,0.125,0.1,0.25,0.011,0.012,0.014,0.019\n",
    )  # fmt: skip
    assert metrics_of(loads[1]) == [
        ("total_tps", "mean", 2910.5), ("output_tps", "mean", 1455.5), ("stated", "max", 20.75),
        ("ttft_ms", "mean", 125), ("ttft_ms", "min", 100), ("ttft_ms", "max", 250), ("itl_ms", "median", 11),
        ("itl_ms", "p75", 12), ("itl_ms", "p95", 14), ("itl_ms", "p99", 19),
    ]  # fmt: skip
    assert points_of(loads[0]) >= {("pp128 tg256 1 at once", 1, 128, 256)}


EARLY_TRTLLM = """===========================================================
= ENGINE DETAILS
===========================================================
Model:\t\t\torg/model
TensorRT-LLM Version:\t0.12.0
Quantization:\t\tFP8

===========================================================
= WORLD + RUNTIME INFORMATION 
===========================================================
TP Size:\t\t2
===========================================================
= STATISTICS
===========================================================
Number of requests:\t\t3000
Average Input Length (tokens):\t128.0
Token Throughput (tokens/sec):\t23405.5
Request Throughput (req/sec):\t182.5
Total Latency (seconds):\t16.5
===========================================================
"""  # noqa: W291


def test_early_report_of_trtllm_bench(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", EARLY_TRTLLM)
    assert (load.tool, load.model, load.tool_version) == ("trtllm-bench", "org/model", "0.12.0")
    assert metrics_of(load) == [
        ("requests", "total", 3000), ("prompt_tokens", "mean", 128), ("output_tps", "mean", 23405.5),
        ("request_tps", "mean", 182.5), ("duration_s", "total", 16.5),
    ]  # fmt: skip
    assert load.server_config == {"quantization": "FP8", "tensor_parallel": 2}


def test_command_above_a_report_of_trtllm_bench_has_its_level(tmp_path: Path) -> None:
    text = f"trtllm-bench --model org/model throughput --dataset d.txt --concurrency 64\n{EARLY_TRTLLM}"
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert {row.concurrency for row in results_of(load)} == {64}


def test_commands_above_reports_of_trtllm_bench_name_their_models(tmp_path: Path) -> None:
    report = EARLY_TRTLLM[EARLY_TRTLLM.index("= STATISTICS") - 60 :]
    text = (
        f"trtllm-bench --model org/one throughput --tp 8 --concurrency 1\n```\n{report}```\n"
        f"trtllm-bench -m org/two \\\n  throughput --tp 4\n```\n{report}```\n"
    )
    first, second = loads_of_text(tmp_path, "post.md", text)
    assert (first.model, second.model) == ("org/one", "org/two")
    assert (first.server_config, second.server_config) == ({"tensor_parallel": 8}, {"tensor_parallel": 4})
    assert {row.concurrency for row in results_of(second)} == {None}


def test_early_profile_of_lmdeploy(tmp_path: Path) -> None:
    (load,) = loads_of_text(
        tmp_path, "post.txt",
        f"{'-' * 50}\nconcurrency: 256\nelapsed_time: 295.5s\n\n"
        "first token latency(s)(min, max, ave): 0.625, 12.5, 4.5\n"
        "per-token latency(s) percentile(50, 75, 95, 99): [0, 0.25, 0.75, 0.875]\n\n"
        "number of prompt tokens: 740656\nnumber of completion tokens: 695134\n"
        "token throughput (completion token): 2353.5 token/s\n"
        "token throughput (prompt + completion token): 4862.5 token/s\n"
        f"RPS (request per second): 10.25 req/s\nRPM (request per minute): 615.0 req/min\n{'-' * 50}\n",
    )  # fmt: skip
    assert load.tool == "lmdeploy profiler" and metrics_of(load) == [
        ("duration_s", "total", 295.5), ("ttft_ms", "min", 625), ("ttft_ms", "max", 12500), ("ttft_ms", "mean", 4500),
        ("itl_ms", "p75", 250), ("itl_ms", "p95", 750), ("itl_ms", "p99", 875),
        ("prompt_tokens", "total", 740656), ("completion_tokens", "total", 695134), ("output_tps", "mean", 2353.5),
        ("total_tps", "mean", 4862.5), ("request_tps", "mean", 10.25),
    ]  # fmt: skip
    assert {row.concurrency for row in results_of(load)} == {256} and "rounded to 0" in load.notes[0]


def test_lines_of_the_first_benchmarks_of_tensorrt(tmp_path: Path) -> None:
    text = (
        '```\nmpirun -n 2 python benchmark.py -m tiny_13b --batch_size "1;8"\n```\n\n```\n'
        "[BENCHMARK] model_name tiny_13b world_size 2 precision float16 batch_size 1 input_length 512 output_length 64 "
        "gpu_peak_mem(gb) 0.0 tokens_per_sec 42.5 percentile95(ms) 1520.5 latency(ms) 1505.5 "
        "generation_time(ms) 1250.5\n"
        "[BENCHMARK] batch_size 8 input_length 512 output_length 64 latency(ms) 1750.25 tokensPerSec 292.5 "
        "generationTime(ms) 1500.5 generationTokensPerSecond 341.25 gpu_peak_mem(gb) 20.5\n```\n"
    )
    first, second = loads_of_text(tmp_path, "post.md", text)
    assert (first.model, first.params["world_size"], first.params["precision"]) == ("tiny_13b", 2, "float16")
    assert metrics_of(first) == [
        ("output_tps", "mean", 42.5), ("e2e_ms", "p95", 1520.5), ("e2e_ms", "mean", 1505.5),
        ("decode_ms", "mean", 1250.5),
    ]  # fmt: skip
    assert points_of(first) == {("pp512 tg64 1 at once", 1, 512, 64)}
    assert metrics_of(second) == [
        ("e2e_ms", "mean", 1750.25), ("output_tps", "mean", 292.5), ("decode_ms", "mean", 1500.5),
        ("batch_decode_tps", "mean", 341.25), ("stated", "max", 20.5),
    ]  # fmt: skip
