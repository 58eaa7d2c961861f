"""Names and mere descriptions above a table; levels and lengths that heads state."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from tests.collectors.imports.captured import load_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


@pytest.mark.parametrize(
    ("title", "metric"),
    [
        ("Same machine, one prompt, 800 max tokens:", "stated"),
        ("Engine bursts (`loggers.py`, mean generation throughput of the batch):", "stated"),
        ("Three runs of each,\nper prompt, five times:", "stated"),
        ("Both arms ran after each other on the very same machine with speculative decoding:", "stated"),
        ("Decode speed \u2014 higher is better", "decode_tps"),
        ("### 2. Prefill, 4 cards", "prompt_tps"),
    ],
)
def test_only_the_first_words_of_a_title_name_a_metric(tmp_path: Path, title: str, metric: str) -> None:
    text = f"{title}\n\n| c | A tok/s | B tok/s |\n|---|---|---|\n| 1 | 45 | 50 |\n"
    assert figures_of(tmp_path, text) == [(metric, "stated", 45.0), (metric, "stated", 50.0)]


def test_a_title_names_no_time_beside_columns_that_name_their_own(tmp_path: Path) -> None:
    table = "|---|---|---|\n| a | 81 | 3 |\n"
    assert figures_of(tmp_path, f"### TTFT\n\n| arm | run A (ms) | run B (ms) |\n{table}") == [
        ("ttft_ms", "stated", 81.0), ("ttft_ms", "stated", 3.0),
    ]  # fmt: skip
    assert figures_of(tmp_path, f"### Latency\n\n| arm | TPOT (ms) | start s |\n{table}") == [
        ("tpot_ms", "stated", 81.0), ("stated", "stated", 3.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "heading", ["2.1 Predicted vLLM on two cards", "Estimated speeds by batch", "3. \u6027\u80fd\u9884\u4f30"]
)
def test_a_heading_that_begins_with_a_forecast(tmp_path: Path, heading: str) -> None:
    with pytest.raises(ImportRefusedError):
        figures_of(tmp_path, f"## {heading}\n\n| c | Decode (tok/s) |\n|---|---|\n| 1 | 45 |\n")


def test_the_unit_of_all_latencies_in_a_paragraph_above(tmp_path: Path) -> None:
    text = "Four users, two minutes. All times are in seconds; the tool\nrounds them.\n\n| Users | TTFT p50 | queue |\n"
    assert figures_of(tmp_path, f"{text}|---|---|---|\n| 4 | 2.5 | 7 |\n") == [("ttft_ms", "median", 2500.0)]


def test_levels_in_the_heads_of_columns(tmp_path: Path) -> None:
    text = "| Concurrent users | 1 | 16 |\n|---|---|---|\n| Per-user tok/s | 45 | 12 |\n| Wall time (s) | 3 | 9 |\n"
    assert [(row.metric, row.value, row.concurrency) for row in results_of_text(tmp_path, text)] == [
        ("decode_tps", 45.0, 1), ("decode_tps", 12.0, 16), ("duration_s", 3.0, 1), ("duration_s", 9.0, 16),
    ]  # fmt: skip


def test_contexts_that_share_the_name_of_a_phase(tmp_path: Path) -> None:
    text = "| Cards | Prefill 1k / 4k (t/s) | Decode (t/s) |\n|---|---|---|\n| PP2 | 900 / 1,100 | 45 |\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.prompt_tokens) for row in rows] == [
        ("prompt_tps", 900.0, None), ("prompt_tps", 1100.0, None), ("decode_tps", 45.0, None),
    ]  # fmt: skip
    assert "Prefill 4k" in rows[1].point


def test_a_build_of_llama_cpp_is_no_model(tmp_path: Path) -> None:
    text = "Llama 3.1 8B Instruct\n\n| config | Decode (tok/s) |\n|---|---|\n| llamacpp-cuda-bf16 | 45 |\n"
    path = tmp_path / "a.md"
    path.write_text(text)
    assert load_of(path).model == "Llama 3.1 8B"
