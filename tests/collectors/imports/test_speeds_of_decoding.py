"""Speeds of the answer in records that state the prompt's speed, too: one stream's decoding, unless it is a batch's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import load_of, results_of


@pytest.mark.parametrize(
    "names",
    [
        ("pp_tok_s", "tg_tok_s"), ("prefill_tps", "gen_tps"), ("prompt_tps", "generation_tps"),
        ("prefill_tok_per_s", "decode_tok_per_s"), ("prompt_eval_tps", "eval_tps"),
    ],
)  # fmt: skip
def test_the_speed_of_the_answer_beside_that_of_the_prompt(tmp_path: Path, names: tuple[str, str]) -> None:
    path = tmp_path / "sizes.csv"
    path.write_text(f"size,{names[0]},{names[1]}\nsmall,812.5,44.25\nlarge,205.5,11.75\n")
    assert [(row.metric, row.value) for row in results_of(load_of(path))] == [
        ("prompt_tps", 812.5), ("decode_tps", 44.25), ("prompt_tps", 205.5), ("decode_tps", 11.75),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "record",
    [
        '{"concurrency": 8, "prefill_tps": 812.5, "gen_tps": 144.25}',
        '{"batch_size": 4, "prefill_tps": 812.5, "gen_tps": 144.25}',
        '{"prefill_tps": 812.5, "total_gen_tps": 144.25}',
        '{"short": {"prefill_tps": 812.5}, "long": {"gen_tps": 144.25}}',
    ],
)
def test_the_speed_of_several_streams_is_that_of_the_output(tmp_path: Path, record: str) -> None:
    path = tmp_path / "load.json"
    path.write_text(record)
    assert [(row.metric, row.value) for row in results_of(load_of(path))] == [
        ("prompt_tps", 812.5), ("output_tps", 144.25),
    ]  # fmt: skip


def test_both_sides_as_objects_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('{"run": {"prefill": {"tok_s": 812.5, "tokens": 512}, "decode": {"tok_s": 44.25, "ms": 2900}}}')
    speeds = [(row.metric, row.value) for row in results_of(load_of(path)) if row.unit == "tok/s"]
    assert speeds == [("prompt_tps", 812.5), ("decode_tps", 44.25)]


def test_memory_in_bytes_is_measured_and_an_empty_column_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "depths.csv"
    path.write_text(
        "ctx,prefill_tps,gen_tps,kvcache_bytes,vram_mb,total_memory_bytes\n"
        "1024,812.5,44.25,26214400,,8589934592\n4096,405.5,40.5,104857600,,8589934592\n"
    )
    load = load_of(path)
    rows = [(row.point, row.metric, row.value, row.unit) for row in results_of(load) if row.metric == "stated"]
    assert rows == [
        ("ctx=1024: kvcache_bytes (record 2)", "stated", 26214400.0, "bytes"),
        ("ctx=4096: kvcache_bytes (record 3)", "stated", 104857600.0, "bytes"),
    ]
    assert len(load.result_rows) == 6 and load.params == {"total_memory_bytes": 8589934592.0}
