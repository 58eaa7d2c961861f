"""Results that people post: short files of the benchmark tools, with their numbers as printed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder
from load_records import Result
from tests.collectors.imports.captured import captured, load_of, loads_of, requests_of, result_at, results_of, value


def keys_of(rows: list[Result]) -> list[tuple[str, str, str]]:
    return [(row.point, row.metric, row.statistic) for row in rows]


def loads_of_text(tmp_path: Path, name: str, text: str) -> list[LoadBuilder]:
    path = tmp_path / name
    path.write_text(text)
    loads = loads_of(path)
    for load in loads:
        keys = keys_of(results_of(load))
        assert len(keys) == len(set(keys)), "nothing is stored twice"
    return loads


def numbers(load: LoadBuilder, metric: str, statistic: str = "mean") -> list[tuple[str, float | None]]:
    return [(row.point, row.value) for row in results_of(load) if (row.metric, row.statistic) == (metric, statistic)]


# --- vllm bench serve, its sweeps, and InferenceX ---------------------------------------------------------------------
def test_speculation_of_vllm_bench_serve() -> None:
    path = captured("vllm_bench/speculation.json")
    load, raw = load_of(path), json.loads(path.read_text())
    rows = results_of(load)
    assert len(keys_of(rows)) == len(set(keys_of(rows)))
    medians = [row.value for row in rows if row.statistic == "median"]
    assert medians == [raw[f"median_{name}_ms"] for name in ("ttft", "tpot", "itl", "e2el")]
    assert value(rows, "acceptance_rate", "mean") == pytest.approx(0.02024252080014162)
    rates = [row.value for row in rows if row.metric == "position_acceptance_rate"]
    assert rates == raw["spec_decode_per_position_acceptance_rates"] and rows[-1].statistic == "p99"
    assert result_at(rows, "position_acceptance_rate", "mean", "0.2 requests/s, draft position 0").unit == "ratio"
    assert value(rows, "prompt_tokens", "total") == 424759 and load.params["spec_decode_num_drafts"] == 37660
    assert "spec_decode_acceptance_rate" not in load.params


def test_latencies_in_seconds_by_their_names() -> None:
    load = load_of(captured("inferencex/serving.json"))
    rows = results_of(load)
    actual_rows = [(row.metric, row.statistic, row.value) for row in rows if row.unit == "ms"]
    assert actual_rows == [
        ("ttft_ms", "median", pytest.approx(3138.2447043433785)), ("ttft_ms", "p99", pytest.approx(16561.80969102308)),
        ("e2e_ms", "median", pytest.approx(21447.94770143926)), ("e2e_ms", "p99", pytest.approx(30149.846625011413)),
        ("tpot_ms", "median", pytest.approx(141.0519243694666)), ("tpot_ms", "p99", pytest.approx(196.229197233622)),
    ]  # fmt: skip
    assert value(rows, "output_tps", "mean") == 95.41597717158848
    assert value(rows, "prompt_tps", "mean") == 7633.278173727079


def test_seconds_and_milliseconds_are_one_value(tmp_path: Path) -> None:
    raw = json.loads(captured("inferencex/serving.json").read_text())
    both = raw | {"median_ttft_ms": 3138.0, "p50_ttft_ms": 3138.5, "std_ttft_ms": 1.0, "mean_tpot": 0.2}
    rows = results_of(loads_of_text(tmp_path, "both.json", json.dumps(both))[0])
    assert value(rows, "ttft_ms", "median") == 3138.0 and value(rows, "ttft_ms", "p50") == 3138.5
    assert value(rows, "tpot_ms", "mean") == 200.0


def test_old_lines_of_sglang_for_several_rates(tmp_path: Path) -> None:
    """Their latencies are in milliseconds; the lengths of random prompts are not those of another dataset."""
    line = {"backend": "sglang", "dataset_name": "sharegpt", "total_input": 1400, "total_output": 1200,
            "median_ttft": 32.5, "median_itl": 12.5, "output_token_throughput": 187.5, "sharegpt_output_len": None,
            "random_input_len": 1024, "random_output_len": 128}  # fmt: skip
    first, second = loads_of_text(
        tmp_path, "r.jsonl", "\n".join(json.dumps(line | {"request_rate": n}) for n in (1, 2))
    )
    assert [(row.point, row.metric, row.statistic, row.value) for row in results_of(second)] == [
        ("2 requests/s", "output_tps", "mean", 187.5), ("2 requests/s", "prompt_tokens", "total", 1400.0),
        ("2 requests/s", "completion_tokens", "total", 1200.0), ("2 requests/s", "ttft_ms", "median", 32.5),
        ("2 requests/s", "itl_ms", "median", 12.5),
    ]  # fmt: skip
    assert first.tool == "sglang.bench_serving"


def test_sweep_of_vllm_bench_as_list_and_as_table(tmp_path: Path) -> None:
    raw = json.loads(captured("vllm_bench/speculation.json").read_text())
    runs = [raw | {"run_number": n, "max_num_seqs": 32, "max_concurrency": 4 * (n + 1)} for n in range(2)]
    first, second = loads_of_text(tmp_path, "summary.json", json.dumps(runs))
    assert {row.point for row in results_of(second) if row.unit == "ms"} == {"8 at once, run 1"}
    assert first.params["max_num_seqs"] == 32 and first.number != second.number
    names = list(runs[0])
    lines = [",".join(["", *names])]
    for number, run in enumerate(runs):
        cells = ("" if run[name] is None else json.dumps(run[name]).replace('"', "") for name in names)
        lines.append(",".join([str(number), *(f'"{cell}"' if "," in cell else cell for cell in cells)]))
    from_table = loads_of_text(tmp_path, "summary.csv", "\n".join(lines) + "\n")
    assert [keys_of(results_of(load)) for load in from_table] == [
        keys_of(results_of(first)),
        keys_of(results_of(second)),
    ]
    assert results_of(from_table[1])[0].value == results_of(second)[0].value
    assert from_table[0].ts == first.ts and from_table[0].model == first.model


# --- llama-bench ------------------------------------------------------------------------------------------------------
def test_llama_bench_csv() -> None:
    load = load_of(captured("llama-bench/result.csv"))
    prompt, decode = (result_at(results_of(load), metric, "mean") for metric in ("prompt_tps", "decode_tps"))
    assert (prompt.point, prompt.value, prompt.sd, prompt.unit) == ("pp512", 1094.188193, 8.579122, "tok/s")
    assert (prompt.prompt_tokens, prompt.output_tokens, prompt.depth_tokens, prompt.concurrency) == (512, 0, 0, 1)
    assert (decode.point, decode.value, decode.sd, decode.output_tokens) == ("tg128", 61.648189, 0.357447, 128)
    assert value(results_of(load), "prompt_ms", "mean") == pytest.approx(467.954228)
    assert load.definition == "llama-bench b9049" and load.ts == datetime(2026, 5, 7, 2, 7, 24, tzinfo=UTC)
    assert load.model == "/models/Qwen3.6-35B-A3B-UD-Q4_K_M.gguf"
    stated = ("build_commit", "backends", "gpu_info", "n_batch", "n_gpu_layers", "type_k", "flash_attn", "quantization")
    assert [load.params[name] for name in stated] == [
        "2496f9c14", "Vulkan", "Radeon 8060S Graphics (RADV STRIX_HALO)", 2048, 999, "f16", 1, "Q4_K - Medium",
    ]  # fmt: skip
    assert load.server_config == {"quantization": "Q4_K - Medium", "kv_cache_dtype": "f16"}


def test_llama_bench_json_has_its_repetitions() -> None:
    load = load_of(captured("llama-bench/result.json"))
    rows = results_of(load)
    prompt, decode = result_at(rows, "prompt_tps", "mean", "pp8192"), result_at(rows, "decode_tps", "mean", "tg1280")
    assert (prompt.value, prompt.sd, prompt.n) == (3024.404345, 2.625967, 5)
    assert (decode.value, decode.sd, decode.n) == (85.498819, 0.05175, 5) and load.tool_version == "b5606"
    assert load.params["quantization"] == "Q3_K - Large" and load.params["tensor_split"] == "0.00"
    assert load.params["samples_ts"]["tg1280"] == [85.5525, 85.5417, 85.5074, 85.4603, 85.4322]


def rows_of_json() -> list[dict[str, object]]:
    rows = json.loads(captured("llama-bench/result.json").read_text())
    assert isinstance(rows, list)
    return rows


def test_llama_bench_lines_and_sql_say_what_its_json_says(tmp_path: Path) -> None:
    raw, whole = rows_of_json(), load_of(captured("llama-bench/result.json"))
    preamble = "ggml_cuda_init: found 1 CUDA devices:\n  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9\n"
    (lines,) = loads_of_text(tmp_path, "r.jsonl", preamble + "".join(f"{json.dumps(row)}\n" for row in raw))
    (after,) = loads_of_text(tmp_path, "r.json", preamble + captured("llama-bench/result.json").read_text())
    names = [name for name in raw[0] if not name.startswith("samples")]
    sql = "CREATE TABLE IF NOT EXISTS llama_bench (\n  build_commit TEXT,\n  n_gen INTEGER,\n  avg_ts REAL\n);\n\n"
    for row in raw:
        cells = ", ".join(f"'{int(cell) if isinstance(cell, bool) else cell}'" for cell in map(row.get, names))
        sql += f"INSERT INTO llama_bench ({', '.join(names)}) VALUES ({cells});\n"
    (statements,) = loads_of_text(tmp_path, "r.sql", sql)
    for load in (lines, after, statements):
        assert numbers(load, "prompt_tps") == numbers(whole, "prompt_tps")
        assert numbers(load, "decode_ms") == numbers(whole, "decode_ms")
        assert (load.ts, load.definition, load.params["gpu_info"]) == (
            whole.ts,
            whole.definition,
            "NVIDIA GeForce RTX 4090",
        )
    assert (
        statements.params["build_commit"] == "247e5c6e"
        and result_at(results_of(statements), "decode_tps", "mean").n is None
    )


def test_llama_bench_configurations_are_separate_loads(tmp_path: Path) -> None:
    """Columns in another order, some missing, several models and tests, a depth, and a single repetition."""
    text = (
        "test_time,avg_ts,stddev_ts,n_gen,n_prompt,n_depth,model_filename,n_gpu_layers,build_commit\n"
        '"2026-01-02T03:04:05Z","500.5","0.000000","0","512","4096","a.gguf","99","1234567"\n'
        '"2026-01-02T03:05:05Z","40.5","1.5","128","512","0","a.gguf","99","1234567"\n'
        '"2026-01-02T03:06:05Z","30.5","1.5","128","0","0","b.gguf","20","1234567"\n'
    )
    first, second = loads_of_text(tmp_path, "r.csv", text)
    suffix = ", model_filename a.gguf, n_gpu_layers 99"
    assert numbers(first, "prompt_tps") == [(f"pp512 @ d4096{suffix}", 500.5)]
    assert numbers(first, "total_tps") == [(f"pp512+tg128{suffix}", 40.5)]
    assert result_at(results_of(first), "prompt_tps", "mean").reason == "sd_count_not_told"
    assert (second.model, numbers(second, "decode_tps")[0][1], second.tool_version) == ("b.gguf", 30.5, "1234567")


MARKDOWN = """# How fast it is
ggml_cuda_init: found 2 CUDA devices:
  Device 0: NVIDIA GeForce RTX 4090, compute capability 8.9, VMM: yes
  Device 1: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes
