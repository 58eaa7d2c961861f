"""Levels in words of a row, lengths beside a unit of the row, phases named before a bracket, versions and models."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.results.prose.sentences import read_sentences
from tests.collectors.imports.captured import load_of, results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text

DESCRIBED = """\
Statistics summary:
runtime_sec = 215.75
---------------------------------------------------------------------------------------
              count     mean     std      min      50%      99%      max
ttft_ms       166.0    78.25   67.75    45.95    62.25   353.25   567.75
latency_ms    166.0  2591.25  326.95  1998.55  2573.05  3268.45  3862.95
input_tokens  166.0  2006.25  893.55   522.05  2019.05  3736.45  3899.05
"""


def test_statistics_of_measurements_that_are_rows(tmp_path: Path) -> None:
    path = tmp_path / "post.txt"
    path.write_text(DESCRIBED)
    rows = [row for row in results_of(load_of(path)) if row.unit == "ms"]
    statistics = ("mean", "min", "median", "p99", "max")
    assert [(row.metric, row.statistic, row.value) for row in rows] == [
        *zip(["ttft_ms"] * 5, statistics, (78.25, 45.95, 62.25, 353.25, 567.75), strict=True),
        *zip(["e2e_ms"] * 5, statistics, (2591.25, 1998.55, 2573.05, 3268.45, 3862.95), strict=True),
    ]


def test_lengths_beside_a_column_of_metrics_are_no_results(tmp_path: Path) -> None:
    text = (
        "| Input Tokens | Output Tokens | Metric | Before | After |\n|---|---|---|---|---|\n"
        "| 5000 | 1000 | Requests/s | 1.75 | 1.95 |\n| | | Output Tokens/s | 1769.5 | 1924.5 |\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.prompt_tokens, row.output_tokens) for row in rows] == [
        ("request_tps", 1.75, 5000, 1000), ("request_tps", 1.95, 5000, 1000),
        ("output_tps", 1769.5, 5000, 1000), ("output_tps", 1924.5, 5000, 1000),
    ]  # fmt: skip


def test_phase_before_a_bracket_is_that_of_its_number(tmp_path: Path) -> None:
    text = "Prefill runs at 99 tok/s — the same rate as decode (66–147 tok/s)."
    assert figures_of(tmp_path, text) == [
        ("prompt_tps", "stated", 99.0), ("decode_tps", "min", 66.0), ("decode_tps", "max", 147.0),
    ]  # fmt: skip


def test_phase_that_runs_with_an_engine(tmp_path: Path) -> None:
    text = "I get faster (5x) prompt eval with the new one: 512 t/s vs 100 t/s."
    assert figures_of(tmp_path, text) == [("prompt_tps", "stated", 512.0), ("prompt_tps", "stated", 100.0)]


def test_a_rise_is_no_latency(tmp_path: Path) -> None:
    text = "TTFT was 341 ms.\n\n- **Cold** rises ~0.35 ms per prompt token (more tokens to prefill)."
    assert figures_of(tmp_path, text) == [("ttft_ms", "stated", 341.0)]


@pytest.mark.parametrize("other_text", ["I went back to 0.6.8", "**0.6.8:** 2.5 t/s"])
def test_versions_that_are_compared_are_none_of_the_engine(tmp_path: Path, other_text: str) -> None:
    path = tmp_path / "post.md"
    path.write_text(f"I tried Ollama 0.7 and get 2.5 t/s. {other_text}, where it ran at 2.9 t/s.\n")
    assert "engine" not in load_of(path).params


def test_memory_of_a_card_that_uses_a_part_of_it(tmp_path: Path) -> None:
    assert figures_of(tmp_path, "GPU: T4 16GB using 4GB profile\n\nIt runs at 2.5 t/s.") == [("stated", "stated", 2.5)]


def test_tag_of_a_model_in_a_command(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text("`evalscope perf --model tiny-r1:7b --number 10`\n\nIt runs at 2.5 t/s.\n")
    assert load_of(path).model == "tiny-r1:7b"


@pytest.mark.parametrize(
    ("sentence", "figures"),
    [
        ("I'm only getting 20.5 tok/s, is that expected?", [("stated", "stated", 20.5)]),
        ("Why am I only getting 20.5 tok/s of decode?", [("decode_tps", "stated", 20.5)]),
        ("With my card decoding reaches 45.5 t/s - what do you get?", [("decode_tps", "stated", 45.5)]),
        ("Qwen3-8B @ 85.5 tok/s", [("stated", "stated", 85.5)]),
        ("generation throughput on the fork, approximately 155 tokens/s.", [("output_tps", "stated", 155.0)]),
        ("同样的情况下 TPOT也是20.5ms左右", [("tpot_ms", "stated", 20.5)]),
        ("Peak output token throughput: 1450.5 tok/s", [("peak_output_tps", "max", 1450.5)]),
    ],
)
def test_sentences_that_ask_about_a_result_or_name_it_in_passing(
    tmp_path: Path, sentence: str, figures: list[tuple[str, str, float]]
) -> None:
    assert figures_of(tmp_path, sentence) == figures


def test_a_difference_is_no_latency(tmp_path: Path) -> None:
    text = "TTFT was 81.5 ms. TTFT (start of response) is ~52 ms faster with vLLM, and TPOT about 6 ms longer."
    assert figures_of(tmp_path, text) == [("ttft_ms", "stated", 81.5)]


@pytest.mark.parametrize(
    "sentence",
    ["Can I get 20 tok/s with my card, is that possible?", "Why do I need 20 tok/s?", "Is my 20 tok/s ok?",
     "Would we reach 20 tok/s, or is it slower?"],
)  # fmt: skip
def test_questions_state_no_result(sentence: str) -> None:
    assert read_sentences(sentence) == []


RUNS_OF_PHASES = """Prefill (4096 tokens, 2 runs):
  Run 1:  812.5 tok/s, TTFT=5.04s
  Average: 815.5 tok/s, TTFT=5.02s

