"""Numbers of a list that share a unit or a label, marks of the person who pasted a table, times of a round."""

from __future__ import annotations

from pathlib import Path

from load_records import Accuracy
from tests.collectors.imports.captured import load_of, loads_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


def test_numbers_with_blanks_between_them_share_the_unit_of_the_last(tmp_path: Path) -> None:
    text = "The tests gave a TTFT of 81.25 90.50 77.75 1120.25 ms for four runs.\n"
    assert figures_of(tmp_path, text) == [
        ("ttft_ms", "stated", value) for value in (81.25, 90.5, 77.75, 1120.25)
    ]  # fmt: skip
    assert figures_of(tmp_path, "Qwen 2.5 gave 14.3 tok/s here.\n") == [("stated", "stated", 14.3)]


def test_times_of_a_list_have_the_unit_of_their_label(tmp_path: Path) -> None:
    text = (
        "serve.py[97]: Performance(T/s): prefill 90.5, decode 12.25. Time(s): tokenize 0.5, prefill 1.25, decode 6.5\n"
    )
    assert figures_of(tmp_path, text) == [
        ("prompt_tps", "stated", 90.5),
        ("decode_tps", "stated", 12.25),
        ("prompt_ms", "stated", 1250.0),
        ("decode_ms", "stated", 6500.0),
    ]
    plural = "Decode runs at 45 tok/s with request(s): prefill 12, decode 4\n"
    assert figures_of(tmp_path, plural) == [("decode_tps", "stated", 45.0)]


def test_an_arrow_before_the_number_of_a_cell_is_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "genai.txt"
    path.write_text(
        "           NVIDIA GenAI-Perf | LLM Metrics\n"
        "┏━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┓\n"
        "┃                Statistic ┃      avg ┃      min ┃\n"
        "┡━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━┩\n"
        "│ Time To First Token (ms) │---> 1,081.5 │    77.25 │\n"
        "└──────────────────────────┴──────────┴──────────┘\n"
    )
    (load,) = loads_of(path)
    assert [(row.statistic, row.value) for row in load.result_rows] == [("mean", 1081.5), ("min", 77.25)]


def test_the_time_of_a_round_is_a_duration_and_the_path_of_a_model_names_it(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "python -m local_chat --model_path /models/Tiny-8B --cpu_infer 8\n\n"
        "Query round mean TTFT: 2.25s\nQuery round time: 9.5s\nQuery round prompt count: 50\n"
    )
    (load,) = loads_of(path)
    assert [(row.metric, row.value) for row in load.result_rows] == [("ttft_ms", 2250.0), ("duration_s", 9.5)]
    assert load.model == "/models/Tiny-8B"


def test_a_list_is_of_the_latency_that_the_sentence_above_it_names(tmp_path: Path) -> None:
    text = (
        "We ran several levels of load and the TTFT numbers look odd:\n\n"
        "- 1 concurrent request: ~100ms (fine)\n"
        "- **50 concurrent: ~6.5 seconds** (far too slow)\n"
        "- At 90 users it should be **<500ms**\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.concurrency) for row in rows] == [
        ("ttft_ms", 100.0, 1),
        ("ttft_ms", 6500.0, 50),
    ]


def test_a_head_names_the_arms_on_both_sides_of_an_arrow(tmp_path: Path) -> None:
    text = (
        "| GPU | Throughput (kv → new) | Δ | TTFT p99 (kv → new) | Δ |\n|---|---|---|---|---|\n"
        "| H100 | 104,250 → **120,500** | **+16%** | 1,050 → **650 ms** | **−38%** |\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.statistic, row.value) for row in rows] == [
        ("ttft_ms", "p99", 1050.0),
        ("ttft_ms", "p99", 650.0),
    ]
    assert [row.point.rpartition(", ")[2] for row in rows] == ["TTFT p99 kv", "TTFT p99 new"]


