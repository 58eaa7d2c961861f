"""Pairs on lines of their own, sections of INI files, and arms that a bare name or a line of flags names in code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.test_prose_figures import figures_of, results_of_text

LINES = "Throughput: {0}450.5 tok/s\nTTFT p50: {0}1.5 ms\n"
PLAIN = "decode {0}5.5 tok/s\nprefill {0}450.5 tok/s\n"
PAIRS = "ttft_ms={0}1.5 tps={0}5.5\n"
ARMS_IN_CODE = {
    "names": ("baseline\n", "mtp-3\n", LINES),
    "names with a colon": ("baseline:\n", "mtp-3:\n", LINES),
    "names above an empty line": ("baseline\n\n", "mtp-3\n\n", LINES),
    "names behind bars": ("--- baseline\n", "=== mtp-3 ===\n", LINES),
    "names above indented lines": ("Q4_K_M\n", "Q8_0\n", "  Throughput: {0}450.5 tok/s\n  TTFT p50: {0}1.5 ms\n"),
    "an engine and its nightly": ("vLLM 0.11.0\n", "vLLM nightly\n", PLAIN),
    "words of a switch": ("off\n", "on\n", PAIRS),
    "sections": ("[baseline]\n", "[mtp-3]\n", LINES),
}


def words_of(line: str) -> str:
    return line.strip("\n:[]-= ")


@pytest.mark.parametrize(("first", "second", "lines"), ARMS_IN_CODE.values(), ids=ARMS_IN_CODE)
@pytest.mark.parametrize("between", ["", "\n", "```\n\n```\n"])
def test_arms_in_code(tmp_path: Path, first: str, second: str, lines: str, between: str) -> None:
    text = f"My results are these.\n\n```\n{first}{lines.format(1)}{between}{second}{lines.format(2)}```\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.point.partition(": ")[0], str(row.value)[0]) for row in rows] == [
        (words_of(first), "1"), (words_of(first), "1"), (words_of(second), "2"), (words_of(second), "2"),
    ]  # fmt: skip


def test_words_above_a_figure_that_name_no_arm(tmp_path: Path) -> None:
    text = "```\nLoading the model\ndecode 45.5 tok/s\nDone with it\nprefill 81.5 tok/s\n```\n"
    assert [row.point for row in results_of_text(tmp_path, text)] == [
        "decode 45.5 tok/s (line 3)",
        "prefill 81.5 tok/s (line 5)",
    ]


def test_sections_of_an_ini_file(tmp_path: Path) -> None:
    text = "[c=8]\nttft_ms=81.5\noutput_tps=1450.5\n\n[c=16]\nttft_ms=91.5\noutput_tps=2450.5\n"
    assert [(row.metric, row.value, row.concurrency, row.point) for row in results_of_text(tmp_path, text)] == [
        ("ttft_ms", 81.5, 8, "c=8: ttft_ms (line 2)"),
        ("output_tps", 1450.5, 8, "c=8: output_tps (line 3)"),
        ("ttft_ms", 91.5, 16, "c=16: ttft_ms (line 6)"),
        ("output_tps", 2450.5, 16, "c=16: output_tps (line 7)"),
    ]


def test_levels_of_a_log_in_brackets_are_no_sections(tmp_path: Path) -> None:
    text = "[INFO]\nTTFT: 81.5 ms\n\n[DEBUG]\nTTFT: 91.5 ms\n"
    assert [row.point for row in results_of_text(tmp_path, text)] == ["TTFT (line 2)", "TTFT (line 5)"]


def test_two_pairs_whose_names_state_the_unit(tmp_path: Path) -> None:
    assert figures_of(tmp_path, "itl_p99_ms=81.5\noutput_tps=1450.5\n") == [
        ("itl_ms", "p99", 81.5), ("output_tps", "stated", 1450.5),
    ]  # fmt: skip
    assert figures_of(tmp_path, "export TTFT_MS=81.5\nexport ITL_MS=11.5\n") == [
        ("ttft_ms", "stated", 81.5), ("itl_ms", "stated", 11.5),
    ]  # fmt: skip


def test_a_line_of_flags_above_a_fence_names_its_arm_once(tmp_path: Path) -> None:
    fence = "`-ctk {0} -ctv {0}`:\n```\ndecode {1}5.5 tok/s\n```\n\n"
    rows = results_of_text(tmp_path, fence.format("q8_0", 4) + fence.format("f16", 5))
    assert [row.point for row in rows] == [
        "-ctk q8_0 -ctv q8_0: decode 45.5 tok/s (line 3)", "-ctk f16 -ctv f16: decode 55.5 tok/s (line 8)",
    ]  # fmt: skip


def test_sections_whose_names_of_values_state_the_unit_in_a_post(tmp_path: Path) -> None:
    section = "[{0}]\nconcurrency = 16\nttft_p50_ms = {1}20.5\noutput_tok_s = {1}450.5\n\n"
    rows = results_of_text(tmp_path, "Measured on one card:\n\n" + section.format("main", 1) + section.format("PR", 2))
    assert [(row.point.partition(":")[0], row.value, row.concurrency) for row in rows] == [
        ("main", 120.5, 16), ("main", 1450.5, 16), ("PR", 220.5, 16), ("PR", 2450.5, 16),
    ]  # fmt: skip


def test_a_name_in_bold_with_a_version_in_brackets(tmp_path: Path) -> None:
    fence = "{0}:\n```\nTTFT: {1}1.5 ms\n```\n"
    rows = results_of_text(tmp_path, fence.format("**Before** (0.11.0)", 8) + fence.format("**After**", 7))
    assert [row.point.partition(": TTFT")[0] for row in rows] == ["Before: (0.11.0)", "After"]


def test_sections_of_settings_state_no_results(tmp_path: Path) -> None:
    text = "[workload.params]\nttft_p95_ms = 500\n\n[slo]\nitl_ms = 50\n\n[results]\nttft_p95_ms = 420.5\n"
    assert figures_of(tmp_path, text) == [("ttft_ms", "p95", 420.5)]


def test_settings_whose_names_state_a_unit_are_no_results(tmp_path: Path) -> None:
    text = "ready_check_timeout_sec=30\nmax_total_num_tokens=8192\n\nitl_p99_ms=81.5\n"
    assert figures_of(tmp_path, text) == [("kv_cache_tokens", "stated", 8192.0), ("itl_ms", "p99", 81.5)]
