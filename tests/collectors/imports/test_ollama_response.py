"""The JSON of Ollama's responses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from tests.collectors.imports.captured import load_of, loads_of

RESPONSE = {
    "model": "acme:7b", "created_at": "2026-04-08T21:27:01.5Z", "message": {"role": "assistant", "content": "x"},
    "done": True, "total_duration": 15_500_000_000, "load_duration": 2_500_000_000, "prompt_eval_count": 500,
    "prompt_eval_duration": 1_000_000_000, "eval_count": 900, "eval_duration": 12_000_000_000,
}  # fmt: skip
EXPECTED = [
    ("prompt_tokens", 500.0), ("completion_tokens", 900.0), ("e2e_ms", 15_500.0), ("model_load_s", 2.5),
    ("prompt_ms", 1_000.0), ("decode_ms", 12_000.0), ("prompt_tps", 500.0), ("decode_tps", 75.0),
]  # fmt: skip


def test_a_response(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(RESPONSE, indent=2))
    load = load_of(path)
    assert (load.tool, load.model, load.ts.isoformat()) == ("ollama", "acme:7b", "2026-04-08T21:27:01.500000+00:00")
    assert [(row.metric, row.value) for row in load.result_rows] == EXPECTED
    assert {(row.concurrency, row.prompt_tokens, row.output_tokens) for row in load.result_rows} == {(1, 500, 900)}


def test_several_responses(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(f"{json.dumps(RESPONSE)}\n{json.dumps(RESPONSE)}\n")
    assert [[(row.metric, row.value) for row in load.result_rows] for load in loads_of(path)] == [EXPECTED] * 2
    path.write_text(json.dumps([RESPONSE, RESPONSE]))
    assert len(loads_of(path)) == 2


def test_unfinished_responses_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(RESPONSE | {"eval_duration": 0}))
    with pytest.raises(ImportRefusedError, match="none with the time of its answer"):
        load_of(path)
