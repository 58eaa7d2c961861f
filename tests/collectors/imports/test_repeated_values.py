"""Values that the words of a text repeat from its tables and printed blocks: they are stored once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

TABLE = (
    "| Concurrency | TTFT p95 (ms) | Wall time (s) | Output (tok/s) |\n|---|---|---|---|\n"
    "| 4 | 81.46 | 31.27 | 1203.9 |\n| 8 | 162.31 | 47.85 | 2310.4 |\n"
)
PRINTED = (
    "============ Serving Benchmark Result ============\nSuccessful requests:                     100\n"
    "Output token throughput (tok/s):         419.50\nTotal Token throughput (tok/s):          2871.26\n"
    "---------------Time to First Token----------------\nMean TTFT (ms):                          95.50\n"
    "==================================================\n"
)
VALUES = [81.46, 31.27, 1203.9, 162.31, 47.85, 2310.4]


@pytest.mark.parametrize(
    "sentence",
    [
        "With 4 at once we see ~1204 tok/s.",
        "At 8 concurrent it reaches 2310 tok/s, and TTFT p95 climbs from 81 ms to 162 ms.",
        "The whole run, prompt included, took 47.85 s of prefill and decoding.",
    ],
)
def test_words_that_round_a_value_of_a_table_add_nothing(tmp_path: Path, sentence: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"{TABLE}\n{sentence}\n")
    assert [row.value for row in results_of(load)] == VALUES


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("At 16 concurrent we see 2310 tok/s.", 2310),  # of another level
        ("The median TTFT was 162 ms.", 162),  # another statistic
        ("Another card gives 2300 tok/s.", 2300),  # no rounding to its last digit
        ("Prefill of the other card runs at 1204 tok/s.", 1204),  # another metric
    ],
)
def test_words_that_state_another_value_are_read(tmp_path: Path, sentence: str, value: float) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"{TABLE}\n{sentence}\n")
    assert [row.value for row in results_of(load)] == [*VALUES, value]


def test_a_rounded_value_is_noted(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"{TABLE}\nWith 4 at once we see ~1204 tok/s.\n")
    assert "What repeats a value in other words was left out: 1204 tok/s." in load.notes


def test_a_ranking_repeats_what_a_tool_printed(tmp_path: Path) -> None:
    other = PRINTED.replace("2871.26", "3105.44")
    text = (
        f"Engine A\n\n{PRINTED}\nEngine B\n\n{other}\nRanking: B(3105.44 tok/s) > A (2871.26 tok/s) > C (no support)\n"
    )
    loads = loads_of_text(tmp_path, "post.md", text)
    totals = [row.value for load in loads for row in results_of(load) if row.value and row.value > 2000]
    assert totals == [2871.26, 3105.44]


def test_the_name_of_a_variable_states_the_statistic_of_words(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"{TABLE}\nOn the other card ttft_p90 climbs to 512.5 ms.\n")
    assert [(row.statistic, row.value) for row in results_of(load)][-1:] == [("p90", 512.5)]


RUNS = (
    "model = tiny:7b\n----------\neval rate:            32.77 tokens/s\nprompt = two\n"
    "eval rate:            32.80 tokens/s\nprompt = three\neval rate:            32.85 tokens/s\n"
    "Average of eval rate:  {mean}  tokens/s\n"
)


@pytest.mark.parametrize("mean", [32.807, 32.8])
def test_a_run_that_equals_the_mean_of_its_series_repeats_nothing(tmp_path: Path, mean: float) -> None:
    (load,) = loads_of_text(tmp_path, "runs.txt", RUNS.format(mean=mean))
    assert sorted((row.statistic, row.value) for row in results_of(load)) == [
        ("mean", mean), ("stated", 32.77), ("stated", 32.8), ("stated", 32.85),
    ]  # fmt: skip
    assert not any("repeats" in note for note in load.notes)
