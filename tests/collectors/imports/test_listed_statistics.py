"""Figures that are listed beside their names, with a unit that is stated once, and several statistics on a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.test_prose_figures import figures_of, results_of_text

THREE_MEDIANS = [("ttft_ms", "median", 120.0), ("tpot_ms", "median", 15.0), ("itl_ms", "median", 14.0)]
THREE_STATISTICS = [("ttft_ms", "median", 120.0), ("ttft_ms", "p90", 180.0), ("ttft_ms", "p99", 320.0)]
TEXTS = {
    "names between slashes": ("Median TTFT/TPOT/ITL were 120, 15 and 14 ms.", THREE_MEDIANS),
    "names with a colon": ("Median TTFT, TPOT and ITL: 120 / 15 / 14 ms", THREE_MEDIANS),
    "each with its statistic": ("Median TTFT, median TPOT and median ITL are 120, 15 and 14 ms.", THREE_MEDIANS),
    "a name before each": ("TTFT median 120, TPOT median 15 and ITL median 14 ms", THREE_MEDIANS),
    "statistics before the metric": ("p50, p90 and p99 TTFT are 120, 180 and 320 ms.", THREE_STATISTICS),
    "statistics behind the metric": ("TTFT median/p90/p99 (ms): 120 / 180 / 320", THREE_STATISTICS),
    "the unit behind the last": ("TTFT: p50 120, p90 180, p99 320 ms", THREE_STATISTICS),
    "the unit behind the first": ("TTFT p50 was 120 ms, p90 180 and p99 320.", THREE_STATISTICS),
    "statistics in brackets": ("TTFT was 120 ms (p50), 180 (p90) and 320 (p99).", THREE_STATISTICS),
    "bars": ("- TTFT (ms): p50 120 | p90 180 | p99 320\n", THREE_STATISTICS),
    "a cell": ("| conc | TTFT (ms) |\n|---|---|\n| 8 | p50 120, p90 180, p99 320 |\n", THREE_STATISTICS),
    "a cell of pairs": ("| conc | TTFT |\n|---|---|\n| 8 | p50=120 ms / p90=180 ms / p99=320 ms |\n", THREE_STATISTICS),
    "respectively": (
        "The median and p99 TTFT were 120 and 320 ms, respectively.",
        [("ttft_ms", "median", 120.0), ("ttft_ms", "p99", 320.0)],
    ),
    "two phases": (
        "Prefill and decode were 1200 and 45 tok/s.",
        [("prompt_tps", "stated", 1200.0), ("decode_tps", "stated", 45.0)],
    ),
    "names behind": (
        "It does 1200/45 tok/s pp/tg on a card.",
        [("prompt_tps", "stated", 1200.0), ("output_tps", "stated", 45.0)],
    ),
    "two lists": (
        "Median TTFT and TPOT dropped from 120 and 15 ms to 95 and 14 ms.",
        [("ttft_ms", "median", 120.0), ("tpot_ms", "median", 15.0),
         ("ttft_ms", "median", 95.0), ("tpot_ms", "median", 14.0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "figures"), TEXTS.values(), ids=TEXTS)
def test_listed_figures(tmp_path: Path, text: str, figures: list[tuple[str, str, float]]) -> None:
    assert figures_of(tmp_path, text) == figures


def test_names_before_the_first_list_are_those_of_the_next(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, "We measured TTFT/TPOT of 120/15 ms on vLLM and 150/17 ms on SGLang.")
    assert [(row.metric, row.value, row.point.split()[2]) for row in rows] == [
        ("ttft_ms", 120.0, "vLLM"),
        ("tpot_ms", 15.0, "vLLM"),
        ("ttft_ms", 150.0, "SGLang"),
        ("tpot_ms", 17.0, "SGLang"),
    ]


def test_a_number_of_something_else_has_not_the_unit_of_a_statistic(tmp_path: Path) -> None:
    assert figures_of(tmp_path, "TTFT: p99 320 ms, max 3 requests waited for it.") == [("ttft_ms", "p99", 320.0)]


def test_figures_beside_the_statistics_of_a_line_are_read(tmp_path: Path) -> None:
    rows = results_of_text(
        tmp_path,
        "Concurrency 8: TTFT p50=120ms p99=320ms, throughput=1450.5 tok/s\n"
        "- 64 users: 6.5k tok/s, TTFT p50 180 / p99 640 ms\n",
    )
    assert sorted((row.metric, row.value, row.concurrency) for row in rows) == [
        ("output_tps", 1450.5, 8), ("stated", 6500.0, 64),
        ("ttft_ms", 120.0, 8), ("ttft_ms", 180.0, 64), ("ttft_ms", 320.0, 8), ("ttft_ms", 640.0, 64),
    ]  # fmt: skip


def test_a_second_list_has_the_names_of_the_first(tmp_path: Path) -> None:
    text = "Mean and p99 ITL came out at 14.2 and 21.7 ms for the baseline and 12.1 and 19.5 ms with the patch."
    assert figures_of(tmp_path, text) == [
        ("itl_ms", "mean", 14.2), ("itl_ms", "p99", 21.7), ("itl_ms", "mean", 12.1), ("itl_ms", "p99", 19.5),
    ]  # fmt: skip


def test_a_second_list_of_another_metric_has_its_own_words(tmp_path: Path) -> None:
    text = "TTFT/TPOT of 120/15 ms, then a latency of 300/400 ms and a throughput of 45/60 tok/s."
    assert [(metric, value) for metric, _, value in figures_of(tmp_path, text)] == [
        ("ttft_ms", 120.0), ("tpot_ms", 15.0), ("e2e_ms", 300.0), ("e2e_ms", 400.0),
        ("output_tps", 45.0), ("output_tps", 60.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "c=6 done: ttft p50=120ms p99=320ms, itl p50=14ms p99=21.5ms",
        "c=6 done: ttft p50 120 ms / p99 320 ms; itl p50 14 ms / p99 21.5 ms",
        "c=6 done: ttft p50=120ms p99=320ms | itl p50=14ms p99=21.5ms",
    ],
)
def test_statistics_of_two_latencies_on_a_line(tmp_path: Path, line: str) -> None:
    rows = results_of_text(tmp_path, f"{line}\n")
    assert [(row.metric, row.statistic, row.value, row.concurrency) for row in rows] == [
        ("ttft_ms", "median", 120.0, 6), ("ttft_ms", "p99", 320.0, 6),
        ("itl_ms", "median", 14.0, 6), ("itl_ms", "p99", 21.5, 6),
    ]  # fmt: skip


def test_a_latency_with_one_statistic_behind_another_with_two(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, "TTFT p50=120ms p99=320ms, ITL p50=14ms\n")
    assert sorted(figures) == [("itl_ms", "median", 14.0), ("ttft_ms", "median", 120.0), ("ttft_ms", "p99", 320.0)]


def test_a_colon_behind_each_of_two_latencies(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, "TTFT: p50=120ms p99=320ms, ITL: p50=14ms p99=21.5ms\n")
    assert figures == [
        ("ttft_ms", "median", 120.0), ("ttft_ms", "p99", 320.0), ("itl_ms", "median", 14.0), ("itl_ms", "p99", 21.5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "Mean acceptance length: 2.5, Per-position acceptance rate: 0.9, 0.625, 0.25, Avg Draft acceptance rate: 50.5%",
        "Mean acceptance length: 2.5, acceptance by position: 90% / 62.5% / 25%, Avg Draft acceptance rate: 50.5%",
    ],
)
def test_accepted_drafts_by_position_in_a_line(tmp_path: Path, line: str) -> None:
    rows = results_of_text(tmp_path, f"It decodes 45.5 tok/s.\n{line}\n")
    assert [row.value for row in rows if row.metric == "position_acceptance_rate"] == [0.9, 0.625, 0.25]
    assert [row.point[-10:] for row in rows if row.metric == "position_acceptance_rate"] == [
        f"position {position}" for position in (0, 1, 2)
    ]
    (rate,) = [row for row in rows if row.metric == "acceptance_rate"]
    assert (rate.value, rate.statistic) == (0.505, "mean") and "0.25" not in rate.point


@pytest.mark.parametrize(
    ("positions", "shares"),
    [("pos-0 ~70%, pos-1 45%", [("0", 0.7), ("1", 0.45)]), ("pos-0 ~70%", [("0", 0.7)]), ("pos-1 45%, pos-2 30%", [])],
)
def test_shares_of_named_positions(tmp_path: Path, positions: str, shares: list[tuple[str, float]]) -> None:
    text = f"Decode runs at 45.5 tok/s.\n\nThe draft works (accept length 2.75, {positions}).\n"
    rows = [row for row in results_of_text(tmp_path, text) if row.metric == "position_acceptance_rate"]
    assert [(row.point.rpartition(" ")[2], row.value) for row in rows] == shares
    assert [row.reason for row in rows[:1]] == ["stated_as_about"] * bool(shares)
