"""Figures as people write them: in sentences, with the field's many units, with words behind them, under labels."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.results.prose import document
from collectors.imports.results.prose.number_text import read_cell
from collectors.imports.results.prose.sentences import read_sentences
from collectors.imports.results.prose.units import unit_in
from load_records import Result
from tests.collectors.imports.captured import accuracies_of, load_of, loads_of


def results_of_text(tmp_path: Path, text: str) -> list[Result]:
    path = tmp_path / "a.md"
    path.write_text(text)
    return [row for load in loads_of(path) for row in load.rows if isinstance(row, Result)]


def figures_of(tmp_path: Path, text: str) -> list[tuple[str, str, float | None]]:
    return [(row.metric, row.statistic, row.value) for row in results_of_text(tmp_path, text)]


@pytest.mark.parametrize(
    ("sentence", "rows"),
    [
        (
            "TTFT was around 350 ms at 8k context and about 1.2 s at 32k.",
            [("ttft_ms", "stated", 350.0), ("ttft_ms", "stated", 1200.0)],
        ),
        ("Decode stays at 42 tok/s with MTP.", [("decode_tps", "stated", 42.0)]),
        (
            "We got 45 tok/s decode and 1,200 tok/s prefill on one card.",
            [("decode_tps", "stated", 45.0), ("prompt_tps", "stated", 1200.0)],
        ),
        (
            "It gives 120 tokens/s single stream and 3.2k tok/s aggregate at 64 concurrent requests, with a median "
            "TTFT of 210ms and p99 TTFT of 1.4 seconds.",
            [("decode_tps", "stated", 120.0), ("output_tps", "stated", 3200.0), ("ttft_ms", "median", 210.0),
             ("ttft_ms", "p99", 1400.0)],
        ),
        (
            "41.5 tok/sec \u2022 300 tokens \u2022 0.25s to first token \u2022 Stop reason: EOS",
            [("decode_tps", "stated", 41.5), ("ttft_ms", "stated", 250.0)],
        ),
        (
            "Prompt: 300 tokens, 900.5 tokens-per-sec\nGeneration: 99 tokens, 51.5 tokens-per-sec",
            [("prompt_tps", "stated", 900.5), ("decode_tps", "stated", 51.5)],
        ),
        ("Decode reaches 50+ tok/s, TPOT stays under 20 ms.", [("decode_tps", "min", 50.0), ("tpot_ms", "max", 20.0)]),
        ("Generation went from 45 to 30 tok/s.", [("output_tps", "min", 30.0), ("output_tps", "max", 45.0)]),
        (
            "\u2022 Prompt Processing: 279.5 \u2192 244.9 t/s (-12.4%)\n\u2022 Generation: 7.5 -> 16.1 t/s",
            [("prompt_tps", "stated", 279.5), ("prompt_tps", "stated", 244.9), ("decode_tps", "stated", 7.5),
             ("decode_tps", "stated", 16.1)],
        ),
        (
            "- TTFT p50 `101.5 ms` vs `115.5 ms`\n- output tok/s `152.5` vs `133.5`",
            [("ttft_ms", "median", 101.5), ("ttft_ms", "median", 115.5), ("output_tps", "stated", 152.5),
             ("output_tps", "stated", 133.5)],
        ),
        ("Decode is 40 tok/s. VRAM usage: 30.5 / 32 GB",
         [("decode_tps", "stated", 40.0), ("stated", "stated", 30.5)]),
        ("Decode is 40 tok/s, footprint is ~2.5 GiB (weights 1.5 GiB).",
         [("decode_tps", "stated", 40.0), ("stated", "stated", 2.5), ("stated", "stated", 1.5)]),
        ("The file, 323 MB on disk, generates at 115 t/s, faster than the other at 81 t/s.",
         [("output_tps", "stated", 115.0), ("output_tps", "stated", 81.0)]),
        ("Rewriting a file @ 24k-token prompt: 29.5 \u2192 34.8 tok/s",
         [("stated", "stated", 29.5), ("stated", "stated", 34.8)]),
        ("Card A posts a median of 36.5 tok/s while B (273 GB/s) manages 45.9 tok/s median, despite some gains.",
         [("stated", "median", 36.5), ("stated", "median", 45.9)]),
        ("* Prefill token/s\uff08\u6700\u9ad8\uff09\uff1a13.5\n* Decode token/s\uff1a10.5",
         [("prompt_tps", "max", 13.5), ("decode_tps", "stated", 10.5)]),
        ("serve.py[97]: Performance(T/s): prefill 90.5, decode 12.5. Time(s): prefill 1.5",
         [("prompt_tps", "stated", 90.5), ("decode_tps", "stated", 12.5)]),
        ("Decode is 40 tok/s. Accept length is 2.5 on one, 2.2 on the other.",
         [("decode_tps", "stated", 40.0), ("acceptance_length", "stated", 2.5),
          ("acceptance_length", "stated", 2.2)]),
        ("It sustains 420 tok/s here.", [("stated", "stated", 420.0)]),
        ("Decode is 40 tok/s. The card uses 21.5 GB of VRAM.",
         [("decode_tps", "stated", 40.0), ("stated", "stated", 21.5)]),
        ("Decode is 40 tok/s. A card with \u226516 GB VRAM is needed.", [("decode_tps", "stated", 40.0)]),
        ("Decode is 40 tok/s at a mean acceptance length of 2.7.",
         [("decode_tps", "stated", 40.0), ("acceptance_length", "mean", 2.7)]),
        ("Prefill and decode run at 900 and 45 tok/s respectively.",
         [("prompt_tps", "stated", 900.0), ("decode_tps", "stated", 45.0)]),
        ("A and B reach 28 and 80 tok/s, respectively.", [("stated", "stated", 28.0), ("stated", "stated", 80.0)]),
        ("Short prompt, 256 tokens \u2192 3.5 s = ~81 tokens/s",
         [("duration_s", "stated", 3.5), ("stated", "stated", 81.0)]),
        ("Card A ($1,000) reaches 2,689 TPS, card B ($3,200) peaks at 8,691 TPS.",
         [("stated", "stated", 2689.0), ("stated", "max", 8691.0)]),
        ("The 1,052-token prompt is slower at 67 tokens/s only because the large prefill takes some time.",
         [("stated", "stated", 67.0)]),
        ("Scaling up: the other card reaches 45 tok/s.", [("stated", "stated", 45.0)]),
        ("You can see the output throughput is 3,396 token per second.", [("output_tps", "stated", 3396.0)]),
        ("**Duration:** 292.5 seconds (4.9 minutes), decode 45 tok/s",
         [("duration_s", "stated", 292.5), ("decode_tps", "stated", 45.0)]),
        ("* k=2: [01:34<00:00,  1.18s/it, est. speed input: 64.5 toks/s, output: 175.5 toks/s] **Accpt Len: 1.89**",
         [("prompt_tps", "stated", 64.5), ("output_tps", "stated", 175.5), ("acceptance_length", "stated", 1.89)]),
        ("prefill run 1/3: 9289 prompt tok, 5320.5 prefill tok/s, ttft 1746ms",
         [("prompt_tps", "stated", 5320.5), ("ttft_ms", "stated", 1746.0)]),
        ("The result I achieved is around 350/370 tokens/s, while in your test it is 602 t/s | 700 t/s.",
         [("stated", "stated", 350.0), ("stated", "stated", 370.0)]),
        ("The new build reaches 410 toks/s/user instead of 350 toks/s/user.",
         [("decode_tps", "stated", 410.0), ("decode_tps", "stated", 350.0)]),
        ("Throughput per GPU went up at 40 tok/s/user (210 \u2192 3,709 tok/s/GPU).",
         [("stated", "stated", 210.0), ("stated", "stated", 3709.0)]),
        ("num_gpu 0: eval rate 14.5 toks, prompt eval rate 46 toks",
         [("decode_tps", "stated", 14.5), ("prompt_tps", "stated", 46.0)]),
        ("It runs on consumer cards (RTX 5090 / 32 GB VRAM) at 4.5 TPS decode speed.", [("decode_tps", "stated", 4.5)]),
        ("first token latency(s)(min, max, ave): 0.625, 12.5, 4.5\nper-token latency(s) percentile(50, 99): [1.5, 2.5]",
         [("ttft_ms", "min", 625.0), ("ttft_ms", "max", 12500.0), ("ttft_ms", "mean", 4500.0),
          ("tpot_ms", "median", 1500.0), ("tpot_ms", "p99", 2500.0)]),
        ("Request rate configured (RPS): 4.00\nRequest throughput (req/s): 3.15\nMean TTFT (ms): 81.5",
         [("request_tps", "stated", 3.15), ("ttft_ms", "mean", 81.5)]),
        ("token throughput (prompt + completion token): 4862.5 token/s", [("total_tps", "stated", 4862.5)]),
        ("It gives 45 effective output tok/s.", [("output_tps", "stated", 45.0)]),
        ("p-min 0.60 raises acceptance (79.5% -> 86.5%) but lowers throughput (24.5 -> 19.5 tok/s).",
         [("acceptance_rate", "stated", 0.795), ("acceptance_rate", "stated", 0.865),
          ("output_tps", "stated", 24.5), ("output_tps", "stated", 19.5)]),
        ("Each user sees 45 tok/s/user, decode of all is 700 tok/s.",
         [("decode_tps", "stated", 45.0), ("output_tps", "stated", 700.0)]),
        ("With 24 GB VRAM at $999 it decodes 18 tok/s.", [("output_tps", "stated", 18.0)]),
        ("QPS: 4.5 reqs/s\nProcessing speed: 1.5 reqs/s\nAverage generation throughput (per request): 8.5 tokens/req/s",
         [("request_tps", "stated", 1.5), ("decode_tps", "mean", 8.5)]),
        ("QPS: 4.5 reqs/s\n\nProcessing speed: 1.5 reqs/s", [("request_tps", "stated", 1.5)]),
        ("- model loading: `22.5 GiB` and `15.5 s`",
         [("model_load_gib", "stated", 22.5), ("model_load_s", "stated", 15.5)]),
        ("- Accepted throughput: 55.5 tokens/s, Per-position acceptance rate: 0.9, 0.8, decode 60.5 tok/s",
         [("position_acceptance_rate", "mean", 0.9), ("position_acceptance_rate", "mean", 0.8),
          ("stated", "stated", 55.5), ("decode_tps", "stated", 60.5)]),
        ("On the CPU it runs 8.5 tok/s against 43.5 before.",
         [("stated", "stated", 8.5), ("stated", "stated", 43.5)]),
        ("Input processing: 248.5 tok/s", [("prompt_tps", "stated", 248.5)]),
    ],
)  # fmt: skip
def test_figures_of_sentences(tmp_path: Path, sentence: str, rows: list[tuple[str, str, float]]) -> None:
    assert figures_of(tmp_path, sentence) == rows


@pytest.mark.parametrize(
    "sentence",
    [
        "We expect 50 tok/s decode from this card.",
        "The decode target should be 50 tok/s.",
        "Memory bandwidth is 936 GB/s.",
        "Anything above 20 tok/s feels instant.",
        "12:00:01 request done, decode 50 tok/s",
        "INFO decode 50 tok/s",
        "The job polls every 5 s until the first token.",
    ],
)
def test_what_was_not_measured_is_no_result(sentence: str) -> None:
    assert not document.recognise(sentence)


def test_sentence_that_repeats_a_table_adds_nothing(tmp_path: Path) -> None:
    table = "| Prompt | Decode (tok/s) |\n|---|---|\n| 512 | 45.2 |\n\nDecode is 45.2 tok/s here, at most 60 tok/s.\n"
    assert [value for _, _, value in figures_of(tmp_path, table)] == [45.2, 60.0]


def test_level_of_a_sentence(tmp_path: Path) -> None:
    (row,) = results_of_text(tmp_path, "At 16 concurrent requests the output throughput is 800 tok/s.")
    assert (row.metric, row.value, row.concurrency) == ("output_tps", 800.0, 16)


@pytest.mark.parametrize(
    ("cell", "low", "unit"),
    [
        ("45.6 t/s (pp512)", 45.6, "tok/s"), ("45 token/sec", 45.0, "tok/s"),
        ("45 tokens per second", 45.0, "tok/s"),
        ("45 tok / s", 45.0, "tok/s"), ("45 tokens-per-sec", 45.0, "tok/s"), ("45 token(s)/s", 45.0, "tok/s"),
        ("9.5 requests per second", 9.5, "requests/s"), ("9.5 qps", 9.5, "requests/s"),
        ("12.3k tok/s", 12300.0, "tok/s"),
        ("350 msec", 350.0, "ms"), ("250 \u00b5s", 0.25, "ms"), ("1.5 minutes", 90.0, "s"),
        ("45,6 tok/s", 45.6, "tok/s"),
        ("1,234 tok/s", 1234.0, "tok/s"), ("~4.5 GB (model) + KV cache", 4.5, "GB"), ("22.4 GB used", 22.4, "GB"),
        ("45 tok/s steady", 45.0, "tok/s"), ("20 tok/s \u00b1 0.5", 20.0, "tok/s"),
        ("20 +/- 0.5 tok/s", 20.0, "tok/s"),
    ],
)  # fmt: skip
def test_numbers_in_the_fields_units(cell: str, low: float, unit: str) -> None:
    value = read_cell(cell)
    assert value is not None and (value.low, value.unit) == (pytest.approx(low), unit)


@pytest.mark.parametrize("cell", ["4 threads", "24 GB card", "2x RTX", "8.1 GiB + 2 GiB KV"])
def test_text_that_begins_with_a_number_is_no_number(cell: str) -> None:
    assert read_cell(cell) is None


@pytest.mark.parametrize(
    ("head", "unit"),
    [
        ("TTFT (msec)", "ms"), ("Speed [tokens per second]", "tok/s"), ("VRAM (GB)", "GB"), ("Accepted (%)", "%"),
        ("memory GB before", "GB"), ("ttft_p99_ms", "ms"),
        ("decode_tok_s", "tok/s"), ("Output token/s", "tok/s"), ("Requests", None),
    ],
)  # fmt: skip
def test_units_of_headings(head: str, unit: str | None) -> None:
    assert unit_in(head) == unit


def test_row_that_names_the_workload_leaves_the_metric_to_its_column(tmp_path: Path) -> None:
    text = "| Test | Decode (tok/s) | Prefill (tok/s) |\n|---|---|---|\n| Long prompt | 45 | 900 |\n"
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 45.0), ("prompt_tps", "stated", 900.0)]


def test_words_of_a_cell_name_its_metric(tmp_path: Path) -> None:
    text = "| Config | Speed |\n|---|---|\n| A | 900 t/s (pp512) |\n| A | 45 t/s (tg128) |\n| A | 30 tok/s |\n"
    assert [metric for metric, _, _ in figures_of(tmp_path, text)] == ["prompt_tps", "decode_tps", "stated"]


@pytest.mark.parametrize("label", ["{}:", "**{}:**", "**{}**", "### {}"])
def test_line_above_a_table_tells_it_from_others(tmp_path: Path, label: str) -> None:
    table = "| Prompt | TTFT (ms) |\n|---|---|\n| 512 | 120 |\n\n"
    text = "".join(f"{label.format(name)}\n\n{table}" for name in ("base", "patched"))
    assert [row.point.partition(":")[0] for row in results_of_text(tmp_path, text)] == ["base", "patched"]


def test_label_above_llama_bench_tells_it_from_others(tmp_path: Path) -> None:
    table = "```\n| model | size | test | t/s |\n|---|---|---|---|\n| q 8B | 4 GiB | pp512 | {} \u00b1 0.10 |\n```\n\n"
    text = "master:\n" + table.format(100) + "tip:\n" + table.format(120)
    points = {row.value: row.point for row in results_of_text(tmp_path, text) if row.metric == "prompt_tps"}
    assert "master" in points[100.0] and "tip" in points[120.0]


def test_compared_numbers_are_different_points(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, "Generation: 7.5 \u2192 16.1 t/s with the patch")
    assert len({row.point for row in rows}) == 2


def test_numbers_without_units_behind_a_label_with_one(tmp_path: Path) -> None:
    text = "N = 10 queries base patched\nMean TTFT (ms) 125.5 66.5\nP99 TTFT (ms) 427.5* 84\n"
    assert figures_of(tmp_path, text) == [
        ("ttft_ms", "mean", 125.5), ("ttft_ms", "mean", 66.5), ("ttft_ms", "p99", 427.5), ("ttft_ms", "p99", 84.0),
    ]  # fmt: skip


def test_heads_that_join_words_by_underscores(tmp_path: Path) -> None:
    text = "| rate | median_tpot (PR) [ms] | p99_ttft_ms |\n|---|---|---|\n| 1 | 8.5 | 132 |\n"
    assert figures_of(tmp_path, text) == [("tpot_ms", "median", 8.5), ("ttft_ms", "p99", 132.0)]


def test_speed_of_tokens_without_a_unit(tmp_path: Path) -> None:
    text = (
        "| Machine | Prompt Processing Speed | Token Generation Speed | tg128 | Total Execution Time | Throughput |\n"
        "|---|---|---|---|---|---|\n| A | 794.5 | 82.5 | 81.5 | 23s | 7 |\n"
    )
    assert figures_of(tmp_path, text) == [
        ("prompt_tps", "stated", 794.5), ("decode_tps", "stated", 82.5), ("decode_tps", "stated", 81.5),
        ("duration_s", "stated", 23.0),
    ]  # fmt: skip


def test_levels_with_a_remark_have_the_unit_of_their_title(tmp_path: Path) -> None:
    text = "Single-stream tps by size\n| Card | 7B | 120B (sparse) |\n|---|---|---|\n| A | 130-150 | 20-28 |\n"
    assert [value for _, _, value in figures_of(tmp_path, text)] == [130.0, 150.0, 20.0, 28.0]


def test_title_that_names_a_test_has_the_unit_of_compared_columns(tmp_path: Path) -> None:
    table = "| depth | before | this PR |\n|--:|--:|--:|\n| 4096 | 21.5 | **22.5** (+4%) |\n"
    text = f"**llama-bench tg64, no speculation:**\n\n{table}"
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 21.5), ("decode_tps", "stated", 22.5)]


@pytest.mark.parametrize(
    "sentence",
    [
        "I need at least 30 tok/s for this.",
        "Is 12 tok/s normal for a 3090?",
        "Anyone getting more than 100 t/s?",
        "It is not 45 tok/s.",
        "Decode doesn't run at 45 tok/s.",
        "I want 60 tok/s.",
        "We aim for a TTFT of 200 ms.",
        "TTFT must stay below 500 ms.",
        "You can get 80 tok/s.",
        "On paper it does 120 tok/s.",
        "Assume 40 tok/s and a TTFT of 200 ms.",
        "I calculated 55 tok/s from the bandwidth.",
        "My estimate: 33 tok/s.",
        "Humans read at about 5 tokens per second.",
        "We sent 10 requests/s.",
        "The generator was configured at a rate of 8 req/s.",
        "A TTFT of 2 s is unacceptable.",
        "An ITL of 40 ms is considered good.",
        "Audio is 25 tokens per second.",
        "Its codec has 12.5 tokens per second.",
        "The frame rate is 25 tokens per second.",
        "15 tok/s feels slow.",
        "I can't get this model of that size running more than 11 t/s.",
        "None of them go beyond the 11 t/s generation.",
        "A widely-cited benchmark clocked it at 793 tokens per second.",
        "NVIDIA reports 120 tok/s for this model.",
        "Red Hat measured the throughput at 793 tok/s.",
        "3 workers, fake provider at 400 ms first token.",
    ],
)
def test_what_nobody_measured_is_no_figure(sentence: str) -> None:
    assert read_sentences(sentence) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "In May 2026 it ran at 45 tok/s.",
        "I did not tune anything, it ran at 45 tok/s.",
        "Can confirm 45 tok/s.",
        "Generation ran at 45 tok/s. What do you get?",
    ],
)
def test_a_measured_figure_stays_one(sentence: str) -> None:
    assert [statement.value.low for statement in read_sentences(sentence)] == [45.0]


def test_listed_numbers_have_their_own_levels(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, "At c=1 and c=8 throughput is 45 and 310 tok/s, respectively.")
    assert [(row.metric, row.value, row.concurrency) for row in rows] == [
        ("output_tps", 45.0, 1), ("output_tps", 310.0, 8),
    ]  # fmt: skip


def test_served_requests_are_a_throughput() -> None:
    (statement,) = read_sentences("The server completed 8.5 requests/s.")
    assert (statement.metric_name.metric, statement.value.low) == ("request_tps", 8.5)


def test_settings_of_a_load_and_statistics_in_brackets(tmp_path: Path) -> None:
    text = (
        "Duration: 5s\nRate: 5\nTimeout: 10s\n\nRequests      [total, rate, throughput]  250, 50.18, 22.01\n"
        "Latencies     [min, mean, 50, 99, max]     65.5ms, 701.5ms, 124.5ms, 10.002s, 10.009s\n"
    )
    assert figures_of(tmp_path, text) == [
        ("request_tps", "mean", 22.01), ("e2e_ms", "min", 65.5), ("e2e_ms", "mean", 701.5), ("e2e_ms", "median", 124.5),
        ("e2e_ms", "p99", 10002.0), ("e2e_ms", "max", 10009.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words", ["What I use is one A100 80GB card.", "Some Studio adds 170-2300ms of latency to every first token."]
)
def test_memory_of_a_card_and_differences_are_no_figures(tmp_path: Path, words: str) -> None:
    assert figures_of(tmp_path, f"{words}\n\nDecode: 45.5 tok/s\n") == [("decode_tps", "stated", 45.5)]


def test_an_accuracy_beside_speeds(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("Decode: 45.5 tok/s\n\n- **GSM8K**: 97.5% (1319 examples)\n\nvLLM 26.5 eff tok/s\n")
    (load,) = loads_of(path)
    assert [(row.task, row.value) for row in accuracies_of(load)] == [("GSM8K", 0.975)] and "engine" not in load.params


def test_items_of_a_list_below_a_level(tmp_path: Path) -> None:
    text = "concurrency 6:\n- v0.21.0: ~1781 completion tok/s\n- nightly: ~1482 completion tok/s\n\nconcurrency 24:\n"
    rows = results_of_text(tmp_path, f"{text}- nightly: ~5312 completion tok/s\n")
    assert sorted((row.metric, row.value, row.concurrency) for row in rows) == [
        ("output_tps", 1482.0, 6), ("output_tps", 1781.0, 6), ("output_tps", 5312.0, 24),
    ]  # fmt: skip


def test_what_others_published_beside_an_own_figure(tmp_path: Path) -> None:
    text = (
        "The speed was at maximum ~700 tokens/sec, which is lower than what is reported above (roughly ~3100 tok/s).\n"
    )
    assert [value for *_, value in figures_of(tmp_path, text)] == [700.0]
    text = "Speed stayed flat (~555 tok/s at 8K vs ~553 tok/s at 65K).\n"
    assert [value for *_, value in figures_of(tmp_path, text)] == [555.0, 553.0]


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        ("It sustains 64.7 tok/s against mlx-lm's 64.5.", [64.7, 64.5]),
        ("We measure ~140 tok/s vs current llama.cpp ROCm (fa on) ~202.", [140.0, 202.0]),
        ("We got 45 tok/s vs vLLM 0.10", [45.0]),
        ("It ran at 45 tok/s against Qwen 3.", [45.0]),
        ("The old row (47.2, 58.9, 61.6 tok/s) is mixed.", [47.2, 58.9, 61.6]),
        ("Two cards (2, 4) gave 61.6 tok/s.", [61.6]),
        ("Baseline 53.4 \u2192 101.3 tok/s with `--spec-type draft-mtp`.", [53.4, 101.3]),
        ("It reached around ~5k output tokens/s.", [5000.0]),
        ("Peak VRAM: about 23.1 GiB reported in the run summary.", [23.1]),
        ("On a full-budget prompt it makes 64.7 tok/s.", [64.7]),
        ("Decode: 67,4398 tok/s, 1,250 tok/s prefill, TTFT 57,6183 ms.", [67.4398, 1250.0, 57.6183]),
    ],
)
def test_compared_and_listed_numbers_of_sentences(sentence: str, values: list[float]) -> None:
    assert [statement.value.low for statement in read_sentences(sentence)] == values


def test_a_figure_in_brackets_has_the_level_of_the_words_before_them(tmp_path: Path) -> None:
    text = "**52.5 tok/s** at concurrency 1 (TPOT 18.5ms), **401.5 tok/s aggregate at concurrency 8** (TPOT 19.5ms)."
    rows = [row for row in results_of_text(tmp_path, text) if row.metric == "tpot_ms"]
    assert [(row.value, row.concurrency, row.point) for row in rows] == [
        (18.5, 1, "at concurrency 1 TPOT (line 1)"), (19.5, 8, "aggregate at concurrency 8 TPOT (line 1)"),
    ]  # fmt: skip


def test_a_prompt_that_is_the_workload_names_no_metric() -> None:
    (statement,) = read_sentences("On a full-budget raw prompt it sustains 64.7 tok/s.")
    assert statement.metric_name.metric == "stated"


def test_lines_of_a_warm_up_are_left_out(tmp_path: Path) -> None:
    text = """Run 1: prefill=632ms decode=61.3tok/s (warmup)