def test_tokens_over_seconds_behind_out_are_those_of_the_answer(tmp_path: Path) -> None:
    text = "ctx 27K · pp 27K/18.5s 1400t/s · out 250/3.0s 80t/s · cold\n"
    assert figures_of(tmp_path, text) == [("prompt_tps", "stated", 1400.0), ("output_tps", "stated", 80.0)]


def test_a_row_of_shares_of_the_baseline_is_no_measurement(tmp_path: Path) -> None:
    text = (
        "| Metric | Baseline | Fork |\n|---|---:|---:|\n| Throughput (req/s) | 41.5 | 15.25 |\n"
        "| % of baseline | — | 36.5% |\n"
    )
    assert figures_of(tmp_path, text) == [("request_tps", "stated", 41.5), ("request_tps", "stated", 15.25)]


def test_percentiles_in_the_bracket_behind_a_figure_of_a_logger(tmp_path: Path) -> None:
    text = (
        "[2026-01-05|17:04:50] INFO     TTFT:  98.5 ms (p50:  94.5 ms, p99: 220.5 ms, max: 605.25 ms)\n"
        "[2026-01-05|17:04:50] INFO     E2E:   10.25  s (p50: 8.25  s, p90:  20.5  s)\n"
        "[2026-01-05|17:04:50] INFO     Throughput:   2270 token/s, 6.5 req/s\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.statistic, row.value) for row in rows] == [
        ("ttft_ms", "stated", 98.5), ("ttft_ms", "median", 94.5), ("ttft_ms", "p99", 220.5), ("ttft_ms", "max", 605.25),
        ("e2e_ms", "stated", 10250.0), ("e2e_ms", "median", 8250.0), ("e2e_ms", "p90", 20500.0),
        ("output_tps", "stated", 2270.0), ("request_tps", "stated", 6.5),
    ]  # fmt: skip
    assert rows[0].point == "TTFT (line 1)"


def test_a_column_of_durations_without_a_unit_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("| Engine | TG/s | Duration |\n|---|---|---|\n| one | 53.5 | 42.25 |\n| two | 32.5 | 73.5 |\n")
    (load,) = loads_of(path)
    assert [row.value for row in load.result_rows] == [53.5, 32.5]
    assert load.notes == ["The column 'Duration' states no unit: its numbers were left out."]


def test_whole_numbers_with_decimals_are_levels_and_a_best_arm_is_no_statistic(tmp_path: Path) -> None:
    text = (
        "| Config | parallel | max_concurrency | mean_ttft_ms | input_throughput |\n|---|---|---|---|---|\n"
        "| A default | 2.0 | 4.000 | 206.5 | 405.25 |\n| B tuned best | 2.0 | 8.0 | 165.5 | 505.5 |\n"
    )
    path = tmp_path / "a.md"
    path.write_text(text)
    (load,) = loads_of(path)
    assert [(row.statistic, row.value, row.concurrency) for row in load.result_rows] == [
        ("mean", 206.5, 4),
        ("mean", 165.5, 8),
    ]
    assert load.notes == ["The column 'input_throughput' states no unit: its numbers were left out."]
    other_text = "| Config | TTFT (ms) |\n|---|---|\n| default | 206.5 |\n| tuned best | 165.5 |\n"
    assert figures_of(tmp_path, other_text) == [("ttft_ms", "stated", 206.5), ("ttft_ms", "stated", 165.5)]


def test_accuracies_of_a_printed_dictionary_and_the_model_above_a_table(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        "======= Completed =======\nEvaluation Results:\ngsm8k: {'alias': 'gsm8k', 'exact_match,strict-match': 0.9375, "
        "'exact_match_stderr,strict-match': 0.025, 'exact_match,flexible-extract': 0.953125}\n"
    )
    (load,) = loads_of(path)
    accuracies = [row for row in load.rows if isinstance(row, Accuracy)]
    assert [(row.task, row.filter, row.value, row.stderr) for row in accuracies] == [
        ("gsm8k", "strict-match", 0.9375, 0.025),
        ("gsm8k", "flexible-extract", 0.953125, None),
    ]
    path.write_text(
        "vllm (pretrained=/models/Tiny-7B,dtype=bfloat16), gen_kwargs: (None), limit: None, num_fewshot: None\n"
        "|Tasks|Version|Filter|n-shot|Metric|   |Value |   |Stderr|\n"
        "|-----|------:|------|-----:|------|---|-----:|---|-----:|\n"
        "|gsm8k|      3|none  |     5|acc   |↑  |0.0281|±  |0.0045|\n"
    )
    (load,) = loads_of(path)
    assert load.model == "/models/Tiny-7B"


