"""The documents' tables come out of the stored rows with the documents' figures."""

from __future__ import annotations

import pytest

from reference.tables import PublishedTable, published_tables
from web.compare.sources.published import published_table

TABLES = {
    (published_table.source.split()[0], published_table.title): published_table
    for published_table in published_tables()
}


def table(title: str) -> PublishedTable:
    (actual_table,) = [table for (_, name), table in TABLES.items() if name.startswith(title)]
    return actual_table


def words(published_table: PublishedTable, row: str) -> list[str]:
    """The cells of a row as they are read."""
    (cells,) = [cells for name, cells in published_table.rows if name == row]
    return [" ".join(shown.cell_text for shown in cell) for cell in cells]


COMPARISON = {
    "A": ["vLLM 0.21.0", "NVFP4", "876,000 tokens", "109.8 tok/s", "90-100 tok/s", "99.5 %"],
    "B": ["vLLM 0.21.0", "FP8 block", "876,000 tokens", "115.3 tok/s", "80-100 tok/s", "93.5 %"],
    "C": ["SGLang gemma4-mtp", "FP8 block", "69,700 tokens", "about 80 tok/s", "55-75 tok/s", "about 90 %"],
    "D": ["SGLang gemma4-mtp", "FP8 block", "139,500 tokens", "about 93.8 tok/s", "70-90 tok/s", "about 96 %"],
}


@pytest.mark.parametrize("row", COMPARISON)
def test_first_document_compares_four_configs(row: str) -> None:
    actual_words = words(table("Comparison table"), row)
    assert all(
        one in cell for one, cell in zip(COMPARISON[row], [*actual_words[:2], *actual_words[3:]], strict=True)
    ), actual_words


def test_and_calls_one_best_by_each_viewpoint() -> None:
    best = table("Best by viewpoint")
    assert best.head == ("Viewpoint", "Best configuration", "Reason")
    words_by_row = {row: words(best, row) for row, _ in best.rows}
    assert (
        words_by_row["Highest peak throughput"][0].startswith("B.")
        and "115.3 tok/s" in words_by_row["Highest peak throughput"][1]
    )
    assert words_by_row["MTP acceptance ceiling"][0].startswith("A.") and words_by_row["Practical SGLang setup"][
        0
    ].startswith("D.")
    assert words_by_row["Daily throughput stability"][0].startswith("A.")
    assert " / B." in words_by_row["KV capacity"][0] and words_by_row["KV capacity"][1] == "Reserved 876K tokens"


@pytest.mark.parametrize(
    ("title", "row", "cells"),
    [
        ("Serving capacity", "Model loading memory", ["31.49 GiB", "58.9 GiB"]),
        ("Serving capacity", "GPU KV cache size", ["120,624 tokens", "60,752 tokens"]),
        ("Serving capacity", "Max concurrency at 32K tokens a request", ["11.57 at once", "5.83 at once"]),
        ("Serving capacity", "VRAM savings", ["47% less", ""]),
        ("Serving capacity", "KV cache gain", ["99% more", ""]),
        ("Basic benchmark", "Average end-to-end latency", ["3.404 s", "5.041 s"]),
        ("Basic benchmark", "Average completion throughput", ["75.2 tok/s", "50.79 tok/s"]),
        ("Basic benchmark", "Average total throughput", ["86.36 tok/s", "58.32 tok/s"]),
        ("Concurrent throughput", "2", ["148.59 tok/s", "102.21 tok/s", "3.444 s", "5.008 s"]),
        ("Concurrent throughput", "4", ["292.35 tok/s", "201.25 tok/s", "3.493 s", "5.087 s"]),
        ("Concurrent throughput", "8", ["571.22 tok/s", "390.74 tok/s", "3.58 s", "5.233 s"]),
        ("MMLU-Pro beside", "26B FP8 Dynamic Norouter", ["81.33 %"]),
        ("MMLU-Pro beside", "31B BF16", ["84.6 %"]),
        ("Benchmark on RTX", "GPU memory", ["58.9 GiB", "31 GiB", "18.5 GiB -68% base -40% nvidia"]),
        ("Benchmark on RTX", "GPQA Diamond", ["75.71 %", "75.46 %", "72.73 % -2.98% base -2.73% nvidia"]),
        ("Benchmark on RTX", "MMLU Pro", ["85.25 %", "84.94 %", "83.93 % -1.32% base -1.01% nvidia"]),
        ("Benchmark on RTX", "Prefill", ["6,352 tok/s", "11,069 tok/s", "15,359 tok/s +142% base +39% nvidia"]),
        ("Benchmark on RTX", "Decode (single)", ["24.1 tok/s", "39.2 tok/s", "51 tok/s +112% base +30% nvidia"]),
        ("Benchmark on RTX", "Decode (batched)", ["494 tok/s", "913 tok/s", "1,244 tok/s +152% base +36% nvidia"]),
        ("Benchmark on RTX", "Concurrency", ["2.47 req/s", "4.56 req/s", "6.22 req/s +152% base +36% nvidia"]),
        ("Other quants", "Decode (single)", ["64.3 tok/s", "64.4 tok/s", "51 tok/s"]),
        ("Other quants", "Decode (batched)", ["757 tok/s", "757 tok/s", "1,244 tok/s"]),
        ("Compatibility", "RTX 5090", ["32 GB", "works", "~25k", "Primary target"]),
        ("Compatibility", "B200", ["192 GB", "untested", "262k (full)", "Datacenter, untested"]),
        ("Compatibility", "RTX 5080 and lower", ["≤16 GB", "does not work", "", "Not enough VRAM"]),
    ],
)
def test_the_other_documents_tables(title: str, row: str, cells: list[str]) -> None:
    assert words(table(title), row) == cells


def test_known_contradiction_is_beside_its_cell() -> None:
    shown_published_table = published_table(table("Comparison table"))
    assert "doubt 1" in shown_published_table and "line 14" in shown_published_table
    assert "doubt 1" in published_table(table("Benchmark on RTX"))
