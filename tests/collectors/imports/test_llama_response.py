"""Timings of llama-server's responses: an answer, several, the object alone, and what is no complete JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.readers import unknown_file_reason
from collectors.imports.results.source import ResultFile
from tests.collectors.imports.captured import load_of, results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

TIMINGS = {
    "cache_n": 900, "prompt_n": 100, "prompt_ms": 60.5, "prompt_per_token_ms": 0.6, "prompt_per_second": 1652.5,
    "predicted_n": 50, "predicted_ms": 1200.5, "predicted_per_token_ms": 24.0, "predicted_per_second": 41.5,
    "draft_n": 48, "draft_n_accepted": 40,
}  # fmt: skip
READ = [
    ("prompt_tps", "stated", 1652.5, "tok/s"), ("prompt_ms", "stated", 60.5, "ms"),
    ("decode_tps", "stated", 41.5, "tok/s"), ("decode_ms", "stated", 1200.5, "ms"), ("stated", "total", 48.0, "tokens"),
    ("stated", "total", 40.0, "tokens"),
]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"model": "some-8b", "choices": [{"message": {"content": "}"}}], "timings": TIMINGS}),
        f'"timings": {json.dumps(TIMINGS, indent=2)},\n',
    ],
)
def test_timings_of_an_answer(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    load = load_of(path)
    assert [(row.metric, row.statistic, row.value, row.unit) for row in results_of(load)] == READ
    assert {(row.prompt_tokens, row.output_tokens, row.concurrency) for row in results_of(load)} == {(100, 50, None)}
    assert load.tool == "llama-server" and load.params["cache_n"] == 900
    assert load.model == ("some-8b" if text.startswith("{") else None)


def test_timings_of_several_answers(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    one_token = TIMINGS | {"predicted_n": 1, "predicted_per_second": 1e6}  # one token has no speed
    path.write_text("".join(f"{json.dumps({'timings': timings})}\n" for timings in (TIMINGS, one_token)))
    rows = results_of(load_of(path))
    assert [row.point.partition(":")[0] for row in rows] == ["answer 1"] * 6 + ["answer 2"] * 4
    assert [row.metric for row in rows[6:]] == ["prompt_tps", "prompt_ms", "stated", "stated"]


def test_cut_timings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'"timings": {json.dumps(TIMINGS)[:-1]}')
    with pytest.raises(ImportRefusedError, match=r"a\.json, line 1: it is cut off here"):
        load_of(path)


def test_a_part_of_an_object_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('"results": {\n  "a": 1\n}\n')
    assert "a.json looks like a part of a JSON object, which begins with “results”." in unknown_file_reason(
        ResultFile(path, "a.json")
    )


def test_streams_between_fences(tmp_path: Path) -> None:
    chunk = (
        'data: {"choices":[],"model":"small","object":"chunk","timings":{"prompt_n":40,"prompt_ms":50.0,'
        '"prompt_per_second":800.0,"predicted_n":200,"predicted_ms":2500.0,"predicted_per_second":80.5}}\n'
    )
    stream = f'data: {{"choices":[{{"delta":{{"content":"Hi"}}}}],"model":"small"}}\n\n{chunk}\ndata: [DONE]\n'
    text = f"With drafts:\n\n```\n{stream}```\n\nWithout:\n\n```\n{stream.replace('80.5', '40.5')}```\n"
    loads = loads_of_text(tmp_path, "post.md", text)
    speeds = [
        (load.params["heading"], row.value) for load in loads for row in results_of(load) if row.metric == "decode_tps"
    ]
    assert speeds == [("With drafts", 80.5), ("Without", 40.5)]
