"""Benchmarks that come with local runtimes (oMLX, ExLlamaV3, LocalScore) and fmperf's sweep of users."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_answer_lines import key_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

RULE = "-" * 80 + "\n"
OMLX = (
    "oMLX - LLM inference, optimized for your Mac\nhttps://github.com/jundot/omlx\nBenchmark Model: Small-9B-4bit\n"
    f"{'=' * 80}\n\nSingle Request Results\n{RULE}"
    "Test                TTFT(ms)    TPOT(ms)        pp TPS        tg TPS      E2E(s)    Throughput    Peak Mem\n"
    "pp1024/tg128          2558.4       16.46   400.2 tok/s    61.2 tok/s       4.649   247.8 tok/s     6.67 GB\n"
    "pp16384/tg128        4421.9        0.00  3705.2 tok/s     0.0 tok/s       4.422  3705.2 tok/s     3.08 GB\n"
    f"\nContinuous Batching — Same Prompt\npp1024 / tg128 · partial prefix cache hit\n{RULE}"
    "Batch           tg TPS   Speedup        pp TPS    pp TPS/req    TTFT(ms)      E2E(s)\n"
    "1x          61.2 tok/s     1.00x   400.2 tok/s   400.2 tok/s      2558.4       4.649\n"
    "2x          85.0 tok/s     1.39x   400.7 tok/s   200.3 tok/s      5111.1       8.122\n"
    f"\nContinuous Batching — Different Prompts\npp1024 / tg128 · no cache reuse\n{RULE}"
    "Batch           tg TPS   Speedup        pp TPS    pp TPS/req    TTFT(ms)      E2E(s)\n"
    "2x          86.5 tok/s     1.41x   400.2 tok/s   200.1 tok/s      5117.1       8.078\n"
)


@pytest.mark.parametrize("frame", ["{}", "On my Mac:\n\n```\n{}```\n\nIs that slow?\n"])
def test_omlx(tmp_path: Path, frame: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", frame.replace("{}", OMLX))
    assert (load.tool, load.model) == ("oMLX", "Small-9B-4bit")
    rows = [(row.point, row.metric, row.value, row.concurrency, row.prompt_tokens) for row in results_of(load)]
    assert rows == [
        ("pp1024 tg128", "ttft_ms", 2558.4, 1, 1024), ("pp1024 tg128", "tpot_ms", 16.46, 1, 1024),
        ("pp1024 tg128", "prompt_tps", 400.2, 1, 1024), ("pp1024 tg128", "decode_tps", 61.2, 1, 1024),
        ("pp1024 tg128", "e2e_ms", 4649, 1, 1024), ("pp1024 tg128", "total_tps", 247.8, 1, 1024),
        ("pp1024 tg128: peak memory", "stated", 6.67, 1, 1024),
        ("pp16384 tg128", "ttft_ms", 4421.9, 1, 16384), ("pp16384 tg128", "prompt_tps", 3705.2, 1, 16384),
        ("pp16384 tg128", "e2e_ms", 4422, 1, 16384), ("pp16384 tg128", "total_tps", 3705.2, 1, 16384),
        ("pp16384 tg128: peak memory", "stated", 3.08, 1, 16384),
        ("same prompt, 1 at once", "decode_tps", 61.2, 1, 1024),
        ("same prompt, 1 at once", "prompt_tps", 400.2, 1, 1024),
        ("same prompt, 1 at once", "prompt_tps_per_request", 400.2, 1, 1024),
        ("same prompt, 1 at once", "ttft_ms", 2558.4, 1, 1024), ("same prompt, 1 at once", "e2e_ms", 4649, 1, 1024),
        ("same prompt, 2 at once", "batch_decode_tps", 85, 2, 1024),
        ("same prompt, 2 at once", "prompt_tps", 400.7, 2, 1024),
        ("same prompt, 2 at once", "prompt_tps_per_request", 200.3, 2, 1024),
        ("same prompt, 2 at once", "ttft_ms", 5111.1, 2, 1024), ("same prompt, 2 at once", "e2e_ms", 8122, 2, 1024),
        ("different prompts, 2 at once", "batch_decode_tps", 86.5, 2, 1024),
        ("different prompts, 2 at once", "prompt_tps", 400.2, 2, 1024),
        ("different prompts, 2 at once", "prompt_tps_per_request", 200.1, 2, 1024),
        ("different prompts, 2 at once", "ttft_ms", 5117.1, 2, 1024),
        ("different prompts, 2 at once", "e2e_ms", 8078, 2, 1024),
    ]  # fmt: skip


def test_a_column_names_its_side_beside_a_test_of_both(tmp_path: Path) -> None:
    table = (
        "| test | avg time | pp t/s | tg t/s | ttft |\n|---|---|---|---|---|\n"
        "| pp1024+tg16 | 225.50 ms | 5123.45 | 123.45 | 95.50 ms |\n"
    )
    (load,) = loads_of_text(tmp_path, "localscore.md", table)
    assert [(row.metric, row.value) for row in results_of(load)] == [
        ("stated", 225.5), ("prompt_tps", 5123.45), ("output_tps", 123.45), ("ttft_ms", 95.5),
    ]  # fmt: skip
    (load,) = loads_of_text(tmp_path, "sum.md", "| Test | Speed (t/s) |\n|---|---|\n| pp512+tg128 | 745.5 |\n")
    assert [(row.metric, row.value) for row in results_of(load)] == [("total_tps", 745.5)]


CHAT = (
    "Context: 1,234 new tokens at 2345.67 t/s - 0 tokens cached - Generate: 512 tokens at 45.67 t/s - "
    "Draft: 300 / 400 accepted (75.00%)\n"
)
PERF = (
    " -- Bitrate: 4.00 bpw / 6.00 bpw (head)\n -- Chunk size: 4096\n\nPrefill:\nLength     256:    3456.78 tokens/s\n"
    "Length    4096:    7456.78 tokens/s\n\nGeneration\nContext      0:     123.45 tokens/s\n"
    "Context   4096:     111.45 tokens/s\n"
)
GENERATOR = (
    "New tokens:              512 t\nCached tokens:         0 t /     345 t\nEnqueued:               0.01 s\n"
    "Prefill:                0.25 s\nGeneration:           512.00 s\nJob input             1380.00 t/s\n"
    "Job output              45.67 t/s\nOverall output         145.67 t/s\nSD efficiency:         75.00%\n"
)


def test_exllamas_chat(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", f"Sure.\n\n{CHAT}")
    rows = results_of(load)
    assert load.tool == "ExLlamaV3 chat"
    assert {key_of(row): row.value for row in rows if row.metric != "stated"} == {
        "prompt_tps": 2345.67, "decode_tps": 45.67, "acceptance_rate": 0.75,
    }  # fmt: skip
    assert sorted(row.value or 0 for row in rows if row.metric == "stated") == [300, 400]
    assert {(row.prompt_tokens, row.output_tokens) for row in rows} == {(1234, 512)}


def test_exllamas_speeds_by_length_and_depth(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", PERF)
    assert load.tool == "ExLlamaV3 perf"
    assert [(row.point, row.metric, row.value, row.depth_tokens) for row in results_of(load)] == [
        ("pp256", "prompt_tps", 3456.78, None), ("pp4096", "prompt_tps", 7456.78, None),
        ("empty context", "decode_tps", 123.45, 0), ("@ d4096", "decode_tps", 111.45, 4096),
    ]  # fmt: skip


def test_exllamas_generator_prints_tokens_as_seconds(tmp_path: Path) -> None:
    """Its `Generation` is the number of tokens, whatever the unit says."""
    (load,) = loads_of_text(tmp_path, "post.txt", GENERATOR)
    assert {key_of(row): row.value for row in results_of(load)} == {
        "prompt_ms": 250, "prompt_tps": 1380, "decode_tps": 45.67, "output_tps": 145.67, "acceptance_rate": 0.75,
    }  # fmt: skip


FMPERF = """    n_requests  n_fail  n_oom  n_toks  n_exclude  consistent_pct  throughput  latency_prefill_ms  latency_nexttoken_ms  latency_e2e_ms
1           12       0      0    1536          1         100.000      51.200              35.250                19.125        2460.500
8           96       1      0   12288          8         100.000     409.600              75.250                20.125        2635.500
"""  # noqa: E501


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("post.txt", f"My sweep:\n\n```\n{FMPERF}```\n"),
        ("sweep.csv", "\n".join(",".join(line.split()) for line in FMPERF.splitlines()).replace("n_req", ",n_req", 1)),
    ],
)
def test_fmperf(tmp_path: Path, name: str, text: str) -> None:
    (load,) = loads_of_text(tmp_path, name, text)
    assert load.tool == "fmperf"
    assert [(row.metric, row.statistic, row.value) for row in results_of(load) if row.concurrency == 8] == [
        ("requests", "total", 95), ("completion_tokens", "total", 12288), ("failed_requests", "total", 1),
        ("output_tps", "mean", 409.6), ("ttft_ms", "mean", 75.25), ("itl_ms", "mean", 20.125),
        ("e2e_ms", "mean", 2635.5),
    ]  # fmt: skip


def test_names_of_a_prompts_and_a_next_tokens_latency(tmp_path: Path) -> None:
    table = "| c | latency_prefill_ms | Next token latency (ms) |\n|---|---|---|\n| 8 | 35.25 | 19.5 |\n"
    (load,) = loads_of_text(tmp_path, "post.md", table)
    assert [(row.metric, row.value) for row in results_of(load)] == [("prompt_ms", 35.25), ("itl_ms", 19.5)]
