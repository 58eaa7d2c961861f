"""Passages that stand in another form than they were written in: diffs, a logger's lines, what an engine prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.readers import unknown_file_reason
from collectors.imports.results.source import ResultFile
from tests.collectors.imports.captured import load_of, loads_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text

TABLE_OF_DIFF = """+
+## Measured
+
+| Recipe | Concurrency | Throughput (tok/s) |
+|---|---|---|
+| small | 4 | 251.5 |
+| large | 6 | 120 |
"""


@pytest.mark.parametrize("text", [TABLE_OF_DIFF, f"```diff\n@@ -1,3 +1,9 @@\n{TABLE_OF_DIFF}```\n"])
def test_tables_that_a_diff_adds(tmp_path: Path, text: str) -> None:
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.concurrency) for row in rows] == [
        ("output_tps", 251.5, 4),
        ("output_tps", 120.0, 6),
    ]


def test_what_a_diff_takes_away_is_no_result(tmp_path: Path) -> None:
    text = "```diff\n | Run | TTFT (ms) |\n |---|---|\n-| cold | 350 |\n+| cold | 305 |\n | warm | 81 |\n```\n"
    assert figures_of(tmp_path, text) == [("ttft_ms", "stated", 305.0), ("ttft_ms", "stated", 81.0)]


def test_frames_and_bullets_of_plus_signs_are_no_diff(tmp_path: Path) -> None:
    text = "+-----+-----------+\n| Run | TTFT (ms) |\n+-----+-----------+\n| one | 350       |\n+-----+-----------+\n"
    assert figures_of(tmp_path, text) == [("ttft_ms", "stated", 350.0)]
    bullets = "+ TTFT: 81 ms\n+ TPOT: 12.5 ms\n+ E2E latency: 900 ms\n+ Decode: 80 tok/s\n"
    assert [metric for metric, _, _ in figures_of(tmp_path, bullets)] == ["ttft_ms", "tpot_ms", "e2e_ms", "decode_tps"]


LOGGED = """WARNING:root:End-to-End Latency (s) Statistics: Average = 9.5, Median = 8.25, 99th Percentile = 26.5
WARNING:root:Throughput (per request, toks/s) Statistics: Average = 14.5, Median = 15.25, 99th Percentile = 16.5
WARNING:root:Request Prompt Tokens Statistics: Average = 2196.5, Median = 1774.5, 99th Percentile = 5336.5
WARNING:root:Request Output Tokens Statistics: Average = 121.5, Median = 128.0, 99th Percentile = 128.0
"""


def test_statistics_that_a_logger_writes(tmp_path: Path) -> None:
    assert figures_of(tmp_path, LOGGED) == [
        ("e2e_ms", "mean", 9500.0), ("e2e_ms", "median", 8250.0), ("e2e_ms", "p99", 26500.0),
        ("decode_tps", "mean", 14.5), ("decode_tps", "median", 15.25), ("decode_tps", "p99", 16.5),
        ("prompt_tokens", "mean", 2196.5), ("prompt_tokens", "median", 1774.5), ("prompt_tokens", "p99", 5336.5),
        ("completion_tokens", "mean", 121.5), ("completion_tokens", "median", 128.0),
        ("completion_tokens", "p99", 128.0),
    ]  # fmt: skip


BENCH = """    ggml_cuda_init: found 1 ROCm devices (Total VRAM: 12272 MiB):
    Device 0: Some Radeon, gfx1030 (0x1030), VMM: no, Wave Size: 32, VRAM: 12272 MiB
    | model         |     size |  params | backend | ngl |  test |            t/s |
    | ------------- | -------: | ------: | ------- | --: | ----: | -------------: |
    | llama 8B Q4_0 | 4.33 GiB |  8.03 B | ROCm    |  99 | pp512 | 653.25 ± 0.50 |
