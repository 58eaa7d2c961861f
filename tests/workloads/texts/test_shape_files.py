"""Files of shapes and of public traces; formats read from the projects' documentation, examples written for this test.

Mooncake: README of FAST25-release. AIPerf: "Trace Replay with Mooncake Traces" of version 0.14.0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.sessions.agent_shape import AgentShape, SharedPrefix
from workloads.shapes.seeded_agents import SeededAgents, seeded_shape
from workloads.texts.prompt_file import PlanError
from workloads.texts.shape_file import read_shape, write_shape

MOONCAKE = [
    {"timestamp": 2000, "input_length": 1200, "output_length": 52, "hash_ids": [0, 1, 2]},
    {"timestamp": 2500, "input_length": 1700, "output_length": 26, "hash_ids": [0, 1, 3, 4]},
    {"timestamp": 9000, "input_length": 600, "output_length": 5, "hash_ids": [7, 8]},
]
AIPERF = [
    {"session_id": "s", "timestamp": 0, "input_length": 300, "output_length": 40},
    {"session_id": "s", "delay": 2000, "input_length": 150, "output_length": 20},
    {"session_id": "t", "timestamp": 700, "input_length": 600, "output_length": 4, "hash_ids": [5, 6]},
    {"session_id": "t", "delay": 10, "input_length": 1100, "output_length": 4, "hash_ids": [5, 6, 9]},
]


def trace(tmp_path: Path, lines: list[dict[str, Any]], most: int = 100) -> AgentShape:
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return read_shape(str(file), most)


def test_shape_survives_its_file(tmp_path: Path) -> None:
    shape = seeded_shape(SeededAgents(turns=6, subagents=2, prefix_breaks=0.3), 7)
    write_shape(tmp_path / "new" / "shape.jsonl", shape)
    assert read_shape(str(tmp_path / "new" / "shape.jsonl"), 1000) == shape
    assert (tmp_path / "new" / "shape.jsonl").stat().st_mode & 0o777 == 0o600


def test_mooncake_blocks_are_shared_and_times_kept(tmp_path: Path) -> None:
    first, second, third = trace(tmp_path, MOONCAKE).requests
    assert [span.tokens for span in first.spans] == [512, 512, 176] and first.shares is None
    assert second.shares == SharedPrefix(0, 1024) and second.prompt_tokens == 1700
    assert third.shares is None and third.prompt_tokens == 600
    assert [request.arrives_s for request in (first, second, third)] == [0.0, 0.5, 7.0]
    assert len(trace(tmp_path, MOONCAKE, most=2).requests) == 2


def test_aiperf_turns_continue_their_session(tmp_path: Path) -> None:
    first, second, third, fourth = trace(tmp_path, AIPERF).requests
    assert (second.follows, second.waits_for, second.pause_s) == (0, (0,), 2.0)
    assert second.shares == SharedPrefix(0, 300) and second.prompt_tokens == 300 + 40 + 150
    assert (third.session, third.arrives_s) == (1, 0.7)
    assert fourth.prompt_tokens == 1100, "its blocks begin with those of the turn before: it has the whole prompt"
    assert fourth.shares == SharedPrefix(2, 600)
    assert first.session == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"format": "pitwall agent shape", "version": 2}\n', "line 1: version"),
        ('{"format": "pitwall agent shape", "version": 1}\n', "has no request"),
        (
            '{"format": "pitwall agent shape", "version": 1}\n'
            '{"session": 0, "turn": 1, "output_tokens": 1, "shares": [4, 9]}\n',
            "line 2: it names a request that is not before it",
        ),
        ('{"input_length": 0, "hash_ids": []}\n', "line 1: input_length"),
        ('{"input_length": 5, "hash_ids": []}\n{"text_input": "Hello", "output_length": 4}\n', "line 2: it has a text"),
        ('{"messages": []}\n', "'Agent session' replays it"),
        ("hello\n", "line 1"),
        ("", "no lines"),
    ],
)
def test_wrong_files_are_refused_with_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "wrong.jsonl"
    file.write_text(text)
    with pytest.raises(PlanError) as refusal:
        read_shape(str(file), 100)
    assert sentence in str(refusal.value)
