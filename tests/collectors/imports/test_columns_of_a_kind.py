"""Columns that belong together, and what a column or a row must not be taken for."""

from __future__ import annotations

from pathlib import Path

from tests.collectors.imports.captured import accuracies_of, load_of, results_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


def test_the_unit_of_one_column_is_that_of_its_siblings(tmp_path: Path) -> None:
    text = (
        "Aggregate decode throughput at `n_parallel=10`, 256 tokens per reply:\n\n"
        "| model | 1 reply | 4 replies | 10 replies | 4/1 |\n|---|---|---|---|---|\n"
        "| A-4B | 11.5 | 32.5 | 38.5 tok/s | 2.8x |\n| B-8B | 5.5 | 12.5 | 18.5 tok/s | 2.3x |\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.point) for row in rows[:3]] == [
        ("output_tps", 11.5, "A-4B: 1 reply (line 5)"),
        ("output_tps", 32.5, "A-4B: 4 replies (line 5)"),
        ("output_tps", 38.5, "A-4B: 10 replies (line 5)"),
    ]
    assert len(rows) == 6


def test_an_advantage_is_no_accuracy_and_a_total_latency_no_request(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "| Model | Metric | SGLang | vLLM | SGLang Advantage |\n|---|---|---|---|---|\n"
        "| **o/Sunny-10.7B-v1** | Avg. MMLU Accuracy | 65.5% | 65.0% | 0.5% |\n"
        "| | Total Latency | 1,056.5s | 6,972.5s | **6.60x Faster** |\n"
    )
    load = load_of(path)
    assert [row.value for row in accuracies_of(load)] == [0.655, 0.65]
    assert [(row.metric, row.value) for row in results_of(load)] == [("stated", 1056.5), ("stated", 6972.5)]
    assert load.model == "o/Sunny-10.7B-v1"


def test_the_prompts_speed_of_each_request(tmp_path: Path) -> None:
    text = "| Batch | pp TPS (total) | pp TPS/req | tg TPS |\n|---|---|---|---|\n| 2x | 128.5 | 64.25 | 96.5 |\n"
    assert figures_of(tmp_path, text) == [
        ("prompt_tps", "stated", 128.5), ("prompt_tps_per_request", "stated", 64.25), ("output_tps", "stated", 96.5),
    ]  # fmt: skip


def test_the_speed_per_prompt_is_none_of_the_prompt(tmp_path: Path) -> None:
    text = "3. PER-PROMPT TPS ANALYSIS\n| Tokens | TPS |\n|---|---|\n| 22 | 20.5 |\n| 26 | 41.5 |\n"
    assert [figure for figure in figures_of(tmp_path, text) if figure[0] == "prompt_tps"] == []


def test_a_numbered_title_ends_the_section_above(tmp_path: Path) -> None:
    text = (
        "Results\nA40 — Tiny-8B\n| c | tok/s |\n|---|---|\n| 1 | 51.5 |\n\n"
        "2. Finding the longest context\nA30\nDecoding stayed flat over all the lengths of a context (~41.5 tok/s).\n"
    )
    assert [row.point for row in results_of_text(tmp_path, text)][-1].startswith("A30: Decoding stayed flat")


def test_a_figure_with_words_of_its_metric_alone_bears_its_sentence(tmp_path: Path) -> None:
    text = "At 74 TPS peak, the CPU is much slower, the card reaches 90 TPS."
    assert [row.point for row in results_of_text(tmp_path, text)] == [f"{text} (line 1)", "the card reaches (line 1)"]


def test_the_names_at_the_end_of_a_head_are_those_of_the_columns_below(tmp_path: Path) -> None:
    text = (
        "Time to first token\n\nN = 20 queries vLLM SGLang\nMean TTFT (ms) 125.5 66.5\nP99 TTFT (ms) 427.5* 84.5\n"
        "N = 600 queries vLLM SGLang\nMean TTFT (ms) 34.5 48.5\nP99 TTFT (ms) 79.5 153.5\n"
    )
    rows = [(row.statistic, row.value, row.point) for row in results_of_text(tmp_path, text)]
    assert rows[:2] == [
        ("mean", 125.5, "Mean TTFT (ms): vLLM (N = 20 queries; line 4)"),
        ("mean", 66.5, "Mean TTFT (ms): SGLang (N = 20 queries; line 4)"),
    ]
    assert [value for _, value, point in rows if ": SGLang (N = 600 queries;" in point] == [48.5, 153.5]


def test_a_level_before_the_names_of_columns_is_theirs(tmp_path: Path) -> None:
    text = "Concurrency 4 llama.cpp vLLM\nMean TTFT (ms) 125.5 98.5\nP99 TTFT (ms) 225.5 198.5\n"
    assert [(row.value, row.concurrency) for row in results_of_text(tmp_path, text)] == [
        (125.5, 4), (98.5, 4), (225.5, 4), (198.5, 4),
    ]  # fmt: skip


def test_the_last_words_of_a_sentence_are_no_columns(tmp_path: Path) -> None:
    rows = results_of_text(
        tmp_path, "These are the times of both\n\nMean TTFT (ms) 125.5 66.5\nMean TPOT (ms) 12.5 14.5\n"
    )
    assert [row.point for row in rows][:1] == ["Mean TTFT (ms): column 1 of 2 (These are the times of both; line 3)"]
