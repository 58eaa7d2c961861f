"""Estimates beside measurements, checks of a test, heads of aligned rows, tables that lost their rule."""

from __future__ import annotations

from pathlib import Path

from tests.collectors.imports.captured import load_of, results_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


def test_an_estimate_behind_a_semicolon_does_not_hide_what_was_measured(tmp_path: Path) -> None:
    text = "- The MoE at Q8_0: **85.5 t/s** single-stream, pp512 1,807 t/s; Q4 estimate ~100–110 t/s."
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 85.5), ("prompt_tps", "stated", 1807.0)]


def test_a_first_token_of_content(tmp_path: Path) -> None:
    text = "The gateway got the first content token in 906ms on a cold connection and 814ms on a warm one."
    assert figures_of(tmp_path, text) == [("ttft_ms", "stated", 906.0), ("ttft_ms", "stated", 814.0)]


def test_heads_of_aligned_rows_and_checks_of_a_test(tmp_path: Path) -> None:
    text = (
        "-------------------------------------------\n"
        "                      f16+f16     q8_0+q8_0\n"
        "-------------------------------------------\n"
        "KV cache (MiB)          64.00         34.00\n"
        "Prompt eval (t/s)       812.5        1096.5\n"
        "TTFT (ms)                44.5          32.5\n"
        "-------------------------------------------\n\n"
        "    ok 7 - at least 2 of 3 succeeded (3/3)\n"
        "    ok 8 - q8_0 TTFT (32.5 ms) <= f16 TTFT (44.5 ms) + 15% margin (50.5 ms)\n"
        "The TTFT has a margin of 51 ms.\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.point) for row in rows] == [
        ("stated", 64.0, "KV cache (MiB): f16+f16 (line 4)"),
        ("stated", 34.0, "KV cache (MiB): q8_0+q8_0 (line 4)"),
        ("prompt_tps", 812.5, "Prompt eval (t/s): f16+f16 (line 5)"),
        ("prompt_tps", 1096.5, "Prompt eval (t/s): q8_0+q8_0 (line 5)"),
        ("ttft_ms", 44.5, "TTFT (ms): f16+f16 (line 6)"),
        ("ttft_ms", 32.5, "TTFT (ms): q8_0+q8_0 (line 6)"),
    ]


def test_a_models_name_ends_before_a_bar(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("====Result for Model: o/Tiny-8B====\nAverage Time to First Token (s): 0.5\n")
    assert load_of(path).model == "o/Tiny-8B"


def test_a_table_of_llama_bench_without_its_rule(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        "llama-bench\n| model | size | params | test | t/s |\n"
        "| tiny 8B Q8_0 | 8.5 GiB | 8.03 B | pp2048 | 3610.5 ± 15.5 |\n"
        "| tiny 8B Q8_0 | 8.5 GiB | 8.03 B | tg32 @ d4096 | 74.5 ± 0.5 |\n"
    )
    rows = results_of(load_of(path))
    assert [(row.metric, row.value, row.prompt_tokens, row.depth_tokens) for row in rows] == [
        ("prompt_tps", 3610.5, 2048, 0), ("decode_tps", 74.5, 0, 4096),
    ]  # fmt: skip


def test_several_runs_in_a_cell_have_the_unit_of_a_sibling_column(tmp_path: Path) -> None:
    text = "| conc | limit=2 | limit=4 (3 samples) |\n|---|---|---|\n| c1 | 115.5 tok/s | 112.5 / 118.5 / 113 |\n"
    assert [(row.value, row.concurrency) for row in results_of_text(tmp_path, text)] == [
        (115.5, 1), (112.5, 1), (118.5, 1), (113.0, 1),
    ]  # fmt: skip


def test_the_length_of_a_prompt_does_not_name_its_speed(tmp_path: Path) -> None:
    text = "That is 57 / 49 / 26 tok/s at ~200 / ~2k / ~12k prompt tokens. It is 41 tok/s at 2k input tokens."
    assert {(row.metric, row.value) for row in results_of_text(tmp_path, text)} == {
        ("stated", 57.0), ("stated", 49.0), ("stated", 26.0), ("stated", 41.0),
    }  # fmt: skip


def test_a_unit_that_stands_once_in_a_list(tmp_path: Path) -> None:
    text = "The A30 runs BF16 at 933.5 tok/s, FP8 at 747.5 and INT4 at 855.5; the A40 runs BF16 at 389.5."
    rows = results_of_text(tmp_path, text)
    assert [(row.value, row.unit, row.point) for row in rows] == [
        (933.5, "tok/s", "The A30 runs BF16 at (line 1)"),
        (747.5, "tok/s", "FP8 at (line 1)"),
        (855.5, "tok/s", "INT4 at (line 1)"),
        (389.5, "tok/s", "the A40 runs BF16 at (line 1)"),
    ]


def test_a_speed_that_falls_between_two_depths(tmp_path: Path) -> None:
    text = "Summary: prefill 437 t/s @2k tapering to 359 @64k; generation 13.5 t/s @2k to 9.5 @64k."
    assert [(metric, value) for metric, _, value in figures_of(tmp_path, text)] == [
        ("prompt_tps", 437.0), ("prompt_tps", 359.0), ("decode_tps", 13.5), ("decode_tps", 9.5),
    ]  # fmt: skip


def test_runs_in_bold_and_a_level_behind_a_speed_in_a_cell(tmp_path: Path) -> None:
    text = (
        "| | A | B |\n|---|---|---|\n| **decode** | **7.15 / 7.25** t/s | 18.5 t/s |\n"
        "| **prefill** | 45.5 t/s (1,853-tok, chunk 512) | 127.5 t/s @10K |\n"
    )
    assert [(row.metric, row.value) for row in results_of_text(tmp_path, text)] == [
        ("decode_tps", 7.15), ("decode_tps", 7.25), ("decode_tps", 18.5), ("prompt_tps", 45.5), ("prompt_tps", 127.5),
    ]  # fmt: skip


def test_json_of_a_tool_behind_a_line_of_text(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        "max_prefill:8192,running:64,is_dp:False\n"
        '{"backend": "sglang", "request_rate": Infinity, "sharegpt_output_len": null, "max_concurrency": 32,\n'
        '"duration": 637.5, "completed": 300, "request_throughput": 0.5, "output_throughput": 470.5, '
        '"mean_ttft_ms": 15507.5, "accept_length": null}\n'
    )
    load = load_of(path)
    assert load.tool == "sglang.bench_serving"
    assert {("output_tps", 470.5), ("ttft_ms", 15507.5)} <= {(row.metric, row.value) for row in results_of(load)}


def test_the_unit_behind_the_second_of_two_speeds_is_that_of_both(tmp_path: Path) -> None:
    assert figures_of(tmp_path, "Alone: 3670.5 pp / 82.5 tg tok/s on one card.") == [
        ("prompt_tps", "stated", 3670.5), ("output_tps", "stated", 82.5),
    ]  # fmt: skip
