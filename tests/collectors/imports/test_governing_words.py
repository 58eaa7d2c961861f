"""Words that govern a figure: lead-ins above lists, the other side of a row, features, tokens over their whole time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.collectors.imports.captured import load_of, results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

LEAD = "I compared both splits of the model. Here are the {phase} for Tiny-70B at 4 bits:\n"
LIST = "\n{a}:\n- Without spec decoding: 845.8 T/s\n- With spec decoding: 810.3 T/s\n"


@pytest.mark.parametrize(
    ("phase", "metric"),
    [
        ("prompt processing speeds", "prompt_tps"),
        ("prefill rates", "prompt_tps"),
        ("decode speeds", "decode_tps"),
        ("numbers", "stated"),
        ("prefill speeds and decode speeds", "stated"),  # which of both is not told
        ("speculative decoding speeds", "stated"),  # of a feature
    ],
)
def test_a_lead_in_names_the_metric_of_its_list(tmp_path: Path, phase: str, metric: str) -> None:
    text = LEAD.format(phase=phase) + LIST.format(a="One card") + LIST.format(a="Two cards")
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [row.metric for row in results_of(load)] == [metric] * 4


@pytest.mark.parametrize("title", ["### Prompt processing speeds", "**Prefill speeds**", "Prefill speeds of both"])
def test_a_title_names_the_metric_of_its_list(tmp_path: Path, title: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"A post.\n\n{title}\n{LIST.format(a='One card')}")
    assert [row.metric for row in results_of(load)] == ["prompt_tps"] * 2


def test_a_label_of_another_phase_ends_a_lead_in(tmp_path: Path) -> None:
    text = f"{LEAD.format(phase='prompt processing speeds')}- one card: 845.8 T/s\n\nDecoding:\n- one card: 31.4 T/s\n"
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [(row.metric, row.value) for row in results_of(load)] == [("prompt_tps", 845.8), ("decode_tps", 31.4)]


@pytest.mark.parametrize(
    "feature", ["speculative decoding", "spec decoding", "chunked prefill", "prompt lookup", "prompt caching"]
)
def test_a_feature_is_no_metric(tmp_path: Path, feature: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"The model with {feature} runs at 61.4 tok/s here.\n")
    assert [row.metric for row in results_of(load)] == ["stated"]


@pytest.mark.parametrize("head", ["gen tok/s old", "gen t/s", "generation tokens/s new", "tok/s gen", "decode tok/s a"])
def test_a_speed_of_the_answer_beside_that_of_the_prompt_is_one_of_decoding(tmp_path: Path, head: str) -> None:
    text = f"| Context | prompt tok/s old | {head} |\n|---|---|---|\n| 4096 | 195.1 | 13.6 |\n"
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [row.metric for row in results_of(load)] == ["prompt_tps", "decode_tps"]


@pytest.mark.parametrize(("speed", "metric"), [(25.0, "e2e_tps"), (31.3, "decode_tps")])
def test_tokens_over_the_whole_time_of_a_request_are_no_speed_of_decoding(
    tmp_path: Path, speed: float, metric: str
) -> None:
    answer = {"latency_s": 4.8, "prompt_tokens": 36, "completion_tokens": 120, "output_tokens_per_s": speed}
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"server": {"model_id": "Tiny-9B"}, "single_request": answer}))
    rows = {row.metric: row.value for row in results_of(load_of(path))}
    assert rows[metric] == speed
