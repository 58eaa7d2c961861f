"""Heads of tables in other languages, and what stands above a table or in a cell without words of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import load_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


@pytest.mark.parametrize(
    ("speed", "latency"),
    [
        ("Decode, токенов/с", "TTFT p95, с"),
        ("Генерация (токенов/сек)", "TTFT p95 (с)"),
        ("生成速度 (tokens/秒)", "TTFT p95 (秒)"),
        ("출력 tokens/초", "TTFT p95 (초)"),
        ("Génération (tok/s)", "TTFT p95 (s)"),
        ("Ausgabe (tok/s)", "TTFT p95 (s)"),
    ],
)
def test_units_and_phases_in_other_languages(tmp_path: Path, speed: str, latency: str) -> None:
    text = f"| c | {speed} | {latency} |\n|---|---|---|\n| 4 | 45,5 | 1,25 |\n"
    assert figures_of(tmp_path, text) == [("output_tps", "stated", 45.5), ("ttft_ms", "p95", 1250.0)]


@pytest.mark.parametrize("name", ["median", "中央値", "Медиана", "중앙값"])
def test_medians_in_other_languages(tmp_path: Path, name: str) -> None:
    text = f"| Run | tok/s | TTFT {name}/p99 |\n|---|---|---|\n| {name} | 45 | 376ms/1.5s |\n"
    assert figures_of(tmp_path, text) == [
        ("stated", "median", 45.0), ("ttft_ms", "median", 376.0), ("ttft_ms", "p99", 1500.0),
    ]  # fmt: skip


def test_a_medium_load_is_no_median(tmp_path: Path) -> None:
    text = "| Arm | Med API | TTFT med/p99 |\n|---|---|---|\n| a | 1.5 s | 376ms/1.5s |\n"
    assert figures_of(tmp_path, text) == [
        ("stated", "stated", 1.5), ("ttft_ms", "median", 376.0), ("ttft_ms", "p99", 1500.0),
    ]  # fmt: skip


def test_the_russian_word_for_with_is_no_second(tmp_path: Path) -> None:
    text = "| Карта | TTFT, мс | Память, ГБ |\n|---|---|---|\n| RTX 4090 с 24 ГБ | 81 | 19 |\n"
    assert figures_of(tmp_path, text) == [("ttft_ms", "stated", 81.0), ("stated", "stated", 19.0)]


@pytest.mark.parametrize("words", ["Latencies of three runs, ms p50/p95.", "Cells show p50 / p95 in ms, as sent."])
def test_statistics_of_the_latencies_above_a_table(tmp_path: Path, words: str) -> None:
    text = f"{words} Nothing is\nclaimed.\n\n| Arm | tok/s | TTFT | TPOT | hits |\n|---|---|---|---|---|\n"
    assert figures_of(tmp_path, f"{text}| a | 450 | 81.5 / 120 | 20 / 31 | 3/4 |\n") == [
        ("stated", "stated", 450.0), ("ttft_ms", "median", 81.5), ("ttft_ms", "p95", 120.0),
        ("tpot_ms", "median", 20.0), ("tpot_ms", "p95", 31.0),
    ]  # fmt: skip
    assert ("ttft_ms", "stated", 81.5) in figures_of(tmp_path, f"{text}| a | 450 | 81.5 | 20 | 3/4 |\n")


def test_statistics_above_a_table_are_those_of_cells_with_as_many_values(tmp_path: Path) -> None:
    text = (
        "Latencies, ms p50/p95.\n\n| Arm | TTFT p50/p99 | TPOT |\n|---|---|---|\n| a | 81 / 120 | 20 ms (50 tok/s) |\n"
    )
    assert figures_of(tmp_path, text) == [
        ("ttft_ms", "median", 81.0), ("ttft_ms", "p99", 120.0), ("tpot_ms", "stated", 20.0), ("stated", "stated", 50.0),
    ]  # fmt: skip


def test_two_latencies_of_a_cell_without_a_unit_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("| Arm | tok/s | TTFT |\n|---|---|---|\n| a | 450 | 81.5 / 120 |\n")
    assert load_of(path).notes == ["The column 'TTFT' states no unit: its numbers were left out."]


def test_of_two_amounts_of_memory_the_one_in_use(tmp_path: Path) -> None:
    text = "| Metric | Value |\n|---|---|\n| VRAM used | 5,300 MiB / 16,000 MiB |\n| Both GPUs used | 9.5 / 9.1 GiB |\n"
    assert [(row.value, row.unit) for row in results_of_text(tmp_path, text)] == [
        (5300.0, "MiB"), (9.5, "GiB"), (9.1, "GiB"),
    ]  # fmt: skip


def test_a_coefficient_of_variation_is_no_speed(tmp_path: Path) -> None:
    text = "| Metric | Value |\n|---|---|\n| Decode (tok/s) | 45 |\n| Decode CV | 5.9% |\n"
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 45.0)]
