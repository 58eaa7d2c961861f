"""JSON and CSV that scripts write of their own measurements: the names state metric, statistic and unit."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.prose.records import recognise
from collectors.imports.results.prose.value_names import value_name_of
from collectors.imports.results.readers import reader_of, unknown_file_reason
from collectors.imports.results.source import ResultFile
from tests.collectors.imports.captured import load_of, loads_of, results_of

NAMES = {
    "throughput_tok_s": ("output_tps", "tok/s"), "aggregate_tps": ("output_tps", "tok/s"),
    "prompt_tokens_per_second": ("prompt_tps", "tok/s"), "ttft_p50_s": ("ttft_ms", "s"), "itlP99Ms": ("itl_ms", "ms"),
    "requests_per_sec": ("request_tps", "requests/s"), "wall_s": ("duration_s", "s"), "total_s": (None, "s"),
    "load_time_s": ("model_load_s", "s"), "jobs_per_s": (None, None),
    "bandwidth_gb_s": (None, None), "slo_goodput_req_s": ("goodput_rps", "requests/s"),
    "first_token_decode_ms": (None, "ms"), "model_load_s": ("model_load_s", "s"), "prefill_ms": ("prompt_ms", "ms"),
    "draft_acceptance_rate": ("acceptance_rate", None), "max_tokens": (None, None), "status": (None, None),
}  # fmt: skip


@pytest.mark.parametrize(("name", "stated"), NAMES.items())
def test_metric_and_unit_of_a_name(name: str, stated: tuple[str | None, str | None]) -> None:
    column = value_name_of(name)
    assert (column.metric_name.metric if column.metric_name else None, column.unit) == stated


LINES = """{"ts": "2026-07-30T20:47:55-0400", "label": "a", "np": 2, "phase": "warmup", "ttft_s": 0.9, "gen_tok_s": 1.0}
{"ts": "2026-07-30T20:48:14-0400", "label": "solo", "np": 2, "phase": "measure", "ttft_s": 0.076, "gen_tok_s": 13.87}
{"ts": "2026-07-30T20:48:32-0400", "label": "pair", "np": 4, "phase": "measure", "ttft_s": null, "gen_tok_s": 20.5}
"""


def test_lines_of_a_script(tmp_path: Path) -> None:
    path = tmp_path / "bench.jsonl"
    path.write_text(LINES)
    load = load_of(path)
    assert [(r.point, r.metric, r.value, r.concurrency, r.reason) for r in results_of(load)] == [
        ("label=solo, np=2: ttft_s (record 2)", "ttft_ms", 76.0, 2, None),
        ("label=solo, np=2: gen_tok_s (record 2)", "output_tps", 13.87, 2, None),
        ("label=pair, np=4: ttft_s (record 3)", "ttft_ms", None, 4, "file_says_null"),
        ("label=pair, np=4: gen_tok_s (record 3)", "output_tps", 20.5, 4, None),
    ]
    assert load.notes == ["The warm-up was left out: 1 of its records."] and load.params == {"phase": "measure"}
    assert load.ts == datetime(2026, 7, 31, 0, 48, 14, tzinfo=UTC)


def test_an_object_with_a_list_of_records(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_text(
        '{"model": "o/m-8b", "gpu": {"name": "B200"}, "runs": ['
        '{"concurrency": 8, "input_len": 1024, "ttft": {"p99_ms": 81.5}, "output_tps": 900.5}]}'
    )
    load = load_of(path)
    assert [(r.metric, r.statistic, r.value, r.concurrency, r.prompt_tokens) for r in results_of(load)] == [
        ("ttft_ms", "p99", 81.5, 8, 1024), ("output_tps", "stated", 900.5, 8, 1024),
    ]  # fmt: skip
    assert load.model == "o/m-8b" and load.params["gpu name"] == "B200"


def test_a_table_of_a_script(tmp_path: Path) -> None:
    path = tmp_path / "bench.csv"
    path.write_text("name,users,TTFT mean (ms),decode tok/s,speedup\na,1,80.5,61,1\nb,4,,200.25,3.3\n")
    rows = results_of(load_of(path))
    assert [(r.metric, r.statistic, r.value, r.concurrency) for r in rows] == [
        ("ttft_ms", "mean", 80.5, 1), ("output_tps", "stated", 61.0, 1),
        ("ttft_ms", "mean", None, 4), ("output_tps", "stated", 200.25, 4),
    ]  # fmt: skip


def test_names_without_a_metric_are_no_result(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"name": "a", "elapsed_ms": 12, "size_gb": 3}')
    assert reader_of(ResultFile(path, path.name)) is None


def test_truncated_records_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "cut.json"
    path.write_text('{"ttft_ms": 12.5, "output_tps": 90')
    with pytest.raises(ImportRefusedError, match="cut off"):
        load_of(path)


LOG_LINES = "1.34.507.301 I slot print_timing: id 0 | n_gen = 3591, tg = 47.42 t/s, tg_3s = 61.32 t/s\n" * 3


def test_lines_of_a_log_are_no_records() -> None:
    assert not recognise(LOG_LINES)


@pytest.mark.parametrize("name", ["model", "modelID", "model_name", "modelPath"])
def test_model_by_its_names_and_memory_of_the_machine(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.json"
    record = {
        name: "m-8B",
        "generationTPS": 81.5,
        "ttftMs": 312,
        "memoryUsedGB": 59,
        "system": {"ramGB": 128},
        "hardware": {"ram_gb": 64},
    }
    path.write_text(json.dumps(record))
    load = load_of(path)
    assert load.model == "m-8B" and load.params["system ramGB"] == 128 and load.params["hardware ram_gb"] == 64
    assert {row.value for row in results_of(load)} == {81.5, 312.0, 59.0}


def test_memory_of_records(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("arm,ttft_ms,decode_tps,peak_mem_mb,vram_mib\nA,81.5,45.5,2371.5,3230.5\n")
    load = load_of(path)
    assert [(row.metric, row.statistic, row.value, row.unit) for row in load.result_rows] == [
        ("ttft_ms", "stated", 81.5, "ms"), ("decode_tps", "stated", 45.5, "tok/s"), ("stated", "max", 2371.5, "MB"),
        ("stated", "stated", 3230.5, "MiB"),
    ]  # fmt: skip


def test_lengths_that_all_records_share(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    records = [{"actual_input_tokens": 2048, "ttft_ms": 81.5, "tpot_ms": 5.5}]
    path.write_text(json.dumps({"model": "some-30b", "output_tokens": 100, "context_sweep": records}))
    rows = load_of(path).result_rows
    assert [(row.value, row.prompt_tokens, row.output_tokens) for row in rows] == [(81.5, 2048, 100), (5.5, 2048, 100)]


def test_failed_requests_state_no_latency(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    records = [
        {"latency_ms": 296.5, "ttft_ms": 121.5, "error": None},
        {"latency_ms": 9.5, "ttft_ms": None, "error": "500"},
    ]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    load = load_of(path)
    assert [row.value for row in load.result_rows] == [296.5, 121.5]
    assert "Failed requests were left out: 1 of its records." in load.notes


def test_a_head_behind_a_mark_with_a_bare_speed(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("# model,concurrency,ttft_ms,tok_s\nsome-model,8,81.5,45.5\n")
    assert [(row.metric, row.value, row.concurrency) for row in results_of(load_of(path))] == [
        ("ttft_ms", 81.5, 8), ("stated", 45.5, 8),
    ]  # fmt: skip


QUOTED = """Some words first.

