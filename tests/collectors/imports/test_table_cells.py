"""Cells of tables as people write them: marks, blanks between thousands, brackets, arrows, lengths beside speeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from tests.collectors.imports.captured import load_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


@pytest.mark.parametrize(
    ("cell", "value"),
    [("2 417", 2417.0), ("**12 030**", 12030.0), ("310.5 \U0001f3c6", 310.5), ("**88.5** \u2b50", 88.5),
     ("\u26a1\ufe0f 90", 90.0), ("\u274c 90", None), ("\U0001f525 61", 61.0), ("33.4\u00b9", 33.4),
     ("41 \u2705", 41.0)],
)  # fmt: skip
def test_marks_and_blanks_of_a_number(tmp_path: Path, cell: str, value: float | None) -> None:
    figures = figures_of(tmp_path, f"| Arm | Decode (tok/s) | TTFT (ms) |\n|---|---|---|\n| a | {cell} | 9 |\n")
    expected = [] if value is None else [("decode_tps", "stated", value)]
    assert figures == [*expected, ("ttft_ms", "stated", 9.0)]


def test_a_cell_that_is_no_number_is_no_unit_of_its_row(tmp_path: Path) -> None:
    text = "| Arm | Steps | TTFT |\n|---|---|---|\n| a | 12 | 5+ca.+3 ms |\n| b | 14 | 20 ms |\n"
    assert figures_of(tmp_path, text) == [("ttft_ms", "stated", 20.0)]


def test_a_verdict_is_no_name(tmp_path: Path) -> None:
    text = "| Arm | Decode (tok/s) | SLO |\n|---|---|---|\n| a | 45.5 | PASS |\n| b | 30.5 | \u274c |\n"
    assert [row.point for row in results_of_text(tmp_path, text)] == [
        "a: Decode (tok/s) (line 3)", "b: Decode (tok/s) (line 4)",
    ]  # fmt: skip


def test_a_figure_of_another_kind_in_brackets(tmp_path: Path) -> None:
    text = (
        "| Metric | old | new |\n|---|---|---|\n"
        "| TPOT | 50 ms (20 tok/s) | 40 ms (was 22 tok/s) |\n| Prefill | 900 tok/s (TTFT 350 ms) | 2.5 s (2500 ms) |\n"
    )
    assert figures_of(tmp_path, text) == [
        ("tpot_ms", "stated", 50.0), ("stated", "stated", 20.0), ("tpot_ms", "stated", 40.0),
        ("prompt_tps", "stated", 900.0), ("ttft_ms", "stated", 350.0), ("stated", "stated", 2.5),
    ]  # fmt: skip


def test_levels_behind_the_figures_of_a_cell(tmp_path: Path) -> None:
    text = "| Arm | Decode t/s | TTFT |\n|---|---|---|\n"
    text += "| a | **45 tok/s @ 4K**; **30.5 tok/s @ 16K** | 2 s @4K, 9 s @16K |\n"
    assert [(row.metric, row.value, row.point) for row in results_of_text(tmp_path, text)] == [
        ("decode_tps", 45.0, "a: Decode t/s (line 3), @ 4K"), ("decode_tps", 30.5, "a: Decode t/s (line 3), @ 16K"),
        ("ttft_ms", 2000.0, "a: TTFT (line 3), @ 4K"), ("ttft_ms", 9000.0, "a: TTFT (line 3), @ 16K"),
    ]  # fmt: skip


def test_two_arms_beside_an_arrow(tmp_path: Path) -> None:
    text = "| c | Decode (tok/s) | TTFT p50 (ms) |\n|---|---|---|\n| 4 | 45 \u2192 61.5 | 90 -> 70 |\n"
    assert [(row.metric, row.statistic, row.value, row.point) for row in results_of_text(tmp_path, text)] == [
        ("output_tps", "stated", 45.0, "4: Decode (tok/s) (line 3), value 1 of 2"),
        ("output_tps", "stated", 61.5, "4: Decode (tok/s) (line 3), value 2 of 2"),
        ("ttft_ms", "median", 90.0, "4: TTFT p50 (ms) (line 3), value 1 of 2"),
        ("ttft_ms", "median", 70.0, "4: TTFT p50 (ms) (line 3), value 2 of 2"),
    ]  # fmt: skip


@pytest.mark.parametrize("heading", ["End-to-end results", "E2E benchmark", "End-to-end performance"])
def test_the_name_of_a_benchmark_is_no_latency(tmp_path: Path, heading: str) -> None:
    text = f"## {heading}\n\n| arm | run (s) | dur (s) | speed (tok/s) |\n|---|---|---|---|\n| a | 3 | 81 | 45 |\n"
    assert figures_of(tmp_path, text) == [
        ("stated", "stated", 3.0), ("duration_s", "stated", 81.0), ("stated", "stated", 45.0),
    ]  # fmt: skip


@pytest.mark.parametrize("heads", ["PP | TG", "Prompt (pp) | Generate (tg)", "InLen | OutLen", "Prompt tok | Gen tok"])
def test_columns_of_lengths(tmp_path: Path, heads: str) -> None:
    text = f"| {heads} | Concurrent workers | tok/s |\n|---|---|---|---|\n| 512 | 64 | 4 | 81.5 |\n"
    [row] = results_of_text(tmp_path, text)
    assert (row.prompt_tokens, row.output_tokens, row.concurrency, row.value) == (512, 64, 4, 81.5)


def test_tests_of_llama_bench_below_a_unit_are_speeds(tmp_path: Path) -> None:
    text = "Speed in t/s:\n\n| Arm | PP | TG |\n|---|---|---|\n| a | 900 | 45 |\n"
    assert [(row.metric, row.prompt_tokens, row.value) for row in results_of_text(tmp_path, text)] == [
        ("prompt_tps", None, 900.0), ("output_tps", None, 45.0),
    ]  # fmt: skip


def test_levels_and_lengths_in_words(tmp_path: Path) -> None:
    text = "## Sweep, in512/out256\n\n| Load | Decode (tok/s) |\n|---|---|\n| 1 user | 45 |\n| 2 users | 80 |\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.concurrency, row.prompt_tokens, row.output_tokens) for row in rows] == [(1, 512, 256), (2, 512, 256)]


def test_the_prefill_of_each_user_is_not_that_of_the_server(tmp_path: Path) -> None:
    text = "| c | Prefill tok/s/user | Prefill (tok/s) |\n|---|---|---|\n| 8 | 62.5 | 500 |\n"
    assert figures_of(tmp_path, text) == [("prompt_tps_per_request", "stated", 62.5), ("prompt_tps", "stated", 500.0)]


def test_the_notes_of_a_row_give_its_numbers_no_unit(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "| card | ctx_size | concurrency | wall_p50_s | decode_tps_p50 | notes |\n|---|---|---|---|---|---|\n"
        "| A | 200000 | 2 | 29.5 | 35.5 | TTFT discarded. Decode t/s from another table |\n"
    )
    rows = [(row.metric, row.statistic, row.value, row.concurrency) for row in load_of(path).result_rows]
    assert rows == [("duration_s", "median", 29.5, 2), ("output_tps", "median", 35.5, 2)]


def test_shares_alone_are_no_benchmark(tmp_path: Path) -> None:
    path = tmp_path / "cpu.csv"
    path.write_text(
        "timestamp,cpu_user_percent,cpu_idle_percent,load\n1754586662,0.9,98.4,1.83\n1754586667,11,87,4.3\n"
    )
    with pytest.raises(ImportRefusedError, match="All its figures are shares in per cent"):
        load_of(path)


def test_units_in_a_second_row_of_heads(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "| | | Card 16G |\n|---|---|---|\n| | Memory | TPS |\n| a:1b | 2.5 GB | 130.5 |\n| a:70b | | N/A |\n"
        "| b:7b | 5.5 GB | 48.5 |\n"
    )
    rows = [(row.metric, row.value, row.unit, row.point.partition(": ")[0]) for row in load_of(path).result_rows]
    assert [row for row in rows if row[2] == "tok/s" and row[1]] == [
        ("stated", 130.5, "tok/s", "a:1b"), ("stated", 48.5, "tok/s", "b:7b"),
    ]  # fmt: skip
    assert [row[1] for row in rows if row[2] == "GB"] == [2.5, 5.5]


def test_what_a_bracket_adds_to_a_number_stays_with_it(tmp_path: Path) -> None:
    text = "| Engine | Decode (tok/s) |\n|---|---|\n| a | 62 (Q4_K_M) |\n| b | 71 (FP16) |\n| c | 90 (2x faster) |\n"
    assert [(row.point, row.value) for row in results_of_text(tmp_path, text)] == [
        ("a: Decode (tok/s), Q4_K_M (line 3)", 62.0), ("b: Decode (tok/s), FP16 (line 4)", 71.0),
        ("c: Decode (tok/s) (line 5)", 90.0),
    ]  # fmt: skip
