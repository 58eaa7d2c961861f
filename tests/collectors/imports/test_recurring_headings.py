"""Headings that recur in the section of each arm, and lines in bold below lines in bold."""

from __future__ import annotations

from pathlib import Path

from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

LISTS = (
    "### 1. Tiny-8B\n\n### Measured\n\n**Short inputs**\n\n**Best case (concurrency 1)**\n\n"
    "- TTFT: 61ms (median: 51ms)\n- TPOT: 7.5ms\n- Throughput: 131 tokens/s\n\n**Full load (concurrency 16)**\n\n"
    "- TTFT: 92ms (p99=180 ms)\n- TPOT: 9.5ms\n- Throughput: 1,430 tokens/s\n\n"
    "**Long inputs**\n\n**Best case (concurrency 1)**\n\n"
    "- TTFT: 303ms (with a warm cache)\n- TPOT: 8.5ms\n- Throughput: 117 tokens/s\n\n"
    "### 2. Wide-30B\n\n### Measured\n\n**Short inputs**\n\n**Best case (concurrency 1)**\n\n"
    "- TTFT: 75ms\n- TPOT: 17.5ms\n- Throughput: 57 tokens/s\n"
)
SUMMARY = (
    "\n## Compared\n\n### Short inputs, concurrency 1\n\n| Model | Mean TTFT | Median TTFT |\n|---|---|---|\n"
    "| Tiny-8B | 61ms | 51ms |\n| Wide-30B | 75ms | - |\n"
)


def named_results(tmp_path: Path, text: str) -> list[tuple[str, str, str, float | None]]:
    (load,) = loads_of_text(tmp_path, "post.md", text)
    return [(row.point.partition(" (line")[0], row.metric, row.statistic, row.value) for row in results_of(load)]


def test_each_figure_has_the_headings_of_its_arm(tmp_path: Path) -> None:
    first, full, long, wide = (
        "1. Tiny-8B, Measured, Short inputs, Best case (concurrency 1): ",
        "1. Tiny-8B, Measured, Short inputs, Full load (concurrency 16): ",
        "1. Tiny-8B, Measured, Long inputs, Best case (concurrency 1): ",
        "2. Wide-30B, Measured, Short inputs, Best case (concurrency 1): ",
    )
    assert named_results(tmp_path, LISTS) == [
        (f"{first}TTFT", "ttft_ms", "stated", 61), (f"{first}TTFT median", "ttft_ms", "median", 51),
        (f"{first}TPOT", "tpot_ms", "stated", 7.5), (f"{first}Throughput", "output_tps", "stated", 131),
        (f"{full}TTFT", "ttft_ms", "stated", 92),
        (f"{full}TTFT p99", "ttft_ms", "p99", 180), (f"{full}TPOT", "tpot_ms", "stated", 9.5),
        (f"{full}Throughput", "output_tps", "stated", 1430),
        (f"{long}TTFT", "ttft_ms", "stated", 303), (f"{long}TPOT", "tpot_ms", "stated", 8.5),
        (f"{long}Throughput", "output_tps", "stated", 117),
        (f"{wide}TTFT", "ttft_ms", "stated", 75), (f"{wide}TPOT", "tpot_ms", "stated", 17.5),
        (f"{wide}Throughput", "output_tps", "stated", 57),
    ]  # fmt: skip


def test_a_table_that_repeats_the_lists_gives_them_its_statistics(tmp_path: Path) -> None:
    lists, both = (named_results(tmp_path, text) for text in (LISTS, LISTS + SUMMARY))
    assert [row[3] for row in both] == [row[3] for row in lists]
    means = [(name, value) for name, metric, statistic, value in both if (metric, statistic) == ("ttft_ms", "mean")]
    assert [value for _, value in means] == [61, 75] and all("Measured, Short inputs" in name for name, _ in means)


def test_a_table_with_a_value_of_its_own_is_kept(tmp_path: Path) -> None:
    text = LISTS + SUMMARY.replace("| - |", "| 70ms |")
    assert [row[3] for row in named_results(tmp_path, text)][:4] == [61, 51, 75, 70]
