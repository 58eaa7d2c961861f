"""Words that a figure takes from its neighbours, and those it must not take: clauses, arrows, limits, titles."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.results.readers import reader_of, unknown_file_reason
from collectors.imports.results.source import ResultFile
from tests.collectors.imports.captured import load_of, results_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


@pytest.mark.parametrize(
    "text",
    [
        "预填充速度只有30 tokens/s，测试也只有10tokens/s",
        "Prefill is slow at 30 tok/s, and testing gives only 10 tok/s.",
        "Prefill runs at 30 tok/s, the overall speed is 10 tok/s.",
    ],
)
def test_the_speed_of_another_clause_is_not_that_of_the_prompt(tmp_path: Path, text: str) -> None:
    assert figures_of(tmp_path, text) == [("prompt_tps", "stated", 30.0), ("stated", "stated", 10.0)]


def test_what_stands_before_an_arrow_is_not_the_median_behind_it(tmp_path: Path) -> None:
    text = "prefill runs 900 / 910 / 905 tok/s -> median 905 tok/s"
    assert figures_of(tmp_path, text) == [
        ("prompt_tps", "stated", 900.0),
        ("prompt_tps", "stated", 910.0),
        ("prompt_tps", "stated", 905.0),
        ("prompt_tps", "median", 905.0),
    ]


def test_a_speed_of_each_of_several_streams_is_that_of_one(tmp_path: Path) -> None:
    text = "With 4 users it gives 27 tok/s each. The cards give 30 tok/s each."
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 27.0), ("stated", "stated", 30.0)]


def test_a_limit_is_no_latency_and_a_rate_within_it_is_a_result(tmp_path: Path) -> None:
    text = (
        "The SLO was a TTFT below 500 ms and a TPOT under 50 ms. "
        "Under this SLO the server reaches a goodput of 3.2 req/s and decodes 900 tok/s."
    )
    assert figures_of(tmp_path, text) == [("goodput_rps", "stated", 3.2), ("output_tps", "stated", 900.0)]


def test_the_part_of_a_title_with_the_unit_names_the_metric(tmp_path: Path) -> None:
    text = (
        "For each server, after a warm-up, this is the mean TTFT in ms:\n\n"
        "| concurrency | main | PR |\n|---|---|---|\n| 1 | 81 | 75 |\n| 8 | 120 | 99 |\n"
    )
    rows = results_of_text(tmp_path, text)
    assert {(row.metric, row.statistic) for row in rows} == {("ttft_ms", "mean")}
    assert [row.value for row in rows] == [81.0, 75.0, 120.0, 99.0]


def test_the_unit_of_one_engines_column_is_that_of_the_others(tmp_path: Path) -> None:
    text = (
        "| Users | vLLM | Ollama | llama.cpp |\n|---|---|---|---|\n| 1 | 90 tok/s | 41 | 45 |\n| 8 | 500 | 44 | -- |\n"
    )
    assert [(row.value, row.unit, row.concurrency) for row in results_of_text(tmp_path, text)] == [
        (90.0, "tok/s", 1), (41.0, "tok/s", 1), (45.0, "tok/s", 1), (500.0, "tok/s", 8), (44.0, "tok/s", 8),
    ]  # fmt: skip


def test_a_column_of_prefill_without_a_unit_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "| model | decode | prefill |\n|---|---|---|\n| A-8B | 45 tok/s | 900 |\n| B-8B | 40 tok/s | 800 |\n"
    )
    load = load_of(path)
    assert [row.value for row in results_of(load)] == [45.0, 40.0]
    assert "The column 'prefill' states no unit: its numbers were left out." in load.notes


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "It took long here.\ncost: 24s\n",
            "It states “cost: 24s”, but no words say that this is a speed or a latency",
        ),
        ("I just get 40 output tokens per user here.", "It states “I just get 40 output tokens per user”, but not in"),
        ("We ran it on 8 cards and it was quick.", "None of its numbers has a unit of a speed or a time"),
        (
            "PROMPT PROCESSING IS 250\nTOKEN GENERATION IS 1.7 here.",
            "(tok/s, requests/s, ms, s): “PROMPT PROCESSING IS 250”, “TOKEN GENERATION IS 1.7 here.”.",
        ),
        (
            "Only this is shown: Throughput (tokens/sec), then 1388 and 1400 below it.",
            "Units of speeds or times stand in “Only this is shown: Throughput (tokens/sec), then 1388",
        ),
        ("You should get 90 tok/s with it.", "It states “You should get 90 tok/s”, but no words say"),
    ],
)
def test_a_refusal_says_what_the_text_states(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text)
    source = ResultFile(path, "a.txt")
    assert reader_of(source) is None
    assert reason in unknown_file_reason(source)
