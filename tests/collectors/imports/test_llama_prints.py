"""Output of llama.cpp and its forks: tables with messages between, labels of tests, timings of each year, drafts."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.result_import import ResultImporter
from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_answer_lines import key_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

HEAD = (
    "| model          |     size |  params | backend | ngl | fa |  test |            t/s |\n"
    "| -------------- | -------: | ------: | ------- | --: | -: | ----: | -------------: |\n"
)
ROWS = (
    "| small 8B Q4_K  | 4.50 GiB |  8.03 B | CUDA    |  99 |  0 | pp512 | 3200.5 ± 20.50 |\n",
    "| small 8B Q4_K  | 4.50 GiB |  8.03 B | CUDA    |  99 |  0 | tg128 |  150.5 ± 0.50 |\n",
)


def test_messages_between_the_rows_of_a_table(tmp_path: Path) -> None:
    text = (
        "$ ./llama-bench -m small.gguf --progress\n  Device 0: Some GPU, compute capability 8.9, VMM: yes\n"
        "llama-bench: benchmark 1/2: starting\n" + HEAD + "llama-bench: benchmark 1/2: prompt run 1/5\n" + ROWS[0]
        + "llama-bench: benchmark 2/2: starting\nggml_cuda_init: found 1 devices\n" + ROWS[1]
        + "\nbuild: abcdef1 (6900)\n"
    )  # fmt: skip
    (load,) = loads_of_text(tmp_path, "post.md", f"My run:\n\n```\n{text}```\n")
    assert [(row.point, row.metric, row.value, row.sd) for row in results_of(load)] == [
        ("pp512", "prompt_tps", 3200.5, 20.5), ("tg128", "decode_tps", 150.5, 0.5),
    ]  # fmt: skip
    assert (load.tool_version, load.params["gpu_info"]) == ("b6900", "Some GPU")


def test_lines_of_words_end_a_table(tmp_path: Path) -> None:
    loads = loads_of_text(tmp_path, "post.md", f"{HEAD}{ROWS[0]}And with the other card:\n\n{HEAD}{ROWS[1]}")
    assert [row.point.partition(",")[0] for load in loads for row in results_of(load)] == ["pp512", "tg128"]


def test_answers_after_a_prompt_that_is_not_timed(tmp_path: Path) -> None:
    row = ROWS[1].replace("tg128", "tg128@pp512")
    (load,) = loads_of_text(tmp_path, "post.md", HEAD + row)
    assert [(r.point, r.metric, r.depth_tokens) for r in results_of(load)] == [("tg128 @ d512", "decode_tps", 512)]
    line = '{"n_prompt": 512, "n_gen": 128, "avg_ns": 1000, "stddev_ns": 1, "avg_ts": 12.5, "stddev_ts": 0.5, "test": '
    (load,) = loads_of_text(tmp_path, "r.jsonl", f'{line}"tg128@pp512"}}\n{line}"pp512+tg128"}}\n')
    speeds = [(r.point, r.metric, r.depth_tokens) for r in results_of(load) if r.metric.endswith("tps")]
    assert speeds == [("tg128 @ d512", "decode_tps", 512), ("pp512+tg128", "total_tps", None)]


def test_a_shortened_table_is_llama_benchs(tmp_path: Path) -> None:
    (load,) = loads_of_text(
        tmp_path, "post.md", "| model | test | t/s |\n|---|---|---|\n| small | pp512 | 512.5 ± 0.50 |\n"
    )
    assert load.tool == "llama-bench"
    assert [(row.point, row.metric, row.value) for row in results_of(load)] == [("pp512", "prompt_tps", 512.5)]


def test_csv_between_fences(tmp_path: Path) -> None:
    text = 'n_prompt,n_gen,avg_ts,stddev_ts\n"512","0","3200.5","2.5"\n'
    (load,) = loads_of_text(tmp_path, "post.md", f"As CSV:\n\n```\n$ ./llama-bench -o csv\n{text}```\n\nIs it slow?\n")
    assert [(row.metric, row.value) for row in results_of(load)] == [("prompt_tps", 3200.5)]


def test_memory_of_a_sweep(tmp_path: Path) -> None:
    line = '{"pp": 512, "tg": 128, "n_kv": %d, "t_pp": 1.0, "speed_pp": 512.0, "t_tg": 8.0, "speed_tg": 16.0'
    rows = line % 0 + ', "rss_hwm_mib": 1234.5, "vram_delta_mib": 56.5}\n' + line % 512
    (load,) = loads_of_text(tmp_path, "sweep.jsonl", rows + ', "rss_hwm_mib": 1240.5, "vram_delta_mib": null}\n')
    assert [row.value for row in results_of(load) if row.metric == "stated"] == [1234.5, 56.5, 1240.5]
    table = (
        "|    PP |     TG |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |    RSS HWM | VRAM delta |\n"
        "|-------|--------|--------|----------|----------|----------|----------|------------|------------|\n"
        "|   512 |    128 |      0 |    1.000 |   512.00 |    8.000 |    16.00 |     1234.5 |        n/a |\n"
    )
    (load,) = loads_of_text(tmp_path, "sweep.md", table)
    assert [(row.value, row.unit) for row in results_of(load) if row.metric == "stated"] == [(1234.5, "MiB")]


TIMINGS = (
    "common_perf_print: prompt eval time =  400.00 ms / 100 tokens (  4.00 ms per token,   250.00 tokens per second)\n"
    "common_perf_print:        eval time = 4975.00 ms / 199 runs   (25.00 ms per token,    40.00 tokens per second)\n"
)
SPEEDS = {"prompt_tps": 250, "prompt_ms": 400, "decode_tps": 40, "decode_ms": 4975}


@pytest.mark.parametrize(
    "text",
    [
        TIMINGS,
        TIMINGS.replace(".00 ", ",00 "),  # of a locale
        TIMINGS.replace(",   250.00 tokens per second", "").replace(",    40.00 tokens per second", ""),  # of 2023
        TIMINGS.replace("c", "0.17.923.567 I c", 1),
        TIMINGS + "common_perf_print: eval time = 0.00 ms / 1 runs ( 0.00 ms per token, inf tokens per second)\n",
        TIMINGS + "llama_print_timings: sample time = 50.00 ms / 128 runs (    0.39 ms per token)\n",
    ],
)
def test_timings_of_each_form(tmp_path: Path, text: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert {key_of(row): row.value for row in results_of(load)} == SPEEDS


def test_progress_of_a_slot_and_its_drafts(tmp_path: Path) -> None:
    text = (
        "The answer decodes at 40.5 tok/s with drafts:\n\n"
        "slot print_timing: id  0 | task 8 | prompt processing, n_tokens =   2048, progress = 0.92, t =   4.00 s / "
        "512.00 tokens per second\n"
        "slot print_timing: id  0 | task 8 | n_gen =    100, tg =  25.50 t/s, tg_3s =  26.10 t/s\n"
        "slot print_timing: id  0 | task 8 | draft acceptance = 0.68750 (  110 accepted /   160 generated), "
        "mean len = 2.75, acceptance rate per position = (0.800, 0.450)\n"
    )
    (load,) = loads_of_text(tmp_path, "post.md", text)
    rows = [(row.metric, row.value, row.prompt_tokens, row.output_tokens) for row in results_of(load)]
    for wanted in (
        ("prompt_tps", 512, 2048, None), ("prompt_ms", 4000, 2048, None), ("decode_tps", 25.5, None, 100),
        ("acceptance_rate", 0.6875, None, None), ("acceptance_length", 2.75, None, None), ("stated", 160, None, None),
        ("stated", 110, None, None), ("position_acceptance_rate", 0.8, None, None),
        ("position_acceptance_rate", 0.45, None, None),
    ):  # fmt: skip
        assert wanted in rows


def test_drafts_of_llama_lookup(tmp_path: Path) -> None:
    text = (
        "encoded   10 tokens in    0.050 seconds, speed:  200.000 t/s\n"
        "decoded  128 tokens in    2.560 seconds, speed:   50.000 t/s\n\nn_draft      = 5\nn_drafted    = 60\n"
        "t_draft_flat = 1.20 ms\nt_draft      = 2.40 ms, 40.00 us per token, 25000.00 tokens per second\n"
        "n_accept     = 30\naccept       = 50.000%\n"
    )
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert load.tool == "llama-lookup"
    assert {key_of(row): row.value for row in results_of(load)} == {
        "prompt_tps": 200, "prompt_ms": 50, "decode_tps": 50, "decode_ms": 2560, "stated total": 30,
        "acceptance_rate mean": 0.5,
    }  # fmt: skip


SERVERS_LINE = "srv  update_slots: all slots are idle\n"


@pytest.mark.parametrize("text", [TIMINGS * 2, f"Before:\n```\n{TIMINGS}```\nAfter:\n```\n{TIMINGS}```\n"])
def test_timings_of_two_calls_are_no_servers_log(tmp_path: Path, text: str) -> None:
    path = tmp_path / "post.md"
    path.write_text(text)
    assert ResultImporter(None, None).recognises(path, path.name)  # type: ignore[arg-type]
    path.write_text(TIMINGS * 2 + SERVERS_LINE)
    assert not ResultImporter(None, None).recognises(path, path.name)  # type: ignore[arg-type]


def test_excerpts_of_two_servers_are_compared(tmp_path: Path) -> None:
    excerpt = (
        "INFO [  print_timings] prompt eval time     =  2000.00 ms /   400 tokens (    5.00 ms per token,   200.00 "
        'tokens per second) | tid="14" timestamp=1750000000\n'
        "INFO [  print_timings] generation eval time =  5000.00 ms /   100 runs   (   50.00 ms per token,    20.00 "
        'tokens per second) | tid="14" timestamp=1750000000\n'
    )
    path = tmp_path / "post.md"
    path.write_text(f"Build one:\n```\n{excerpt}```\nBuild two:\n```\n{excerpt.replace('20.00 tok', '25.00 tok')}```\n")
    assert ResultImporter(None, None).recognises(path, path.name)  # type: ignore[arg-type]
    path.write_text(f"Build one:\n```\n{excerpt * 9}```\nBuild two:\n```\n{excerpt * 10}```\n")
    assert not ResultImporter(None, None).recognises(path, path.name)  # type: ignore[arg-type]


def test_the_model_of_a_batched_benchmark_stands_in_its_command(tmp_path: Path) -> None:
    table = (
        "|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |\n"
        "|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|\n"
        "|   512 |    128 |    1 |    640 |    1.019 |   512.00 |    8.000 |    16.00 |    9.019 |    70.96 |\n"
    )
    command = "llama-batched-bench \\\n  -m m/small.gguf \\\n  -npp 512"
    text = f"```bash\n{command}\n```\nTable of `llama-batched-bench`:\n\n{table}"
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert load.model == "m/small.gguf"
    assert [row.value for row in results_of(load) if row.metric == "prompt_ms"] == [1019.0]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("| | tok/s |\n|--|--:|\n| Batched (after 512-token prefill) | 105.5 |\n| Batched, decode | 99.5 |\n",
         [("output_tps", 105.5), ("output_tps", 99.5)]),
        ("| Model | Prompt速度 (tokens/sec) | Generation速度 (tokens/sec) |\n|--|--|--|\n| small | 27.5 | 29.5 |\n",
         [("prompt_tps", 27.5), ("output_tps", 29.5)]),
        ("Decode: 12.5 tok/s\n\nBut 6.5 tok/s is the speed that would have been achieved.\n", [("decode_tps", 12.5)]),
    ],
)  # fmt: skip
def test_words_about_a_speed(tmp_path: Path, text: str, rows: list[tuple[str, float]]) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [(row.metric, row.value) for row in results_of(load)] == rows
