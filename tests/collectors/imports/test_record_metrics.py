"""Measurements whose metric only the other values of a record tell: its test, its load, its other durations."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.readers import reader_of, unknown_file_reason
from collectors.imports.results.source import ResultFile
from load_records import Accuracy
from tests.collectors.imports.captured import load_of, results_of


def test_the_test_of_a_record_says_which_side_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "bench.csv"
    path.write_text(
        "model,test,n_prompt,n_gen,tps,note\na-7b,pp512,512,0,900.5,x\na-7b,tg128,0,128,61.5,x\na-7b,mixed,64,64,80,x\n"
    )
    assert [(r.metric, r.value, r.prompt_tokens, r.output_tokens) for r in results_of(load_of(path))] == [
        ("prompt_tps", 900.5, 512, 0), ("decode_tps", 61.5, 0, 128), ("stated", 80.0, 64, 64),
    ]  # fmt: skip


def test_the_object_around_a_speed_says_which_side_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_text(
        '{"runs": {"prefill": {"throughput_tok_s": 900.5, "latency_ms": 569, "total_tok_s": 950},'
        ' "decode": {"throughput_tok_s": 61.5, "latency_ms": 16.5, "total_tok_s": 70}}}'
    )
    assert [(r.metric, r.value) for r in results_of(load_of(path))] == [
        ("prompt_tps", 900.5), ("prompt_ms", 569.0), ("total_tps", 950.0),
        ("output_tps", 61.5), ("e2e_ms", 16.5), ("total_tps", 70.0),
    ]  # fmt: skip


def test_lines_that_quote_rows_of_llama_bench(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(
        '{"mode": "pp", "tokens_per_sec": 117.5, "fa": "", "bench_raw": {"model_filename": "/m/a.gguf", "n_prompt": 9,'
        ' "n_gen": 0, "avg_ts": 117.5}, "build": "one"}\n'
        '{"mode": "tg", "tokens_per_sec": 22.5, "fa": "-fa 1", "bench_raw": {"model_filename": "/m/a.gguf",'
        ' "n_prompt": 0, "n_gen": 64, "avg_ts": 22.5}, "build": "two"}\n'
    )
    load = load_of(path)
    assert load.model == "/m/a.gguf"
    assert [(r.metric, r.value, r.prompt_tokens, r.output_tokens) for r in load.result_rows] == [
        ("prompt_tps", 117.5, 9, 0), ("output_tps", 22.5, 0, 64),
    ]  # fmt: skip
    assert "build=two" in load.result_rows[1].point and "fa=-fa 1" in load.result_rows[1].point


def test_a_load_has_one_duration_and_counts_its_tokens(tmp_path: Path) -> None:
    path = tmp_path / "cell.json"
    path.write_text(
        '{"output_tok_s": 39.5, "request_throughput_req_s": 0.5, "completed": 10, "total_input_tokens": 640,'
        ' "total_output_tokens": 790, "bench_elapsed_ms": 60550, "duration_s": 20.0}'
    )
    rows = [(r.metric, r.value, r.unit) for r in results_of(load_of(path))]
    assert ("prompt_tokens", 640.0, "tokens") in rows and ("completion_tokens", 790.0, "tokens") in rows
    assert ("duration_s", 20.0, "s") in rows and ("stated", 60550.0, "ms") in rows


def test_ratios_and_planned_workloads_are_no_results(tmp_path: Path) -> None:
    path = tmp_path / "point.json"
    path.write_text(
        '{"meta": {"gpu": {"name": "L4", "memory_mb": 23034}, "workload": {"concurrency": 10, "duration_s": 90}},'
        ' "workload": {"name": "chat", "metrics": {"ttft_p50_ms": 112}},'
        ' "old_tps": 40, "new_tps": 60, "old_to_new_tps_ratio": 1.5, "ttft_improve_pct": 33.1}'
    )
    load = load_of(path)
    assert [(r.metric, r.value, r.unit, r.concurrency) for r in load.result_rows] == [
        ("ttft_ms", 112.0, "ms", 10), ("stated", 40.0, "tok/s", 10), ("stated", 60.0, "tok/s", 10),
    ]  # fmt: skip
    assert not any("ratio" in row.point or "improve" in row.point for row in load.result_rows)


def test_a_cell_names_the_metric_of_the_statistics_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "summaries.json"
    path.write_text(
        '{"summaries": [{"arm": "a", "metric": "tpot_ms", "median": 12.5, "max": 14.5, "n": 5},'
        ' {"arm": "b", "metric": "ttft", "unit": "s", "mean": 0.25, "stdev": 0.1}]}'
    )
    assert [(r.metric, r.statistic, r.value) for r in results_of(load_of(path))] == [
        ("tpot_ms", "median", 12.5), ("tpot_ms", "max", 14.5), ("ttft_ms", "mean", 250.0),
    ]  # fmt: skip


def test_counts_of_values_and_sizes_of_models_are_no_results(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(
        '{"model": {"hf_id": "o/m-8b", "weights_gib": 15.0}, "ttft_s": {"count": 180, "mean": 0.25, "max": 0.5},'
        ' "eval_tps_mean": 46.5, "tokens_evaluated": 512, "step_latency_max_ms": 9.5}'
    )
    load = load_of(path)
    assert load.model == "o/m-8b"
    assert [(r.metric, r.statistic, r.value, r.prompt_tokens) for r in load.result_rows] == [
        ("ttft_ms", "mean", 250.0, 512), ("ttft_ms", "max", 500.0, 512), ("decode_tps", "mean", 46.5, 512),
        ("stated", "max", 9.5, 512),
    ]  # fmt: skip


def test_units_smaller_and_larger_than_pitwalls(tmp_path: Path) -> None:
    path = tmp_path / "units.csv"
    path.write_text(
        "arm,ttft_us,tpot_ns,e2e_minutes,ttfr_s,ttfr_minutes,queue_us\na,81500,12500000,1.5,32.1,0.54,2500\n"
        "b,82500,13500000,2,42.1,0.7,3500\n"
    )
    assert [(r.metric, r.value, r.unit) for r in results_of(load_of(path))][:5] == [
        ("ttft_ms", 81.5, "ms"), ("tpot_ms", 12.5, "ms"), ("e2e_ms", 90_000.0, "ms"), ("ttfr_ms", 32_100.0, "ms"),
        ("stated", 2.5, "ms"),
    ]  # fmt: skip


def test_json_without_results_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    lines = ['"model": "a-7b"', '"turns": 12', '"tool_calls": 11', '"errors": 0', '"wall_time_s": 270.25', '"end": 1']
    path.write_text("{\n  " + ",\n  ".join(lines) + "\n}\n")
    assert reader_of(ResultFile(path, path.name)) is None


def test_tokens_of_a_load_that_counts_its_requests(tmp_path: Path) -> None:
    path = tmp_path / "load.csv"
    path.write_text("users,successful_requests,failed_requests,total_output_tokens,tps_mean\n1,8,0,280,320.5\n")
    assert ("completion_tokens", 280.0) in [(r.metric, r.value) for r in results_of(load_of(path))]


def test_numbers_in_strings_and_speeds_of_all_tokens(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    path.write_text(
        '{"runs": [{"bench": "a", "tok_s": "25.5", "wall_s": "134", "latency": "81 ms",'
        ' "output": "300s"}, {"throughput": {"output_tokens_per_sec": 26.5, "total_tokens_per_sec": 27.5}}]}'
    )
    assert [(r.metric, r.value) for r in results_of(load_of(path))] == [
        ("stated", 25.5), ("duration_s", 134.0), ("e2e_ms", 81.0), ("output_tps", 26.5), ("total_tps", 27.5),
    ]  # fmt: skip


def test_sizes_per_token_make_no_kernel_of_a_load(tmp_path: Path) -> None:
    path = tmp_path / "turns.json"
    path.write_text(
        '{"config": {"kv_bytes_per_token": 512}, "by_turn": [{"turn": 1, "mean_latency_ms": 2195.5, "tokens": 341,'
        ' "speed_degradation_pct": -5.5, "throughput_tasks_per_sec": 1.5}]}'
    )
    load = load_of(path)
    assert [(r.metric, r.statistic, r.value) for r in load.result_rows] == [("e2e_ms", "mean", 2195.5)]
    assert load.notes == ["Left out, since no unit that Pitwall knows is stated: throughput_tasks_per_sec."]


def test_accuracies_of_known_tasks(tmp_path: Path) -> None:
    path = tmp_path / "quality.json"
    path.write_text(
        '[{"arm": "a", "tok_s": 26.5, "quality": {"mmlu_accuracy": 0.74, "gsm8k": {"accuracy_pct": 81.5},'
        ' "routing_accuracy": 0.5}}, {"arm": "b", "task": "ifeval", "tok_s": 25.5, "accuracy": 0.5, "correct": 1}]'
    )
    rows = [row for row in load_of(path).rows if isinstance(row, Accuracy)]
    assert [(row.task.partition(":")[0], row.value) for row in rows] == [
        ("mmlu", 0.74), ("gsm8k", 0.815), ("ifeval", 0.5),
    ]  # fmt: skip


def test_scores_of_single_answers_are_no_accuracies(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("prompt_idx,gsm8k_exact_match,tokens_per_sec,total_time_ms\n0,1.0,15.5,4085.5\n1,0.0,20.5,3183.5\n")
    assert not any(isinstance(row, Accuracy) for row in load_of(path).rows)


def test_requests_of_a_load_without_failures(tmp_path: Path) -> None:
    path = tmp_path / "levels.json"
    path.write_text(
        '{"rows": [{"concurrency": 4, "requests": 16, "batch_completion_time_seconds": 5.5, "throughput_tok_s": 640.5,'
        ' "prompt_tokens_per_request": 1024}, {"concurrency": 8, "requests": 9, "ttft_ms": 81.5}]}'
    )
    assert [(r.metric, r.value, r.prompt_tokens) for r in results_of(load_of(path))] == [
        ("requests", 16.0, 1024), ("duration_s", 5.5, 1024), ("output_tps", 640.5, 1024), ("ttft_ms", 81.5, None),
    ]  # fmt: skip


def test_latencies_of_a_cache_and_what_it_saved(tmp_path: Path) -> None:
    path = tmp_path / "cache.json"
    path.write_text(
        '[{"cold_ttft_ms": 1589.5, "warm_ttft_ms": 1249.5, "ttft_saved_ms": 340, "save_latency_ms": 53.5,'
        ' "load_latency_ms": 21.5, "load_seconds": 20.5}]'
    )
    assert [(r.metric, r.value) for r in results_of(load_of(path))] == [
        ("ttft_ms", 1589.5), ("ttft_ms", 1249.5), ("stated", 53.5), ("stated", 21.5), ("model_load_s", 20.5),
    ]  # fmt: skip


def test_a_total_latency_with_percentiles_is_that_of_requests(tmp_path: Path) -> None:
    path = tmp_path / "load.json"
    latencies = '"ttft_ms": {"p50": 212.5}, "total_latency_ms": {"p50": 4612.5, "p95": 4730.5}'
    path.write_text(f'[{{"concurrency": 10, "metrics": {{{latencies}}}}}]')
    assert [(r.metric, r.statistic, r.value) for r in results_of(load_of(path))] == [
        ("ttft_ms", "median", 212.5), ("e2e_ms", "median", 4612.5), ("e2e_ms", "p95", 4730.5),
    ]  # fmt: skip


def test_a_speed_in_short_and_a_bare_share(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text('[{"task": "edit", "tokIn": 990, "tokOut": 897, "pct": 1, "ttft": 0.872, "tokps": 212.5}]')
    assert [(r.metric, r.value, r.unit, r.prompt_tokens, r.output_tokens) for r in results_of(load_of(path))] == [
        ("stated", 212.5, "tok/s", 990, 897)
    ]


def test_cells_of_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "prompts.csv"
    path.write_text(
        "prompt_id,input_token_count,output_token_count,latency_sec,tokens_per_sec,generated_text\n"
        'p1,7,64,1.5,58.5,"What?\n\n\nNothing."\np2,10,64,0.5,65.5,"b\n"\n'
    )
    assert [(r.metric, r.value, r.prompt_tokens, r.output_tokens) for r in results_of(load_of(path))] == [
        ("e2e_ms", 1500.0, 7, 64), ("stated", 58.5, 7, 64), ("e2e_ms", 500.0, 10, 64), ("stated", 65.5, 10, 64),
    ]  # fmt: skip


def test_a_load_that_failed_completely(tmp_path: Path) -> None:
    path = tmp_path / "failed.json"
    path.write_text(
        '{"summary": {"n_success": 0, "n_failed": 4, "wall_clock_s": 0.5, "aggregate_decode_tps": 0.0,'
        ' "ttft_p50_s": null, "load_time_ms": 0.0}}'
    )
    load = load_of(path)
    assert [(r.metric, r.value) for r in load.result_rows] == [
        ("requests", 0.0), ("failed_requests", 4.0), ("duration_s", 0.5), ("ttft_ms", None),
    ]  # fmt: skip
    assert load.notes == ["Speeds and loading times of 0 were left out: nothing was generated or loaded."]


def test_a_length_of_one_part_is_that_of_no_other(tmp_path: Path) -> None:
    path = tmp_path / "parts.json"
    path.write_text(
        '{"avg_tok_per_s": 1.5, "total_eval_time_s": 148.5, "runs": [{"tok_per_s": 3.5, "prompt_eval_s": 0.5,'
        ' "gen_eval_ms": 540}], "needle": {"input_tokens": 2063, "prompt_eval_s": 10}}'
    )
    rows = [(r.metric, r.value, r.prompt_tokens) for r in results_of(load_of(path))]
    assert ("stated", 3.5, None) in rows and ("prompt_ms", 500.0, None) in rows and ("decode_ms", 540.0, None) in rows
    assert [row for row in rows if row[2]] == [("prompt_ms", 10_000.0, 2063)]


def test_scores_plans_and_cards_are_no_results(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(
        '{"hardware": {"gpu_info": [{"name": "A", "vram_mb": 16376}]}, "scenarios": [{"metric": "tg32", "tps": 86.5,'
        ' "score_tps": 100.0, "stagger_ms": 25, "completion": "Short words."}]}'
    )
    (row,) = results_of(load_of(path))
    assert (row.metric, row.value) == ("decode_tps", 86.5) and "Short words" not in row.point


def test_what_nobody_measured(tmp_path: Path) -> None:
    path = tmp_path / "simulated.json"
    path.write_text('{"evidence_type": "SIMULATED", "ttft_ms": 12.5, "tpot_us": 93}')
    with pytest.raises(ImportRefusedError, match="its values are simulated"):
        load_of(path)
    path.write_text('{"meta": {"synthetic": true}, "ttft_ms": 12.5, "tpot_ms": 9.5}')
    assert "marked as synthetic" in load_of(path).notes[0]


def test_statistics_of_times_beside_the_duration_of_the_load(tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    path.write_text(
        '{"successful_requests": 4462, "requests_per_second": 14.5, "avg_total_time_ms": 2150.5,'
        ' "p95_total_time_ms": 2974.5, "total_duration_sec": 300.5, "total_tokens_generated": 285568}'
    )
    assert [(r.metric, r.statistic, r.value) for r in results_of(load_of(path))] == [
        ("requests", "stated", 4462.0), ("request_tps", "stated", 14.5), ("e2e_ms", "mean", 2150.5),
        ("e2e_ms", "p95", 2974.5), ("duration_s", "stated", 300.5), ("completion_tokens", "stated", 285568.0),
    ]  # fmt: skip


def test_times_of_a_local_server(tmp_path: Path) -> None:
    path = tmp_path / "fill.csv"
    path.write_text("chunk,prompt_n,prompt_ms,prefill_tps,load_duration_s,timestamp_offset_s\n")
    path.write_text(f"{path.read_text()}1,19567,73286,267.5,12.5,6.5\n")
    assert [(r.metric, r.value, r.prompt_tokens) for r in results_of(load_of(path))] == [
        ("prompt_ms", 73_286.0, 19567), ("prompt_tps", 267.5, 19567), ("model_load_s", 12.5, 19567),
    ]  # fmt: skip


def test_each_part_has_its_own_length(tmp_path: Path) -> None:
    path = tmp_path / "systems.json"
    path.write_text(
        '{"workloads": {"deep": {"input_tokens": 122880}}, "systems": [{"name": "a", "deep": {"prefill_tok_s": 218.5},'
        ' "short": {"input_tokens": 2040, "generated_tok_s": 40.5}}]}'
    )
    assert [(r.metric, r.value, r.prompt_tokens) for r in results_of(load_of(path))] == [
        ("prompt_tps", 218.5, None), ("output_tps", 40.5, 2040),
    ]  # fmt: skip


def test_what_timed_out_has_failed_where_no_other_failures_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "load.json"
    path.write_text('{"ok": 28, "timeouts": 5, "timeout": 30, "achieved_rps": 2.5, "p95_latency_ms": 900}')
    assert [(r.metric, r.value) for r in results_of(load_of(path))] == [
        ("requests", 28.0), ("failed_requests", 5.0), ("request_tps", 2.5), ("e2e_ms", 900.0),
    ]  # fmt: skip
    path.write_text('{"ok": 28, "failed": 7, "timeouts": 5, "achieved_rps": 2.5, "p95_latency_ms": 900}')
    assert [r.value for r in results_of(load_of(path)) if r.metric == "failed_requests"] == [7.0]


def test_all_requests_have_succeeded_where_none_failed(tmp_path: Path) -> None:
    path = tmp_path / "load.csv"
    path.write_text("num_requests,num_failed_requests,request_throughput_req_s,ttft_ms\n100,0,2.5,80\n100,40,1.5,90\n")
    counts = [(r.metric, r.value) for r in results_of(load_of(path)) if r.unit == "requests"]
    assert counts == [("requests", 100.0), ("failed_requests", 0.0), ("failed_requests", 40.0)]


def test_first_time_to_token_is_the_time_to_the_first(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"first-time-to-token_mean_in_ms": 158.5, "throughput_token_per_s": 30.5}')
    assert [(r.metric, r.statistic, r.value) for r in results_of(load_of(path))] == [
        ("ttft_ms", "mean", 158.5), ("output_tps", "stated", 30.5),
    ]  # fmt: skip


def test_a_test_whose_name_ends_in_a_side_measures_no_side(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"test_name": "short_prompt", "input_tokens": 14, "tokens_per_second": 163.5, "ttft_ms": 80}]')
    assert [r.metric for r in results_of(load_of(path))] == ["stated", "ttft_ms"]


def test_a_refusal_names_the_latencies_that_state_no_unit(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("input_tokens,qps,mean_latency,p90_latency\n256,1.0,2.1,2.5\n512,1.0,2.3,2.9\n")
    with pytest.raises(ImportRefusedError, match="No unit is stated by mean_latency, p90_latency"):
        load_of(path)


def test_mean_lengths_and_queries_of_a_load(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"num_queries": 384, "requests_per_s": 4.5, "output_tps": 2206.5, "prompt_tokens_mean": 264.0,'
                    ' "output_len_avg": 500.0}')  # fmt: skip
    rows = results_of(load_of(path))
    assert [(r.metric, r.value) for r in rows] == [("requests", 384.0), ("request_tps", 4.5), ("output_tps", 2206.5)]
    assert {(r.prompt_tokens, r.output_tokens) for r in rows} == {(264, 500)}


def test_seconds_of_decoding_are_those_of_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"prefill_seconds": 0.125, "decode_seconds": 14.5, "decode_ms": 16.5, "decode_tokens_per_sec": 18}'
    )
    assert [(r.metric, r.value) for r in results_of(load_of(path))] == [
        ("prompt_ms", 125.0), ("decode_ms", 14_500.0), ("stated", 16.5), ("decode_tps", 18.0),
    ]  # fmt: skip


def test_total_seconds_of_a_load_are_its_duration(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"requests": 200, "total_seconds": 82.5, "requests_per_second": 2.5, "output_tps": 296}')
    assert [(r.metric, r.value) for r in results_of(load_of(path))] == [
        ("requests", 200.0), ("duration_s", 82.5), ("request_tps", 2.5), ("output_tps", 296.0),
    ]  # fmt: skip


def test_a_time_without_a_unit_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("batch_size,tokens_per_sec,time\n1,11.5,0.0885\n2,16.5,0.1195\n")
    load = load_of(path)
    assert [row.point.partition(":")[0] for row in load.result_rows] == ["batch_size=1", "batch_size=2"]
    assert load.notes == ["Left out, since no unit that Pitwall knows is stated: time."]


def test_the_test_of_a_record_states_its_length(tmp_path: Path) -> None:
    path = tmp_path / "bench.csv"
    path.write_text("cache_type,test,depth,tokens_per_sec\nf16,pp512,0,807.5\nf16,tg32,0,45.5\n")
    rows = [(r.metric, r.value, r.prompt_tokens, r.output_tokens) for r in results_of(load_of(path))]
    assert rows == [("prompt_tps", 807.5, 512, None), ("decode_tps", 45.5, None, 32)]


def test_converted_numbers_keep_their_digits(tmp_path: Path) -> None:
    """A product of floats would be 24980.399999999998 ms."""
    path = tmp_path / "bench.csv"
    path.write_text("model,concurrency,latency_p50_s,output_tok_s\na-7b,1,24.9804,50.5\na-7b,2,24.9804,90.5\n")
    assert [r.value for r in results_of(load_of(path)) if r.metric == "e2e_ms"] == [24980.4, 24980.4]


def test_a_sentence_repeats_a_value_with_all_its_digits(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text(
        "| Concurrency | Output (tok/s) |\n|---|---|\n| 4 | 423.2440128816411 |\n| 8 | 600.5 |\n\n"
        "The output throughput was 423.2440128816411 tok/s.\n"
    )
    assert [r.value for r in results_of(load_of(path))] == [423.2440128816411, 600.5]


def test_accepted_drafts_by_position_and_power(tmp_path: Path) -> None:
    path = tmp_path / "drafts.json"
    path.write_text(
        '{"k": 2, "runs": [{"name": "off", "out_tok_s": 45.5, "avg_power_w": 210.5, "power_limit_w": 300},'
        ' {"name": "on", "out_tok_s": 81.5, "avg_power_w": 250.25, "power_limit_w": 300, "tokens_per_watt": 0.33,'
        ' "accept_rate_by_position": [0.75, 0.5]}]}'
    )
    load = load_of(path)
    assert [(row.metric, row.statistic, row.value, row.unit) for row in results_of(load)] == [
        ("output_tps", "stated", 45.5, "tok/s"), ("stated", "mean", 210.5, "W"),
        ("position_acceptance_rate", "mean", 0.75, "ratio"), ("position_acceptance_rate", "mean", 0.5, "ratio"),
        ("output_tps", "stated", 81.5, "tok/s"), ("stated", "mean", 250.25, "W"),
    ]  # fmt: skip
    assert [row.point.partition("): ")[2] for row in load.result_rows[2:4]] == [
        f"accept_rate_by_position, draft position {position}" for position in (0, 1)
    ]
    path.write_text('{"out_tok_s": 45.5, "accept_rate_by_position": [0.75, 0.5]}')
    assert "accept_rate_by_position" not in load_of(path).params


def test_requests_and_errors_of_a_level_are_counts(tmp_path: Path) -> None:
    path = tmp_path / "levels.json"
    path.write_text(
        '[{"users": 2, "requests": 40, "errors": 0, "ttft_p50_ms": 81.5},'
        ' {"users": 9, "requests": 90, "errors": 3, "ttft_p50_ms": 95.5}]'
    )
    assert [(row.metric, row.value, row.concurrency) for row in results_of(load_of(path))] == [
        ("requests", 40.0, 2), ("failed_requests", 0.0, 2), ("ttft_ms", 81.5, 2),
        ("failed_requests", 3.0, 9), ("ttft_ms", 95.5, 9),
    ]  # fmt: skip


def test_an_error_may_be_an_object(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text(
        '{"i": 1, "ttft_s": 0.25, "latency_s": 4.5, "error": null}\n'
        '{"i": 2, "latency_s": 30.0, "error": {"type": "ReadTimeout"}}\n'
        '{"i": 3, "ttft_s": 0.5, "latency_s": 5.5, "error": {"type": null}}\n'
        '{"i": 4, "latency_s": 0.5, "error": true}\n'
    )
    load = load_of(path)
    assert [row.value for row in results_of(load) if row.metric == "e2e_ms"] == [4500.0, 5500.0]
    assert load.notes == ["Failed requests were left out: 2 of its records."]


@pytest.mark.parametrize(
    "text",
    [
        "c=2 rps=0.5 out_tps=75.5 ttft_ms(p50/p99)=81.5/120\nc=9 rps=3.5 out_tps=473.5 ttft_ms(p50/p99)=190/410.5\n",
        "c,rps,out_tps,ttft_ms p50/p99\n2,0.5,75.5,81.5/120\n9,3.5,473.5,190/410.5\n",
    ],
)
def test_statistics_listed_in_one_value(tmp_path: Path, text: str) -> None:
    path = tmp_path / "levels.txt"
    path.write_text(text)
    rows = results_of(load_of(path))
    assert [(r.metric, r.statistic, r.value, r.concurrency) for r in rows if r.metric != "request_tps"] == [
        ("output_tps", "stated", 75.5, 2), ("ttft_ms", "median", 81.5, 2), ("ttft_ms", "p99", 120.0, 2),
        ("output_tps", "stated", 473.5, 9), ("ttft_ms", "median", 190.0, 9), ("ttft_ms", "p99", 410.5, 9),
    ]  # fmt: skip


def test_tokens_over_the_whole_latency_are_no_speed_of_decoding(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"client": {"max_tokens": 100}, "single_request": {"latency_s": 5.0, "completion_tokens": 100,'
        ' "output_tokens_per_s": 20.0}, "streaming": {"ttft_s": 0.1}}'
    )
    rows = [(r.metric, r.value, r.output_tokens) for r in results_of(load_of(path))]
    assert rows == [("e2e_ms", 5000.0, 100), ("e2e_tps", 20.0, 100), ("ttft_ms", 100.0, None)]
    path.write_text(path.read_text().replace("20.0", "23.5"))
    assert [r.metric for r in results_of(load_of(path))] == ["e2e_ms", "decode_tps", "ttft_ms"]


def test_a_deviation_and_the_number_of_values_belong_to_their_mean(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"latency": {"n": 5, "mean_s": 2.5, "sample_stdev_s": 0.25, "min_s": 2.0},'
        ' "ttft": {"n": 4, "mean_ms": 80.0, "pstdev_ms": 3.0}, "decode": {"mean_tok_s": 45.5, "std_tok_s": 1.5}}'
    )
    rows = [(r.metric, r.statistic, r.value, r.n, r.sd) for r in results_of(load_of(path))]
    assert rows == [
        ("e2e_ms", "mean", 2500.0, 5, 250.0), ("e2e_ms", "min", 2000.0, 5, None),
        ("ttft_ms", "mean", 80.0, 4, pytest.approx(3 * (4 / 3) ** 0.5)), ("decode_tps", "mean", 45.5, None, None),
    ]  # fmt: skip


def test_what_was_requested_of_a_load_is_a_setting(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"requested_duration_s": 60.0, "planned_output_tok_s": 99.5, "duration_s": 61.5, "output_tok_s": 45.5}'
    )
    load = load_of(path)
    assert [(r.metric, r.value) for r in results_of(load)] == [("duration_s", 61.5), ("output_tps", 45.5)]
    assert load.params["requested_duration_s"] == 60.0


def test_times_of_answers_with_their_tokens(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"model": "o/m-8b", "planner": {"projected_peak_gib": 39.5}, "observed": {"process_gib": 45.5}, "results":'
        ' {"long": {"elapsed_seconds": 254.5, "prompt_tokens": 48000, "completion_tokens": 881},'
        ' "short": {"elapsed_seconds": 20.5, "prompt_tokens": 300, "completion_tokens": 63}}}'
    )
    rows = [(r.metric, r.value, r.prompt_tokens, r.output_tokens) for r in results_of(load_of(path))]
    assert rows == [
        ("stated", 45.5, None, None), ("duration_s", 254.5, 48000, 881), ("duration_s", 20.5, 300, 63),
    ]  # fmt: skip


def test_a_refusal_of_json_speaks_of_its_names_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"model": "o/m-8b", "process_gib": 45.5, "decision": "the latency of 3 answers was too high"}')
    source = ResultFile(path, "a.json")
    reason = unknown_file_reason(source)
    assert reader_of(source) is None
    assert "states no unit" not in reason and "Units are stated by process_gib, but not for a speed or a" in reason


DEVIATIONS = {
    "stdev": (1.5, None), "stddev": (1.5, None), "sd": (1.5, None), "std_dev": (1.5, None),
    "std": (None, "sd_divisor_not_told spread=1.5"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "told"), DEVIATIONS.items(), ids=DEVIATIONS)
@pytest.mark.parametrize(
    "text",
    [
        '[{{"arm": "a", "speed": "x", "mean_tps": 45.5, "{0}": 1.5}}, {{"arm": "b", "mean_tps": 40.5, "{0}": 1.5}}]',
        '[{{"arm": "a", "tps": {{"mean": 45.5, "{0}": 1.5}}}}, {{"arm": "b", "tps": {{"mean": 40.5, "{0}": 1.5}}}}]',
        '[{{"arm": "a", "tok_s_mean": 45.5, "tok_s_{0}": 1.5}}, {{"arm": "b", "tok_s_mean": 40.5, "tok_s_{0}": 1.5}}]',
    ],
    ids=["bare", "in an object", "with a unit"],
)
def test_a_deviation_is_that_of_the_mean_beside_it(
    tmp_path: Path, text: str, name: str, told: tuple[float | None, str | None]
) -> None:
    path = tmp_path / "a.json"
    path.write_text(text.format(name))
    load = load_of(path)
    assert [(row.statistic, row.value, row.sd, row.reason) for row in results_of(load)] == [
        ("mean", 45.5, *told), ("mean", 40.5, *told),
    ]  # fmt: skip
    assert not any("1.5" in str(words) for words in (load.params, *(row.point for row in results_of(load))))


def test_a_deviation_beside_several_means_is_none_of_theirs(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("arm,mean_tps,mean_ttft_ms,stddev\na,45.5,81.5,1.5\n")
    assert [(row.value, row.sd, row.reason) for row in results_of(load_of(path))] == [
        (45.5, None, None), (81.5, None, None),
    ]  # fmt: skip


def test_the_time_of_a_step_is_no_latency_of_a_token(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("arm,tok_s,step_time_ms,time_per_step\na,45.5,12.5,0.0125\nb,40.5,14.5,0.0145\n")
    load = load_of(path)
    assert [(row.metric, row.value, row.unit) for row in results_of(load) if row.unit == "ms"] == [
        ("stated", 12.5, "ms"), ("stated", 14.5, "ms"),
    ]  # fmt: skip
    assert not any("0.01" in row.point for row in results_of(load))
    assert load.notes == ["Left out, since no unit that Pitwall knows is stated: time_per_step."]
