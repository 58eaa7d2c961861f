"""Measurements that a text states several times are stored once: summaries, closing sentences, rounded forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

SWEEP = (
    "## Sweep of the load\n\n| Concurrency | vLLM TPS | Tiny-Serve TPS | vLLM TTFT avg | Tiny-Serve TTFT avg |\n"
    "|---|---|---|---|---|\n| 1 | 111 | 93 | 25 ms | 33 ms |\n| 50 | 2,907 | 2,571 | 161 ms | 187 ms |\n\n"
)
SUMMARY = (
    "## Summary\n\n| Metric | vLLM | Tiny-Serve (own build) |\n|---|---|---|\n| TPS @ c=1 | 111 | 93 |\n"
    "| TPS @ c=50 | 2,907 | **2,571** |\n| TTFT avg @ c=50 | 161 ms | 187 ms |\n"
)


@pytest.mark.parametrize("text", [SWEEP + SUMMARY, SUMMARY + "\n" + SWEEP])
def test_a_summary_repeats_the_cells_of_a_sweep(tmp_path: Path, text: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert sorted(row.value or 0.0 for row in results_of(load)) == [25, 33, 93, 111, 161, 187, 2571, 2907]
    assert not any("@" in row.point for row in results_of(load))
    assert "What a summary repeats of other tables was left out: 6 values" in str(load.notes)


@pytest.mark.parametrize(
    "summary",
    [
        SUMMARY.replace("| 111 | 93 |", "| 112 | 94 |"),  # of another run
        SUMMARY.replace("c=1 |", "c=2 |"),  # of another level
        SUMMARY.replace("vLLM", "Other").replace("Tiny-Serve (own build)", "Third"),
        SUMMARY.replace("## Summary", "## Second sweep"),
    ],
)
def test_a_table_of_other_measurements_is_read(tmp_path: Path, summary: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", SWEEP + summary)
    assert len(results_of(load)) == 14


def test_a_level_of_a_summary_stands_behind_its_value(tmp_path: Path) -> None:
    text = "| Metric | Arm A | Arm B |\n|---|---|---|\n| Saturation TPS | ~1,742 @ c=32 | ~4,108 @ c=64 |\n"
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [(row.value, row.concurrency) for row in results_of(load)] == [(1742, 32), (4108, 64)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("TL;DR: the RTX 5060 Ti hit 1,257 tokens/second.\n\nMore. The $450 RTX 5060 Ti generates 1,257 tokens per "
         "second, which is fine.\n", [("stated", 1257)]),
        ("The RTX 5060 Ti does 61.4 tok/s.\n\nIn the end the RTX 5060 Ti has a decode speed of 61.4 tok/s.\n",
         [("decode_tps", 61.4)]),  # the more certain metric
        ("It fell from 35 tokens/second to 12 tokens/second.\n\nSteps:\n    Run the old one → measure ~35 tokens/s.\n"
         "    Update it.\n    Run it again → speed drops to ~12 tokens/s.\n", [("stated", 35), ("stated", 12)]),
        ("My setup sits around 71 tokens per second by my own measurement.\n\nOne request of 256 tokens each:\n"
         "run 1: 256 tok in 3.6s = 71.1 tok/s\nrun 2: 256 tok in 3.55s = 72.1 tok/s\navg: 71.6 tok/s\n",
         [("duration_s", 3.6), ("stated", 71.1), ("duration_s", 3.55), ("stated", 72.1), ("stated", 71.6)]),
    ],
)  # fmt: skip
def test_words_that_state_a_value_again_add_nothing(tmp_path: Path, text: str, values: list[tuple[str, float]]) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [(row.metric, row.value) for row in results_of(load)] == values
    assert any("What repeats a value in other words was left out" in note for note in load.notes)


@pytest.mark.parametrize(
    "text",
    [
        "The RTX 5060 Ti does 61.4 tok/s.\n\nAlso the RTX 5070 does 61.4 tok/s.\n",
        "With the draft it does 1,257 tok/s.\n\nWithout any draft it does 1,257 tok/s.\n",
        "At concurrency 4 the RTX 5060 does 1,257 tok/s.\n\nAt concurrency 8 the RTX 5060 does 1,257 tok/s.\n",
        "The RTX 5060 does ~50 tok/s.\n\nThe RTX 5090 does 50 tok/s.\n",
        "The first card does ~50 tok/s.\n\nThe other card does 50 tok/s.\n",
    ],
)
def test_equal_values_of_two_arms_are_both_read(tmp_path: Path, text: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert len(results_of(load)) == 2


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        (
            "Since updating Tiny from version 0.15.5 to 0.15.6 it fell (from 35 tok/s to 12 tok/s).",
            ["0.15.5", "0.15.6"],
        ),
        ("Updating from v1.2 to v1.3 moved it from 35 tok/s to 42 tok/s.", ["v1.2", "v1.3"]),
        ("With build 9.1 to 9.4 it went from 35.5 tok/s to 12.5 tok/s.", ["value 1", "value 2"]),
    ],
)
def test_a_change_of_version_names_both_ends_of_a_change(tmp_path: Path, sentence: str, names: list[str]) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"{sentence}\n")
    assert [row.point.rpartition(" (line")[0].rpartition(": ")[2] for row in results_of(load)] == names


def test_a_range_of_levels_in_a_heading_is_no_level(tmp_path: Path) -> None:
    text = "## Overload (concurrency 100 → 500)\n\nThe throughput stays at 5,600 tok/s.\n\n## B\n\n45 ms TTFT\n"
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert results_of(load)[0].concurrency is None


CHANGES = {
    "after": ("Decode went from 35 to 48 tok/s after updating to b6500.", "decode_tps", "after updating to b6500"),
    "units": ("Decode rose from 35 tok/s to 48 tok/s after the update.", "decode_tps", "after the update"),
    "with": (
        "The decode speed jumps from ~35 to ~48 tok/s with flash attention.",
        "decode_tps",
        "with flash attention",
    ),
    "in front": ("With MTP, decode went from 35 to 48 tok/s.", "decode_tps", "with MTP"),
    "no verb": ("from 35 to 48 tok/s after updating to CUDA 13", "stated", "after updating to CUDA 13"),
}


@pytest.mark.parametrize(("sentence", "metric", "arm"), CHANGES.values(), ids=CHANGES)
def test_both_ends_of_a_change_are_values_of_two_arms(tmp_path: Path, sentence: str, metric: str, arm: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"{sentence}\n")
    assert [
        (row.metric, row.statistic, row.value, row.point.rpartition(" (line")[0].rpartition(": ")[2])
        for row in results_of(load)
    ] == [(metric, "stated", 35, "before"), (metric, "stated", 48, arm)]


def test_both_changes_of_a_sentence_have_its_arms(tmp_path: Path) -> None:
    text = "Prompt went from 800 to 1200 t/s and generation from 20 to 30 t/s with the patch.\n"
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [(row.point, row.value) for row in results_of(load)] == [
        ("Prompt: before (line 1)", 800), ("Prompt: with the patch (line 1)", 1200),
        ("generation: before (line 1)", 20), ("generation: with the patch (line 1)", 30),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "sentence",
    [
        "I get 35 to 48 tok/s after updating to b6500.",
        "The speed ranges from 35 to 48 tok/s with flash attention.",
        "The speed drops from 48 to 35 tok/s with 8 users.",
        "The speed drops from 48 to 35 tok/s when the context grows.",
        "Generation went from 48 to 35 tok/s.",
    ],
)
def test_a_range_stays_a_range(tmp_path: Path, sentence: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"{sentence}\n")
    assert [(row.statistic, row.value) for row in results_of(load)] == [("min", 35), ("max", 48)]


LEVELS = (
    "## Sweep\n\n| Concurrency | vLLM tok/s | SGLang tok/s |\n|---|---|---|\n| 1 | 45.5 | 50.5 |\n"
    "| 8 | 245.5 | 260.5 |\n\n"
)
WITHOUT_LEVELS = {
    "rows": "| Engine | tok/s |\n|---|---|\n| vLLM | 245.5 |\n| SGLang | 260.5 |\n",
    "columns": "| Metric | vLLM | SGLang |\n|---|---|---|\n| Best tok/s | 245.5 | 260.5 |\n",
}


@pytest.mark.parametrize("table", WITHOUT_LEVELS.values(), ids=WITHOUT_LEVELS)
def test_a_comparison_without_levels_repeats_a_sweep(tmp_path: Path, table: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"{LEVELS}## Comparison\n\n{table}")
    assert [(row.value, row.concurrency) for row in results_of(load)] == [
        (45.5, 1), (50.5, 1), (245.5, 8), (260.5, 8),
    ]  # fmt: skip
    assert "What a summary repeats of other tables was left out: 2 values, 245.5 tok/s, 260.5 tok/s." in load.notes


@pytest.mark.parametrize(
    "table",
    [
        WITHOUT_LEVELS["rows"].replace("vLLM", "A").replace("SGLang", "B"),  # other subjects
        WITHOUT_LEVELS["rows"].replace("245.5", "260.5").replace("| SGLang | 260.5", "| SGLang | 245.5"),
        WITHOUT_LEVELS["rows"].replace("260.5", "270.5"),  # one may be equal by chance
    ],
)
def test_a_comparison_of_other_things_repeats_nothing(tmp_path: Path, table: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"{LEVELS}## Comparison\n\n{table}")
    assert len(results_of(load)) == 6
