"""Words near figures that say what they are: a label above a list, a bracket, a build, a table of models."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import load_of, loads_of, results_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


def test_a_label_above_a_list_names_the_latency_of_its_sentences(tmp_path: Path) -> None:
    text = "Results so far:\n- ITL:\n    - for the easy set: from 17ms to 8-12ms, about half\n    - no gain elsewhere\n"
    assert figures_of(tmp_path, text) == [
        ("itl_ms", "stated", 17.0),
        ("itl_ms", "min", 8.0),
        ("itl_ms", "max", 12.0),
    ]


def test_a_build_is_no_speed(tmp_path: Path) -> None:
    text = (
        "### Prefill (t/s)\n\n| image | build | pp512 |\n|---|---|---|\n| a | 10472 | 298.5 |\n| b | 10594 | 332.5 |\n"
    )
    assert [row.value for row in results_of_text(tmp_path, text)] == [298.5, 332.5]


def test_the_model_of_a_sentence_is_not_that_of_a_table_of_models(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "| Model | tg128 (t/s) |\n|---|---|\n| Tiny-8B | 64.5 |\n| Tiny-4B | 85.5 |\n\n"
        "Also Qwen3-Coder-30B-A3B (IQ1_S, 17.5GB) at 51.5 tok/s.\n"
    )
    load = load_of(path)
    assert load.model is None
    assert results_of(load)[-1].point == "Also Qwen3-Coder-30B-A3B (IQ1_S, 17.5GB) at 51.5 tok/s. (line 6)"


def test_a_comma_within_brackets_parts_no_words(tmp_path: Path) -> None:
    text = "Big-80B (IQ1_S, 17.5GB) runs at 64.5 tok/s and Small-2B (i2_s, 1.5GB) at 58.5 tok/s."
    assert [row.point for row in results_of_text(tmp_path, text)] == [
        "Big-80B (IQ1_S, 17.5GB) runs at (line 1)",
        "Small-2B (i2_s, 1.5GB) at (line 1)",
    ]


def test_throughput_lines_in_a_list_with_a_setting_each(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "- > Throughput: 3.5 requests/s, 1400.5 total tokens/s, 700.5 output tokens/s @ --steps 1\n"
        "- > Throughput: 4.5 requests/s, 1500.5 total tokens/s, 750.5 output tokens/s @ --steps 10\n"
    )
    rows = [[(row.metric, row.value, row.point) for row in results_of(load)] for load in loads_of(path)]
    assert rows == [
        [(metric, value, "all requests @ --steps 1") for metric, value in
         (("request_tps", 3.5), ("total_tps", 1400.5), ("output_tps", 700.5))],
        [(metric, value, "all requests @ --steps 10") for metric, value in
         (("request_tps", 4.5), ("total_tps", 1500.5), ("output_tps", 750.5))],
    ]  # fmt: skip


@pytest.mark.parametrize("total", ["", "total duration:       9.5s\n"])
def test_eval_timings_with_and_without_a_total_have_their_lengths(tmp_path: Path, total: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        f"{total}prompt eval count:    14 token(s)\nprompt eval duration: 3.5s\nprompt eval rate:     4.0 tokens/s\n"
        "eval count:           300 token(s)\neval duration:        100.5s\n"
        "eval rate:            2.985074626865672 tokens/s\n"
    )
    load = load_of(path)
    (row,) = [row for row in results_of(load) if row.metric == "decode_tps"]
    assert (row.value, row.prompt_tokens, row.output_tokens) == (2.985074626865672, 14, 300)
    assert load.tool == ("ollama" if total else "ollama or KTransformers")


def test_timings_of_llama_cpp_with_marks_between(tmp_path: Path) -> None:
    text = (
        "prompt eval time =    2000.00 ms /  1000 tokens (    2.00 ms per token,   **500.00 tokens per second**)\n"
        "       eval time =     500.00 ms /    10 tokens (   50.00 ms per token,    `20.00` tokens per second)\n"
    )
    assert [(row.metric, row.value, row.prompt_tokens) for row in results_of_text(tmp_path, text)] == [
        ("prompt_tps", 500.0, 1000), ("prompt_ms", 2000.0, 1000),
        ("decode_tps", 20.0, None), ("decode_ms", 500.0, None),
    ]  # fmt: skip


def test_speeds_named_by_llama_benchs_tests(tmp_path: Path) -> None:
    text = "[bench] run 1/1: 9980 prompt tok, 675.5 PP tok/s, ttft 14770ms, then 31.5 TG tok/s"
    assert [(metric, value) for metric, _, value in figures_of(tmp_path, text)] == [
        ("prompt_tps", 675.5), ("ttft_ms", 14770.0), ("output_tps", 31.5),
    ]  # fmt: skip


def test_what_stands_below_a_heading_of_warm_ups_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        "=== warmups (1) ===\n  warm-1  wall= 36.5s  ttft= 592ms  decode_TPS= 27.5\n"
        "=== measured (2) ===\n  run-1   ttft= 145ms  decode_TPS= 32.5\n  warm-2   ttft= 140ms  decode_TPS= 33.5\n"
    )
    load = load_of(path)
    assert [row.value for row in results_of(load)] == [145.0, 32.5, 140.0, 33.5]
    assert load.notes == ["The warm-up was left out: 1 of the lines."]


def test_a_change_names_no_point(tmp_path: Path) -> None:
    text = "| Test | v1 | v2 | Worse by |\n|---|---|---|---|\n| Hello | 3.5s | 8s | **+4.5s (+129%)** |\n"
    assert [row.point for row in results_of_text(tmp_path, text)] == ["Hello: v1 (line 3)", "Hello: v2 (line 3)"]


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("Timed with **tiny3:4b** on one card.\n\nDecode: 51.5 tok/s\n", "tiny3:4b"),
        ("Gemma3 12B Q4_K_M gives 3.5 tps.\n\nWith Qwen3 I get 2.5 tps.\n", None),
        ("Gemma3 12B Q4_K_M gives 3.5 tps in llama.cpp.\n", "Gemma3 12B"),
        (
            "Tiny run of Qwen3.8-27B (Q4_K_M).\n\nResult: Qwen3.8-27B-Q4_K_M.gguf at 30.5 tok/s\n",
            "Qwen3.8-27B-Q4_K_M.gguf",
        ),
        ("My own one gives 3.5 tps, which is as slow as Qwen3 8B.\n", None),
    ],
)
def test_the_model_of_a_text_is_the_only_one_that_it_speaks_of(tmp_path: Path, text: str, model: str | None) -> None:
    path = tmp_path / "a.md"
    path.write_text(text)
    assert load_of(path).model == model
