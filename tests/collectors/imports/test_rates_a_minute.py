"""Rates a minute as results, with the digits of their numbers; limits and the turns of a fan are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.results.unread_lines import unread_note
from tests.collectors.imports.captured import load_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text

TEXTS = {
    "lines": "- Throughput: 1200 tokens/min\n- Request throughput: 46 req/min\n",
    "units in the labels": "Output token throughput (tok/min): 1200\nRequest throughput (req/min): 46\n",
    "a sentence": "It sustained a throughput of 1,200 tokens per minute and served 46 requests per minute.",
    "millions": "It sustained a throughput of 0.0012M tokens/min and served 46 requests/min.",
    "abbreviations": "With one card a throughput of 1.2k TPM and 46 RPM was sustained.",
    "heads": "| arm | Throughput (tok/min) | RPM |\n|---|---|---|\n| a | 1,200 | 46 |\n",
    "cells": "| arm | throughput | requests |\n|---|---|---|\n| a | 1200 tok/min | 46 req/min |\n",
    "rows": "| Metric | a |\n|---|---|\n| Output throughput (tokens/min) | 1200 |\n| Requests per minute | 46 |\n",
    "names": '{"ttft_ms": null, "output_tokens_per_minute": 1200, "requests_per_minute": 46}\n',
    "columns": "concurrency,output_tpm,rpm\n8,1200,46\n",
}
TTFT = "\n\nTTFT: 81.5 ms\n"


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_rates_a_minute_are_converted(tmp_path: Path, text: str) -> None:
    rows = [row for row in results_of_text(tmp_path, text) if row.value is not None]
    assert [(row.metric, row.value) for row in rows] == [("output_tps", 20.0), ("request_tps", 46 / 60)]


LIMITS = {
    "a sentence": "The rate limit is 60 RPM and 100000 TPM.",
    "words behind": "There is a 100000 tokens per minute limit.",
    "lines": "Rate limit: 500 req/min\nToken limit: 30000 tokens/min\n",
    "a fan": "The fan runs at 1200 RPM while it serves.",
    "an aim": "Target throughput (tok/min): 1200\n",
    "heads": "| Tier | RPM limit | TPM limit |\n|---|---|---|\n| 1 | 60 | 1000 |\n",
}


@pytest.mark.parametrize("text", LIMITS.values(), ids=LIMITS)
def test_limits_are_no_results(tmp_path: Path, text: str) -> None:
    assert figures_of(tmp_path, text + TTFT) == [("ttft_ms", "stated", 81.5)]


def test_limits_in_names_are_no_results(tmp_path: Path) -> None:
    text = '{"ttft_ms": 81.5, "rpm_limit": 60, "max_rpm": 90, "fan_rpm": 1200, "tokens_per_minute_limit": 9}\n'
    assert figures_of(tmp_path, text) == [("ttft_ms", "stated", 81.5)]


def test_a_rate_a_second_in_brackets_is_the_one_a_minute(tmp_path: Path) -> None:
    assert figures_of(tmp_path, "It reaches a throughput of 72k tok/min (1.2k tok/s) in total.") == [
        ("output_tps", "stated", 1200.0)
    ]


def test_statistics_have_the_factor_of_the_unit_in_their_label(tmp_path: Path) -> None:
    text = "Latency (us): mean 1200, p50 1100\nThroughput (tok/min): mean 1200, max 1500\n"
    assert figures_of(tmp_path, text) == [
        ("e2e_ms", "mean", 1.2), ("e2e_ms", "median", 1.1), ("output_tps", "mean", 20.0), ("output_tps", "max", 25.0),
    ]  # fmt: skip


def test_no_converted_rate_is_listed_as_unread(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("Throughput: 1234 tokens/min\nRequest throughput: 46 req/min\n")
    assert unread_note(path.read_text(), [load_of(path)]) is None


@pytest.mark.parametrize(
    ("sentence", "value", "unit"),
    [
        ("We are currently able to run ~13 videos/min.", 13, "videos/min"),
        ("It processed 1,250 pages per hour.", 1250, "pages/h"),
        ("With four cards we get about 2.5 images a second.", 2.5, "images/s"),
    ],
)
def test_a_rate_of_other_items_has_its_own_unit(tmp_path: Path, sentence: str, value: float, unit: str) -> None:
    rows = results_of_text(tmp_path, f"Decode runs at 45.5 tok/s. {sentence}\n")
    assert [(row.metric, row.value, row.unit) for row in rows[1:]] == [("stated", value, unit)]


@pytest.mark.parametrize(
    "sentence",
    [
        "You would be able to run 13 videos/min.",
        "How do I get 13 videos/min?",
        "I want to get 13 videos/min.",
        "We send 13 videos/min.",
        "The disk got 500 megabytes per second.",
    ],
)
def test_a_rate_that_nobody_measured_is_none(tmp_path: Path, sentence: str) -> None:
    text = f"Decode runs at 45.5 tok/s. {sentence}\n"
    path = tmp_path / "post.md"
    path.write_text(text)
    load = load_of(path)
    assert [row.value for row in load.result_rows] == [45.5]
    assert unread_note(text, [load]) is not None