"""


def test_the_memory_of_a_device_is_none_in_use(tmp_path: Path) -> None:
    assert figures_of(tmp_path, BENCH) == [("prompt_tps", "mean", 653.25)]
    assert figures_of(tmp_path, "Decode 45 tok/s, total VRAM: 12272 MiB") == [("decode_tps", "stated", 45.0)]


def test_figures_of_a_document_are_published(tmp_path: Path) -> None:
    text = (
        "1000token输出只能达到6.5 token/s\n\nreadme里给出的数据32cores就可以达到8token/s\n\n官方文档说可以到12 token/s"
    )
    assert figures_of(tmp_path, text) == [("output_tps", "stated", 6.5)]


def test_a_cost_that_is_added_is_no_latency(tmp_path: Path) -> None:
    text = "batch-1 TTFT is 391 ms and includes the +200 ms latency of the script."
    assert figures_of(tmp_path, text) == [("ttft_ms", "stated", 391.0)]


def test_words_behind_for_max_name_no_statistic(tmp_path: Path) -> None:
    text = "The cache used 16.5 GiB for max tokens here, decode 45 tok/s."
    assert [statistic for _, statistic, _ in figures_of(tmp_path, text)] == ["stated", "stated"]


@pytest.mark.parametrize("text", ["15 t/s/u", "15 tok/s/u", "15 tokens/s/user"])
def test_speeds_per_user(tmp_path: Path, text: str) -> None:
    assert figures_of(tmp_path, f"Decode rates are all as expected in the {text} range.") == [
        ("decode_tps", "stated", 15.0)
    ]


def test_settings_behind_many_blanks(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "Model:                  Some-Model-8B-FP8\nTP Size:                8\n\nDecode throughput: 45 tok/s\n"
    )
    load = load_of(path)
    assert (load.model, load.server_config) == ("Some-Model-8B-FP8", {"tensor_parallel": 8, "quantization": "FP8"})
    path.write_text("部署DeepSeek-R1-671B 的性能：输出速度 6.5 token/s")
    assert load_of(path).model == "DeepSeek-R1-671B"


def test_numbers_without_units_are_refused_with_that_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        "model     concurrency     首字延迟TTFT(AVG/P99)     token time TPOT(AVG/P99)\n"
        "m-8b     4     0.759/4.01     0.029/0.3\n"
    )
    reason = unknown_file_reason(ResultFile(path, "a.txt"))
    assert "It names TTFT and TPOT, but states no unit for their numbers" in reason
    with pytest.raises((ImportRefusedError, AssertionError)):
        loads_of(path)


RUN_SUMMARY = """\u2139 Run Summary Info
|===========|==========|==========|======|======|======|=======|=======|=====|=======|======|=====|
| Benchmark | Timings                              ||||| Input Tokens      ||| Output Tokens    |||
| Strategy  | Start    | End      | Dur  | Warm | Cool | Comp  | Inc   | Err | Comp  | Inc  | Err |
|           |          |          | Sec  | Sec  | Sec  | Tot   | Tot   | Tot | Tot   | Tot  | Tot |
|-----------|----------|----------|------|------|------|-------|-------|-----|-------|------|-----|
| constant  | 08:15:12 | 08:15:42 | 30.5 | 0.0  | 0.0  | 950.0 | 600.0 | 0.0 | 930.0 | 60.0 | 0.0 |
|===========|==========|==========|======|======|======|=======|=======|=====|=======|======|=====|
"""


def test_run_summary_of_guidellm(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, RUN_SUMMARY)
    assert [(row.metric, row.statistic, row.value) for row in rows if row.metric != "stated"] == [
        ("duration_s", "total", 30.5), ("prompt_tokens", "total", 950.0), ("completion_tokens", "total", 930.0),
    ]  # fmt: skip
    assert {(row.statistic, row.unit) for row in rows} == {("total", "s"), ("total", "tokens")}


def test_the_legend_of_cells_with_a_speed_per_gpu(tmp_path: Path) -> None:
    text = (
        "Rerun of both, first / second run. Each cell: tps/GPU · TTFT ms · TPOT ms.\n\n"
        "| conc | first | second |\n|---|---|---|\n| 16 | 3975 · 217 · 14.5 | 3960 · 219 · 14.75 |\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.unit, row.value, row.concurrency) for row in rows] == [
        ("stated", "tok/s", 3975.0, 16), ("ttft_ms", "ms", 217.0, 16), ("tpot_ms", "ms", 14.5, 16),
        ("stated", "tok/s", 3960.0, 16), ("ttft_ms", "ms", 219.0, 16), ("tpot_ms", "ms", 14.75, 16),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("for bs=1 the server outputs around 26.5 tok/s:", [26.5]),
        ("from our logs, decode is 26.5 tok/s", [26.5]),
        ("for speed in range(26): print('26.5 tok/s')", []),
        ("from tools import speed  # 26.5 tok/s", []),
    ],
)
def test_sentences_that_begin_like_code(tmp_path: Path, text: str, values: list[float]) -> None:
    assert [value for _, _, value in figures_of(tmp_path, f"Prefill: 900 tok/s\n\n{text}\n")][1:] == values


def test_a_commented_figure_has_the_level_behind_it(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, "# 131.5 TPS with concurrency 16, 4K input, TTFT of 874 ms\n")
    assert [(row.value, row.concurrency) for row in rows] == [(131.5, 16), (874.0, 16)]
    assert not any("#" in row.point for row in rows)


def test_timings_of_koboldcpp(tmp_path: Path) -> None:
    line = (
        "CtxLimit:7980/32768, Amt:198/512, Init:0.00s, Process:10.5s (712.5T/s), Generate:25.25s (7.75T/s), Total:36s\n"
    )
    assert figures_of(tmp_path, line) == [
        ("prompt_ms", "stated", 10500.0), ("prompt_tps", "stated", 712.5), ("decode_ms", "stated", 25250.0),
        ("decode_tps", "stated", 7.75), ("e2e_ms", "stated", 36000.0),
    ]  # fmt: skip
    report = (
        "ProcessingTime: 9.5s\nProcessingSpeed: 406.75T/s\nGenerationTime: 26.5s\nGenerationSpeed: 3.75T/s\n"
        "TotalTime: 36.25s\nOutput: 1 1 1 1\n"
    )
    assert figures_of(tmp_path, report) == [
        ("prompt_ms", "stated", 9500.0), ("prompt_tps", "stated", 406.75), ("decode_ms", "stated", 26500.0),
        ("decode_tps", "stated", 3.75), ("e2e_ms", "stated", 36250.0),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["20 ～ 30 token/s", "20～30 token/s", "20 ~ 30 token/s"])
def test_ranges_with_a_wide_tilde(tmp_path: Path, text: str) -> None:
    assert figures_of(tmp_path, f"910B 单卡维持在{text},似乎慢了不少") == [
        ("stated", "min", 20.0),
        ("stated", "max", 30.0),
    ]
    assert [value for _, _, value in figures_of(tmp_path, "With 4 streams ~30 tok/s.")] == [30.0]


def test_long_arrows_between_figures_below_a_linked_name(tmp_path: Path) -> None:
    text = "".join(
        f"{name}: https://example.org/o/{name.replace(' ', '-')} --> QAT ~optimised Q4\n"
        f"PP {prompt}.04 --> 1091.75 tok/s\nTG 81.5 --> 83.5 tok/s\n\n"
        for name, prompt in (("Model 26B", 1201), ("Other 35B", 1104))
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.prompt_tokens) for row in rows[:4]] == [
        ("prompt_tps", 1201.04, None), ("prompt_tps", 1091.75, None), ("output_tps", 81.5, None),
        ("output_tps", 83.5, None),
    ]  # fmt: skip
    assert [row.point.partition(":")[0] for row in rows] == ["Model 26B"] * 4 + ["Other 35B"] * 4


GERMAN = """Die Läufe sind nicht doppelt gezählt und mit der alten Einstellung gemessen.

