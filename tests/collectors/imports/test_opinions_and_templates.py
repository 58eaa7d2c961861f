"""Opinions on speeds, questions behind a figure, placeholders of commands, tags of images, marks around a number."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import load_of, loads_of
from tests.collectors.imports.test_prose_figures import figures_of


@pytest.mark.parametrize(
    "opinion",
    ["below 30 tok/s is too slow.", "60 tok/s is OK for small things.", "120 tok/s and more is an elite level."],
)
def test_an_opinion_on_a_speed_is_no_measurement(tmp_path: Path, opinion: str) -> None:
    assert figures_of(tmp_path, f"Decode: 45.5 tok/s\n\n  • {opinion}\n") == [("decode_tps", "stated", 45.5)]


def test_a_measured_speed_of_another_one_is_left_out(tmp_path: Path) -> None:
    text = "Your measured 46 tok/s without a cap is consistent.\n\nDecode: 24.5 tok/s\n"
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 24.5)]


@pytest.mark.parametrize(
    "words",
    [
        "- Why: a low TTFT (< 400 ms) keeps readers with you.",
        "In the thread I quoted that run as ~3.5 tok/s decode.",
        "My first post wrongly gave a decode speed of 31.5 tok/s.",
        "The misread decode throughput was 31.5 tok/s.",
    ],
)
def test_a_class_and_what_the_author_takes_back_are_no_measurements(tmp_path: Path, words: str) -> None:
    assert figures_of(tmp_path, f"Decode: 45.5 tok/s\n\n{words}\n") == [("decode_tps", "stated", 45.5)]


def test_a_bound_of_what_was_measured_is_read(tmp_path: Path) -> None:
    text = "Decode: 45.5 tok/s\n\nIn all requests the TTFT (< 400 ms) was measured at the client.\n"
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 45.5), ("ttft_ms", "max", 400.0)]


@pytest.mark.parametrize("name", ["Dell Pro Max with GB10", "Best Case", "best-case prompt"])
def test_a_word_within_a_name_is_no_statistic(tmp_path: Path, name: str) -> None:
    text = f"| System | Eval Rate | TTFT |\n|---|---|---|\n| {name} | 23.5 Tokens/s | 81 ms |\n"
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 23.5), ("ttft_ms", "stated", 81.0)]


def test_a_number_between_marks_behind_an_equals_sign(tmp_path: Path) -> None:
    text = "**Observed result:** E2E latency = **2.5s**\n\n1. **Is 2.5s e2e latency expected?**\n"
    assert figures_of(tmp_path, text) == [("e2e_ms", "stated", 2500.0)]


def test_a_question_in_lower_case_behind_a_figure_is_another_sentence(tmp_path: Path) -> None:
    text = (
        "I can only achieve about 600 TPS on 16 cards, slower than I hoped. is there anything wrong with my setting?\n"
    )
    assert figures_of(tmp_path, text) == [("stated", "stated", 600.0)]


def test_the_tag_of_an_image_is_no_version(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("The image `nvcr.io/nvidia/vllm:26.02-py3` gives 4.25 tok/s end-to-end.\n")
    assert "engine" not in load_of(path).params


def test_seconds_per_request_are_a_latency(tmp_path: Path) -> None:
    text = "Rate 1 Mean latency: 1.85s/req Mean latency: 1.5s/req (1.23x faster) Rate 4 Mean latency: 3.25s/req\n"
    assert figures_of(tmp_path, text) == [("e2e_ms", "mean", value) for value in (1850.0, 1500.0, 3250.0)]


def test_a_placeholder_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "vllm serve M --host 0.0.0.0\nvllm bench serve --model M --num-prompts X\n\n"
        "============ Serving Benchmark Result ============\n"
        "Successful requests:                     1\nBenchmark duration (s):                  6.5\n"
        "==================================================\n"
    )
    (load,) = loads_of(path)
    assert (load.model, "num_prompts" in load.params) == (None, False)


def test_a_table_of_bars_without_a_rule_whose_last_head_alone_has_a_unit(tmp_path: Path) -> None:
    text = "Model | GPU Num | Speed (tokens/s) |  \nTiny (one) | 1 | 490.5\nTiny (two) | 1 | 7.25\n"
    assert [row[2] for row in figures_of(tmp_path, text)] == [490.5, 7.25]


def test_an_item_that_begins_with_a_command_bears_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "The throughputs:\n* `vllm serve --async-scheduling -O.mode=FULL`: 6.25 req/s\n"
        "* `vllm serve --async-scheduling --no-cache -O.mode=FULL`: 5.5 req/s\n"
    )
    names = [row.point for row in load_of(path).result_rows]
    assert "vllm serve --async-scheduling -O.mode=FULL" in names[0] and "--no-cache" in names[1]
