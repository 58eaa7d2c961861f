"""Results of loads whose requests all failed: the tools write zeros that nobody measured."""

from __future__ import annotations

from pathlib import Path

from tests.collectors.imports.captured import load_of, results_of


def test_zeros_of_vllm_without_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "failed.json"
    path.write_text(
        '{"endpoint_type": "vllm", "tokenizer_id": "a/b", "max_concurrency": 2, "duration": 0.5, "completed": 0,'
        ' "failed": 8, "total_input_tokens": 0, "total_output_tokens": 0, "request_throughput": 0.0,'
        ' "output_throughput": 0.0, "mean_ttft_ms": 0.0, "p99_ttft_ms": 0.0, "mean_itl_ms": 0.0}'
    )
    load = load_of(path)
    assert [(row.metric, row.value) for row in results_of(load)] == [
        ("duration_s", 0.5), ("requests", 0.0), ("failed_requests", 8.0),
    ]  # fmt: skip
    assert load.notes == ["No request was answered: speeds and latencies of 0 were left out."]


def test_a_time_per_token_of_zero_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"ttft_ms_median": 0.0, "tpot_ms_median": 0.0, "throughput_tps_median": 65.5}')
    assert [(row.metric, row.value) for row in results_of(load_of(path))] == [("output_tps", 65.5)]
