"""Speeds of generation beside a time of the prompt, or beside a speed over whole requests, are those of decoding."""

from __future__ import annotations

import json
from pathlib import Path

from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text


def speeds_of(tmp_path: Path, name: str, text: str) -> list[tuple[str, float | None]]:
    (load,) = loads_of_text(tmp_path, name, text)
    return [(row.metric, row.value) for row in results_of(load) if row.unit == "tok/s"]


def test_generation_beside_the_time_of_the_prompt(tmp_path: Path) -> None:
    head = "| Model | 30K prompt processing | 30K token generation |\n|---|---|---|\n"
    text = head + "| a-8b | 82.5s | 25.5 t/s |\n| b-8b | 78s | 32.5 t/s |\n"
    assert speeds_of(tmp_path, "a.md", text) == [("decode_tps", 25.5), ("decode_tps", 32.5)]


def test_generation_without_a_prompt_is_open(tmp_path: Path) -> None:
    text = "| Model | token generation |\n|---|---|\n| a-8b | 25.5 t/s |\n| b-8b | 32.5 t/s |\n"
    assert {metric for metric, _ in speeds_of(tmp_path, "a.md", text)} == {"output_tps"}


def test_generation_beside_a_speed_over_whole_requests(tmp_path: Path) -> None:
    models = [
        {"name": name, "generation_tok_s": speed, "end_to_end_tok_s": speed / 2}
        for name, speed in (("a-8b", 78.5), ("b-8b", 50.5))
    ]
    speeds = speeds_of(tmp_path, "a.json", json.dumps({"models": models}))
    assert [speed for speed in speeds if speed[0] == "decode_tps"] == [("decode_tps", 78.5), ("decode_tps", 50.5)]
    assert len(speeds) == 4 and "output_tps" not in dict(speeds)
