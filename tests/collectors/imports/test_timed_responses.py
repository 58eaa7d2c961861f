"""Responses of an OpenAI interface that were pasted with the time that their command took."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.results.readers import reader_of
from collectors.imports.results.source import ResultFile
from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

RESPONSE = (
    '{"id":"chatcmpl-1","object":"chat.completion","model":"acme/small","choices":[{"index":0,"message":{"content":'
    '"Hi"}}],"usage":{"prompt_tokens":512,"completion_tokens":128,"total_tokens":640}}\n'
)
PRETTY = (
    '{\n  "model": "acme/small",\n  "usage": {\n    "prompt_tokens": 512,\n    "total_tokens": 640,\n'
    '    "completion_tokens": 128\n  }\n}\n'
)


@pytest.mark.parametrize("response", [RESPONSE, PRETTY, f"data: {RESPONSE}\ndata: [DONE]\n"])
@pytest.mark.parametrize(
    "time",
    [
        "\nreal\t0m2.560s\nuser\t0m0.010s\nsys\t0m0.008s\n", "real 2.56\nuser 0.01\nsys 0.00\n",
        "curl -s http://localhost:8000/v1  0.01s user 0.01s system 0% cpu 2.560 total\n", "time_total: 2.560000\n",
    ],
)  # fmt: skip
def test_time_of_a_response(tmp_path: Path, response: str, time: str) -> None:
    text = (
        f"I ran this:\n```\n$ time curl -s http://localhost:8000/v1/chat/completions -d @r.json\n{response}{time}```\n"
    )
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert load.model == "acme/small" and "connection included" in load.notes[0]
    assert [(r.metric, r.value, r.prompt_tokens, r.output_tokens) for r in results_of(load)] == [
        ("e2e_ms", 2560, 512, 128),
    ]  # fmt: skip


def test_several_responses_and_curls_first_byte(tmp_path: Path) -> None:
    times = "time_starttransfer: 0.105\ntime_total: 2.56\n"
    text = RESPONSE + times + RESPONSE.replace("128", "256") + times.replace("2.56", "5.12")
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert [(r.point, r.metric, r.value, r.output_tokens) for r in results_of(load)] == [
        ("answer 1", "e2e_ms", 2560, 128), ("answer 1", "ttfr_ms", 105, 128),
        ("answer 2", "e2e_ms", 5120, 256), ("answer 2", "ttfr_ms", 105, 256),
    ]  # fmt: skip


def test_the_timings_of_the_server_stay_beside_the_time(tmp_path: Path) -> None:
    timings = (
        '"timings":{"prompt_n":512,"prompt_ms":100.5,"prompt_per_second":5094.5,"predicted_n":128,'
        '"predicted_ms":1050.5,"predicted_per_second":121.85}}\n'
    )
    text = f"```\n{RESPONSE[:-2]},{timings}\nreal\t0m2.560s\n```\n"
    loads = loads_of_text(tmp_path, "post.md", text)
    assert {row.value for load in loads for row in results_of(load)} == {2560, 5094.5, 100.5, 121.85, 1050.5}


def test_a_time_alone_is_no_result(tmp_path: Path) -> None:
    path = tmp_path / "post.txt"
    path.write_text("real\t0m2.560s\nuser\t0m0.010s\n")
    assert reader_of(ResultFile(path, path.name)) is None
