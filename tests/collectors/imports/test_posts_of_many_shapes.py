"""Posts as people write them, each of several shapes at once, with every value and the arm that it belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from load_records import Result
from tests.collectors.imports.captured import loads_of

Figure = tuple[str, str, float, int | None]
POSTS: dict[str, tuple[str, list[Figure]]] = {
    "a rig": (
        "Finally got my dual 3090 rig running Qwen3-32B AWQ on vLLM 0.11.0 with TP=2.\n\n"
        "Single user: 45.5 tok/s, TTFT ~350 ms\n8 users: 245.5 tok/s total, TTFT p50/p99 420/980 ms\n",
        [("decode_tps", "stated", 45.5, None), ("ttft_ms", "stated", 350.0, None), ("stated", "stated", 245.5, 8),
         ("ttft_ms", "median", 420.0, 8), ("ttft_ms", "p99", 980.0, 8)],
    ),
    "logged statistics": (
        "2026-01-02 03:04:05,678 - INFO - benchmark - Concurrency 8: TTFT p50=120.5ms p99=320.5ms\n"
        "2026-01-02 03:05:05,678 - INFO - benchmark - Concurrency 16: TTFT p50=220.5ms p99=520.5ms\n",
        [("ttft_ms", "median", 120.5, 8), ("ttft_ms", "p99", 320.5, 8), ("ttft_ms", "median", 220.5, 16),
         ("ttft_ms", "p99", 520.5, 16)],
    ),
    "a release": (
        "## v0.5.7\n\n- Median TTFT/ITL went from 120 and 15 ms to 95 and 13 ms\n- p99 ITL: 32 ms -> 28 ms\n",
        [("ttft_ms", "median", 120.0, None), ("itl_ms", "median", 15.0, None), ("ttft_ms", "median", 95.0, None),
         ("itl_ms", "median", 13.0, None), ("itl_ms", "p99", 32.0, None), ("itl_ms", "p99", 28.0, None)],
    ),
    "compared lists": (
        "The p50/p99 ITL moved: ITL p50/p99: 21/65 ms -> 19/60 ms.\n",
        [("itl_ms", "median", 21.0, None), ("itl_ms", "p99", 65.0, None), ("itl_ms", "median", 19.0, None),
         ("itl_ms", "p99", 60.0, None)],
    ),
    "a list of answers": (
        "Results (RTX 4090, Q4_K_M):\n\n* Prompt processing: 1450.5 t/s\n* Generation: 95.5 t/s (p50), 90.1 t/s (p10)\n"
        "* Time to first token: 120 ms (p50), 320 ms (p99)\n",
        [("decode_tps", "median", 95.5, None), ("decode_tps", "p10", 90.1, None), ("ttft_ms", "median", 120.0, None),
         ("ttft_ms", "p99", 320.0, None), ("prompt_tps", "stated", 1450.5, None)],
    ),
    "an environment": (
        "GPU=RTX 5090\nMODEL=Qwen3-8B\nQUANT=NVFP4\nC=32\nTTFT_MS=120.5\nTPOT_MS=12.5\nTOK_S=2450.5\n",
        [("ttft_ms", "stated", 120.5, None), ("tpot_ms", "stated", 12.5, None), ("stated", "stated", 2450.5, None)],
    ),
    "logged by a client": (
        "[2026-01-02 03:04:05] INFO serving.py:812: #Input tokens: 1000\n"
        "[2026-01-02 03:04:15] INFO serving.py:912: Output token throughput (tok/s): 1450.25\n"
        "[2026-01-02 03:04:15] INFO serving.py:914: Median TTFT (ms): 81.25\n",
        [("output_tps", "stated", 1450.25, None), ("ttft_ms", "median", 81.25, None)],
    ),
    "a chat": (
        "vLLM nightly on B200, gpt-oss-120b MXFP4: 1->64 users\n- 1 user: 245 tok/s, TTFT 60ms\n"
        "- 64 users: 6.5k tok/s, TTFT p50 180 / p99 640 ms\n",
        [("ttft_ms", "median", 180.0, 64), ("ttft_ms", "p99", 640.0, 64), ("stated", "stated", 245.0, 1),
         ("ttft_ms", "stated", 60.0, 1), ("stated", "stated", 6500.0, 64)],
    ),
    "a container's logger": (
        "bench-1  | 2026-01-02 03:04:05 INFO: TTFT mean: 81.5 ms\n"
        "bench-1  | 2026-01-02 03:04:05 INFO: Throughput: 1450.5 tok/s\n",
        [("ttft_ms", "mean", 81.5, None), ("output_tps", "stated", 1450.5, None)],
    ),
    "a million tokens a minute": (
        "Total throughput: 1.35M tokens/min across 8 nodes, TTFT 81.5 ms\n",
        [("total_tps", "stated", 22500.0, None), ("ttft_ms", "stated", 81.5, None)],
    ),
}  # fmt: skip
ARMS = {
    "an issue": (
        "**Before** (0.11.0):\n```\nINFO 11-28 12:34:56 [b.py:42] Mean TTFT (ms): 120.55\n```\n**After** (this PR):\n"
        "```\nINFO 11-28 12:44:56 [b.py:42] Mean TTFT (ms): 110.55\n```\n",
        {"Before": 120.55, "After": 110.55},
    ),
    "a pull request": (
        "Benchmark on L40S:\n\n[main]\nconcurrency = 16\nttft_p50_ms = 120.5\n\n[this PR]\nconcurrency = 16\n"
        "ttft_p50_ms = 110.5\n",
        {"main": 120.5, "this PR": 110.5},
    ),
    "drafts": (
        "```\nno spec decode\n  TTFT: 81.5 ms\n\nngram\n  TTFT: 82.5 ms\n\neagle3\n  TTFT: 83.5 ms\n```\n",
        {"no spec decode": 81.5, "ngram": 82.5, "eagle3": 83.5},
    ),
    "a script that logs its arms": (
        "".join(
            f"2026-01-02 03:04:05 INFO     {line}\n"
            for line in ("=== baseline ===", "TTFT: 81.5 ms", "=== mtp ===", "TTFT: 71.5 ms")
        ),
        {"baseline": 81.5, "mtp": 71.5},
    ),
    "flags and answers": (
        "`-fa on -ctk q8_0`\n```\ndecode: 42.5 tok/s\n```\n`-fa off`\n```\ndecode: 32.5 tok/s\n```\n",
        {"-fa on -ctk q8_0": 42.5, "-fa off": 32.5},
    ),
}


def rows_of(tmp_path: Path, text: str) -> list[Result]:
    path = tmp_path / "post.md"
    path.write_text(text)
    return [row for load in loads_of(path) for row in load.result_rows]


@pytest.mark.parametrize(("text", "figures"), POSTS.values(), ids=POSTS)
def test_every_value_of_a_post(tmp_path: Path, text: str, figures: list[Figure]) -> None:
    rows = rows_of(tmp_path, text)
    assert [(row.metric, row.statistic, row.value, row.concurrency) for row in rows] == figures


@pytest.mark.parametrize(("text", "arms"), ARMS.values(), ids=ARMS)
def test_every_arm_of_a_post(tmp_path: Path, text: str, arms: dict[str, float]) -> None:
    rows = rows_of(tmp_path, text)
    assert [row.value for row in rows] == [*arms.values()]
    assert all(row.point.startswith(name) for row, name in zip(rows, arms, strict=True))
