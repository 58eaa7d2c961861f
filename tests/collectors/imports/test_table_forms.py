"""Tables as people build them: units in odd places, plain counts, comparisons, names that only look like statistics."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import loads_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


def test_comparisons_are_no_figures(tmp_path: Path) -> None:
    text = (
        "| GPU | `n_max:0` | `n_max:16` | change | vs base | Gap |\n|--|--|--|--|--|--|\n"
        "| P40 | 8.5 tps | 39.5 tps | 4.45x | 1.5\u00d7 | 12 tok/s |\n"
    )
    assert figures_of(tmp_path, text) == [("stated", "stated", 8.5), ("stated", "stated", 39.5)]
    path = tmp_path / "compared.md"
    path.write_text(text)
    [load] = loads_of(path)
    assert load.notes == ["What compares others or states an aim was left out: 'change', 'vs base', 'Gap'."]


@pytest.mark.parametrize(
    "name", ["P40", "Tesla P100", "M4 Max", "RTX PRO 6000 Max-Q", "AI MAX+ 395", "n_max=4", "max tokens 128", "min-p"]
)
def test_names_that_look_like_statistics(tmp_path: Path, name: str) -> None:
    assert figures_of(tmp_path, f"| Arm | Decode (tok/s) |\n|---|---|\n| {name} | 45.5 |\n") == [
        ("decode_tps", "stated", 45.5)
    ]


COUNTS = """| Metric | Stage | Value |
|---|---|---|
| Benchmark Duration | total | 1842.5 ms |
| Total Requests | total | 128 |
| Failed Requests | total | 0 |
| Concurrency | total | 6.5 |
| Total input tokens | total | 5926 |
| Total generated tokens | total | 9110 |
"""


def test_counts_by_their_names(tmp_path: Path) -> None:
    assert [(metric, value) for metric, _, value in figures_of(tmp_path, COUNTS)] == [
        ("duration_s", 1.8425), ("requests", 128.0), ("failed_requests", 0.0), ("mean_concurrency", 6.5),
        ("prompt_tokens", 5926.0), ("completion_tokens", 9110.0),
    ]  # fmt: skip


def test_a_column_of_units(tmp_path: Path) -> None:
    text = "| Metric | Value | Unit |\n|---|---|---|\n| Mean TTFT | 81.5 | ms |\n| Decode | 45.5 | tok/s |\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.statistic, row.value, row.point) for row in rows] == [
        ("ttft_ms", "mean", 81.5, "Mean TTFT (line 3)"), ("decode_tps", "stated", 45.5, "Decode (line 4)"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "title", ["### Speed: 63.5 \u2192 96.5 tok/s", "## Decode (tok/s)\n\nOn one card.", "**tok/s**"]
)
def test_the_unit_of_plain_columns_stands_above(tmp_path: Path, title: str) -> None:
    table = (
        "| | Old one | With flag | n-max | Acceptance |\n|---|---|---|---|---|\n| A | 63.5 | 96.5 (+52%) | 2 | 0.59 |\n"
    )
    figures = figures_of(tmp_path, f"{title}\n\n{table}")
    assert [value for metric, _, value in figures if metric != "acceptance_rate"] == [63.5, 96.5]
    assert ("acceptance_rate", "stated", 0.59) in figures


DASHES = """category   base_avg_pred_t/s  decode_speedup  base_avg_latency  accept_rate
---------  -----------------  --------------  ----------------  -----------
coding     51.5               1.64x           11.5s             0.75
2 turns    52.5               1.30x           10.5s             0.7557
"""


def test_aligned_columns_above_a_rule(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, DASHES)
    assert [(row.metric, row.statistic, row.value) for row in rows] == [
        ("stated", "mean", 51.5), ("e2e_ms", "mean", 11500.0), ("acceptance_rate", "stated", 0.75),
        ("stated", "mean", 52.5), ("e2e_ms", "mean", 10500.0), ("acceptance_rate", "stated", 0.7557),
    ]  # fmt: skip
    assert rows[0].point == "coding: base_avg_pred_t/s (line 3)"


def test_aligned_rows_that_begin_with_a_number(tmp_path: Path) -> None:
    text = "conc   ttft_ms   out_tok_s\n1      81.5      45.5\n16     240       310.5\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.concurrency) for row in rows] == [
        ("ttft_ms", 81.5, 1), ("output_tps", 45.5, 1), ("ttft_ms", 240.0, 16), ("output_tps", 310.5, 16),
    ]  # fmt: skip


def test_figures_beside_a_verdict(tmp_path: Path) -> None:
    text = "| Engine | Decode (tok/s) | Tools |\n|---|---|---|\n| A | 45.5 | \u2705 |\n"
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 45.5)]


def test_latency_per_token_is_no_latency_of_a_request(tmp_path: Path) -> None:
    text = "Average latency: 2.5 s\nAverage latency per token: 0.5 s\nThroughput: 145.5 tokens/s\n"
    assert figures_of(tmp_path, text)[:2] == [("e2e_ms", "mean", 2500.0), ("stated", "mean", 0.5)]


def test_a_column_of_figures_may_be_the_first(tmp_path: Path) -> None:
    text = "| Decode (tok/s) | Card |\n|---|---|\n| 45.5 | A |\n"
    (row,) = results_of_text(tmp_path, text)
    assert (row.metric, row.value) == ("decode_tps", 45.5)


def test_sentences_in_cells(tmp_path: Path) -> None:
    text = (
        "Nobody is the single fastest.\n| For | Use | Here |\n|---|---|---|\n"
        "| Lowest first-token latency | A | 235 ms TTFT at c32 vs B 514 ms |\n"
        "| Highest throughput | B | 5,333 tok/s on one card |\n| Cost | B | $0.158 per 1M tokens |\n"
        "| Caching | both | throughput ~2.7x at 90% hit rate |\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.concurrency) for row in rows] == [
        ("ttft_ms", 235.0, 32), ("ttft_ms", 514.0, 32), ("output_tps", 5333.0, None),
    ]  # fmt: skip


def test_speeds_per_second_and_latencies_without_a_unit(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("| Prompt Tokens | PP/s | TTFT | TG/s |\n|---|---|---|---|\n| 469 | 2189.5 | 0.21 | 56.5 |\n")
    (load,) = loads_of(path)
    assert [(row.metric, row.value, row.prompt_tokens) for row in load.result_rows] == [
        ("prompt_tps", 2189.5, 469), ("output_tps", 56.5, 469),
    ]  # fmt: skip
    assert load.notes == ["The column 'TTFT' states no unit: its numbers were left out."]


def test_the_first_head_may_say_that_prefill_is_measured(tmp_path: Path) -> None:
    assert figures_of(tmp_path, "| Prefill ctx | tok/s |\n|---:|---:|\n| 32k | 180.5 |\n") == [
        ("prompt_tps", "stated", 180.5)
    ]


BARE = """Test name GPU Mean latency (ms) P99 latency (ms)
latency_70B 8xH100 2444.5 2450.5
latency_8B 8xH100 997.5 999.5