| model                          |       size |     params | backend    | ngl | fa |            test |                  t/s |
| ------------------------------ | ---------: | ---------: | ---------- | --: | -: | --------------: | -------------------: |
| qwen35moe 35B.A3B Q4_K - Medium |  20.60 GiB |    34.66 B | CUDA       |  99 |  1 |           pp512 |       1094.19 ± 8.58 |
| qwen35moe 35B.A3B Q4_K - Medium |  20.60 GiB |    34.66 B | CUDA       |  99 |  1 |   tg128 @ d4096 |         61.65 ± 0.36 |
| qwen35moe 35B.A3B Q4_K - Medium |  20.60 GiB |    34.66 B | CUDA       |  99 |  1 |     pp512+tg128 |        200.00 ± 0.00 |

build: 2496f9c14 (9049)

| Config | Peak TG |
|---|---|
| A | 109.8 tok/s |
"""  # noqa: E501


def test_llama_bench_table_in_a_text(tmp_path: Path) -> None:
    other, load = loads_of_text(tmp_path, "post.md", MARKDOWN)
    assert other.tool == "document" and numbers(other, "output_tps", "max")
    rows = results_of(load)
    prompt, decode = result_at(rows, "prompt_tps", "mean"), result_at(rows, "decode_tps", "mean")
    assert (prompt.point, prompt.value, prompt.sd, prompt.prompt_tokens) == ("pp512", 1094.19, 8.58, 512)
    assert (decode.point, decode.value, decode.sd, decode.depth_tokens) == ("tg128 @ d4096", 61.65, 0.36, 4096)
    assert result_at(rows, "total_tps", "mean").sd is None
    assert load.definition == "llama-bench b9049" and load.model == "qwen35moe 35B.A3B Q4_K - Medium"
    assert load.params == {
        "gpu_info": "NVIDIA GeForce RTX 4090, NVIDIA GeForce RTX 3090", "build_commit": "2496f9c14",
        "build_number": 9049, "model_type": "qwen35moe 35B.A3B Q4_K - Medium", "model_size": "20.60 GiB",
        "model_n_params": "34.66 B", "backends": "CUDA", "n_gpu_layers": 99, "flash_attn": 1,
        "quantization": "Q4_K - Medium",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.csv", "n_prompt,n_gen,avg_ts\n512,0,100.0\n512,0\n"),
        ("r.csv", "n_prompt,n_gen,avg_ts\n512,0,10"),
        ("r.jsonl", '{"n_prompt": 512, "n_gen": 0, "avg_ts": 1.0}\n{"n_prompt": 512, "n_gen": 0, "avg'),
        ("r.json", '[\n  {\n    "n_prompt": 512, "n_gen": 0,\n    "avg_ts": 1.0\n  },\n'),
        ("r.sql", "INSERT INTO llama_bench (n_prompt, n_gen, avg_ts) VALUES ('512', '0'"),
        ("r.jsonl", '{"pp": 512, "tg": 32, "speed_pp": 1.0, "speed_tg": 2.0'),
    ],
)
def test_cut_file_is_refused_with_its_line(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(ImportRefusedError, match=rf"^{name}, line \d+: "):
        loads_of_text(tmp_path, name, text)


# --- llama-batched-bench, llama-sweep-bench ---------------------------------------------------------------------------
def test_llama_batched_bench() -> None:
    load = load_of(captured("llama-bench/batched.txt"))
    rows = results_of(load)
    assert load.tool == "llama-batched-bench" and len(rows) == 6 * 6
    together = result_at(rows, "batch_decode_tps", "mean", "pp512 tg32 B4 N_KV2176")
    assert (together.value, together.unit, together.concurrency) == (224.52, "tok/s", 4)
    assert (together.prompt_tokens, together.output_tokens, together.depth_tokens) == (512, 32, 0)
    assert [value for _, value in numbers(load, "prompt_tps")] == [1518.9, 1603.62, 1640.9, 1526.12, 1530.08, 1532.06]
    assert value(rows, "prompt_ms", "mean", together.point) == 1248 and value(rows, "total_tps", "mean", together.point)
    assert (load.params["n_kv_max"], load.params["flash_attn"], load.params["n_gpu_layers"]) == (20480, 1, -1)


def test_llama_sweep_bench() -> None:
    load = load_of(captured("llama-bench/sweep.txt"))
    depths = [(row.depth_tokens, row.value) for row in results_of(load) if row.metric == "decode_tps"]
    assert depths == [(0, 25.83), (1024, 25.36), (2048, 24.38), (14336, 20.63), (15360, 20.55)]
    assert numbers(load, "prompt_tps")[-1] == ("pp1024 tg128 @ d15360", 194.85) and load.tool == "llama-sweep-bench"


def test_lines_of_llama_batched_bench(tmp_path: Path) -> None:
    row = {"n_kv_max": 2048, "n_batch": 2048, "flash_attn": 1, "pp": 128, "tg": 0, "pl": 2, "n_kv": 256, "t_pp": 0.5,
           "speed_pp": 512.0, "t_tg": 0.0, "speed_tg": 0.0, "t": 0.5, "speed": 512.0}  # fmt: skip
    text = f"\nllama_context: n_ctx = 2048\n{json.dumps(row)}\n{json.dumps(row | {'flash_attn': 0})}\n"
    first, second = loads_of_text(tmp_path, "r.jsonl", text)
    assert numbers(first, "prompt_tps") == [("pp128 tg0 B2 N_KV256", 512.0)] and not numbers(first, "batch_decode_tps")
    assert first.params == {"n_kv_max": 2048, "n_batch": 2048, "flash_attn": 1} and second.params["flash_attn"] == 0


# --- llama-benchy, printed --------------------------------------------------------------------------------------------
def test_printed_llama_benchy_is_dated_and_its_probe_is_no_latency() -> None:
    load = load_of(captured("llama-benchy/printed.log"))
    rows = results_of(load)
    assert load.ts == datetime(2026, 8, 12, 17, 25, 53).astimezone(UTC)
    assert (load.params["latency_probe_ms"], load.params["latency_mode"]) == (288.36, "generation")
    assert not [row for row in rows if row.metric == "e2e_ms"] and len(rows) == 9
    ttft = result_at(rows, "ttft_ms", "mean", "pp25000 tg256 d0 c20")
    assert (ttft.value, ttft.n, load.model) == (177317.07, 60, "muse-glimmer-30b-bf16-spec")
    assert load.base_url == "http://localhost:8000/v1"


# --- printed summaries ------------------------------------------------------------------------------------------------
def test_printed_summary_of_sglang_bench_serving() -> None:
    load = load_of(captured("sglang_bench/printed.txt"))
    rows = [(row.metric, row.statistic, row.value, row.unit) for row in results_of(load)]
    assert load.tool == "sglang.bench_serving" and rows == [
        ("requests", "total", 1000.0, "requests"), ("duration_s", "total", 907.39, "s"),
        ("prompt_tokens", "total", 4007607.0, "tokens"), ("completion_tokens", "total", 56814.0, "tokens"),
        ("stated", "stated", 50731.0, "tokens"), ("request_tps", "mean", 1.1, "requests/s"),
        ("prompt_tps", "mean", 4416.63, "tok/s"), ("output_tps", "mean", 62.61, "tok/s"),
        ("total_tps", "mean", 4479.24, "tok/s"), ("mean_concurrency", "mean", 481.16, "requests"),
        ("e2e_ms", "mean", 436601.67, "ms"), ("e2e_ms", "median", 440035.82, "ms"), ("ttft_ms", "mean", 433931.4, "ms"),
    ]  # fmt: skip
    assert load.params == {
        "Backend": "vllm", "Traffic request rate": 32.0, "Max reqeuest concurrency": "not set",
    }  # fmt: skip
    assert load.notes == ["The summary has no closing line: it may be cut off."]


VLLM_SUMMARY = """INFO 11-20 10:00:00 [__init__.py:244] Automatically detected platform cuda.
Namespace(subparser='bench', dataset_name='random', num_prompts=20, random_input_len=1024, model='org/model', seed=0, header=['Authorization=Bearer abc'], random_output_len=128, api_key='xyz')
============ Serving Benchmark Result ============
Successful requests:                     20
Failed requests:                         0
Maximum request concurrency:             4
Benchmark duration (s):                  5.78
Total input tokens:                      20480
Total generated tokens:                  2560
Request throughput (req/s):              3.46
Output token throughput (tok/s):         442.91
Peak output token throughput (tok/s):    500.00
Peak concurrent requests:                6.00
Total Token throughput (tok/s):          3986.16
---------------Time to First Token----------------
Mean TTFT (ms):                          71.54
Median TTFT (ms):                        73.88
P99 TTFT (ms):                           79.49
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          7.91
---------------Speculative Decoding---------------
Acceptance rate (%):                     44.33
Acceptance length:                       4.10
Drafts:                                  499
Per-position acceptance (%):
  Position 0:                            74.34
  Position 1:                            58.00
