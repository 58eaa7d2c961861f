"""Lines of single runs and of their statistics, as scripts print them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import load_of, results_of
from tests.collectors.imports.test_prose_figures import figures_of

RUNS = """Bench of swift-9b
run 1: TTFT 412.5 ms, decode 41.5 tok/s
run 2: TTFT 409.5 ms, decode 43.5 tok/s
"""
FIGURES = [("ttft_ms", 412.5), ("decode_tps", 41.5), ("ttft_ms", 409.5), ("decode_tps", 43.5)]


@pytest.mark.parametrize(("lead", "statistic"), [("avg", "mean"), ("median", "median"), ("max (of 2)", "max")])
def test_the_statistic_that_leads_a_line_is_that_of_its_figures(tmp_path: Path, lead: str, statistic: str) -> None:
    rows = figures_of(
        tmp_path, f"{RUNS}{lead}: TTFT 411 ms, decode 42.5 tok/s\nstdev: TTFT 1.5 ms, decode 1.25 tok/s\n"
    )
    assert [(metric, value) for metric, found, value in rows if found == "stated"] == FIGURES
    assert [row for row in rows if row[1] != "stated"] == [
        ("ttft_ms", statistic, 411.0), ("decode_tps", statistic, 42.5),
    ]  # fmt: skip


def test_figures_between_bars_that_have_no_head(tmp_path: Path) -> None:
    path = tmp_path / "bench.txt"
    path.write_text(
        "Bench of swift-9b\n\n"
        "warmup  | TTFT 1830.5 ms | decode 21.5 tok/s\n"
        "run 1/2 | TTFT  412.5 ms | decode 41.5 tok/s\nrun 2/2 | TTFT  409.5 ms | decode 43.5 tok/s\n"
        "------------------------------------------\n"
        "mean    | TTFT  411.0 ms | decode 42.5 tok/s\nstd     | TTFT    1.5 ms | decode 1.25 tok/s\n"
    )
    load = load_of(path)
    rows = [(row.metric, row.statistic, row.value) for row in results_of(load)]
    assert rows == [
        *((metric, "stated", value) for metric, value in FIGURES),
        ("ttft_ms", "mean", 411.0), ("decode_tps", "mean", 42.5),
    ]  # fmt: skip
    assert load.notes == ["The warm-up was left out: 1 of the lines."]
