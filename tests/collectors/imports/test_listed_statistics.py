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
        [("prompt_tps", "stated", 1200.0), ("output_tps", "stated", 45.0)],
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
