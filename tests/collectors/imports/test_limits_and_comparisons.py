"""What a table states beside results: limits, what others published, and own values once more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import load_of, results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


@pytest.mark.parametrize(
    "label", ["Context window", "Max context length", "max_model_len", "Memory limit", "Max output tokens"]
)
def test_a_limit_is_a_setting(tmp_path: Path, label: str) -> None:
    path = tmp_path / "post.md"
    path.write_text(
        f"| Metric | Value |\n|---|---|\n| Decode | 45.5 tok/s |\n| {label} | 64 GB |\n| Peak memory | 20.5 GB |\n"
    )
    load = load_of(path)
    assert [row.value for row in results_of(load)] == [45.5, 20.5]
    assert load.params[f"{label} (line 4)"] == "64 GB"


@pytest.mark.parametrize(
    ("sentence", "shares"),
    [
        ("Prefix cache: 97% delta hit rate on the repeated prompt.", [97.0]),
        ("The cache hit rate was 81.5%.", [81.5]),
        ("The hit rate grew by 12%.", []),
        ("We saw a 20% higher hit rate.", []),
        ("It is twice as fast at 90% hit rate.", []),
    ],
)
def test_a_hit_rate_in_words(tmp_path: Path, sentence: str, shares: list[float]) -> None:
    rows = results_of_text(tmp_path, f"Decode runs at 45.5 tok/s.\n\n{sentence}\n")
    assert [row.value for row in rows if row.unit == "%"] == shares


COMPARED = (
    "## Tiny-8B\n\n| Batch | Aggregate tok/s |\n|---|---|\n| 1 | 17.5 |\n| 2 | 24.5 |\n\n### Others\n\n"
    "| Source | tok/s (batch 1) |\n|---|---|\n| This lab | {own} |\n| NVIDIA official | 11.5 |\n"
)


def test_the_own_row_of_a_comparison_repeats_the_table_above(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", COMPARED.format(own=17.5))
    assert [row.value for row in results_of(load)] == [17.5, 24.5]
    assert "What a comparison repeats of a table above was left out: 17.5 tok/s." in load.notes


def test_another_value_of_a_comparison_stays(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, COMPARED.format(own=18.5))
    assert figures == [("output_tps", "stated", 17.5), ("output_tps", "stated", 24.5), ("stated", "stated", 18.5)]


def test_a_heading_without_a_model_belongs_to_the_last_one_with_a_model(tmp_path: Path) -> None:
    table = "| Config | tok/s |\n|---|---|\n| {} | {} |\n"
    text = (
        f"Qwen3-8B — two nodes\n{table.format('plain', 17.5)}gpt-oss-20b — one node\n{table.format('plain', 33.5)}"
        f"Effect of eager mode\n{table.format('graphs on', 59.5)}Effect of the cache\n{table.format('warm', 61.5)}"
        f"Gemma3-4B — one node\n{table.format('plain', 81.5)}"
    )
    points = {row.value: row.point for row in results_of_text(tmp_path, text)}
    assert points[59.5].startswith("gpt-oss-20b — one node, Effect of eager mode")
    assert points[61.5].startswith("gpt-oss-20b — one node, Effect of the cache")
    assert points[81.5].startswith("Gemma3-4B — one node: ")


@pytest.mark.parametrize("heading", ["RTX 5090", "What the other card does"])
def test_a_heading_of_another_card_or_of_words_is_a_section_of_its_own(tmp_path: Path, heading: str) -> None:
    table = "| Config | tok/s |\n|---|---|\n| plain | {} |\n"
    below = (
        table.format(81.5)
        if heading == "RTX 5090"
        else "It stays flat at 81.5 tok/s whatever the length of a prompt is, up to 64K.\n"
    )
    text = f"Qwen3-8B — A\n{table.format(17.5)}Gemma3-4B — B\n{table.format(33.5)}{heading}\n{below}"
    points = {row.value: row.point for row in results_of_text(tmp_path, text)}
    assert "Gemma" not in points[81.5]