def test_the_sampler_of_a_console_without_padding_is_no_speed(tmp_path: Path) -> None:
    text = (
        "llama_print_timings: sample time = 27.5 ms / 128 runs ( 0.21 ms per token, 4740.5 tokens per second)\n"
        "llama_print_timings: eval time = 10630.5 ms / 127 runs ( 83.75 ms per token, 11.5 tokens per second)\n"
    )
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 11.5), ("decode_ms", "stated", 10630.5)]


def test_arms_of_averages(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "```\nmlx_lm.benchmark --model org/tiny -p 2048 -g 2\n```\n\n"
        "Pre: Averages: prompt_tps=440.5, generation_tps=86.5, peak_memory=61.25\n"
        "Post: Averages: prompt_tps=500.5, generation_tps=83.5, peak_memory=23.5\n"
    )
    loads = loads_of(path)
    assert [(load.tool, load.model, load.params["heading"]) for load in loads] == [
        ("mlx_lm.benchmark", "org/tiny", "Pre"),
        ("mlx_lm.benchmark", "org/tiny", "Post"),
    ]
    assert [load.result_rows[0].prompt_tokens for load in loads] == [2048, 2048]


def test_the_words_before_with_name_the_first_figure(tmp_path: Path) -> None:
    text = (
        "Before the update I ran a Tiny-27b model with moderate speed: 4.5 tok/sec, 64 tokens, 1.25s to first token\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value) for row in rows] == [("decode_tps", 4.5), ("ttft_ms", 1250.0)]
    assert rows[0].point.startswith("Before the update I ran a Tiny-27b model with moderate speed")


def test_a_unit_before_what_changed_from_one_range_to_another(tmp_path: Path) -> None:
    text = (
        "After the update, the number of tokens per second decreased dramatically from 17-22 to 10-8 on a tiny model.\n"
    )
    assert figures_of(tmp_path, text) == [
        ("stated", "min", 17.0), ("stated", "max", 22.0), ("stated", "min", 8.0), ("stated", "max", 10.0),
    ]  # fmt: skip


def test_a_table_with_a_cell_and_its_bar_on_each_line(tmp_path: Path) -> None:
    heads = "Concurrency |\nTTFT (ms) |\nThroughput(Tokens/s) |\n---|---|---|\n"
    text = f"{heads}1 |\n368.5 |\n48.25 |\n5 |\n446.5 |\n199.5 |\n"
    rows = results_of_text(tmp_path, text * 2)
    assert [(row.metric, row.value, row.concurrency) for row in rows] == [
        ("ttft_ms", 368.5, 1), ("output_tps", 48.25, 1), ("ttft_ms", 446.5, 5), ("output_tps", 199.5, 5),
    ] * 2  # fmt: skip
    assert rows[0].point == "1: TTFT (ms) (line 5)"


def test_statistics_under_a_heading_that_names_their_latency(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(
        "=== (1) TTFT DISTRIBUTION (short prompt, 20 tokens, 30 requests) ===\nWARM_N=29 P50_S=1.105 P95_S=1.125\n\n"
        "=== (2) THROUGHPUT ===\nCTX=2048 WALL_S=10.5 GEN_TPS=2.5\n"
    )
    rows = [(row.metric, row.statistic, row.value) for row in load_of(path).result_rows]
    assert rows == [
        ("ttft_ms", "median", 1105.0), ("ttft_ms", "p95", 1125.0), ("duration_s", "stated", 10.5),
        ("output_tps", "stated", 2.5),
    ]  # fmt: skip
