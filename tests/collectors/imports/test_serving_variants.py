"""Printed summaries and JSON of the serving benchmarks as their versions and relatives write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from tests.collectors.imports.captured import load_of, results_of, value
from tests.collectors.imports.test_posted_benchmarks import loads_of_text
from tests.collectors.imports.test_printed_benchmarks import metrics_of, points_of

SUMMARY = """============ Serving Benchmark Result ============
Successful requests:                     8
Maximum request concurrency:             4
Benchmark duration (s):                  12.50
Total input tokens:                      4096
Request throughput (req/s):              0.64
Output token throughput (tok/s):         {speed:.2f}
---------------Time to First Token----------------
Mean TTFT (ms):                          210.50
P99 TTFT (ms):                           400.50
==================================================
"""


def test_comment_with_a_flag_is_the_heading_of_a_summary(tmp_path: Path) -> None:
    text = f"# baseline\n{SUMMARY.format(speed=90)}\n# with --async-scheduling\n{SUMMARY.format(speed=95)}"
    loads = loads_of_text(tmp_path, "post.txt", text)
    assert [load.params.get("heading") for load in loads] == ["baseline", "with --async-scheduling"]


def test_prompt_of_root_is_no_heading(tmp_path: Path) -> None:
    text = f"# vllm bench serve --model org/model --max-concurrency 4\n{SUMMARY.format(speed=90)}"
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert load.model == "org/model" and "heading" not in load.params


@pytest.mark.parametrize("number", [1, 3])
def test_summary_without_its_first_lines(tmp_path: Path, number: int) -> None:
    lines = SUMMARY.format(speed=90).splitlines()[number:]
    (load,) = loads_of_text(tmp_path, "post.md", "\n".join(["Now:", "```", *lines, "```"]))
    expected = [
        ("requests", "total", 8), ("duration_s", "total", 12.5), ("prompt_tokens", "total", 4096),
        ("request_tps", "mean", 0.64), ("output_tps", "mean", 90), ("ttft_ms", "mean", 210.5),
        ("ttft_ms", "p99", 400.5),
    ]  # fmt: skip
    assert metrics_of(load) == (expected if number == 1 else expected[1:])
    assert load.tool == "vllm bench serve" and "first lines" in load.notes[0]
    assert {row.concurrency for row in results_of(load)} == ({4} if number == 1 else {None})


TRTLLM = """python -m tensorrt_llm.serve.scripts.benchmark_serving --model org/model --max-concurrency 4
============ Serving Benchmark Result ============
Total requests:                          9
Successful requests:                     8
Failed requests:                         1
Output token throughput (tok/s):         90.50
User throughput (tok/s):                 24.50
=======================!FAILED REQUESTS!=======================
Total failed requests: 1
=====================!CHECK LOG FOR ERRORS!====================
-----------Avg Decoded Tokens per Iter------------
Mean Avg Decoded Tokens per Iter:        2.25
P99 Avg Decoded Tokens per Iter:         3.50
---------------Time to First Token----------------
Mean TTFT (ms):                          210.50
Std Dev TTFT (ms):                       20.00
-----------------Energy Metrics ------------------
Total Energy (J):                        4211.5000
==================================================
"""


def test_printed_serving_benchmark_of_tensorrt_llm(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", TRTLLM)
    assert (load.tool, load.model) == ("TensorRT-LLM benchmark_serving", "org/model")
    assert metrics_of(load) == [
        ("requests", "total", 8), ("failed_requests", "total", 1), ("output_tps", "mean", 90.5),
        ("e2e_tps", "mean", 24.5), ("acceptance_length", "mean", 2.25), ("acceptance_length", "p99", 3.5),
        ("ttft_ms", "mean", 210.5), ("stated", "stated", 4211.5),
    ]  # fmt: skip
    (ttft,) = [row for row in results_of(load) if row.metric == "ttft_ms"]
    assert ttft.sd == pytest.approx(20 * (8 / 7) ** 0.5) and ttft.concurrency == 4


def test_json_of_tensorrt_llm_s_serving_benchmark(tmp_path: Path) -> None:
    result = {
        "date": "20261001-101112", "backend": "openai", "model_id": "org/model", "tokenizer_id": "org/model",
        "num_prompts": 8, "request_rate": "inf", "max_concurrency": 4, "duration": 12.5, "completed": 8,
        "request_throughput": 0.64, "request_goodput:": 0.5, "output_throughput": 90.5, "user_throughput": 24.5,
        "avg_decoded_tokens_per_iter": {"mean": 2.25, "max": 4.0, "std": 0.5, "percentiles": {"p99": 3.5}},
        "e2els": [1.5], "energy": {"total_energy_j": 4211.5, "total_gpu_power_w": 337.0}, "mean_ttft_ms": 210.5,
    }  # fmt: skip
    path = tmp_path / "r.json"
    path.write_text(json.dumps(result))
    load = load_of(path)
    rows = results_of(load)
    assert load.tool == "TensorRT-LLM benchmark_serving" and "e2els" not in load.params
    assert (value(rows, "goodput_rps", "mean"), value(rows, "e2e_tps", "mean")) == (0.5, 24.5)
    lengths = [(row.statistic, row.value) for row in rows if row.metric == "acceptance_length"]
    assert lengths == [("mean", 2.25), ("max", 4.0), ("p99", 3.5)]


def test_repeated_label_of_a_summary_is_kept(tmp_path: Path) -> None:
    text = SUMMARY.format(speed=90).replace("=" * 50, f"  Device:        61440\n  Device:         75.0%\n{'=' * 50}")
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert (load.params["Device"], load.params["Device (line 12)"]) == (61440, "75.0%")


STEADY = """
============== Steady-State Result ===============
Concurrency ratio:                       0.90
Measurement duration (s):                20.50
Minimum concurrency:                     15
Completed requests:                      130
Input tokens:                            133120
Input token throughput (tok/s):          6493.50
Generated tokens:                        33280.00
Output token throughput (tok/s):         1723.50
Average concurrency:                     15.90
Peak concurrency:                        16
Peak output throughput (tok/s):          2107.50
==================================================
"""


def test_steady_part_of_a_load_is_a_load_of_its_own(tmp_path: Path) -> None:
    first, steady = loads_of_text(tmp_path, "post.txt", SUMMARY.format(speed=90) + STEADY)
    assert metrics_of(steady) == [
        ("duration_s", "total", 20.5), ("requests", "total", 130), ("prompt_tokens", "total", 133120),
        ("prompt_tps", "mean", 6493.5), ("completion_tokens", "total", 33280), ("output_tps", "mean", 1723.5),
        ("mean_concurrency", "mean", 15.9), ("peak_concurrency", "max", 16), ("peak_output_tps", "max", 2107.5),
    ]  # fmt: skip
    assert steady.tool == "sglang.bench_serving" and steady.params["heading"] == "Steady-State Result"
    assert points_of(first) == {("4 at once", 4, None, None)}


def test_a_command_that_sent_fewer_requests_is_that_of_another_load(tmp_path: Path) -> None:
    command = "vllm bench serve --model m/tiny-8b --dataset-name {} --num-prompts {}{}\n"
    commands = command.format("sharegpt", 8, "") + command.format("random", 4, " --input-len 900 --output-len 90")
    (load,) = loads_of_text(tmp_path, "post.md", f"```bash\n{commands}```\n\n{SUMMARY.format(speed=90)}")
    assert points_of(load) == {("4 at once", 4, None, None)}
    assert load.model == "m/tiny-8b" and not {"dataset_name", "num_prompts"} & {*load.params}
    own_commands = commands.replace("--num-prompts 4", "--num-prompts 9")  # one of which failed
    (load,) = loads_of_text(tmp_path, "post.md", f"```bash\n{own_commands}```\n\n{SUMMARY.format(speed=90)}")
    assert points_of(load) == {("pp900 tg90 4 at once", 4, 900, 90)}


def test_the_arms_of_boxes(tmp_path: Path) -> None:
    box = '??? info "{}"\n    ```\n{}    ```\n\n'
    result = "".join(f"    {line}\n" for line in SUMMARY.format(speed=90).splitlines())
    served = box.format("Serving script", "    vllm serve m/tiny-8b -tp 2\n")
    text = (
        f"## Engines\n\nFirst engine\n{served}{box.format('Benchmark result', result)}"
        f"Other engine\n{served}{box.format('Benchmark result', result)}{box.format('Third engine', result)}"
    )
    loads = loads_of_text(tmp_path, "page.md", text)
    assert [load.params["heading"] for load in loads] == ["First engine", "Other engine", "Third engine"]


def test_module_of_a_command_is_no_model(tmp_path: Path) -> None:
    text = "python3 -m sglang.test.send_one --max-new-tokens 64\nacc_length=2.50\nspeed=200.50 token/s\n"
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert load.model is None


@pytest.mark.parametrize(
    "stamp", ["2026-10-01T10:11:12.123456789Z ", "[pod/bench-x2/main] 2026-10-01T10:11:12.123456Z "]
)
def test_times_that_kubectl_prints_before_a_summary(tmp_path: Path, stamp: str) -> None:
    text = "".join(f"{stamp}{line}\n" for line in SUMMARY.format(speed=90).splitlines())
    (load,) = loads_of_text(tmp_path, "job.log", text)
    assert ("output_tps", "mean", 90) in metrics_of(load) and load.tool == "vllm bench serve"


def test_fractional_concurrency_of_a_cut_summary_is_a_mean(tmp_path: Path) -> None:
    text = (
        "Total generated tokens (retokenized):    24859\nOutput token throughput (tok/s):         426.50\n"
        "Concurrency:                             48.06\n----------------End-to-End Latency----------------\n"
        f"Mean E2E Latency (ms):                   560.50\n{'=' * 50}\n"
    )
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert load.tool == "sglang.bench_serving"
    assert metrics_of(load)[1:] == [
        ("output_tps", "mean", 426.5), ("mean_concurrency", "mean", 48.06), ("e2e_ms", "mean", 560.5),
    ]  # fmt: skip
    other_text = text.replace(" (retokenized)", "").replace("Total generated tokens", "Total tokens out")
    (load,) = loads_of_text(tmp_path, "other.txt", other_text)
    assert ("mean_concurrency", "mean", 48.06) in metrics_of(load)


def test_latencies_alone_are_read(tmp_path: Path) -> None:
    """Somebody kept a few fields of a result: no count of requests, no throughput, no duration."""
    kept = {"backend": "vllm", "model_id": "org/a", "tokenizer_id": "org/a", "num_prompts": 200, "request_rate": 1.0,
            "max_concurrency": None, "mean_ttft_ms": 111.5, "p99_ttft_ms": 165.5, "mean_tpot_ms": 40.5}  # fmt: skip
    (load,) = loads_of_text(tmp_path, "a.json", json.dumps(kept))
    assert {(row.metric, row.statistic): row.value for row in results_of(load)} == {
        ("ttft_ms", "mean"): 111.5, ("ttft_ms", "p99"): 165.5, ("tpot_ms", "mean"): 40.5,
    }  # fmt: skip
    assert load.notes == ["The file has latencies alone: neither requests nor a throughput."]
    with pytest.raises(ImportRefusedError, match="not a complete result"):
        loads_of_text(tmp_path, "b.json", json.dumps(kept | {"duration": 10.5}))


def test_rows_of_llama_bench_that_a_script_wrapped(tmp_path: Path) -> None:
    row = {"build_number": 1, "model_filename": "a.gguf", "model_type": "a 8B Q4_K", "n_prompt": 512, "n_gen": 0,
           "avg_ns": 10, "stddev_ns": 1, "avg_ts": 81.5, "stddev_ts": 0.5, "samples_ts": [81.0, 82.0]}  # fmt: skip
    wrapped = {"cmd": ["llama-bench"], "rows": [row, {**row, "n_prompt": 0, "n_gen": 128, "avg_ts": 16.5}], "log": ""}
    (load,) = loads_of_text(tmp_path, "a.json", json.dumps(wrapped, indent=1))
    speeds = [(row.metric, row.value) for row in results_of(load) if row.metric.endswith("_tps")]
    assert speeds == [("prompt_tps", 81.5), ("decode_tps", 16.5)]