==================================================

| Config | Peak TG |
|---|---|
| A | 109.8 tok/s |

============ Serving Benchmark Result ============
Successful requests:                     10
Output token throughput (tok/s):         nan
==================================================
"""  # noqa: E501


def test_printed_summaries_of_vllm_bench_serve(tmp_path: Path) -> None:
    document, first, second = loads_of_text(tmp_path, "post.txt", VLLM_SUMMARY)
    rows = results_of(first)
    assert {row.value for row in results_of(document)} == {109.8}
    assert (first.tool, first.model, first.planned_requests) == ("vllm bench serve", "org/model", 20)
    assert {row.point for row in rows if row.unit == "ms"} == {"pp1024 tg128 4 at once"}
    assert value(rows, "total_tps", "mean") == 3986.16 and value(rows, "ttft_ms", "p99") == 79.49
    assert value(rows, "acceptance_rate", "mean") == pytest.approx(0.4433)
    assert [v for _, v in numbers(first, "position_acceptance_rate")] == [pytest.approx(0.7434), pytest.approx(0.58)]
    assert value(rows, "peak_concurrency", "max") == 6 and value(rows, "acceptance_length", "mean") == 4.1
    assert (
        result_at(rows, "stated", "stated").value == 499
        and "header" not in first.params
        and "api_key" not in first.params
    )
    assert result_at(results_of(second), "output_tps", "mean").value is None


def test_printed_report_of_trtllm_bench() -> None:
    load = load_of(captured("trtllm_bench/printed.txt"))
    rows = [(row.metric, row.statistic, row.value, row.unit) for row in results_of(load)]
    assert rows == [
        ("request_tps", "mean", 248.4751, "requests/s"), ("output_tps", "mean", 6957.303, "tok/s"),
        ("total_tps", "mean", 38762.1169, "tok/s"), ("duration_s", "total", pytest.approx(120.7364401), "s"),
        ("e2e_ms", "mean", 53522.9014, "ms"), ("e2e_tps", "mean", 0.535, "tok/s"),
        ("output_tps_per_gpu", "mean", 6957.303, "tok/s"), ("e2e_ms", "median", 54486.1063, "ms"),
        ("e2e_ms", "p90", 64358.7218, "ms"), ("e2e_ms", "p95", 66932.7024, "ms"), ("e2e_ms", "p99", 68887.7569, "ms"),
        ("e2e_ms", "min", 39903.1921, "ms"), ("e2e_ms", "max", 69473.9218, "ms"),
    ]  # fmt: skip
    assert load.params["Number of Sequences"] == 30000 and load.params["Issue Rate (req/sec)"] == 2.3129e15


STREAMED = """[TensorRT-LLM] TensorRT-LLM version: 1.1.0
===========================================================
= PYTORCH BACKEND
===========================================================
Model:\t\t\torg/model
TensorRT LLM Version:\t1.1.0
Dtype:\t\t\tbfloat16
===========================================================
= REQUEST DETAILS
===========================================================
Number of requests:             100
Number of concurrent requests:  7.5000
Average Input Length (tokens):  128.0000
===========================================================
= PERFORMANCE OVERVIEW
===========================================================
Request Throughput (req/sec):                     43.2089
Average time-to-first-token [TTFT] (ms):          52667.0339
Per User Output Speed [1/TPOT] (tokens/sec/user): 5.4656

