"""Names and cells of people's own records: counts, lengths, statistics, arms, rates, and what they do not state."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import load_of, results_of


@pytest.mark.parametrize(("answered", "failed"), [("success_count", "failure_count"), ("ok_requests", "num_errors")])
def test_counts_of_requests_by_other_names(tmp_path: Path, answered: str, failed: str) -> None:
    path = tmp_path / "levels.json"
    path.write_text(f'[{{"concurrency": 2, "{answered}": 9, "{failed}": 1, "output_tok_s": 41.5, "duration_s": 20.5}}]')
    rows = {row.metric: row.value for row in results_of(load_of(path))}
    assert rows == {"requests": 9.0, "failed_requests": 1.0, "output_tps": 41.5, "duration_s": 20.5}


def test_lengths_by_the_names_of_ollama(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("model,prompt_eval_count,eval_count,tokens_per_second\na:7b,25,298,41.5\na:7b,25,301,40.5\n")
    assert [(row.prompt_tokens, row.output_tokens) for row in results_of(load_of(path))] == [(25, 298), (25, 301)]


def test_a_speed_beside_its_model_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    path.write_text(
        '{"rows": [{"model": "a-7b", "score": 2.5, "tps": 41.5}, {"model": "b-7b", "score": 2.1, "tps": 62}]}'
    )
    rows = results_of(load_of(path))
    assert [(row.value, row.unit, row.point[:10]) for row in rows] == [
        (41.5, "tok/s", "model=a-7b"), (62.0, "tok/s", "model=b-7b"),
    ]  # fmt: skip


def test_lengths_in_the_names_of_tests(tmp_path: Path) -> None:
    path = tmp_path / "fit.csv"
    path.write_text("model,ngl,pp1024_tps,tg128_tps\na-7b,99,900.5,61.5\nb-7b,40,700.5,31.5\n")
    rows = results_of(load_of(path))
    assert [(row.metric, row.prompt_tokens, row.output_tokens) for row in rows[:2]] == [
        ("prompt_tps", 1024, None), ("decode_tps", None, 128),
    ]  # fmt: skip


def test_arms_of_the_same_level(tmp_path: Path) -> None:
    path = tmp_path / "arms.csv"
    path.write_text(
        "Metric,8 并发,8 并发\n[[Results]],,\nSuccessful requests,40,40\nPeak concurrent requests,11,12\n"
        "Total generated tokens,5120,5000\nRequest throughput (req/s),6.5,2.5\nP95 TTFT (ms),995.5,2632.5\n"
    )
    rows = [(row.metric, row.value, row.concurrency, row.point.partition(":")[0]) for row in results_of(load_of(path))]
    first = "column=8 并发 (column 2)"
    assert rows[:5] == [
        ("requests", 40.0, 8, first), ("peak_concurrency", 11.0, 8, first), ("completion_tokens", 5120.0, 8, first),
        ("request_tps", 6.5, 8, first), ("ttft_ms", 995.5, 8, first),
    ]  # fmt: skip
    assert [value for _, value, _, point in rows if "column 3" in point] == [40.0, 12.0, 5000.0, 2.5, 2632.5]


def test_what_llama_server_predicted_is_no_forecast(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(
        "test,prompt_n,prompt_ms,prompt_tps,predicted_n,predicted_ms,predicted_tps\nshort,84,781.5,107.5,256,26459.5,9.5\n"
    )
    assert [(row.metric, row.value, row.output_tokens) for row in results_of(load_of(path))] == [
        ("prompt_ms", 781.5, 256), ("prompt_tps", 107.5, 256), ("decode_ms", 26459.5, 256), ("decode_tps", 9.5, 256),
    ]  # fmt: skip
    path.write_text("test,prompt_ms,prompt_tps,predicted_ms,predicted_tps\nshort,781.5,107.5,26459.5,9.5\n")
    assert [row.metric for row in results_of(load_of(path))] == ["prompt_ms", "prompt_tps"]


def test_statistic_of_a_value_within_an_object_of_means(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(
        '{"tok_s": 160.5, "gpu_avg_metrics": {"peak_memory_used_mib": 14122, "avg_memory_used_mib": 13000}}'
    )
    rows = [(row.statistic, row.value) for row in results_of(load_of(path))]
    assert rows == [("stated", 160.5), ("max", 14122.0), ("mean", 13000.0)]


def test_conversations_are_no_level_and_their_mean_time_no_duration(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(
        '{"workload": {"num_sessions": 4}, "engines": {"a": {"mean_ttft_ms": 55.5, "mean_total_time_ms": 632},'
        ' "b": {"mean_ttft_ms": 16.5, "mean_total_time_ms": 203}}}'
    )
    rows = [(row.metric, row.statistic, row.value, row.concurrency) for row in results_of(load_of(path))]
    assert rows[:2] == [("ttft_ms", "mean", 55.5, None), ("stated", "mean", 632.0, None)]


def test_the_metric_and_its_unit_in_cells_beside_statistics(tmp_path: Path) -> None:
    path = tmp_path / "summary.csv"
    path.write_text(
        "platform,test_type,parameter_value,median,p95,std,unit,n_trials\nM1,e2e_latency,32,1447.5,1473.5,13.5,ms,9\n"
        "M1,throughput,32,22.5,23.5,0.5,tokens/s,9\nM1,ttft,64,81.5,90.5,1.5,ms,9\n"
    )
    assert [(row.metric, row.statistic, row.value) for row in results_of(load_of(path))] == [
        ("e2e_ms", "median", 1447.5), ("e2e_ms", "p95", 1473.5), ("output_tps", "median", 22.5),
        ("output_tps", "p95", 23.5), ("ttft_ms", "median", 81.5), ("ttft_ms", "p95", 90.5),
    ]  # fmt: skip


def test_names_of_prometheus_as_columns(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(
        "run,prompt_tokens,latency_s,d__sglang:time_to_first_token_seconds_sum,d__sglang:e2e_latency_seconds_count\n"
        "one,1078,0.25,0.27,1\n"
    )
    assert [(row.metric, row.value, row.prompt_tokens) for row in results_of(load_of(path))] == [
        ("e2e_ms", 250.0, 1078)
    ]


def test_names_of_arms_and_perplexity_are_no_levels(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    path.write_text(
        '{"C06_tps": 146.5, "C11_tps": 168.5, "perplexity": {"eval_tokens": 1024}, "benchmark_time_sec": 20.5}'
    )
    rows = [(row.metric, row.value, row.concurrency, row.output_tokens) for row in results_of(load_of(path))]
    assert rows == [("stated", 146.5, None, None), ("stated", 168.5, None, None), ("duration_s", 20.5, None, None)]


def test_best_time_requested_rate_and_reference_texts(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(
        '{"model": "a-7b", "requested_rps": 10.0, "achieved_rps": 8.5, "best_ms": 1.5, "tokens_per_s": 60,'
        ' "reference": "It is a big change."}'
    )
    rows = results_of(load_of(path))
    assert [(row.metric, row.statistic, row.value) for row in rows] == [
        ("request_tps", "stated", 8.5), ("stated", "min", 1.5), ("stated", "stated", 60.0),
    ]  # fmt: skip
    assert rows[0].point.startswith("requested_rps=10") and "change" not in rows[0].point


def test_a_named_speed_of_no_known_metric_beside_its_unit(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"model": "a-7b", "metric": "mean_speed", "unit": "tok/s", "value": 41.5, "ttft_ms": 81.5}')
    rows = [(row.metric, row.value, row.unit) for row in results_of(load_of(path))]
    assert rows == [("stated", 41.5, "tok/s"), ("ttft_ms", 81.5, "ms")]


def test_the_load_time_of_a_summary_is_that_of_the_model(tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    path.write_text(
        '{"eval_tokens_per_sec": {"mean": 74.5}, "load_duration_sec": {"min": 0.25, "mean": 0.75},'
        ' "total_duration_sec": {"min": 12.5, "mean": 13.5}}'
    )
    assert [(row.metric, row.statistic, row.value) for row in load_of(path).result_rows] == [
        ("decode_tps", "mean", 74.5), ("model_load_s", "min", 0.25), ("model_load_s", "mean", 0.75),
        ("duration_s", "min", 12.5), ("duration_s", "mean", 13.5),
    ]  # fmt: skip


def test_tokens_of_a_whole_load_are_no_lengths(tmp_path: Path) -> None:
    path = tmp_path / "load.json"
    text = (
        '{"num_requests": 20, "duration_seconds": 10.0, "input_tokens": 9000, "output_tokens": OUT,'
        ' "requests_per_second": 2.0, "output_tokens_per_second": 250.0}'
    )
    path.write_text(text.replace("OUT", "2500"))
    rows = load_of(path).result_rows
    assert [(row.metric, row.value) for row in rows if row.unit == "tokens"] == [
        ("prompt_tokens", 9000.0), ("completion_tokens", 2500.0),
    ]  # fmt: skip
    assert {(row.prompt_tokens, row.output_tokens) for row in rows} == {(None, None)}
    path.write_text(text.replace("OUT", "125"))  # the length of an answer
    assert {(row.prompt_tokens, row.output_tokens) for row in load_of(path).result_rows} == {(9000, 125)}


def test_speeds_of_quoted_rows_of_llama_bench(tmp_path: Path) -> None:
    path = tmp_path / "bench.jsonl"
    path.write_text(
        '{"point": {"kind": "decode"}, "wall_seconds": 16.5,'
        ' "row": {"n_prompt": 0, "n_gen": 512, "avg_ts": 286.5, "stddev_ts": 1.5}}\n'
        '{"point": {"kind": "prefill"}, "wall_seconds": 8.5,'
        ' "row": {"n_prompt": 512, "n_gen": 0, "avg_ts": 5400.5, "stddev_ts": 9.5}}\n'
    )
    rows = [(row.metric, row.statistic, row.value) for row in load_of(path).result_rows if row.unit == "tok/s"]
    assert rows == [("decode_tps", "mean", 286.5), ("prompt_tps", "mean", 5400.5)]
