"""Columns that name a metric and no unit: proved by arithmetic, or left out with a note; never part of a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

HEAD = "output_tokens: 256\n\n| Arm | C | TTFT p50 | TTFT p95 | ITL p50 | Lat p50 (s) |\n|---|---|---|---|---|---|\n"
ROWS = (
    "| base | c1 | 206 | 232 | 4.7 | 1.4 |\n| base | c16 | 1708 | 2877 | 9.3 | 7.5 |\n"
    "| cache | c1 | 197 | 224 | 4.8 | 1.42 |\n"
)


def test_the_parts_of_a_latency_prove_their_unit(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", HEAD + ROWS)
    values = {(row.metric, row.statistic): row.value for row in results_of(load) if row.point.startswith("base, c16")}
    assert values == {
        ("ttft_ms", "median"): 1708, ("ttft_ms", "p95"): 2877, ("itl_ms", "median"): 9.3, ("e2e_ms", "median"): 7500,
    }  # fmt: skip
    assert "The latencies of the table at line 3 state no unit: ms, since in 2 rows" in str(load.notes)


def test_seconds_are_proved_too(tmp_path: Path) -> None:
    rows = "| a | c1 | 0.206 | 0.232 | 0.0047 | 1.4 |\n| b | c1 | 0.197 | 0.224 | 0.0048 | 1.42 |\n"
    (load,) = loads_of_text(tmp_path, "post.md", HEAD + rows)
    assert [row.value for row in results_of(load) if row.metric == "ttft_ms"] == [206, 232, 197, 224]


@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace("256", "512") + ROWS,  # the sums are others
        HEAD.replace("output_tokens: 256", "A post.") + ROWS,  # of how many tokens is not told
        HEAD + ROWS.replace("| 1.42 |", "| 2.9 |"),  # one row may be chance
    ],
)
def test_without_a_proof_the_columns_are_named(tmp_path: Path, text: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert {row.metric for row in results_of(load)} == {"e2e_ms"}
    assert "The column 'TTFT p50' states no unit: its numbers were left out." in load.notes


def test_a_bare_throughput_is_named_and_no_part_of_a_name(tmp_path: Path) -> None:
    head = "bs | steps | topk | throughput | acc len\n-- | -- | -- | -- | --\n"
    table = f"{head}1 | 3 | 4 | 159.7 | 1.86\n4 | 3 | 8 | 447.9 | 2.27\n"
    (load,) = loads_of_text(tmp_path, "post.md", f"Base:\n\n{table}\nDraft:\n\n{table.replace('1.86', '1.9')}")
    names = [row.point.partition(": acc len")[0].rpartition(": ")[2] for row in results_of(load)]
    assert names == ["1, steps=3, topk=4", "4, steps=3, topk=8"] * 2
    assert "The column 'throughput' states no unit: its numbers were left out." in load.notes
    assert sum("The column 'throughput'" in note for note in load.notes) == 2


def test_pairs_of_a_context_and_a_value_without_a_unit_are_named(tmp_path: Path) -> None:
    text = "The base runs at 41.5 tok/s.\n\nMTP: 1k=68 20k=63\nno MTP: 1k=63 20k=56\n"
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [row.value for row in results_of(load)] == [41.5]
    assert "MTP: 1k=68 20k=63" in str(load.notes)