-- Per-Request Time-to-First-Token [TTFT] Breakdown (ms)

[TTFT] MINIMUM: 3914.7621
[TTFT] AVERAGE: 52667.0339
[11/20/2026-10:00:01] [TRT-LLM] [I] Thread dispatch: done
===========================================================
= DECODING STATISTICS (MTP)
===========================================================
[DAR] AVERAGE: 0.61
[AL] P50    : 2.83
[DT] AVERAGE: 90.00

-- Percentiles statistics ---------------------------------
MIN:    128.0000           64.0000         192.0000
"""


def test_streamed_report_of_trtllm_bench(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "report.txt", STREAMED)
    rows = results_of(load)
    assert (load.model, load.tool_version) == ("org/model", "1.1.0") and load.params["Dtype"] == "bfloat16"
    assert value(rows, "ttft_ms", "mean") == 52667.0339 and value(rows, "ttft_ms", "min") == 3914.7621
    assert value(rows, "decode_tps", "mean") == 5.4656 and value(rows, "mean_concurrency", "mean") == 7.5
    assert value(rows, "acceptance_rate", "mean") == 0.61 and value(rows, "acceptance_length", "median") == 2.83
    assert load.params["dataset MIN"] == {"input": 128.0, "output": 64.0, "total": 192.0}
    assert not [name for name in load.params if "TRT-LLM" in name]


def test_json_report_of_trtllm_bench(tmp_path: Path) -> None:
    report = {
        "engine": {"model": "org/model", "version": "1.1.0", "quantization": "FP8", "kv_cache_dtype": "FP8"},
        "world_info": {"tp_size": 2, "issue_rate": 1.0}, "request_info": {"num_requests": 10},
        "performance": {"request_throughput_req_s": 2.5, "total_latency_ms": 4000.0, "avg_request_latency_ms": 900.0,
                        "request_latency_percentiles_ms": {"p50": 880.0, "p99": 990.0, "average": 900.0}},
        "streaming_metrics": {"avg_ttft_ms": 50.0, "ttft_percentiles": {"minimum": 40.0}},
    }  # fmt: skip
    (load,) = loads_of_text(tmp_path, "report.json", json.dumps(report))
    rows = [(row.metric, row.statistic, row.value) for row in results_of(load)]
    assert rows == [
        ("request_tps", "mean", 2.5), ("duration_s", "total", 4.0), ("e2e_ms", "mean", 900.0),
        ("ttft_ms", "mean", 50.0),
        ("requests", "total", 10.0), ("e2e_ms", "median", 880.0), ("e2e_ms", "p99", 990.0), ("ttft_ms", "min", 40.0),
    ]  # fmt: skip
    assert load.server_config == {"quantization": "FP8", "kv_cache_dtype": "FP8", "tensor_parallel": 2}


# --- MLPerf, LLMPerf, InferenceX --------------------------------------------------------------------------------------
def test_summary_of_mlperf_s_loadgen() -> None:
    load = load_of(captured("mlperf/summary.txt"))
    rows = results_of(load)
    expected = {
        "e2e_ms": {"min": 756.127764, "max": 150606.473583, "mean": 37756.80707, "median": 32917.446649,
                   "p90": 68033.586908, "p99": 121801.757289},
        "ttft_ms": {"min": 46.040396, "max": 2522.96925, "mean": 963.332124, "median": 950.532291,
                    "p90": 1445.779609, "p99": 1760.966679},
        "tpot_ms": {"min": 32.461425, "max": 1358.427611, "mean": 126.269215, "median": 132.613828, "p99": 164.964162},
    }  # fmt: skip
    for metric, statistics in expected.items():
        values_by_statistic = {row.statistic: row.value for row in rows if row.metric == metric}
        assert values_by_statistic == {statistic: pytest.approx(ms) for statistic, ms in statistics.items()}
    assert value(rows, "output_tps", "mean") == 29522.56 and result_at(rows, "stated", "stated").unit == "samples/s"
    assert load.params == {
        "samples_per_query": 1, "target_qps": 104, "ttft_latency (ns)": 2000000000, "tpot_latency (ns)": 200000000,
    }  # fmt: skip


def test_invalid_summary_of_mlperf_is_called_so(tmp_path: Path) -> None:
    rule = "=" * 48
    text = (
        f"{rule}\nMLPerf Results Summary\n{rule}\nSUT name : PySUT\nScenario : SingleStream\n"
        "Mode     : PerformanceOnly\n"
        "90.0th percentile latency (ns) : 8434934462\nTokens per second (inferred): 838.288\nResult is : INVALID\n"
        f"  Min duration satisfied : NO\n{rule}\nAdditional Stats\n{rule}\n"
        "90.00 percentile latency (ns)   : 8434934462\n"
    )
    (load,) = loads_of_text(tmp_path, "mlperf_log_summary.txt", text)
    rows = results_of(load)
    assert (rows[0].point, rows[0].metric, rows[0].statistic) == ("SingleStream", "e2e_ms", "p90")
    assert len(rows) == 2 and rows[1].metric == "stated" and load.notes == ["LoadGen calls this result INVALID."]


def test_summary_of_llmperf(tmp_path: Path) -> None:
    load = load_of(captured("llmperf/summary.json"))
    rows = results_of(load)
    mean = result_at(rows, "itl_ms", "mean")
    assert (mean.value, mean.sd) == (pytest.approx(11.929198805), pytest.approx(1.6259885667))
    assert (mean.concurrency, mean.prompt_tokens, mean.output_tokens) == (5, 256, 100)
    assert value(rows, "itl_ms", "p99") == pytest.approx(16.33074445592667) and len(rows) == 10
    assert value(rows, "output_tps", "mean") == 335.40081105324157 and load.definition == "LLMPerf 2023-08-31"
    raw = json.loads(captured("llmperf/summary.json").read_text()) | {
        "results_ttft_s_mean": 0.1, "results_number_output_tokens_min": "62", "results_num_completed_requests": 50,
        "results_num_completed_requests_per_min": 120.0, "results_number_errors": 2, "timestamp": 1789148187,
        "results_number_total_tokens_mean": 355.5,
    }  # fmt: skip
    (whole,) = loads_of_text(tmp_path, "summary.json", json.dumps(raw))
    rows = results_of(whole)
    assert value(rows, "ttft_ms", "mean") == 100.0 and result_at(rows, "ttft_ms", "mean").n == 50
    assert value(rows, "completion_tokens", "min") == 62 and value(rows, "failed_requests", "total") == 2
    assert value(rows, "request_tps", "mean") == 2.0 and value(rows, "stated", "mean") == 355.5
    assert whole.ts == datetime.fromtimestamp(1789148187, UTC)


def test_aggregate_of_inferencex(tmp_path: Path) -> None:
    result = {
        "hw": "h200", "conc": 64, "image": "img:1", "model": "org/m", "framework": "trt", "precision": "fp8",
        "isl": 8192, "osl": 1024, "tp": 8, "ep": 1, "tput_per_gpu": 450.5, "output_tput_per_gpu": 50.2,
        "input_tput_per_gpu": 400.3,
        "mean_ttft": 0.2, "std_ttft": 0.1, "median_ttft": 0.15, "p99_tpot": 0.018, "p99_intvty": 55.5,
        "std_intvty": 9.0,
    }  # fmt: skip
    first, second = loads_of_text(tmp_path, "agg.json", json.dumps([result, result | {"conc": 128}]))
    rows = results_of(first)
    point = "pp8192 tg1024 64 at once"
    assert result_at(rows, "ttft_ms", "median", point).concurrency == 64 and value(rows, "ttft_ms", "median") == 150.0
    assert value(rows, "total_tps_per_gpu", "mean") == 450.5 and value(rows, "tpot_ms", "p99") == pytest.approx(18)
    assert value(rows, "decode_tps", "p99") == 55.5 and result_at(rows, "ttft_ms", "mean").reason == "sd_count_not_told"
    assert first.server_config == {"quantization": "fp8", "tensor_parallel": 8, "image": "img:1"}
    assert results_of(second)[0].concurrency == 128


def test_folder_of_a_sweep_has_a_load_per_run(tmp_path: Path) -> None:
    raw = json.loads(captured("vllm_bench/speculation.json").read_text())
    folder = tmp_path / "sweep"
    for seqs in (16, 32):
        point_folder = folder / f"SERVE--max_num_seqs={seqs}"
        point_folder.mkdir(parents=True)
        runs = [raw | {"run_number": number, "max_num_seqs": seqs} for number in range(2)]
        for number, run in enumerate(runs):
            (point_folder / f"run={number}.json").write_text(json.dumps(run, indent=4))
        (point_folder / "summary.json").write_text(json.dumps(runs, indent=4))
    (folder / "summary.csv").write_text(",a\n")
    loads = loads_of(folder)
    rows = [(load.params["max_num_seqs"], load.params["run_number"]) for load in loads]
    assert rows == [(16, 0), (16, 1), (32, 0), (32, 1)] and len({load.load_id for load in loads}) == 4


def test_cut_table_of_a_sweep_is_refused(tmp_path: Path) -> None:
    text = ",tokenizer_id,max_concurrency,request_throughput,completed\n0,a,1,2.0,3\n1,a,2,2.0"
    with pytest.raises(ImportRefusedError, match=r"^summary.csv, line 3: it is cut off here"):
        loads_of_text(tmp_path, "summary.csv", text)


def test_summary_behind_a_long_log_is_read(tmp_path: Path) -> None:
    noise = "100%|##########| 20/20 [00:05<00:00, 3.46it/s]\n" * 3000
    for name in ("sglang_bench/printed.txt", "llama-bench/sweep.txt", "trtllm_bench/printed.txt", "mlperf/summary.txt"):
        path = captured(name)
        (load,) = loads_of_text(tmp_path, "long.log", noise + path.read_text())
        rows, whole = ([(row.metric, row.value) for row in results_of(loaded)] for loaded in (load, load_of(path)))
        assert rows == whole


def test_print_of_powershell_is_read(tmp_path: Path) -> None:
    """It writes UTF-16, and in other code pages the plus-minus sign becomes two characters."""
    path = tmp_path / "post.txt"
    path.write_bytes(MARKDOWN.replace("±", "┬▒").replace("\n", "\r\n").encode("utf-16"))
    _, load = loads_of(path)
    prompt = result_at(results_of(load), "prompt_tps", "mean")
    assert (prompt.value, prompt.sd, load.tool_version) == (1094.19, 8.58, "b9049")


def test_messages_around_the_results_of_llama_bench_are_skipped(tmp_path: Path) -> None:
    message = "ggml_metal_free: deallocating\n"
    from_csv, from_json = captured("llama-bench/result.csv"), captured("llama-bench/result.json")
    for name, text in (
        ("r.csv", message + from_csv.read_text() + message),
        ("r.csv", from_csv.read_text().strip()),
        ("r.json", message + from_json.read_text().strip() + "\n" + message),
    ):
        (load,) = loads_of_text(tmp_path, name, text)
        assert [row.value for row in results_of(load)] == [
            row.value for row in results_of(load_of(from_csv if name == "r.csv" else from_json))
        ]


def test_tables_of_llama_bench_are_told_apart_by_their_headings(tmp_path: Path) -> None:
    table = MARKDOWN[MARKDOWN.index("| model") : MARKDOWN.index("| Config")]
    first, second = loads_of_text(
        tmp_path, "post.md", f"## Before\n{table}\n**After**\n\n{table.replace('1094.19', '1200.5')}"
    )
    name = "pp512, table Before"
    assert numbers(first, "prompt_tps") == [(name, 1094.19)]
    assert numbers(second, "prompt_tps") == [("pp512, table After", 1200.5)]
    assert (first.number, second.number) == (3, 4)


def test_result_of_an_old_vllm_bench_serve(tmp_path: Path) -> None:
    raw = json.loads(captured("vllm_bench/speculation.json").read_text())
    del raw["max_concurrency"], raw["endpoint_type"]
    (load,) = loads_of_text(tmp_path, "old.json", json.dumps(raw))
    assert load.tool == "vllm bench serve" and value(results_of(load), "ttft_ms", "p99") == raw["p99_ttft_ms"]


def test_several_models_are_named_once(tmp_path: Path) -> None:
    table = MARKDOWN[MARKDOWN.index("| model") : MARKDOWN.index("build:")]
    other_text = (
        table.splitlines()[2].replace("qwen35moe 35B.A3B Q4_K - Medium", "llama 8B Q8_0").replace("20.60", "8.00")
    )
    first, second = loads_of_text(tmp_path, "post.md", f"{table.rstrip()}\n{other_text}\n\nbuild: unknown (0)\n")
    assert numbers(second, "prompt_tps") == [("pp512, model_type llama 8B Q8_0", 1094.19)]
    assert (first.tool_version, second.model, second.params["model_size"]) == (None, "llama 8B Q8_0", "8.00 GiB")


# --- LLMPerf's single responses, inference-perf, vllm-mlx, JSON lines within a text -----------------------------------
def test_single_responses_of_llmperf(tmp_path: Path) -> None:
    responses = [
        {"error_code": None, "error_msg": "", "inter_token_latency_s": 0.02, "ttft_s": 0.1, "end_to_end_latency_s": 0.5,
         "request_output_throughput_token_per_s": 40.0, "number_total_tokens": 70, "number_output_tokens": 20,
         "number_input_tokens": 50},
        {"error_code": 503, "error_msg": "Service Unavailable", "inter_token_latency_s": 0, "ttft_s": 0,
         "end_to_end_latency_s": 0, "request_output_throughput_token_per_s": 0, "number_total_tokens": 0,
         "number_output_tokens": 0, "number_input_tokens": 0},
    ]  # fmt: skip
    (load,) = loads_of_text(tmp_path, "m_50_20_individual_responses.json", json.dumps(responses))
    first, second = requests_of(load)
    assert load.tool == "LLMPerf" and load.planned_requests == 2
    assert (first.ttft_ms, first.total_ms, first.prompt_tokens, first.completion_tokens) == (100.0, 500.0, 50, 20)
    assert first.error_kind is None and first.token_source == "tokenizer" and "sent_at" in first.extra
    assert (second.error_kind, second.ttft_ms, second.total_ms, second.completion_tokens) == ("http", None, None, None)
    assert second.prompt_tokens is None and second.error_text == "503 Service Unavailable"


def test_single_responses_of_llmperf_with_times(tmp_path: Path) -> None:
    response = {"error_code": None, "ttft_s": 0.1, "end_to_end_latency_s": 0.5, "number_output_tokens": 20,
                "number_input_tokens": 50, "request_output_throughput_token_per_s": 40.0}  # fmt: skip
    responses = [response | {"start_time": 1767225602.5}, response | {"start_time": 1767225600.0}]
    (load,) = loads_of_text(tmp_path, "responses.json", json.dumps(responses))
    assert load.ts == datetime(2026, 1, 1, tzinfo=UTC)
    assert [request.since_phase_s for request in requests_of(load)] == [2.5, 0.0]
    assert [request.extra for request in requests_of(load)] == [{}, {}]


def test_report_of_inference_perf(tmp_path: Path) -> None:
    report = {
        "load_summary": {"count": 12, "schedule_delay": {"mean": 0.5, "min": -0.25}, "send_duration": 9.5,
                         "requested_rate": 1.0},
        "successes": {
            "count": 11,
            "latency": {
                "request_latency": {"mean": 8.0, "median": 6.0, "p99.9": 25.0},
                "normalized_time_per_output_token": {"mean": 0.04}, "time_per_output_token": {"max": 0.02},
                "time_to_first_token": {"mean": 0.2, "p90": 0.3}, "inter_token_latency": {"p1": 0.01},
            },
            "throughput": {"input_tokens_per_sec": 900.5, "output_tokens_per_sec": 60.5, "total_tokens_per_sec": 961.0,
                           "requests_per_sec": 1.25},
            "prompt_len": {"mean": 512.5}, "output_len": {"median": 48.0},
        },
        "failures": {"count": 1, "request_latency": {"mean": 3.0}, "prompt_len": None},
    }  # fmt: skip
    (load,) = loads_of_text(tmp_path, "summary_lifecycle_metrics.json", json.dumps(report))
    rows = results_of(load)
    assert load.tool == "inference-perf" and load.planned_requests == 12 and load.params["requested_rate"] == 1.0
    stated_rows = {(row.point, row.statistic, row.value, row.unit) for row in rows if row.metric == "stated"}
    assert stated_rows == {
        ("all requests: schedule_delay", "mean", 0.5, "s"), ("all requests: schedule_delay", "min", -0.25, "s"),
        ("all requests: send_duration", "stated", 9.5, "s"),
        ("failed requests: request_latency", "mean", 3.0, "s"),
    }  # fmt: skip
    told = {(row.metric, row.statistic): row.value for row in rows if row.metric != "stated"}
    assert told == {
        ("requests", "total"): 11, ("failed_requests", "total"): 1, ("e2e_ms", "mean"): 8000,
        ("e2e_ms", "median"): 6000, ("e2e_ms", "p99.9"): 25000,
        ("e2e_per_token_ms", "mean"): 40, ("tpot_ms", "max"): 20, ("ttft_ms", "mean"): 200,
        ("ttft_ms", "p90"): pytest.approx(300), ("itl_ms", "p1"): 10, ("prompt_tps", "mean"): 900.5,
        ("output_tps", "mean"): 60.5, ("total_tps", "mean"): 961.0, ("request_tps", "mean"): 1.25,
        ("prompt_tokens", "mean"): 512.5, ("completion_tokens", "median"): 48.0,
    }  # fmt: skip


def test_benchmark_of_vllm_mlx(tmp_path: Path) -> None:
    result = {"type": "llm", "model": "org/model", "hardware": {"chip": "M9", "memory_gb": 64.0}, "num_runs": 3,
              "total_prompt_tokens": 30, "total_generated_tokens": 600, "total_time_seconds": 4.0,
              "ttft_ms": {"mean": 70.0, "p50": 71.0, "p95": 75.0}, "tpot_ms": {"mean": 3.5, "max": 3.6},
              "tokens_per_second": {"generation_mean": 280.0, "generation_max": 290.0, "processing_mean": 140.0,
                                    "total_throughput": 157.5},
              "latency_seconds": {"mean": 1.25, "min": 1.0}, "requests_per_second": 0.75}  # fmt: skip
    (load,) = loads_of_text(tmp_path, "bench.json", json.dumps(result))
    assert (load.tool, load.model, load.params["hardware.chip"]) == ("vllm-mlx bench", "org/model", "M9")
    assert {(row.metric, row.statistic): row.value for row in results_of(load)} == {
        ("requests", "total"): 3, ("prompt_tokens", "total"): 30, ("completion_tokens", "total"): 600,
        ("duration_s", "total"): 4, ("ttft_ms", "mean"): 70, ("ttft_ms", "median"): 71, ("ttft_ms", "p95"): 75,
        ("tpot_ms", "mean"): 3.5, ("tpot_ms", "max"): 3.6, ("decode_tps", "mean"): 280, ("decode_tps", "max"): 290,
        ("prompt_tps_per_request", "mean"): 140, ("total_tps", "mean"): 157.5, ("e2e_ms", "mean"): 1250,
        ("e2e_ms", "min"): 1000, ("request_tps", "mean"): 0.75,
    }  # fmt: skip


def test_json_lines_of_a_benchmark_within_a_text(tmp_path: Path) -> None:
    line = (
        '{"backend": "sglang", "request_rate": Infinity, "max_concurrency": %d, "sharegpt_output_len": null, '
        '"random_input_len": 256, "random_output_len": 32, "duration": 10.0, "completed": 20, '
        '"request_throughput": 2.0, "output_throughput": 64.0, "mean_ttft_ms": 12.5}'
    )
    text = f"chunk:2048,compile:off\n{line % 4}\n\n```json\n{line % 8}\n```\nand Decode: 95.9 tok/s\n"
    document, first, second = loads_of_text(tmp_path, "post.txt", text)
    assert [row.point for row in results_of(document)] == ["and Decode (line 7)"]
    assert first.params["heading"] == "chunk:2048,compile:off" and "heading" not in second.params
    assert {row.point for row in results_of(first)} == {"pp256 tg32 4 at once"}
    assert value(results_of(second), "output_tps", "mean", "pp256 tg32 8 at once") == 64.0


# --- texts and tables as people post them -----------------------------------------------------------------------------
PER_GPU = """### Scaling of throughput
| conc | Total tput/GPU | Output tput/GPU (tok/s) | Scaling vs 8 |
|---|---|---|---|
| 8 | 148.6 tok/s | 74.6 | 1.00x |
"""


def test_a_speed_of_one_gpu_is_none_of_the_server(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", PER_GPU)
    rows = [(row.metric, row.value, row.concurrency) for row in results_of(load)]
    assert rows == [("total_tps_per_gpu", 148.6, 8), ("output_tps_per_gpu", 74.6, 8)]


LEVELS = """### Decode at p512 (tok/s)

