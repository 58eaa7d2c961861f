"""Captions above quoted passages, names with their unit before a comma, columns that compare without a unit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import load_of, loads_of, results_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text

RATES = "  code   draft= 139 acc= 138 rate=0.993 tok/s=19.5\n"


def test_the_captions_above_quoted_passages_tell_them_apart(tmp_path: Path) -> None:
    text = (
        f"Some rates are high, maybe an error\n\n```\n{RATES}```\n\n"
        f"For reference in `main`, they are\n\n```\n{RATES.replace('19', '21')}```\n"
    )
    rows = [row for row in results_of_text(tmp_path, text) if row.unit == "tok/s"]
    assert [(row.value, row.point) for row in rows] == [
        (19.5, "Some rates are high, maybe an error: code tok/s (line 4)"),
        (21.5, "For reference in `main`, they are: code tok/s (line 10)"),
    ]


TABLE = "| build | pp256 (t/s) | tg64 (t/s) |\n|---|---|---|\n| b9001 | 812.5 | 44.5 |\n"


@pytest.mark.parametrize(
    ("line", "label"),
    [
        (
            "Gemma3-12B Q4_0, fa=1, ngl=99, mmap=0, all layers of it on the first of the two cards, 3 runs:",
            "Gemma3-12B Q4_0, fa=1, ngl=99, mmap=0",
        ),
        ("The same on the second box for Gemma3-12B, which took much longer.", "Gemma3-12B"),
    ],
)
def test_a_model_in_the_line_above_a_table_is_the_tables(tmp_path: Path, line: str, label: str) -> None:
    text = f"# Numbers\n\n{line}\n\n{TABLE}\nand with Llama-3.2-3B:\n\n{TABLE}"
    points = [row.point for row in results_of_text(tmp_path, text)]
    assert [point.partition(": b9001")[0] for point in points] == [label] * 2 + ["and with Llama-3.2-3B"] * 2


@pytest.mark.parametrize(
    "line",
    ["Llama-3.2-3B beside Gemma3-12B, both on the same card and with the same flags, as far as known:", "A text."],
)
def test_two_models_above_a_table_are_no_label(tmp_path: Path, line: str) -> None:
    points = [row.point for row in results_of_text(tmp_path, f"# Numbers\n\n{line}\n\n{TABLE}\nNow:\n\n{TABLE}")]
    assert not any("3B" in point or "12B" in point for point in points)


def test_the_words_above_a_single_passage_are_no_name(tmp_path: Path) -> None:
    (row,) = [row for row in results_of_text(tmp_path, f"This is it\n\n```\n{RATES}```\n") if row.unit == "tok/s"]
    assert row.point == "code tok/s (line 4)"


def test_a_name_with_its_unit_before_a_comma(tmp_path: Path) -> None:
    text = "report.csv (key rows):\nInter Token Latency (ms),2.5,...\nOutput Token Throughput (tokens/sec),598.5\n"
    assert figures_of(tmp_path, text) == [("itl_ms", "stated", 2.5), ("output_tps", "stated", 598.5)]


def test_columns_that_compare_numbers_without_a_unit_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("| | Baseline | With it | Acceptance |\n|---|---|---|---|\n| here | 63.5 | 96.5 | 0.59 |\n")
    load = load_of(path)
    assert [row.metric for row in results_of(load)] == ["acceptance_rate"]
    assert load.notes == [
        f"The column {name!r} states no unit: its numbers were left out." for name in ("Baseline", "With it")
    ]


@pytest.mark.parametrize(("other_text", "model"), [("", "Qwen3.6 27B"), ("With Qwen3.6 35BA3B it is less.\n", None)])
def test_a_size_with_its_active_part_is_of_a_model(tmp_path: Path, other_text: str, model: str | None) -> None:
    path = tmp_path / "a.md"
    path.write_text(f"Qwen3.6 27B decodes 31.5 tok/s.\n{other_text}")
    assert load_of(path).model == model


def test_a_name_in_bold_before_a_dash_is_that_of_the_items_below_it(tmp_path: Path) -> None:
    text = (
        "**Tiny MoE (GPU 1)** — avg latency 44.5 ms\n- pp: 4677.5–6220.5 tok/s across depths\n"
        "- tg: 103.5 tok/s @ depth 0 → 24.5 tok/s @ 32k\n\n**Big dense (GPU 0)** — avg latency 79.5 ms\n"
        "- tg: 46.5 tok/s @ depth 0 → 14.5 tok/s @ 32k\n"
    )
    rows = [row for row in results_of_text(tmp_path, text) if row.unit == "tok/s"]
    assert {(row.metric, row.value, row.point.partition(":")[0]) for row in rows} == {
        ("prompt_tps", 4677.5, "Tiny MoE (GPU 1)"), ("prompt_tps", 6220.5, "Tiny MoE (GPU 1)"),
        ("output_tps", 103.5, "Tiny MoE (GPU 1)"), ("output_tps", 24.5, "Tiny MoE (GPU 1)"),
        ("output_tps", 46.5, "Big dense (GPU 0)"), ("output_tps", 14.5, "Big dense (GPU 0)"),
    }  # fmt: skip


def test_a_rate_and_a_length_of_acceptance_in_a_cell(tmp_path: Path) -> None:
    text = "| Config | decode tok/s | acceptance |\n|---|---|---|\n| on | ~44.5 | ~61%, accept-len 2.25 |\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value) for row in rows] == [
        ("decode_tps", 44.5), ("acceptance_rate", 0.61), ("acceptance_length", 2.25),
    ]  # fmt: skip
    assert rows[0].point == "on: decode tok/s (line 3)"


def test_the_time_that_tests_took(tmp_path: Path) -> None:
    text = "| Key | Value |\n|---|---|\n| Time taken for tests (s) | 605.5 |\n| Average latency (s) | 30.5 |\n"
    assert figures_of(tmp_path, text) == [("duration_s", "stated", 605.5), ("e2e_ms", "mean", 30500.0)]


def test_lines_of_mlx_lm_below_the_name_of_a_machine(tmp_path: Path) -> None:
    lines = "".join(f"{name}: prompt_tps=10.5, generation_tps=5.5, peak_memory=9.5\n" for name in ("Pre", "Post"))
    path = tmp_path / "a.md"
    path.write_text(f"H100\n{lines}\nB200\n{lines}")
    assert [load.params["heading"] for load in loads_of(path)] == ["H100: Pre", "H100: Post", "B200: Pre", "B200: Post"]