Test name GPU Tput (req/s)
throughput_70B 8xH100 8.5
"""


def test_columns_with_single_blanks_between_them(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, BARE)
    assert [(row.point, row.metric, row.statistic, row.value) for row in rows] == [
        ("latency_70B 8xH100: Mean latency (ms) (line 2)", "e2e_ms", "mean", 2444.5),
        ("latency_70B 8xH100: P99 latency (ms) (line 2)", "e2e_ms", "p99", 2450.5),
        ("latency_8B 8xH100: Mean latency (ms) (line 3)", "e2e_ms", "mean", 997.5),
        ("latency_8B 8xH100: P99 latency (ms) (line 3)", "e2e_ms", "p99", 999.5),
        ("throughput_70B 8xH100: Tput (req/s) (line 6)", "request_tps", "stated", 8.5),
    ]  # fmt: skip


def test_a_sentence_with_units_in_brackets_is_no_head(tmp_path: Path) -> None:
    text = "We measured latency (ms) and speed (tok/s)\nof model 8 45\n\nDecode: 45.5 tok/s\n"
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 45.5)]


RUNS = """| | A | B |
|---|---|---|
| Max concurrency @ 262,144 | 11.5x | 6.5x |
| single stream decode, 3 runs (tok/s) | 120.5 / 114.5 / 109.5 | 135.5 / 108.5 / 124.5 |
| median | 114.5 | 124.5 |
| TTFT p50/p99 (ms) | 81 / 150 | 90 / 160 |
"""


def test_runs_of_a_cell_and_the_statistic_below_them(tmp_path: Path) -> None:
    rows = [row for row in results_of_text(tmp_path, RUNS) if ": A" in row.point]
    assert [(row.metric, row.statistic, row.value, row.concurrency) for row in rows] == [
        ("full_context_concurrency", "stated", 11.5, None), ("decode_tps", "stated", 120.5, None),
        ("decode_tps", "stated", 114.5, None), ("decode_tps", "stated", 109.5, None),
        ("decode_tps", "median", 114.5, None), ("ttft_ms", "median", 81.0, None), ("ttft_ms", "p99", 150.0, None),
    ]  # fmt: skip
    assert rows[1].point == "single stream decode, 3 runs (tok/s): A (line 4), value 1 of 3"


@pytest.mark.parametrize("unit", ["tok/s per Watt", "out_tok/s/W", "tokens/s per $", "tok/s/J"])
def test_efficiencies_are_no_speeds(tmp_path: Path, unit: str) -> None:
    text = f"| Metric | A | B |\n|---|---|---|\n| {unit} | 0.5 | 2.5 |\n| Decode tok/s | 45.5 | 50.5 |\n"
    assert [value for _, _, value in figures_of(tmp_path, text)] == [45.5, 50.5]


def test_rows_that_state_the_units_of_aligned_columns(tmp_path: Path) -> None:
    text = (
        " Metric               p50          p95          p99\n"
        " -------------------- ------------ ------------ ------------\n"
        " TTFB (ms)            150          200          250\n Latency (ms)         500          700          900\n"
        "\n Tokens/sec: 70.5 (avg), 65.5 (p50)\n"
    )
    assert figures_of(tmp_path, text) == [
        ("ttfr_ms", "median", 150.0), ("ttfr_ms", "p95", 200.0), ("ttfr_ms", "p99", 250.0),
        ("e2e_ms", "median", 500.0), ("e2e_ms", "p95", 700.0), ("e2e_ms", "p99", 900.0),
        ("stated", "mean", 70.5), ("stated", "median", 65.5),
    ]  # fmt: skip


def test_a_degree_of_parallelism_is_no_level(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("| Arm | TTFT (ms) |\n|---|---|\n| Default (tensor-parallel=1) | 156 |\n| other | 120 |\n")
    (load,) = loads_of(path)
    assert [row.concurrency for row in load.result_rows] == [None, None] and load.server_config == {}


def test_memory_and_speed_of_a_cell_and_what_is_only_aimed_at(tmp_path: Path) -> None:
    text = "| Model | All | Some |\n|---|---|---|\n| A | 23.5GB VRAM, 65 t/s | ~8GB VRAM (target) |\n"
    assert [value for _, _, value in figures_of(tmp_path, text)] == [23.5, 65.0]


def test_what_is_aimed_at_is_no_figure(tmp_path: Path) -> None:
    text = (
        "| ISL | TTFT (ms) | Target TTFT (ms) | Expected tok/s |\n|---|---|---|---|\n| 128 | 81.5 | 50 | 45 |\n\n"
        "| Setting | Value |\n|---|---|\n| request timeout | 600 s |\n| TTFT SLO | 500 ms |\n"
    )
    assert figures_of(tmp_path, text) == [("ttft_ms", "stated", 81.5)]


def notes_of(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "a.md"
    path.write_text(text)
    return [note for load in loads_of(path) for note in load.notes]


TIMED = "| Arm | Decode (tok/s) |\n|---|---|\n| A | 45.5 |\n"


@pytest.mark.parametrize("heading", ["## Expected Impact", "## Projected decode throughput", "## Expected Results"])
def test_a_table_of_what_is_expected_is_left_out(tmp_path: Path, heading: str) -> None:
    text = f"## Measured\n\n{TIMED}\n{heading}\n\n| Phase | Decode (tok/s) |\n|---|---|\n| 1 | ~60 |\n"
    assert [value for _, _, value in figures_of(tmp_path, text)] == [45.5]
    words = heading.removeprefix("## ")
    assert notes_of(tmp_path, text) == [f"A table of what is expected was left out: {words!r}."]


def test_an_estimate_beside_what_was_measured(tmp_path: Path) -> None:
    text = (
        "| Target | Decode tok/s | Peak | Estimate | Projected tok/s |\n|---|---|---|---|---|\n"
        "| A | 67.5 | 7.01 GiB | 7.71 GiB | 90 |\n"
    )
    assert [value for _, _, value in figures_of(tmp_path, text)] == [67.5, 7.01]
    assert notes_of(tmp_path, text) == [
        "What compares others or states an aim was left out: 'Estimate', 'Projected tok/s'."
    ]


@pytest.mark.parametrize(
    ("title", "unit"),
    [("All latencies are in ms.", 1.0), ("Throughput is output tokens/s. Latencies are milliseconds.", 1.0),
     ("Times in seconds", 1000.0)],
)  # fmt: skip
def test_the_unit_of_all_latencies_above_a_table(tmp_path: Path, title: str, unit: float) -> None:
    text = f"{title}\n\n| Engine | tok/s | TTFT p95 | Latency |\n|---|---|---|---|\n| A | 45.5 | 81.5 | 900 |\n"
    assert figures_of(tmp_path, text) == [
        ("stated", "stated", 45.5), ("ttft_ms", "p95", 81.5 * unit), ("e2e_ms", "stated", 900 * unit),
    ]  # fmt: skip
    assert notes_of(tmp_path, text) == []


@pytest.mark.parametrize(
    "around", ["### Results (5 prompts \u00d7 128 tokens)", "Throughput is output tok/s. E2E tails include queueing."]
)
def test_a_title_that_only_describes_the_load_names_no_metric(tmp_path: Path, around: str) -> None:
    text = (
        f"{around}\n\n| Engine | tok/s |\n|---|---|\n| A | 45.5 |\n| Unique prompts | 40.5 |\n| single-thread | 7 |\n"
    )
    assert [metric for metric, _, _ in figures_of(tmp_path, text)] == ["stated"] * 3


def test_a_title_that_says_what_is_better(tmp_path: Path) -> None:
    text = (
        "Generation speed (tg128) \u2014 higher is better.\n\n| Concurrency | Solo | Cluster |\n|---|---|---|\n"
        "| c1 | 57.5 | 69 |\n| c64 | 315.5 | 471.5 |\n"
    )
    assert figures_of(tmp_path, text) == [
        ("decode_tps", "stated", 57.5), ("decode_tps", "stated", 69.0),
        ("stated", "stated", 315.5), ("stated", "stated", 471.5),  # of one stream or of all
    ]  # fmt: skip


def test_tests_of_llama_bench_as_heads(tmp_path: Path) -> None:
    text = "| Model | Vulkan pp | Vulkan tg | HIP pp | `xt` TG |\n|--|--|--|--|--|\n| A | 5242 | 121.5 | 5140 | 105 |\n"
    assert [(metric, value) for metric, _, value in figures_of(tmp_path, text)] == [
        ("prompt_tps", 5242.0), ("output_tps", 121.5), ("prompt_tps", 5140.0), ("output_tps", 105.0),
    ]  # fmt: skip
    lengths = "| n pp | n tg | pp tok/s |\n|---|---|---|\n| 2048 | 1024 | 1494.5 |\n"
    assert figures_of(tmp_path, lengths) == [("prompt_tps", "stated", 1494.5)]


def test_the_latency_of_a_connection_is_no_requests(tmp_path: Path) -> None:
    text = (
        "Output Tokens: 512\nTest Model: Qwen3-8B\nLatency: 0.80 ms\n\n"
        "| Concurrency | Generation Throughput (tokens/s) | Min TTFT (s) |\n|---|---|---|\n| 1 | 5.25 | 8.5 |\n"
    )
    assert figures_of(tmp_path, text) == [("output_tps", "stated", 5.25), ("ttft_ms", "min", 8500.0)]


def test_a_sentence_with_a_figure_above_a_table_is_no_title(tmp_path: Path) -> None:
    text = (
        "Median output throughput changed from 579.5 to 578.5 tok/s.\n\n| Metric | Default | Both |\n|---|---|---|\n"
        "| Mean TTFT (ms) | 1509 | 1411 |\n| Observed acceptance length | 3.4 | 3.3 |\n"
    )
    assert figures_of(tmp_path, text)[:4] == [
        ("ttft_ms", "mean", 1509.0), ("ttft_ms", "mean", 1411.0),
        ("acceptance_length", "stated", 3.4), ("acceptance_length", "stated", 3.3),
    ]  # fmt: skip


def test_names_that_only_look_like_a_requests_latency(tmp_path: Path) -> None:
    text = (
        "| Metric | Value |\n|---|---|\n| end_to_end_wall_s | 19.5 |\n| Mean Nlatency (ms) | 215.5 |\n"
        "| normalized latency (ms) | 30 |\n| end_to_end_p99_s | 3 |\n| TTFT | **870 ms** *(1.8\u00d7 faster)* |\n"
    )
    assert figures_of(tmp_path, text) == [
        ("duration_s", "stated", 19.5), ("stated", "mean", 215.5), ("stated", "stated", 30.0),
        ("e2e_ms", "p99", 3000.0), ("ttft_ms", "stated", 870.0),
    ]  # fmt: skip


@pytest.mark.parametrize("head", ["Per-stream decode", "Decode/stream"])
def test_a_speed_of_a_stream_without_a_unit_is_told(tmp_path: Path, head: str) -> None:
    text = f"| Concurrency | Aggregate tok/s | {head} |\n|---|---|---|\n| 8 | 202 | 30.5 |\n"
    assert notes_of(tmp_path, text) == [f"The column {head!r} states no unit: its numbers were left out."]


@pytest.mark.parametrize("quantisation", ["Q4_K_S", "unsloth UD-Q4_K_S", "IQ3_S"])
def test_the_name_of_a_quantisation_states_no_seconds(tmp_path: Path, quantisation: str) -> None:
    text = f"| Build | Quant | pp512 | tg128 |\n|---|---|---|---|\n| b9010 | {quantisation} | 1374.5 | 95.5 |\n"
    assert figures_of(tmp_path, text) == [("prompt_tps", "stated", 1374.5), ("decode_tps", "stated", 95.5)]


def test_what_a_table_calls_invalid_is_left_out(tmp_path: Path) -> None:
    text = "| Metric | Value |\n|---|---|\n| ITL p50 | 0.0 ms invalid |\n| TTFT p50 | 81.5 ms |\n"
    assert figures_of(tmp_path, text) == [("ttft_ms", "median", 81.5)]


def test_memory_in_the_name_of_a_gpu_is_no_unit(tmp_path: Path) -> None:
    text = "Decode speed in tok/s\n\n| Model | RTX 5090 | RTX 6000 Pro 96 GB |\n|---|---|---|\n| 70B | 62 | 95 |\n"
    assert {row.unit for row in results_of_text(tmp_path, text)} == {"tok/s"}


def test_numbers_as_heads_below_a_metric(tmp_path: Path) -> None:
    text = "Online mode\n\nMedian TTFT (ms, lower better)\nrequest rate\t1\t2\t4\nbox-7, aiter\t195.5\t134.5\t166.5\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.statistic, row.value) for row in rows] == [
        ("ttft_ms", "median", 195.5), ("ttft_ms", "median", 134.5), ("ttft_ms", "median", 166.5),
    ]  # fmt: skip
    rates = [next(part for part in row.point.split(": ") if "rate" in part) for row in rows]
    assert rates == ["request rate 1", "request rate 2", "request rate 4"]


def test_a_column_of_versions_below_the_unit_of_the_title(tmp_path: Path) -> None:
    text = (
        "## Generation\n\nMedian generated tokens per second:\n\n| Model | Turbo | Short | Code |\n|---|---|---|---|\n"
        "| a | 3 | 9.25 | 8.25 |\n| a | 4 | 6.5 | 6.25 |\n| b | 3 | 36.5 | 38.25 |\n| b | 4 | 38.5 | 40.25 |\n"
    )
    assert [row.value for row in results_of_text(tmp_path, text)] == [9.25, 8.25, 6.5, 6.25, 36.5, 38.25, 38.5, 40.25]
