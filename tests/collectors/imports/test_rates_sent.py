"""A rate that is sent beside the one that is served, sides behind a dash, speeds of one card, speeds of nothing."""

from __future__ import annotations

from pathlib import Path

from tests.collectors.imports.captured import load_of, loads_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


def test_the_rate_sent_is_not_the_rate_served(tmp_path: Path) -> None:
    text = "| Model | QPS | Throughput(req/s) | TTFT(P50, ms) |\n|---|---|---|---|\n| A | 4 | 0.5 | 5985.5 |\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value) for row in rows] == [("request_tps", 0.5), ("ttft_ms", 5985.5)]
    assert rows[0].point == "A, request rate=4: Throughput(req/s) (line 3)"


def test_sides_behind_a_dash_and_speeds_of_one_card(tmp_path: Path) -> None:
    text = (
        "| Model | Throughput(token/s) - input+ouput | Throughput(token/s) - input | Throughput(token/s) - output "
        "| Total token throughput (tok/s/单卡) |\n|---|---|---|---|---|\n| A | 612.5 | 428.5 | 184 | 76.5 |\n"
    )
    assert figures_of(tmp_path, text) == [
        ("total_tps", "stated", 612.5), ("prompt_tps", "stated", 428.5), ("output_tps", "stated", 184.0),
        ("total_tps_per_gpu", "stated", 76.5),
    ]  # fmt: skip


def test_a_speed_of_nothing_is_none(tmp_path: Path) -> None:
    assert figures_of(tmp_path, "it goes at maybe 10-20 tok/sec\nbut says 0tok/sec\n") == [
        ("stated", "min", 10.0), ("stated", "max", 20.0),
    ]  # fmt: skip


def test_a_column_of_levels_is_not_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("| Prefill | TTFT |\n|---|---|\n| 1k | 0.5 s |\n| 4k | 2.5 s |\n")
    assert load_of(path).notes == []


def test_numbered_titles_tell_passages_apart(tmp_path: Path) -> None:
    passage = "\nruns: 3\n\nprefill_speed: 204.5 tokens/s\ndecode_speed:   8.5 tokens/s\ntime_to_first_token: 1.5 s\n\n"
    text = f"🚀 Results\n1) GPU — Speculation OFF\n{passage}2) GPU — Speculation ON\n{passage}"
    names = {row.point.partition(":")[0] for row in results_of_text(tmp_path, text)}
    assert names == {"1) GPU — Speculation OFF", "2) GPU — Speculation ON"}


def test_a_heading_between_bars_above_a_summary(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        "----- BOTH FLAGS ON (A_FP8_REQUANT_OF_WEIGHTS=1 B_FP8_W8A16=1) | --max-concurrency 32 -----\n"
        "============ Serving Benchmark Result ============\nSuccessful requests:                     160\n"
        "Benchmark duration (s):                  62.5\nTotal input tokens:                      1000\n"
        "Total generated tokens:                  1000\nRequest throughput (req/s):              2.5\n"
        "Output token throughput (tok/s):         2606.5\n"
    )
    (load,) = loads_of(path)
    assert str(load.params["heading"]).startswith("BOTH FLAGS ON")
