"""Meanings of a table's numbers: errors and spreads of a speed, one GPU's share, marks of footnotes, arms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


def test_the_per_cent_of_a_speed_or_a_latency_is_none(tmp_path: Path) -> None:
    text = (
        "| metric | old | new | Spread |\n|---|---|---|---|\n| TTFT p50 | 30.5% | 11% | 2% |\n"
        "| output tok/s | 14% | 9% | 1% |\n| cache hits | 81% | 90% | 3% |\n| TPOT (ms) | 20 | 21 | 1.5% |\n"
    )
    assert figures_of(tmp_path, text) == [
        ("stated", "stated", 81.0), ("stated", "stated", 90.0), ("tpot_ms", "stated", 20.0),
        ("tpot_ms", "stated", 21.0),
    ]  # fmt: skip


def test_a_mean_beside_its_deviation_is_no_deviation(tmp_path: Path) -> None:
    text = "| Metric | short |\n|---|---|\n| Decode tokens/s (mean ± stdev) | 26.5 ± 0.5 |\n"
    text += "| Client TTFT seconds (mean) | 0.7 |\n| Decode stdev (tok/s) | 0.5 |\n"
    assert figures_of(tmp_path, text) == [("decode_tps", "mean", 26.5), ("ttft_ms", "mean", 700.0)]


def test_short_names_of_what_goes_in_and_out(tmp_path: Path) -> None:
    text = "| c | In tok/s | Out tok/s | in tok/s/GPU | out tok/s/GPU | tot tok/s/GPU |\n|---|---|---|---|---|---|\n"
    assert figures_of(tmp_path, f"### output-short\n\n{text}| 4 | 800 | 90 | 400 | 45 | 445 |\n") == [
        ("prompt_tps", "stated", 800.0), ("output_tps", "stated", 90.0), ("prompt_tps_per_gpu", "stated", 400.0),
        ("output_tps_per_gpu", "stated", 45.0), ("total_tps_per_gpu", "stated", 445.0),
    ]  # fmt: skip


@pytest.mark.parametrize("head", ["TTFT p50 ms (old -> new)", "TTFT p50 ms", "TTFT p50 (ms)"])
def test_a_unit_behind_a_percentile(tmp_path: Path, head: str) -> None:
    text = (
        f"| c | {head} | acc.len | reqLat P50 (s) |\n|---|---|---|---|\n| 4 (cold) \u2021 | 81.5\u2020 | 2.5 | 1.5 |\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.statistic, row.value, row.concurrency) for row in rows] == [
        ("ttft_ms", "median", 81.5, 4), ("acceptance_length", "stated", 2.5, 4), ("e2e_ms", "median", 1500.0, 4),
    ]  # fmt: skip


def test_an_arm_behind_a_mark_is_no_verdict(tmp_path: Path) -> None:
    text = "| Test | Draft | Gen (t/s) |\n|---|---|---|\n| a | \u274c Off | 45 |\n| a | \u2705 ngram | 46 |\n"
    assert [row.point for row in results_of_text(tmp_path, text)] == [
        "a, \u274c Off: Gen (t/s) (line 3)", "a, \u2705 ngram: Gen (t/s) (line 4)",
    ]  # fmt: skip


def test_parts_of_the_machine_are_no_results(tmp_path: Path) -> None:
    hardware = "## Hardware\n\n| Component | Value |\n|---|---|\n| VRAM used | 24 GB |\n\n"
    results = "## Results\n\n| c | decode tok/s | VRAM GB |\n|---|---|---|\n| 1 | 45.5 | 21.5 |\n"
    assert [value for *_, value in figures_of(tmp_path, hardware + results)] == [45.5, 21.5]
    speeds = results.replace("Results", "Hardware")
    assert [value for *_, value in figures_of(tmp_path, speeds)] == [45.5, 21.5]


def test_the_ratio_of_two_columns_is_no_measurement(tmp_path: Path) -> None:
    text = "| batch | eager tok/s | graph tok/s | graph/eager | hit rate |\n|---|---|---|---|---|\n"
    assert figures_of(tmp_path, f"{text}| 1 | 30 | 26.5 | 88% | 71% |\n") == [
        ("stated", "stated", 30.0), ("stated", "stated", 26.5), ("stated", "stated", 71.0),
    ]  # fmt: skip


def test_the_total_of_one_request_is_none_of_the_server(tmp_path: Path) -> None:
    text = (
        "| concurrence | per_request_total_tps | per_request_output_tps | total_throughout_tps |\n|---|---|---|---|\n"
    )
    rows = results_of_text(tmp_path, f"{text}| 4 | 25.5 | 10.5 | 90.5 |\n")
    assert [(row.metric, row.value, row.concurrency) for row in rows] == [
        ("stated", 25.5, 4), ("decode_tps", 10.5, 4), ("total_tps", 90.5, 4),
    ]  # fmt: skip


def test_the_time_of_an_output_token(tmp_path: Path) -> None:
    text = "| Metric | one | two |\n|---|---|---|\n| Time/output token (ms) | 70.5 | 67.5 |\n"
    assert figures_of(tmp_path, text) == [("tpot_ms", "stated", 70.5), ("tpot_ms", "stated", 67.5)]


@pytest.mark.parametrize(
    ("heads", "metric"),
    [
        ("Prefill speed (tok/s) | Decode speed (tok/s)", "decode_tps"),
        ("prefill tok/s (`prompt_tps`) | decode throughput tok/s (`generation_tps`)", "decode_tps"),
        ("Prefill speed (tok/s) | Total generation throughput (tok/s)", "output_tps"),
        ("Users per s | Decode speed (tok/s)", "decode_tps"),
    ],
)
def test_a_speed_of_decoding_beside_one_of_prefill_is_that_of_a_stream(tmp_path: Path, heads: str, metric: str) -> None:
    text = f"| Arm | {heads} |\n|---|---|---|\n| A | 900.5 | 45.5 |\n| B | 950.5 | 60.5 |\n"
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [row.metric for row in results_of(load) if row.value in (45.5, 60.5)] == [metric, metric]


def test_a_speed_of_decoding_at_a_level_may_be_that_of_all_streams(tmp_path: Path) -> None:
    text = (
        "| Concurrency | Prefill speed (tok/s) | Decode speed (tok/s) |\n|---|---|---|\n"
        "| 1 | 900.5 | 45.5 |\n| 8 | 950.5 | 210.5 |\n"
    )
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [row.metric for row in results_of(load) if row.metric != "prompt_tps"] == ["output_tps"] * 2
