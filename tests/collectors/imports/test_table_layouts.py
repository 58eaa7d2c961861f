"""Layouts of tables: slashes with one unit, titles within a frame, heads that span rows, rules of single columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


@pytest.mark.parametrize("cell", ["0.25 / 1.5 s", "0.25/1.5s", "0.25 / **1.5** s", "0.25 s / 1.5 s"])
def test_the_unit_behind_the_last_of_two_values_is_that_of_both(tmp_path: Path, cell: str) -> None:
    text = f"| Arm | TTFT p50/p95 |\n|---|---|\n| a | {cell} |\n"
    assert figures_of(tmp_path, text) == [("ttft_ms", "median", 250.0), ("ttft_ms", "p95", 1500.0)]


def test_a_title_within_a_frame(tmp_path: Path) -> None:
    text = """┌───────────────────────────────┐
│ Two arms of one server        │
├──────────────────┬─────┬──────┤
│ Metric           │ old │ new  │
├──────────────────┼─────┼──────┤
│ TTFT p50 (ms)    │ 45  │ 12.5 │
│ Decode (tok/s)   │ 60  │ 61   │
└──────────────────┴─────┴──────┘
"""
    assert [(row.metric, row.value, row.point) for row in results_of_text(tmp_path, text)] == [
        ("ttft_ms", 45.0, "TTFT p50 (ms): old (line 6)"), ("ttft_ms", 12.5, "TTFT p50 (ms): new (line 6)"),
        ("decode_tps", 60.0, "Decode (tok/s): old (line 7)"), ("decode_tps", 61.0, "Decode (tok/s): new (line 7)"),
    ]  # fmt: skip


@pytest.mark.parametrize("end", ['<td rowspan="2">note</td>', "<td>note</td>"])
def test_plain_cells_of_html_that_span_others_are_heads(tmp_path: Path, end: str) -> None:
    below = "" if "rowspan" in end else "<td></td>"
    text = (
        f'<table><tr><td colspan="2">vLLM</td>{end}</tr><tr><td>c</td><td>tok/s</td>{below}</tr>\n'
        "<tr><td>4</td><td>450</td><td>x</td></tr></table>\n"
    )
    assert figures_of(tmp_path, text) == [("stated", "stated", 450.0)]


def test_rows_below_the_rules_of_their_columns(tmp_path: Path) -> None:
    text = """
  Change            Before      After
  ----------------- ----------- -----------
  Prefix cache TTFT 9.5s        2.5s

  Longer            45 tok/s    60 tok/s
  batches

  Throughput        1.5 TPS     13.5 TPS
"""
    assert [(row.metric, row.value, row.point) for row in results_of_text(tmp_path, text)] == [
        ("ttft_ms", 9500.0, "Prefix cache TTFT: Before (line 4)"),
        ("ttft_ms", 2500.0, "Prefix cache TTFT: After (line 4)"),
        ("stated", 45.0, "Longer batches: Before (line 6)"), ("stated", 60.0, "Longer batches: After (line 6)"),
        ("output_tps", 1.5, "Throughput: Before (line 9)"), ("output_tps", 13.5, "Throughput: After (line 9)"),
    ]  # fmt: skip


def test_remarks_behind_aligned_rows(tmp_path: Path) -> None:
    text = "              Decode tok/s  Prefill tok/s\n  engine A:      114.5         4300    (reference)\n"
    text += "  engine B:       95.5          768\n"
    assert [(row.metric, row.value) for row in results_of_text(tmp_path, text)] == [
        ("decode_tps", 114.5), ("prompt_tps", 4300.0), ("decode_tps", 95.5), ("prompt_tps", 768.0),
    ]  # fmt: skip


@pytest.mark.parametrize("part", ["Decode", "Kernel", "Queue", "Retrieval"])
def test_the_latency_of_a_part_is_not_that_of_the_request(tmp_path: Path, part: str) -> None:
    text = f"| Arm | {part} latency (ms) | Latency (ms) |\n|---|---|---|\n| a | 5 | 900 |\n"
    assert figures_of(tmp_path, text) == [("stated", "stated", 5.0), ("e2e_ms", "stated", 900.0)]