Run 2: prefill=57ms decode=71.5tok/s
Warm-up: 12.5 tok/s
"""
    path = tmp_path / "post.txt"
    path.write_text(text)
    load = load_of(path)
    assert [(row.metric, row.value) for row in load.result_rows] == [("prompt_ms", 57.0), ("decode_tps", 71.5)]
    assert load.notes == ["The warm-up was left out: 2 of the lines."]


def test_variables_of_a_script_with_remarks(tmp_path: Path) -> None:
    text = (
        "# Model 1: o/m-0.5b\nM1_AUTO_TOKENS=3375104\nM1_AUTO_TPS=502.5\nM1_SMALL_TPS=47.5      # 10.5x slower\n"
        "M1_TPS_RATIO=0.095\nM1_STORE=1     # loaded\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.unit) for row in rows] == [
        ("stated", 502.5, "tok/s"),
        ("stated", 47.5, "tok/s"),
    ]


def test_pairs_of_several_contexts(tmp_path: Path) -> None:
    text = "QUANT=Q4_K_M CTX=98304 tok/s=44.5 vram=21743 MiB\nQUANT=Q4_K_M CTX=81920 tok/s=51.5 vram=21869 MiB\n"
    rows = [row for row in results_of_text(tmp_path, text) if row.unit == "tok/s"]
    assert [(row.value, "CTX=98304" in row.point, "CTX=81920" in row.point) for row in rows] == [
        (44.5, True, False), (51.5, False, True),
    ]  # fmt: skip


def test_the_number_of_a_minute_is_no_minimum(tmp_path: Path) -> None:
    text = "min  1:  202.5 tok/s  req=95\nmin 10:  268.5 tok/s  req=126\n\nDecode min 45 tok/s.\n"
    assert [(row.statistic, row.value) for row in results_of_text(tmp_path, text)] == [
        ("stated", 202.5), ("stated", 268.5), ("min", 45.0),
    ]  # fmt: skip


def test_decoding_latency_per_token(tmp_path: Path) -> None:
    text = "paged:\n  decode_latency_per_token_ms: 11.5\n  decode_speed: 87 tok/s\n  ttft_ms: 240\n"
    assert ("tpot_ms", 11.5) in [(row.metric, row.value) for row in results_of_text(tmp_path, text)]


def test_pairs_with_several_statistics_and_lengths(tmp_path: Path) -> None:
    text = (
        "deep  in= 31458  out= 256  ttft= 51.5s  decode= 61.5 tok/s\nSummary\n"
        "deep decode=61.5 tok/s  itl p50/p95=24/27ms\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.prompt_tokens, row.output_tokens) for row in rows if row.metric == "ttft_ms"] == [(31458, 256)]
    assert [(row.statistic, row.value) for row in rows if row.metric == "itl_ms"] == [("median", 24.0), ("p95", 27.0)]


def test_speeds_of_zero_in_tables_are_left_out(tmp_path: Path) -> None:
    text = "| Case | Score | tok/s |\n|---|---|---|\n| a | 1.0 | 41.5 |\n| b | 0.0 | 0.00 |\n"
    path = tmp_path / "post.md"
    path.write_text(text)
    load = load_of(path)
    assert [row.value for row in load.result_rows] == [41.5]
    assert load.notes == ["Speeds and loading times of 0 were left out: nothing was generated or loaded."]


@pytest.mark.parametrize("mark", ["±", "+-", "+/- "])
def test_a_deviation_of_nothing_is_an_approximate_number(tmp_path: Path, mark: str) -> None:
    text = f"- decode on one box: {mark}80 tok/s\n\nOn two boxes the decode speed is {mark}68 tok/s.\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.value, row.reason, row.sd) for row in rows] == [
        (80.0, "stated_as_about", None), (68.0, "stated_as_about", None),
    ]  # fmt: skip


def test_a_deviation_stays_that_of_its_number(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, "Decode: 45.5 ± 2 tok/s, the error is ±3 %.\n")
    assert [(row.value, row.reason) for row in rows] == [(45.5, "spread_count_not_told spread=2")]