| Lauf | TTFT | E2E |
|---|---:|---:|
| 1 | 32.641 ms | {} ms |
| 2 | 31.179 ms | 99.032 ms |
"""


def test_points_of_german_thousands(tmp_path: Path) -> None:
    assert figures_of(tmp_path, GERMAN.format("98.138")) == [
        ("ttft_ms", "stated", 32641.0), ("e2e_ms", "stated", 98138.0), ("ttft_ms", "stated", 31179.0),
        ("e2e_ms", "stated", 99032.0),
    ]  # fmt: skip
    assert figures_of(tmp_path, GERMAN.format("98.5"))[0] == ("ttft_ms", "stated", 32.641)  # a decimal point elsewhere
    english = GERMAN.format("98.138").replace("Die Läufe sind nicht doppelt gezählt und mit der", "The runs of the")
    assert figures_of(tmp_path, english.replace("alten Einstellung gemessen", "old setting"))[0][2] == 32.641


def test_titles_of_a_page_that_begin_with_the_name_of_a_model(tmp_path: Path) -> None:
    table = "| Setup | tok/s |\n|---|---|\n| one | 17.5 |\n"
    text = f"All results are of this lab.\nBig-235B — Two nodes\nDate: 2026-05-03\n{table}"
    text += f"Prefix cache: on\nvs what is published\n{table}small-oss-120b — Single node\nDate: 2026-05-02\n"
    text += "| Metric | Value |\n|---|---|\n| Pure decode | 57.5 tok/s |\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.point.partition(":")[0], row.value) for row in rows] == [
        ("Big-235B — Two nodes", 17.5), ("Big-235B — Two nodes, vs what is published", 17.5),
        ("small-oss-120b — Single node", 57.5),
    ]  # fmt: skip


def test_what_a_test_pins_is_not_measured(tmp_path: Path) -> None:
    text = "Measured: 221.5 tok/s generation.\n\nA new test pins the contract: 221.5 = healthy, fallback 12 t/s = bad."
    assert figures_of(tmp_path, text) == [("output_tps", "stated", 221.5)]


def test_per_cents_are_no_unit_of_a_throughput(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Two cards have a total token throughput of 36.9, four 41.5. So they are 12% faster.\n")
    assert "It names throughput, but states no unit" in unknown_file_reason(ResultFile(path, "a.txt"))


@pytest.mark.parametrize(
    "text",
    [
        "The weights are 78.5 GiB that cannot be resident on a small machine.",
        "plan: ~12 tok/s warm decode (est. from the larger one)",
        "Your 65 t/s is plausibly structured-prompt acceptance.",
        "Headline vs your video (65 t/s on the larger one)",
    ],
)
def test_what_the_author_did_not_measure(tmp_path: Path, text: str) -> None:
    assert figures_of(tmp_path, f"Decode: 45 tok/s\n\n{text}\n") == [("decode_tps", "stated", 45.0)]


def test_a_prompt_within_a_compound_names_no_metric(tmp_path: Path) -> None:
    assert figures_of(tmp_path, "The server gives 65 t/s in structured-prompt runs.") == [("stated", "stated", 65.0)]