| Mode | g32 | g128 | Requests |
|---|---:|---:|---:|
| MTP1 | 122.2 | 1,124.5 | 90 |

### MTP

| Mode | g32 (tok/s) | accept | g128 (tok/s) | accept |
|---|---|---|---|---|
| MTP1 | 84.9 | 89.2% | 82.7 | 85.3% |
"""


def test_a_heading_has_the_unit_of_a_row_of_levels(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", LEVELS)
    speeds = numbers(load, "decode_tps", "stated")
    assert speeds[:2] == [
        ("Decode at p512 (tok/s): MTP1, Requests=90: g32 (line 5)", 122.2),
        ("Decode at p512 (tok/s): MTP1, Requests=90: g128 (line 5)", 1124.5),
    ]
    accepted = [point for point, _ in numbers(load, "acceptance_rate", "stated")]
    assert accepted == ["MTP: MTP1: accept (column 3) (line 11)", "MTP: MTP1: accept (column 5) (line 11)"]


def test_least_values_and_deviations_of_a_table(tmp_path: Path) -> None:
    text = (
        "| Metric | avg | min | std | Time (min) |\n|---|---|---|---|---|\n| TTFT (ms) | 81.5 | 40.0 | 7.5 | 3 ms |\n"
    )
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [(row.statistic, row.value) for row in results_of(load)] == [("mean", 81.5), ("min", 40.0), ("stated", 3.0)]


CUT_TABLE = """The result is here:
```
┃                            Statistic ┃      avg ┃      min ┃      p99 ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━┩
│             Time To First Token (ms) │ 1,389.69 │   571.33 │ 4,398.90 │
│     Output Token Throughput Per User │    55.25 │    52.87 │    64.61 │
│                    (tokens/sec/user) │          │          │          │
│         Request Throughput (per sec) │     7.17 │      N/A │      N/A │
└──────────────────────────────────────┴──────────┴──────────┴──────────┘
```
"""


def test_a_printed_table_that_lost_its_upper_edge(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", CUT_TABLE)
    rows = results_of(load)
    assert load.tool == "GenAI-Perf" and value(rows, "ttft_ms", "min") == 571.33
    assert value(rows, "decode_tps", "mean") == 55.25 and value(rows, "request_tps", "mean") == 7.17


BENCH = """| model | size | backend | test | t/s |
| --- | ---: | --- | ---: | ---: |
| llama 3B Q4_K - Medium | 1.87 GiB | Vulkan | tg128 | 36.23 ± 0.62 |
"""


def test_a_build_above_its_table(tmp_path: Path) -> None:
    text = f"build: e598697d (4696)\n\n{BENCH}\nbuild: e598697e (4697)\n\n{BENCH.replace('36.23', '37.5')}"
    loads = loads_of_text(tmp_path, "post.md", text)
    assert [(load.tool_version, value(results_of(load), "decode_tps", "mean")) for load in loads] == [
        ("b4696", 36.23), ("b4697", 37.5),
    ]  # fmt: skip


FLATTENED = """Concurrency
TTFT (ms)
Output tok/s
Errors
1
81.5
95.9
0
16
1,240
612 tok/s
3
"""


def test_a_table_that_a_copied_page_flattened(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", f"What we measured:\n\n{FLATTENED}\nAll of it on one GPU.\n")
    rows = [(row.metric, row.value, row.concurrency) for row in results_of(load)]
    assert rows[0] == ("ttft_ms", 81.5, 1) and rows[2] == ("ttft_ms", 1240.0, 16) and len(rows) == 4
    assert results_of(load)[2].point.endswith("(line 11)"), "where its row begins"


def test_the_rows_of_a_flattened_table_may_have_names(tmp_path: Path) -> None:
    text = "Engine\nTTFT (ms)\nTPOT (ms)\nvLLM\n81.5\n9.5\nSGLang\n71.5\n8.5\n"
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert numbers(load, "tpot_ms", "stated") == [
        ("vLLM: TPOT (ms) (line 4)", 9.5), ("SGLang: TPOT (ms) (line 7)", 8.5),
    ]  # fmt: skip


@pytest.mark.parametrize("cut", [FLATTENED.removesuffix("3\n"), FLATTENED.replace("95.9", "fast"), FLATTENED[12:]])
def test_a_flattened_table_that_does_not_fit_is_refused(cut: str, tmp_path: Path) -> None:
    (tmp_path / "post.txt").write_text(cut)
    with pytest.raises((ImportRefusedError, AssertionError)):
        loads_of(tmp_path / "post.txt")


STATISTICS = """=== summary (n=5) ===
  decode_TPS     mean= 200.54   std=  7.90   CV= 3.9%   min=189.16   max=208.30
  TTFT           mean=    67ms  std=    3ms   min=   65ms   max=   71ms
Batch 64: 16 batches, total 2578.4ms, avg 1611.47ms, std 143.69ms, p95 1795.47ms, p999 2068.31ms
retries        mean= 3   max= 9
"""


def test_lines_of_statistics(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", STATISTICS)
    rows = [(row.metric, row.statistic, row.value, row.unit) for row in results_of(load)]
    assert rows == [
        ("decode_tps", "mean", 200.54, "tok/s"), ("decode_tps", "min", 189.16, "tok/s"),
        ("decode_tps", "max", 208.3, "tok/s"),
        ("ttft_ms", "mean", 67.0, "ms"), ("ttft_ms", "min", 65.0, "ms"), ("ttft_ms", "max", 71.0, "ms"),
        ("stated", "mean", 1611.47, "ms"), ("stated", "p95", 1795.47, "ms"), ("stated", "p99.9", 2068.31, "ms"),
    ]  # fmt: skip
    assert results_of(load)[6].point == "Batch 64: 16 batches, total 2578.4ms (line 4)"