Decode (64 tokens, 2 runs):
  Run 1:  5.20 tok/s (192.3ms/tok)
  Run 2:  5.40 tok/s (185.2ms/tok)
  Average: 5.30 tok/s (188.7ms/tok)
"""


def test_the_heading_of_a_phase_and_the_word_that_leads_a_row_are_of_all_its_figures(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "engine.txt", RUNS_OF_PHASES)
    rows = {(row.metric, row.statistic, row.value) for row in results_of(load)}
    assert rows == {
        ("prompt_tps", "stated", 812.5), ("prompt_tps", "mean", 815.5), ("ttft_ms", "stated", 5040.0),
        ("ttft_ms", "mean", 5020.0), ("decode_tps", "stated", 5.2), ("decode_tps", "stated", 5.4),
        ("decode_tps", "mean", 5.3), ("tpot_ms", "stated", 192.3), ("tpot_ms", "stated", 185.2),
        ("tpot_ms", "mean", 188.7),
    }  # fmt: skip
    (first,) = (row for row in results_of(load) if row.value == 5040.0)
    assert "Run 1" in first.point


@pytest.mark.parametrize(
    ("text", "metrics"),
    [
        ("Decode runs at 50 tok/s (20 ms/token).\n", ["decode_tps", "tpot_ms"]),
        ("Prefill runs at 500 tok/s (2 ms/token).\n", ["prompt_tps"]),
        ("### Decode\n\nAt 32 users: 500 tok/s in total.\n", ["stated"]),  # of all of them
        ("Prefill:\n\nRun 1: 500 tok/s\nMixed run: 30 tok/s with decoding\n", ["prompt_tps", "stated"]),
    ],
)
def test_a_time_per_token_is_one_beside_the_speed_of_decoding(tmp_path: Path, text: str, metrics: list[str]) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [row.metric for row in results_of(load)] == metrics


@pytest.mark.parametrize(
    "text",
    [
        "- c=1: decode 45.5 tok/s\n- c=4: decode 120.5 tok/s\n",
        "c=1: TTFT 81 ms, decode 45.5 tok/s\nc=4: TTFT 91 ms, decode 120.5 tok/s\n",
        "## Concurrency 1\n\nDecode speed: 45.5 tok/s\n\n## Concurrency 4\n\nDecode speed: 120.5 tok/s\n",
        "Decode is 45.5 tok/s at c=1 and 120.5 tok/s at c=4.\n",
        "| c | decode tok/s |\n|---|---|\n| 1 | 45.5 |\n| 4 | 120.5 |\n",
    ],
)
def test_a_series_over_levels_is_of_one_metric(tmp_path: Path, text: str) -> None:
    rows = [row for row in results_of_text(tmp_path, text) if row.unit == "tok/s"]
    assert [(row.metric, row.value, row.concurrency) for row in rows] == [
        ("output_tps", 45.5, 1), ("output_tps", 120.5, 4),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "- c=1: decode 45.5 tok/s per request\n- c=4: decode 20.5 tok/s per request\n",
        "- c=1: decode 45.5 tok/s\n",
        "Decode is 45.5 tok/s at c=1, and the aggregate throughput is 120.5 tok/s at c=4.\n",
    ],
)
def test_the_speed_of_one_stream_stays_one(tmp_path: Path, text: str) -> None:
    assert results_of_text(tmp_path, text)[0].metric == "decode_tps"


@pytest.mark.parametrize(
    "text",
    [
        "- c=1: decode 45.5 tok/s\n- c=4: decode 20.5 tok/s\n",
        "| c | decode tok/s |\n|---|---|\n| 1 | 45.5 |\n| 4 | 20.5 |\n",
    ],
)
def test_a_series_that_falls_with_the_level_is_of_one_stream(tmp_path: Path, text: str) -> None:
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value) for row in rows] == [("decode_tps", 45.5), ("decode_tps", 20.5)]
