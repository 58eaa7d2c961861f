"""Output of SGLang's benchmarks other than `bench_serving`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text
from tests.collectors.imports.test_printed_benchmarks import ONE_BATCH, metrics_of, points_of

PASS = """Prefill. latency: 0.12500 s, throughput: {prefill:9.2f} token/s
Decode 0. Batch size: {batch}, latency: 0.01000 s, throughput:    400.00 token/s
Decode.  median latency: 0.01000 s, median throughput:    {decode:.2f} token/s
Total. latency:  0.250 s, throughput:   {total:.2f} token/s
"""


def test_each_pass_of_a_sweep_is_a_load_at_its_level_and_lengths(tmp_path: Path) -> None:
    command = "python -m sglang.bench_one_batch --model-path org/model --batch 1 4 --input-len 128 512 --output-len 8\n"
    warm_up = PASS.format(batch=1, prefill=1024, decode=100, total=544)
    sweep = [
        PASS.format(batch=batch, prefill=batch * n / 0.125, decode=100 * batch, total=batch * (n + 8) / 0.25)
        for batch in (1, 4)
        for n in (128, 512)
    ]
    loads = loads_of_text(tmp_path, "post.txt", f"{command}Warmup ...\n{warm_up}Benchmark ...\n{''.join(sweep)}")
    first_rows = [results_of(load)[0] for load in loads]
    assert [(row.concurrency, row.prompt_tokens, row.output_tokens) for row in first_rows] == [
        (1, 128, 8), (1, 512, 8), (4, 128, 8), (4, 512, 8),
    ]  # fmt: skip
    assert [load.params["input_len"] for load in loads] == [128, 512, 128, 512]
    assert [len(load.rows) for load in loads] == [6, 6, 6, 6]


def test_passes_of_a_sweep_without_a_command(tmp_path: Path) -> None:
    loads = loads_of_text(tmp_path, "post.txt", "\n".join(ONE_BATCH.splitlines()[7:]) + "\n" + PASS.format(
        batch=8, prefill=1024, decode=800, total=544))  # fmt: skip
    assert [points_of(load) for load in loads] == [
        {("4 at once", 4, None, None)}, {("8 at once", 8, None, None)},
    ]  # fmt: skip


def test_early_steps_name_neither_number_nor_batch(tmp_path: Path) -> None:
    steps = re.sub(r"Decode \d\. Batch size: 4, ", "Decode.  ", ONE_BATCH)
    text = steps.replace("--batch-size 4 --input-len 128 --output-len 8", "--batch 2 4 --input 128 --output 8")
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert ("batch_decode_tps", "median", 320.0) in metrics_of(load) and len(metrics_of(load)) == 6
    assert load.params["decode_tps_by_step"] == [400.0, 250.0]
    assert points_of(load) == {("pp128 tg8 4 at once", 4, 128, 8)}


def test_messages_of_a_log_between_the_passes(tmp_path: Path) -> None:
    message = "[2025-12-29 18:33:04 TP0] Reset HybridReqToTokenPool\n"
    text = ONE_BATCH.replace("Prefill", f"{message}Prefill").replace("\nBenchmark", "\n\nBenchmark")
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert ("prompt_tps", "stated", 4096.0) in metrics_of(load) and len(metrics_of(load)) == 6
    assert "warm-up" in load.notes[0]


def test_heading_of_a_measured_pass_stands_above_its_word(tmp_path: Path) -> None:
    measured = ONE_BATCH[ONE_BATCH.index("Benchmark ...") :]
    loads = loads_of_text(tmp_path, "post.txt", f"Eager\n\n{measured}\nCompiled\n\n{measured}\nBenchmark ...\n")
    assert [load.params["heading"] for load in loads] == ["Eager", "Compiled"]
    assert [load.notes for load in loads] == [[], []]


def test_records_of_one_batch(tmp_path: Path) -> None:
    record = {
        "run_name": "default", "batch_size": 4, "input_len": 128, "output_len": 8, "prefill_latency": 0.125,
        "prefill_throughput": 4096.0, "median_decode_latency": 0.0125, "median_decode_throughput": 320.0,
        "total_latency": 0.5, "overall_throughput": 1088.0,
    }  # fmt: skip
    lines = [json.dumps(record), json.dumps(record | {"batch_size": 8})]
    loads = loads_of_text(tmp_path, "result.jsonl", "\n".join(lines) + "\n")
    assert metrics_of(loads[0]) == [
        ("prompt_ms", "stated", 125.0), ("prompt_tps", "stated", 4096.0), ("tpot_ms", "median", 12.5),
        ("batch_decode_tps", "median", 320.0), ("e2e_ms", "stated", 500.0), ("total_tps", "stated", 1088.0),
    ]  # fmt: skip
    assert [points_of(load) for load in loads] == [
        {("pp128 tg8 4 at once", 4, 128, 8)}, {("pp128 tg8 8 at once", 8, 128, 8)},
    ]  # fmt: skip
    assert loads[0].tool == "sglang.bench_one_batch"


BATCH = """#Input tokens: 1024
batch size: {batch}
input_len: 256
output_len: 32
latency: 1.50 s
input throughput: {input} tok/s
output throughput: 101.50 tok/s
last_ttft: 0.25 s
last generation throughput: 99.50 tok/s
acc_length: 2.50{blank}
cache hit rate: 0.2500
"""
EXPECTED_BATCH = [
    ("e2e_ms", "stated", 1500.0), ("prompt_tps", "stated", 4096.5), ("batch_decode_tps", "stated", 101.5),
    ("ttft_ms", "max", 250.0), ("stated", "stated", 99.5), ("acceptance_length", "mean", 2.5),
]  # fmt: skip


def test_printed_batches_of_a_server_without_the_warm_up(tmp_path: Path) -> None:
    """The table behind them repeats them."""
    text = (
        "python3 -m sglang.bench_one_batch_server --model None --batch-size 4 8\n======== Warmup Begin ========\n"
        f"{BATCH.format(blank=' ', batch=4, input='999.50')}======== Warmup End   ========\n\n"
        f"{BATCH.format(blank=' ', batch=4, input='4096.50')}{BATCH.format(blank=' ', batch=8, input='8192.50')}"
        "Results are saved to result.jsonl\n\nInput lens: (256,). Output lens: (32,).\n"
        "|   batch size |   input len |   latency (s) |   input throughput (tok/s) |   output throughput (tok/s) |\n"
        "|--------------|-------------|---------------|----------------------------|-----------------------------|\n"
        "|            4 |         256 |          1.5  |                    4096.5  |                       101.5 |\n"
    )
    first, second = loads_of_text(tmp_path, "post.txt", text)
    assert first.tool == "sglang.bench_one_batch_server" and metrics_of(first) == EXPECTED_BATCH
    assert points_of(second) > {("pp256 tg32 8 at once", 8, 256, 32)} and "warm-up" in first.notes[0]
    assert first.params["cache hit rate"] == 0.25


TABLE = """Input lens: (1024,). Output lens: (32,).
|   batch size |   input len |   latency (s) |   input throughput (tok/s) |   output throughput (tok/s) | acc length   |   ITL (ms) |   input cost ($/1M) |
|--------------|-------------|---------------|----------------------------|-----------------------------|--------------|------------|---------------------|
|            1 |        1024 |          1.25 |                     5120.5 |                       101.5 | n/a          |       9.85 |                0.11 |
|           16 |        1024 |          3.5  |                    21504   |                      1433.5 | 2.75         |      11.15 |                0.11 |
"""  # noqa: E501


def test_report_of_a_server_s_batches(tmp_path: Path) -> None:
    first, second = loads_of_text(tmp_path, "post.md", f"Some words.\n\n{TABLE}")
    assert metrics_of(second) == [
        ("e2e_ms", "stated", 3500.0), ("prompt_tps", "stated", 21504.0), ("batch_decode_tps", "stated", 1433.5),
        ("acceptance_length", "mean", 2.75), ("tpot_ms", "mean", 11.15),
    ]  # fmt: skip
    assert points_of(first) == {("pp1024 tg32 1 at once", 1, 1024, 32)}


def test_records_of_a_server_s_batches(tmp_path: Path) -> None:
    """The early ones divide the output by the whole latency, the later ones by what is left after the first token."""
    early = {"run_name": "default", "batch_size": 16, "input_len": 1024, "output_len": 16, "latency": 1.25,
             "output_throughput": 204.5, "overall_throughput": 13312.5, "last_gen_throughput": 199.5}  # fmt: skip
    later = early | {"input_throughput": 21504.5, "last_ttft": 0.5, "acc_length": -1, "cache_hit_rate": None}
    loads = loads_of_text(tmp_path, "r.jsonl", f"{json.dumps(early)}\n{json.dumps(later)}\n")
    assert metrics_of(loads[0]) == [
        ("e2e_ms", "stated", 1250.0), ("output_tps", "stated", 204.5), ("total_tps", "stated", 13312.5),
        ("stated", "stated", 199.5),
    ]  # fmt: skip
    assert metrics_of(loads[1]) == [
        ("e2e_ms", "stated", 1250.0), ("prompt_tps", "stated", 21504.5), ("batch_decode_tps", "stated", 204.5),
        ("total_tps", "stated", 13312.5), ("ttft_ms", "max", 500.0), ("stated", "stated", 199.5),
    ]  # fmt: skip


def test_record_of_the_offline_throughput(tmp_path: Path) -> None:
    record = {"backend": "engine", "successful_requests": 10, "total_latency": 4.5, "total_input_tokens": 1970,
              "total_output_tokens": 2780, "last_gen_throughput": 40.5, "request_throughput": 2.25,
              "input_throughput": 437.5, "output_throughput": 617.5, "total_throughput": 1055.0}  # fmt: skip
    (load,) = loads_of_text(tmp_path, "r.jsonl", json.dumps(record) + "\n")
    assert load.tool == "sglang.bench_offline_throughput" and metrics_of(load) == [
        ("requests", "total", 10), ("duration_s", "total", 4.5), ("prompt_tokens", "total", 1970),
        ("completion_tokens", "total", 2780), ("stated", "stated", 40.5), ("request_tps", "mean", 2.25),
        ("prompt_tps", "mean", 437.5), ("output_tps", "mean", 617.5), ("total_tps", "mean", 1055.0),
    ]  # fmt: skip


def test_records_of_drafts_that_were_compared(tmp_path: Path) -> None:
    record = {"batch_size": 1, "steps": 3, "topk": 1, "num_draft_tokens": 4, "acc_length": 2.5, "step_time": 0.0125,
              "speed": 200.0, "completion_tokens": 510.5}  # fmt: skip
    (load,) = loads_of_text(tmp_path, "output.jsonl", json.dumps(record) + "\n")
    assert metrics_of(load) == [
        ("acceptance_length", "mean", 2.5), ("stated", "p20", 12.5), ("decode_tps", "stated", 200.0),
        ("completion_tokens", "mean", 510.5),
    ]  # fmt: skip
    assert load.params["steps"] == 3


def test_one_prompt(tmp_path: Path) -> None:
    frame = "+-------------+--------+------------+-----------------+\n"
    (load,) = loads_of_text(
        tmp_path, "post.txt",
        "$ python3 -m sglang.test.send_one\nSome words of an answer.\n\n"
        f"{frame}| Latency (s) | Tokens | Acc Length | Speed (token/s) |\n{frame}"
        f"|    1.250    |  250   |   2.500    |     200.00      |\n{frame}",
    )  # fmt: skip
    assert load.tool == "sglang.test.send_one" and metrics_of(load) == [
        ("e2e_ms", "stated", 1250.0), ("completion_tokens", "total", 250.0), ("acceptance_length", "mean", 2.5),
        ("e2e_tps", "stated", 200.0),
    ]  # fmt: skip


def test_early_lines_of_one_prompt(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", "Before:\nacc_length=2.50\nspeed=200.50 token/s\n")
    assert metrics_of(load) == [("acceptance_length", "mean", 2.5), ("e2e_tps", "stated", 200.5)]


TURNS = """All requests completed
Performance metrics summary:
  Total requests: 256 at 8 requests per second
  Average Prompt Length: 2100.50 tokens
  Average TTFT: 0.35
  P90 TTFT: 0.75
  Max ITL: 0.0125
  Median latency: 1.25
  Output token throughput: 410.50 tokens per second
  Request Throughput: 6.50 requests per second
  Cache Hit Rate: 0.612345
