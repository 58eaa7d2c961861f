"""Running text as people wrap it, figures that share a subject, and consoles that posts quote."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.results.prose.paragraphs import read_paragraphs
from collectors.imports.results.prose.sentences import read_sentences
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text


def points_of(tmp_path: Path, text: str) -> list[tuple[str, float | None, str]]:
    return [(row.metric, row.value, row.point) for row in results_of_text(tmp_path, text)]


def test_the_lines_of_a_wrapped_paragraph_are_one_text(tmp_path: Path) -> None:
    text = (
        "The second card is the slower of the two at every depth: there it gives 610.5 tok/s\n"
        "prefill and 14.25 tok/s decode, and the first token of a cold prompt takes a TTFT of\n"
        "about 3.5 s.\n"
    )
    subject = "The second card is the slower of the two at every depth: there it gives"
    assert points_of(tmp_path, text) == [
        ("prompt_tps", 610.5, f"{subject} prefill (line 1)"),
        ("decode_tps", 14.25, f"{subject}: decode (line 2)"),
        ("ttft_ms", 3500.0, f"{subject.partition(':')[0]}: the first token of a cold prompt takes a TTFT of (line 3)"),
    ]


@pytest.mark.parametrize(
    ("text", "first_metric"),
    [
        # Another paragraph:
        ("The larger of both models decodes at about 31.5 tok/s here,\n\nprefill 900 tok/s", "decode_tps"),
        ("The larger of both models decodes at about 31.5 tok/s here\n- prefill 900 tok/s", "decode_tps"),
        ("big model, long prompt, with a cold cache: output 31.5 tok/s\nbig model, warm cache: prefill 900 tok/s",
         "output_tps"),
        ("```\nthe larger of both models decodes at about 31.5 tok/s here\nprefill 900 tok/s\n```", "decode_tps"),
    ],
)  # fmt: skip
def test_lines_that_begin_anew_are_no_wrapped_text(tmp_path: Path, text: str, first_metric: str) -> None:
    assert [(metric, value) for metric, value, _ in points_of(tmp_path, text)] == [
        (first_metric, 31.5),
        ("prompt_tps", 900.0),
    ]
    paragraphs = read_paragraphs(text.splitlines())
    assert all("31.5" not in paragraph.text or "900" not in paragraph.text for paragraph in paragraphs)


def test_a_figure_without_words_of_its_own_bears_those_of_the_figure_before_it(tmp_path: Path) -> None:
    text = "Small-8B showed 900 tok/s prefill and 65 tok/s decode, Large-70B 88 tok/s prefill and a TTFT of 2.1 s."
    assert [point for _, _, point in points_of(tmp_path, text)] == [
        "Small-8B showed prefill (line 1)",
        "Small-8B showed: decode (line 1)",
        "Large-70B prefill (line 1)",
        "Large-70B: a TTFT of (line 1)",
    ]


def test_what_others_report_and_a_ceiling_is_not_measured(tmp_path: Path) -> None:
    text = (
        "Decode is 45 tok/s, in line with the 60 tok/s third-party reports. "
        "With perfect overlap the ceiling is 9 tok/s."
    )
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 45.0)]


def test_llama_cpps_timings_are_speeds_of_prompt_and_answer(tmp_path: Path) -> None:
    text = (
        "llama_perf_sampler_print:    sampling time =      50.00 ms /   200 runs   (    0.25 ms per token,  4000.00 "
        "tokens per second)\n"
        "llama_perf_context_print: prompt eval time =     125.50 ms /    64 tokens (    1.96 ms per token,   509.96 "
        "tokens per second)\n"
        "llama_perf_context_print:        eval time =    4000.00 ms /   200 runs   (   20.00 ms per token,    50.00 "
        "tokens per second)\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.prompt_tokens, row.output_tokens) for row in rows] == [
        ("prompt_tps", 509.96, 64, None),
        ("prompt_ms", 125.5, 64, None),
        ("decode_tps", 50.0, None, 200),
        ("decode_ms", 4000.0, None, 200),
    ]


def test_a_time_per_token_is_one_unless_it_is_of_a_part(tmp_path: Path) -> None:
    text = "The small model takes 31-33ms/token.\n\nWe saved the allreduce (~3.2 ms/token) of each layer.\n"
    assert figures_of(tmp_path, text) == [("tpot_ms", "min", 31.0), ("tpot_ms", "max", 33.0)]


def test_a_speed_under_a_barred_heading_between_fences_is_of_its_side(tmp_path: Path) -> None:
    text = (
        "```\nStats: ------- prefill -------\nthroughput: 310.5 tok/s\ntotal tokens: 90 tok\n"
        "------- decode -------\nthroughput: 61.5 tok/s\ntotal tokens: 20 tok\n```\n\nthroughput: 55 tok/s\n"
    )
    speeds = [row for row in results_of_text(tmp_path, text) if row.unit == "tok/s"]
    assert [(row.metric, row.value, row.point) for row in speeds] == [
        ("prompt_tps", 310.5, "prefill: throughput (line 3)"),
        ("output_tps", 61.5, "decode: throughput (line 6)"),
        ("output_tps", 55.0, "throughput (line 10)"),
    ]


@pytest.mark.parametrize(
    ("sentence", "rows"),
    [
        (
            "It does 900 tok/s prefill / 45.5 decode.",
            [("prompt_tps", "stated", 900.0), ("decode_tps", "stated", 45.5)],
        ),
        ("The small card gives 4~6 tokens/s.", [("stated", "min", 4.0), ("stated", "max", 6.0)]),
        ("With prompt_tokens=64 the answer came at 12.5 tok/s.", [("stated", "stated", 12.5)]),
        ("Best of all: decode at 61 tok/s.", [("decode_tps", "stated", 61.0)]),
        ("The LMSYS review of this box measured 3.5 tok/s decode.", []),
        ("Much lower than the 33 tok/s that @someone observed.", []),
    ],
)
def test_figures_of_sentences(tmp_path: Path, sentence: str, rows: list[tuple[str, str, float]]) -> None:
    actual_rows = [(s.metric_name.metric, s.statistic, s.value) for s in read_sentences(sentence)]
    ends = [
        (metric, end_statistic, end)
        for metric, statistic, value in actual_rows
        for end_statistic, end in (
            [(statistic, value.low)] if value.high is None else [("min", value.low), ("max", value.high)]
        )
    ]
    assert ends == rows


def test_koboldcpps_timings_are_speeds_of_prompt_and_answer(tmp_path: Path) -> None:
    text = (
        "CtxLimit:300/4096, Amt:90/512, Init:0.01s, Process:0.50s (2.4ms/T = 420.00T/s), "
        "Generate:4.50s (50.0ms/T = 20.00T/s), Total:5.00s (18.00T/s)\n"
        "CtxLimit:1/4096, Process:1.00s (410.00T/s), Generate:0.00s (3.0ms/T = 333.33T/s), Total:1.00s\n"
    )
    assert figures_of(tmp_path, text) == [
        ("prompt_ms", "stated", 500.0), ("prompt_tps", "stated", 420.0),
        ("decode_ms", "stated", 4500.0), ("decode_tps", "stated", 20.0),
        ("e2e_ms", "stated", 5000.0), ("e2e_tps", "stated", 18.0),
        ("prompt_ms", "stated", 1000.0), ("prompt_tps", "stated", 410.0),
    ]  # fmt: skip


def test_each_command_of_a_console_tells_its_figures_apart(tmp_path: Path) -> None:
    text = (
        "(env) me@box:~/bench$ python bench.py --dev GPU --n 3\nTTFT: 50.5 ms\nTPOT: 9.5 ms\nThroughput: 105 tokens/s\n"
        "(env) me@box:~/bench$ python bench.py --dev CPU --n 3\nTTFT: 500 ms\nTPOT: 95 ms\nThroughput: 10.5 tokens/s\n"
    )
    assert [point for _, _, point in points_of(tmp_path, text)] == [
        "--dev GPU: TTFT (line 2)", "--dev GPU: TPOT (line 3)", "--dev GPU: Throughput (line 4)",
        "--dev CPU: TTFT (line 6)", "--dev CPU: TPOT (line 7)", "--dev CPU: Throughput (line 8)",
    ]  # fmt: skip


def test_a_line_that_states_the_concurrency_counts_for_the_lines_below(tmp_path: Path) -> None:
    text = (
        "```\nconcurrency: 24, rounds: 3\nfirst_token latency(min, max, ave): 0.5s, 2.5s, 1.5s\n"
        "token latency(min, max, ave): 0.01s, 0.03s, 0.02s\n\nthroughput: 900.5 token/s\n```\n\n"
        "throughput: 12.5 token/s\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.statistic, row.value, row.concurrency) for row in rows] == [
        ("ttft_ms", "min", 500.0, 24), ("ttft_ms", "max", 2500.0, 24), ("ttft_ms", "mean", 1500.0, 24),
        ("stated", "min", 10.0, 24), ("stated", "max", 30.0, 24), ("stated", "mean", 20.0, 24),
        ("output_tps", "stated", 900.5, 24), ("output_tps", "stated", 12.5, None),
    ]  # fmt: skip


def test_the_bracket_behind_a_figure_belongs_to_it(tmp_path: Path) -> None:
    text = "Best ITL is 6.5 ms (chat, alone), 70.5 ms (tools, 16 concurrent) under maximum load, TTFT 90 ms (chat).\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.statistic, row.value, row.concurrency) for row in rows] == [
        ("itl_ms", "min", 6.5, None), ("itl_ms", "stated", 70.5, 16), ("ttft_ms", "stated", 90.0, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sentence", "rows"),
    [
        (
            "Median TTFT is 9.5 s with thinking on versus 600 ms with it off.",
            [("ttft_ms", "median", 9500.0), ("ttft_ms", "median", 600.0)],
        ),
        (
            "Prefill p50 is 40.5 ms / 390.5 tokens/s, the complete answer p10/p50/p90 is 180.5/200.5/220.5 ms.",
            [("prompt_ms", "median", 40.5), ("prompt_tps", "median", 390.5)],
        ),
        (
            "The summaries reported a median TTFT of 3,100.5 versus 2,500.5 ms.",
            [("ttft_ms", "median", 3100.5), ("ttft_ms", "median", 2500.5)],
        ),
        (
            "It ran at 350.5 tok/s with TTFT p50 170.5 ms, zero errors over 10 minutes; "
            "reranker: busy (160\u2013480 ms).",
            [("stated", "stated", 350.5), ("ttft_ms", "median", 170.5)],
        ),
        (
            "EvalScope reported 190.5 ms TTFT, which exceeds that of the server by only 3.5 ms.",
            [("ttft_ms", "stated", 190.5)],
        ),
        (
            "With two servers it reaches 3.5 requests/s and decodes 45.5 tok/s.",
            [("request_tps", "stated", 3.5), ("output_tps", "stated", 45.5)],
        ),
    ],
)
def test_compared_and_listed_figures(tmp_path: Path, sentence: str, rows: list[tuple[str, str, float]]) -> None:
    assert figures_of(tmp_path, sentence) == rows


def test_what_stands_behind_a_semicolon_has_a_subject_of_its_own(tmp_path: Path) -> None:
    text = "On this 16 GB machine alpha:9b is fast (13 tokens/s); beta:4b starts well but writes at 8 tokens/s."
    assert [point for _, _, point in points_of(tmp_path, text)] == [
        "On this 16 GB machine alpha:9b is fast (line 1)",
        "beta:4b starts well but writes at (line 1)",
    ]


@pytest.mark.parametrize(
    ("sentence", "expected_values"),
    [
        ("I get 70.5 tok/s while the document shows it will reach 640 tok/s with batch=8.", [70.5]),
        ("The ceiling drops to 1008 / 40 \u2248 25 tok/s.", []),
        ("Median result: 31.5 \u2192 52.5 tok/s with --spec-draft-n-max 4.", [31.5, 52.5]),
        ("bench --model a --rate 52.5 tok/s --n 4", []),
        ("It failed with --no-mmap, so without it at 9.5 tok/s. With --no-mmap it crashed.", [9.5]),
        ("The first run gave 20.5 tok/s (the recipe needed another backend).", [20.5]),
        ("At least 30 tok/s is needed for this.", []),
        ("I get 20.5 tok/s with [this one](https://example.org/a?b=1), see https://example.org/c too.", [20.5]),
        ("I am using a 64 GB device.", []),
        ("Prefill drops from 49 s to 2.5 s.", [49.0, 2.5]),
    ],
)
def test_sentences_that_state_a_measurement(sentence: str, expected_values: list[float]) -> None:
    values = [statement.value for statement in read_sentences(sentence)]
    assert [end for value in values for end in (value.low, value.high) if end is not None] == expected_values


def test_an_answer_that_lm_studio_shows_on_several_lines(tmp_path: Path) -> None:
    text = "\n".join(
        f"{card}:\n{speed} tok/sec\n300 tokens\n0.25s to first token\nStop reason: EOS Token Found\n"
        for card, speed in (("Small card", 41.5), ("Large card", 81.5))
    )
    assert [(metric, value, name.partition(":")[0]) for metric, value, name in points_of(tmp_path, text)] == [
        ("decode_tps", 41.5, "Small card"), ("ttft_ms", 250.0, "Small card"),
        ("decode_tps", 81.5, "Large card"), ("ttft_ms", 250.0, "Large card"),
    ]  # fmt: skip


def test_the_words_behind_two_compared_figures_are_those_of_the_last(tmp_path: Path) -> None:
    text = "Three warm code runs reached 11.25-11.5 tok/s versus 19.5-19.75 tok/s without speculation."
    assert {(value, point) for _, value, point in points_of(tmp_path, text)} == {
        (11.25, "Three warm code runs reached: value 1 (line 1)"),
        (11.5, "Three warm code runs reached: value 1 (line 1)"),
        (19.5, "Three warm code runs reached without speculation: value 2 (line 1)"),
        (19.75, "Three warm code runs reached without speculation: value 2 (line 1)"),
    }


def test_figures_that_went_from_one_to_another_bear_their_own_words(tmp_path: Path) -> None:
    text = "With q8_0, input processing increased from 130.5 tok/s on v6.4 to 218.25 tok/s on v6.6, decode stayed."
    assert points_of(tmp_path, text) == [
        ("prompt_tps", 130.5, "input processing increased from on v6.4 (line 1)"),
        ("prompt_tps", 218.25, "input processing increased on v6.6 (line 1)"),
    ]


def test_labels_begin_with_a_whole_word(tmp_path: Path) -> None:
    text = (
        "The same configuration was also qualified with a larger allocation and an exceptionally cold"
        " retrieval prompt: 146.5 tok/s input processing"
    )
    ((_, _, point),) = points_of(tmp_path, text)
    assert f" {point.partition(' ')[0]} " in text


def test_figures_in_brackets_that_are_compared_bear_their_own_words(tmp_path: Path) -> None:
    text = "The new backend has a much lower generation speed (~7.5 t/s) compared to the old backend (~20.5 t/s) here."
    assert points_of(tmp_path, text) == [
        ("output_tps", 7.5, "The new backend has a much lower generation speed (line 1)"),
        ("output_tps", 20.5, "the old backend here (line 1)"),
    ]
