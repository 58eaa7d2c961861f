"""Results that people post: short files of the benchmark tools, with their numbers as printed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder
from load_records import Result
from tests.collectors.imports.captured import captured, load_of, loads_of, one, results_of, value


def keys_of(rows: list[Result]) -> list[tuple[str, str, str]]:
    return [(row.point, row.metric, row.statistic) for row in rows]


def written(tmp_path: Path, name: str, text: str) -> list[LoadBuilder]:
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
    assert one(rows, "position_acceptance_rate", "mean", "0.2 requests/s, draft position 0").unit == "ratio"
    assert value(rows, "prompt_tokens", "total") == 424759 and load.params["spec_decode_num_drafts"] == 37660
    assert "spec_decode_acceptance_rate" not in load.params


def test_latencies_in_seconds_by_their_names() -> None:
    load = load_of(captured("inferencex/serving.json"))
    rows = results_of(load)
    told = [(row.metric, row.statistic, row.value) for row in rows if row.unit == "ms"]
    assert told == [
        ("ttft_ms", "median", pytest.approx(3138.2447043433785)), ("ttft_ms", "p99", pytest.approx(16561.80969102308)),
        ("e2e_ms", "median", pytest.approx(21447.94770143926)), ("e2e_ms", "p99", pytest.approx(30149.846625011413)),
        ("tpot_ms", "median", pytest.approx(141.0519243694666)), ("tpot_ms", "p99", pytest.approx(196.229197233622)),
    ]  # fmt: skip
    assert value(rows, "output_tps", "mean") == 95.41597717158848
    assert value(rows, "prompt_tps", "mean") == 7633.278173727079


def test_seconds_and_milliseconds_are_one_value(tmp_path: Path) -> None:
    raw = json.loads(captured("inferencex/serving.json").read_text())
    both = raw | {"median_ttft_ms": 3138.0, "p50_ttft_ms": 3138.5, "std_ttft_ms": 1.0, "mean_tpot": 0.2}
    rows = results_of(written(tmp_path, "both.json", json.dumps(both))[0])
    assert value(rows, "ttft_ms", "median") == 3138.0 and value(rows, "ttft_ms", "p50") == 3138.5
    assert value(rows, "tpot_ms", "mean") == 200.0


def test_sweep_of_vllm_bench_as_list_and_as_table(tmp_path: Path) -> None:
    raw = json.loads(captured("vllm_bench/speculation.json").read_text())
    runs = [raw | {"run_number": n, "max_num_seqs": 32, "max_concurrency": 4 * (n + 1)} for n in range(2)]
    first, second = written(tmp_path, "summary.json", json.dumps(runs))
    assert {row.point for row in results_of(second) if row.unit == "ms"} == {"8 at once, run 1"}
    assert first.params["max_num_seqs"] == 32 and first.number != second.number
    names = list(runs[0])
    lines = [",".join(["", *names])]
    for number, run in enumerate(runs):
        cells = ("" if run[name] is None else json.dumps(run[name]).replace('"', "") for name in names)
        lines.append(",".join([str(number), *(f'"{cell}"' if "," in cell else cell for cell in cells)]))
    from_table = written(tmp_path, "summary.csv", "\n".join(lines) + "\n")
    assert [keys_of(results_of(load)) for load in from_table] == [
        keys_of(results_of(first)),
        keys_of(results_of(second)),
    ]
    assert results_of(from_table[1])[0].value == results_of(second)[0].value
    assert from_table[0].ts == first.ts and from_table[0].model == first.model


# --- llama-bench ------------------------------------------------------------------------------------------------------
def test_llama_bench_csv() -> None:
    load = load_of(captured("llama-bench/result.csv"))
    prompt, decode = (one(results_of(load), metric, "mean") for metric in ("prompt_tps", "decode_tps"))
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
    prompt, decode = one(rows, "prompt_tps", "mean", "pp8192"), one(rows, "decode_tps", "mean", "tg1280")
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
    (lines,) = written(tmp_path, "r.jsonl", preamble + "".join(f"{json.dumps(row)}\n" for row in raw))
    (after,) = written(tmp_path, "r.json", preamble + captured("llama-bench/result.json").read_text())
    names = [name for name in raw[0] if not name.startswith("samples")]
    sql = "CREATE TABLE IF NOT EXISTS llama_bench (\n  build_commit TEXT,\n  n_gen INTEGER,\n  avg_ts REAL\n);\n\n"
    for row in raw:
        cells = ", ".join(f"'{int(cell) if isinstance(cell, bool) else cell}'" for cell in map(row.get, names))
        sql += f"INSERT INTO llama_bench ({', '.join(names)}) VALUES ({cells});\n"
    (statements,) = written(tmp_path, "r.sql", sql)
    for load in (lines, after, statements):
        assert numbers(load, "prompt_tps") == numbers(whole, "prompt_tps")
        assert numbers(load, "decode_ms") == numbers(whole, "decode_ms")
        assert (load.ts, load.definition, load.params["gpu_info"]) == (
            whole.ts,
            whole.definition,
            "NVIDIA GeForce RTX 4090",
        )
    assert (
        statements.params["build_commit"] == "247e5c6e" and one(results_of(statements), "decode_tps", "mean").n is None
    )


def test_llama_bench_configurations_are_separate_loads(tmp_path: Path) -> None:
    """Columns in another order, some missing, several models and tests, a depth, and a single repetition."""
    text = (
        "test_time,avg_ts,stddev_ts,n_gen,n_prompt,n_depth,model_filename,n_gpu_layers,build_commit\n"
        '"2026-01-02T03:04:05Z","500.5","0.000000","0","512","4096","a.gguf","99","1234567"\n'
        '"2026-01-02T03:05:05Z","40.5","1.5","128","512","0","a.gguf","99","1234567"\n'
        '"2026-01-02T03:06:05Z","30.5","1.5","128","0","0","b.gguf","20","1234567"\n'
    )
    first, second = written(tmp_path, "r.csv", text)
    suffix = ", model_filename a.gguf, n_gpu_layers 99"
    assert numbers(first, "prompt_tps") == [(f"pp512 @ d4096{suffix}", 500.5)]
    assert numbers(first, "total_tps") == [(f"pp512+tg128{suffix}", 40.5)]
    assert one(results_of(first), "prompt_tps", "mean").reason == "sd_count_not_told"
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
    other, load = written(tmp_path, "post.md", MARKDOWN)
    assert other.tool == "document" and numbers(other, "output_tps", "max")
    rows = results_of(load)
    prompt, decode = one(rows, "prompt_tps", "mean"), one(rows, "decode_tps", "mean")
    assert (prompt.point, prompt.value, prompt.sd, prompt.prompt_tokens) == ("pp512", 1094.19, 8.58, 512)
    assert (decode.point, decode.value, decode.sd, decode.depth_tokens) == ("tg128 @ d4096", 61.65, 0.36, 4096)
    assert one(rows, "total_tps", "mean").sd is None
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
        written(tmp_path, name, text)


# --- llama-batched-bench, llama-sweep-bench ---------------------------------------------------------------------------
def test_llama_batched_bench() -> None:
    load = load_of(captured("llama-bench/batched.txt"))
    rows = results_of(load)
    assert load.tool == "llama-batched-bench" and len(rows) == 6 * 6
    together = one(rows, "batch_decode_tps", "mean", "pp512 tg32 B4 N_KV2176")
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
    first, second = written(tmp_path, "r.jsonl", text)
    assert numbers(first, "prompt_tps") == [("pp128 tg0 B2 N_KV256", 512.0)] and not numbers(first, "batch_decode_tps")
    assert first.params == {"n_kv_max": 2048, "n_batch": 2048, "flash_attn": 1} and second.params["flash_attn"] == 0


# --- llama-benchy, printed --------------------------------------------------------------------------------------------
def test_printed_llama_benchy_is_dated_and_its_probe_is_no_latency() -> None:
    load = load_of(captured("llama-benchy/printed.log"))
    rows = results_of(load)
    assert load.ts == datetime(2026, 8, 12, 17, 25, 53).astimezone(UTC)
    assert (load.params["latency_probe_ms"], load.params["latency_mode"]) == (288.36, "generation")
    assert not [row for row in rows if row.metric == "e2e_ms"] and len(rows) == 9
    ttft = one(rows, "ttft_ms", "mean", "pp25000 tg256 d0 c20")
    assert (ttft.value, ttft.n, load.model) == (177317.07, 60, "muse-glimmer-30b-bf16-spec")
    assert load.base_url == "http://localhost:8000/v1"