```json
{"model": "some-model", "concurrency": 8, "ttft_ms": 81.5, "decode_tps": 45.5}
```

On the other card:

~~~
[{"ttft_ms": 91.5, "tpot_ms": 8.5}]
~~~

I see 35.5 tok/s in my client.
"""


def test_files_that_a_text_quotes(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(QUOTED)
    loads = loads_of(path)
    assert [[(row.metric, row.value) for row in results_of(load)] for load in loads] == [
        [("stated", 35.5)], [("ttft_ms", 81.5), ("output_tps", 45.5)], [("ttft_ms", 91.5), ("tpot_ms", 8.5)],
    ]  # fmt: skip
    assert [load.params.get("heading") for load in loads[1:]] == ["Some words first.", "On the other card"]
    assert len({load.load_id for load in loads}) == 3


def test_a_quoted_file_that_is_refused_is_a_text(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text('```\n{"ttft_ms": 81.5, "decode_tps": 45.5,\n```\nDecode: 35.5 tok/s\n')
    assert ("decode_tps", 35.5) in [(row.metric, row.value) for row in results_of(load_of(path))]


def test_several_lists_of_records_and_deep_objects(tmp_path: Path) -> None:
    lists, deep = tmp_path / "lists.json", tmp_path / "deep.json"
    lists.write_text(
        json.dumps({"model": "some-model", "short": [{"ttft_ms": 81.5, "tpot_ms": 8.5}], "long": [{"ttft_ms": 91.5}]})
    )
    rows = results_of(load_of(lists))
    assert [(row.metric, row.value, row.point.partition(":")[0]) for row in rows] == [
        ("ttft_ms", 81.5, "list=short"), ("tpot_ms", 8.5, "list=short"), ("ttft_ms", 91.5, "list=long"),
    ]  # fmt: skip
    deep.write_text(json.dumps({"A": {"arms": {"on": {"run": {"decode_tps": 45.5, "accept_len": 3.5}}}}, "ttft_ms": 1}))
    assert [(row.metric, row.value) for row in results_of(load_of(deep))] == [
        ("decode_tps", 45.5), ("acceptance_length", 3.5), ("ttft_ms", 1.0),
    ]  # fmt: skip


def test_counts_of_requests_are_results(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"successful_requests": 12, "failed_requests": 1, "ttft_ms": 81.5, "latency_p95_ms": 900.5}')
    assert [(row.metric, row.value) for row in load_of(path).result_rows] == [
        ("requests", 12.0), ("failed_requests", 1.0), ("ttft_ms", 81.5), ("e2e_ms", 900.5),
    ]  # fmt: skip


def test_latencies_without_a_unit_are_named_in_a_note(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    records = [{"users": n, "tokens_per_second": 45.5 * n, "rps": 1.5, "latency": {"p50": 2.5 * n}} for n in (1, 2)]
    path.write_text(json.dumps(records))
    load = load_of(path)
    assert "Left out, since no unit that Pitwall knows is stated: latency p50." in load.notes
    assert load.result_rows[0].point == "users=1: tokens_per_second (record 1)"


def test_refusal_names_the_values_without_a_unit(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"total_requests": 12, "throughput": 3.5, "latency": {"mean": 4729.5}, "setup_ms": 81.5}')
    source = ResultFile(path, path.name)
    assert reader_of(source) is None
    assert "No unit is stated by throughput, latency." in unknown_file_reason(source)


def test_speed_is_no_length_of_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"concurrency": 4, "output_tok_s": 36, "ttft_ms": 81.5}')
    assert [(row.concurrency, row.output_tokens) for row in load_of(path).result_rows] == [(4, None)] * 2


def test_decoding_beside_the_output_is_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("concurrency,output_tok_s,decode_tok_s\n1,46.5,115.5\n8,256.5,38.5\n8,256.5,300.5\n")
    rows = [row for row in results_of(load_of(path)) if "decode" in row.point]
    assert [row.metric for row in rows] == ["decode_tps", "decode_tps", "stated"]


def test_summary_beside_records_below_it(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    runs = [{"n": n, "curve": [{"concurrency": c, "rps": 1.5 * c} for c in (1, 4)], "ttft_ms": 81.5} for n in (1, 2)]
    path.write_text(json.dumps({"model": "m", "setup": [{"name": "B200"}], "wall_s": 9.5, "results": {"runs": runs}}))
    load = load_of(path)
    assert [(row.metric, row.value, row.concurrency, row.point) for row in load.result_rows[:4]] == [
        ("duration_s", 9.5, None, "all requests: wall_s (record 1)"),
        ("ttft_ms", 81.5, None, "n=1: ttft_ms (record 2)"),
        ("request_tps", 1.5, 1, "concurrency=1, n=1: rps (record 3)"),
        ("request_tps", 6.0, 4, "concurrency=4, n=1: rps (record 4)"),
    ]
    assert load.model == "m" and len(load.result_rows) == 7


def test_arms_as_objects_of_an_object(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    arms = {
        name: {"concurrency": c, "ttft": {"p50_ms": 81.5 * c}, "decode_tps": 45.5}
        for name, c in (("off", 1), ("on", 2))
    }
    path.write_text(json.dumps({"model": "m", "results": arms}))
    assert [(row.metric, row.value, row.concurrency, row.point) for row in load_of(path).result_rows] == [
        ("ttft_ms", 81.5, 1, "concurrency=1, group=results off: ttft p50_ms (record 1)"),
        ("output_tps", 45.5, 1, "concurrency=1, group=results off: decode_tps (record 1)"),
        ("ttft_ms", 163.0, 2, "concurrency=2, group=results on: ttft p50_ms (record 2)"),
        ("output_tps", 45.5, 2, "concurrency=2, group=results on: decode_tps (record 2)"),
    ]


@pytest.mark.parametrize("mark", [{"is_warmup": True}, {"status": "OOM"}, {"status": "error"}])
def test_records_that_measured_nothing(tmp_path: Path, mark: dict[str, object]) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"ttft_ms": 900.5, "tpot_ms": 90.5, **mark}, {"ttft_ms": 81.5, "tpot_ms": 8.5}]))
    assert [row.value for row in load_of(path).result_rows] == [81.5, 8.5]


def test_counts_lengths_and_model_within_objects(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    records = [
        {"id": n, "model": {"name": name}, "load": {"concurrent_requests": 4, "input_length": 512},
         "metrics": {"successful_requests": 12, "ttft_ms": 81.5, "mean concurrency": 3}}
        for n, name in ((1, "m-8b"), (2, "m-70b"))
    ]  # fmt: skip
    path.write_text(json.dumps(records))
    assert [
        (row.metric, row.value, row.concurrency, row.prompt_tokens, row.point) for row in load_of(path).result_rows
    ][:2] == [
        ("requests", 12.0, 4, 512, "model name=m-8b, id=1: metrics successful_requests (record 1)"),
        ("ttft_ms", 81.5, 4, 512, "model name=m-8b, id=1: metrics ttft_ms (record 1)"),
    ]


def test_completed_and_failed_of_a_load(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("concurrency,completed,failed,tpot_ms\n1,16,0,2.5\n2,14,2,3.5\n")
    assert [(row.metric, row.value) for row in load_of(path).result_rows] == [
        ("requests", 16.0), ("failed_requests", 0.0), ("tpot_ms", 2.5),
        ("requests", 14.0), ("failed_requests", 2.0), ("tpot_ms", 3.5),
    ]  # fmt: skip


def test_latencies_of_zero_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"ttft_ms": 0.0, "tpot_ms": 0.0}, {"ttft_ms": 81.5, "tpot_ms": 8.5}]))
    load = load_of(path)
    assert [row.value for row in load.result_rows if row.metric == "ttft_ms"] == [81.5]
    assert any("Latencies of 0" in note for note in load.notes)


def test_single_latency_of_a_models_answers(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"key": "a", "value": {"model": "m", "latency_s": 1.5, "output_chars": 900}}\n{"key": "b"}\n')
    assert [(row.metric, row.value) for row in load_of(path).result_rows] == [("e2e_ms", 1500.0)]
    path.write_text('{"model": "resnet50", "latency_ms": 1.5}\n')
    assert reader_of(ResultFile(path, path.name)) is None


def test_memory_of_the_card_is_a_setting(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"ttft_ms": 81.5, "tpot_ms": 8.5, "memory_used_mib_max": 900.5, "memory_total_mib_max": 1000}')
    assert [row.value for row in load_of(path).result_rows] == [81.5, 8.5, 900.5]


def test_two_columns_of_a_table(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("concurrency,aggregate_tok_s\n8,247\n16,371\n")
    assert [(row.metric, row.value, row.concurrency) for row in load_of(path).result_rows] == [
        ("output_tps", 247.0, 8), ("output_tps", 371.0, 16),
    ]  # fmt: skip
    path.write_text("Hello, world\nWe ran it, again\n")
    assert reader_of(ResultFile(path, path.name)) is None


def test_slots_of_the_server_are_no_level(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("parallel,concurrency,ttft_ms,tpot_ms\n4,1,81.5,8.5\n")
    assert {row.concurrency for row in load_of(path).result_rows} == {1}


def test_arms_within_arms_bear_both_names(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    arms = {"off": {"ttft_ms": 81.5, "tpot_ms": 8.5}, "on": {"ttft_ms": 91.5, "tpot_ms": 9.5}}
    path.write_text(json.dumps({"short": arms, "long": arms}))
    names = [row.point.partition(":")[0] for row in load_of(path).result_rows]
    assert names[::2] == ["group=short off", "group=short on", "group=long off", "group=long on"]


def test_decoding_of_a_single_token_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "completion_tokens,pp_tok_s,tg_tok_s,tg_tok_s_agg,concurrency\n1,422.5,1000000,1.5,1\n9,422.5,15.5,15.5,1\n"
    )
    load = load_of(path)
    assert [(row.metric, row.value) for row in load.result_rows] == [
        ("prompt_tps", 422.5), ("output_tps", 1.5), ("prompt_tps", 422.5), ("decode_tps", 15.5), ("output_tps", 15.5),
    ]  # fmt: skip
    assert any("single token" in note for note in load.notes)


def test_aims_and_settings_are_no_results(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    aims = {
        "config": {"slo": {"ttftMs": 800, "tpotMs": 80}, "qps": 1},
        "args": {"qps": 2},
        "memory_reduction_pct": 18.5,
    }
    path.write_text(json.dumps(aims))
    with pytest.raises(ImportRefusedError, match="limits, aims and settings are none"):
        load_of(path)
    path.write_text(json.dumps(aims | {"ttft_ms": 81.5, "latency_count": 5}))
    load = load_of(path)
    assert [row.value for row in load.result_rows] == [81.5] and load.params["config slo ttftMs"] == 800
    assert load.notes == []


def test_words_in_a_column_of_per_cent(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('batch,avg_ttft_s,tok_per_s,sm_active_percent\n1,0.5,36.5,"unavailable (no rights, on most)"\n')
    assert [row.value for row in load_of(path).result_rows] == [500.0, 36.5]


def test_answers_are_no_names(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    records = [
        {"task": f"t{n}", "code": "def f():\n    pass", "answer": "word " * 30, "ttft_ms": 81.5, "tpot_ms": 8.5}
        for n in (1, 2)
    ]
    records[1]["answer"] = "other " * 30
    records[1]["code"] = "x = 1\n"
    path.write_text(json.dumps(records))
    assert load_of(path).result_rows[0].point == "task=t1: ttft_ms (record 1)"


def test_speeds_of_requests_beside_those_of_the_load(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"concurrency": 4, "single_stream_tok_s": 25.5, "mean_tok_s_concurrent": 21.5, "aggregate_tok_s": 68.5, '
        '"environment": {"gpu_vram_gb": 34.2}}'
    )
    assert [(row.metric, row.value, row.concurrency) for row in load_of(path).result_rows] == [
        ("decode_tps", 25.5, 1), ("stated", 21.5, 4), ("output_tps", 68.5, 4),
    ]  # fmt: skip


def test_durations_alone_are_no_benchmark(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"duration_seconds": 12.5, "elapsed_s": 13.5, "prompt_tokens": 3981}')
    assert reader_of(ResultFile(path, path.name)) is None


def test_time_and_lengths_by_other_names(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"started_utc": "2026-06-07T19:52:44Z", "decode_tokens": 128, "prefill_tokens": 512, "ttft_ms": 1.5}'
    )
    load = load_of(path)
    assert load.ts == datetime(2026, 6, 7, 19, 52, 44, tzinfo=UTC)
    assert [(row.prompt_tokens, row.output_tokens) for row in load.result_rows] == [(512, 128)]


def test_rate_of_the_load_is_a_setting(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"qps": 0.5 * n, "ttft_ms": 81.5, "request_per_s": 0.45} for n in (1, 2)]))
    rows = load_of(path).result_rows
    assert {(row.metric, row.value) for row in rows} == {("ttft_ms", 81.5), ("request_tps", 0.45)}
    assert [row.point for row in rows][::2] == ["qps=0.5: ttft_ms (record 1)", "qps=1: ttft_ms (record 2)"]


def test_copies_and_kernels_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"block_size_tokens": 16,\n"copy": {"latency_ms_median": 0.5,\n"throughput_gbps": 9.5}}')
    source = ResultFile(path, path.name)
    assert reader_of(source) is None
    assert "It times copies or kernels, no answers of a model." in unknown_file_reason(source)


@pytest.mark.parametrize(
    "table",
    [
        "metric,old,new,change\nttft_ms_p50,81.5,71.5,-12%\nrequest_per_s,1.5,2.5,+66%\n",
        "metric,unit,old,new\nttft p50,ms,81.5,71.5\nrequest rate achieved,req/s,1.5,2.5\n",
    ],
)
def test_table_with_a_metric_on_each_row(tmp_path: Path, table: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(table)
    rows = load_of(path).result_rows
    assert [(row.metric, row.value, row.point.partition(":")[0]) for row in rows] == [
        ("ttft_ms", 81.5, "column=old"), ("request_tps", 1.5, "column=old"),
        ("ttft_ms", 71.5, "column=new"), ("request_tps", 2.5, "column=new"),
    ]  # fmt: skip


def test_cells_with_their_units(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("quant,decode_tps,ttft_ms,latency,memory\nQ4,45.5,81.5,1.5 s,1.25 GB\n")
    assert [(row.metric, row.value, row.unit) for row in load_of(path).result_rows] == [
        ("decode_tps", 45.5, "tok/s"), ("ttft_ms", 81.5, "ms"), ("e2e_ms", 1500.0, "ms"), ("stated", 1.25, "GB"),
    ]  # fmt: skip


def test_level_and_lengths_within_objects(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"params": {"n_clients": 4}, "tokens": {"prompt": 104, "output": 77}, "ttft_s": 0.5, "tpot_ms": 8.5}'
    )
    rows = load_of(path).result_rows
    assert {(row.concurrency, row.prompt_tokens, row.output_tokens) for row in rows} == {(4, 104, 77)}


def test_durations_of_tool_calls_are_no_records(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    calls = [{"tool": "read_file", "duration_sec": 3.5}, {"tool": "grep", "duration_sec": 4.5}]
    path.write_text(json.dumps({"runs": [{"tokens_per_sec": 40.5, "duration_sec": 188.5, "calls": calls}]}))
    assert [row.value for row in load_of(path).result_rows] == [40.5, 188.5]


def test_statistics_of_a_named_time(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"model": "m", "prompt_tokens": 64, "cold_ms": {"p50": 236.5, "p99": 240.5}, "warm_ms": {"p50": 109.5}}'
    )
    assert [(row.metric, row.statistic, row.value, row.unit) for row in load_of(path).result_rows] == [
        ("stated", "median", 236.5, "ms"), ("stated", "p99", 240.5, "ms"), ("stated", "median", 109.5, "ms"),
    ]  # fmt: skip


def test_empty_columns_and_counts_are_no_settings(tmp_path: Path) -> None:
    path = tmp_path / "bench.csv"
    path.write_text("tokens/s,ttft_p99_ms,note,failed,timeouts,draft\n100.5,-,n/a,0,0,none\n120.5,-,n/a,0,0,none\n")
    load = load_of(path)
    assert load.params == {"draft": "none"}
    assert load.notes == ["Left out, since the number of all requests is not known: failed = 0, timeouts = 0."]
    assert [(row.point, row.value) for row in results_of(load)] == [
        ("all requests: tokens/s (record 2)", 100.5), ("all requests: tokens/s (record 3)", 120.5),
    ]  # fmt: skip