Per-round metrics:
  Round 0: Average TTFT = 0.50s, Cache Hit Rate = 0.012000 (64 requests)
"""


def test_conversations_of_several_turns(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", f"python3 bench_multiturn.py --model-path org/model\n{TURNS}")
    assert (load.tool, load.model) == ("sglang bench_multiturn.py", "org/model")
    assert metrics_of(load) == [
        ("requests", "total", 256), ("prompt_tokens", "mean", 2100.5), ("ttft_ms", "mean", 350),
        ("ttft_ms", "p90", 750), ("itl_ms", "max", 12.5), ("e2e_ms", "median", 1250), ("output_tps", "mean", 410.5),
        ("request_tps", "mean", 6.5), ("ttft_ms", "mean", 500),
    ]  # fmt: skip
    assert results_of(load)[-1].point == "8 requests/s, round 0"
    assert load.params["Cache Hit Rate"] == 0.612345


def test_mixed_conversations_state_no_rate(tmp_path: Path) -> None:
    text = TURNS.replace(" at 8 requests per second", "").replace("Request Throughput", "Throughput")
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert metrics_of(load)[0] == ("requests", "total", 256) and ("request_tps", "mean", 6.5) in metrics_of(load)


def test_record_of_conversations_of_several_turns(tmp_path: Path) -> None:
    summary = {"total_requests": 256, "request_rate": 8, "average_ttft": 0.35, "p90_ttft": 0.75, "median_latency": 1.25,
               "output_token_throughput": 410.5, "throughput": 6.5, "cache_hit_rate": 0.61}  # fmt: skip
    record = {"timestamp": "2026-10-01 10:11:12", "tag": "a", "summary": summary}
    (load,) = loads_of_text(tmp_path, "p.jsonl", json.dumps(record) + "\n")
    assert metrics_of(load) == [
        ("requests", "total", 256), ("ttft_ms", "mean", 350), ("ttft_ms", "p90", 750), ("e2e_ms", "median", 1250),
        ("output_tps", "mean", 410.5), ("request_tps", "mean", 6.5),
    ]  # fmt: skip
