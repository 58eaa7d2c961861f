"""Parts of prompts: the same in every protocol, in order, and without a word of text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.sessions.prompt_part import MOST_PARTS, PREFIX, PartKind, PromptPart
from analysis.sessions.turns import turns_of
from tests.workloads.recording.recorders import STREAM, during, post
from tests.workloads.servers import sends
from workloads.recording.prompt_history import MOST_REQUESTS, PromptHistory
from workloads.recording.prompt_parts import PromptHasher
from workloads.requests.protocols import PATHS, Endpoint

SECRET = "swordfish"
CHAT: dict[str, Any] = {
    "model": "m",
    "tools": [{"type": "function", "function": {"name": "browser", "description": SECRET, "parameters": {}}}],
    "messages": [
        {"role": "system", "content": f"{SECRET} system"},
        {"role": "user", "content": [{"type": "text", "text": f"{SECRET} user"},
                                     {"type": "image_url", "image_url": {"url": f"data:{SECRET}"}}]},
        {"role": "assistant", "content": None, "reasoning_content": f"{SECRET} thought",
         "tool_calls": [{"id": "1", "type": "function", "function": {"name": "browser", "arguments": SECRET}}]},
        {"role": "tool", "tool_call_id": "1", "content": f"{SECRET} result"},
    ],
}  # fmt: skip
MESSAGES: dict[str, Any] = {
    "model": "m",
    "system": [{"type": "text", "text": f"{SECRET} system", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "browser", "description": SECRET, "input_schema": {}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": f"{SECRET} user"},
                                     {"type": "image", "source": {"data": SECRET}}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": f"{SECRET} thought"},
                                          {"type": "tool_use", "id": "1", "name": "browser", "input": {"a": SECRET}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": f"{SECRET} result"}]},
    ],
}  # fmt: skip
RESPONSES: dict[str, Any] = {
    "model": "m",
    "instructions": f"{SECRET} system",
    "tools": [{"type": "function", "name": "browser", "parameters": {"a": SECRET}}],
    "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"{SECRET} user"},
                                                        {"type": "input_image", "image_url": SECRET}]},
        {"type": "reasoning", "summary": [{"text": f"{SECRET} thought"}]},
        {"type": "function_call", "call_id": "1", "name": "browser", "arguments": SECRET},
        {"type": "function_call_output", "call_id": "1", "output": f"{SECRET} result"},
    ],
}  # fmt: skip
BODIES: dict[Endpoint, dict[str, Any]] = {"chat": CHAT, "messages": MESSAGES, "responses": RESPONSES}


def parts_of(endpoint: Endpoint, body: dict[str, Any], hasher: PromptHasher | None = None) -> list[PromptPart]:
    return (hasher or PromptHasher()).parts(endpoint, body, {})


@pytest.mark.parametrize("endpoint", BODIES)
def test_parts_are_the_same_in_every_protocol(endpoint: Endpoint) -> None:
    parts = parts_of(endpoint, BODIES[endpoint])
    assert [(part.kind.value, part.name) for part in parts] == [
        ("setting", "model"), ("tool", "browser"), ("system", None), ("text", "user"), ("image", None),
        ("thinking", None), ("tool_call", "browser"), ("tool_result", None),
    ]  # fmt: skip
    assert parts[3].size_bytes == len(f"{SECRET} user") and len(parts[3].pieces) == 1


def test_prompt_of_completions_is_one_part() -> None:
    (part,) = parts_of("completions", {"prompt": "x" * 1000})
    assert (part.kind, part.name, part.size_bytes, len(part.pieces)) == (PartKind.TEXT, "prompt", 1000, 4)


def test_pieces_tell_where_a_part_changed() -> None:
    hasher = PromptHasher()
    (before,), (after,) = (
        parts_of("completions", {"prompt": text}, hasher) for text in ("a" * 1000, "a" * 600 + "b" * 400)
    )
    assert before.digest != after.digest
    assert [piece == other_piece for piece, other_piece in zip(before.pieces, after.pieces, strict=True)] == [
        True,
        True,
        False,
        False,
    ]


def test_key_is_another_in_each_recording() -> None:
    assert parts_of("chat", CHAT)[2].digest != parts_of("chat", CHAT)[2].digest
    assert "_key" not in repr(PromptHasher())


def test_marks_for_a_cache_and_plain_texts_are_no_difference() -> None:
    hasher = PromptHasher()
    plain = MESSAGES | {"system": f"{SECRET} system"}
    assert parts_of("messages", plain, hasher) == parts_of("messages", MESSAGES, hasher)
    other_messages = MESSAGES | {"system": f"{SECRET} System"}
    assert parts_of("messages", other_messages, hasher) != parts_of("messages", MESSAGES, hasher)


@pytest.mark.parametrize(
    "body",
    [{"messages": 3}, {"messages": [None, 3, {"role": 4, "content": 5}]}, {"tools": [None, 1, {"function": 2}]},
     {"system": {"a": 1}}, {"messages": [{"role": "user", "content": ["text", None, {"type": 7}]}]}, {"input": {}},
     {"messages": [{"role": "user", "content": "\\ud800"}]}, {"model": ["a"], "prompt": None}],
)  # fmt: skip
def test_body_of_another_form_is_described_all_the_same(body: dict[str, Any]) -> None:
    for endpoint in PATHS:
        described = PromptHistory().describe("r-0", endpoint, body)
        assert described["session"] == "r-0" and described["follows"] is None


def test_only_new_parts_are_stored_and_all_are_rebuilt(tmp_path: Path) -> None:
    def body(turns: int) -> dict[str, Any]:
        texts = [{"role": "user" if n % 2 == 0 else "assistant", "content": f"text {n}"} for n in range(2 * turns - 1)]
        return {"model": "m", "stream": True, "messages": [{"role": "system", "content": "s"}, *texts]}

    async def act(recording: Any) -> None:
        for turns in (1, 2, 3):
            await post(recording, body(turns))
            await recording.recorder.finished.join()
        await post(recording, body(3) | {"model": "other"})

    _, recording = during(sends(*STREAM), tmp_path, act)
    stored = [row.extra[PREFIX] for row in recording.rows]
    assert [len(prefix["parts"]) for prefix in stored] == [3, 2, 2, 1]
    assert [prefix["order"][:1] for prefix in stored[1:3]] == [[[0, 3]], [[0, 5]]]
    assert stored[3]["order"][1:] == [[1, 6]], "a changed first part costs no copy of the others"
    turns = turns_of(recording.rows)
    assert [len(turn.parts or ()) for turn in turns] == [3, 5, 7, 7]
    assert [turn.follows and turn.follows.request_id for turn in turns] == [
        None, *(row.request_id for row in recording.rows[:3])
    ]  # fmt: skip


def test_no_word_of_a_prompt_reaches_a_file(tmp_path: Path) -> None:
    async def act(recording: Any) -> None:
        for endpoint, body in BODIES.items():
            await post(recording, body | {"stream": True}, path=PATHS[endpoint])
        await recording.recorder.finished.join()

    _, recording = during(sends(*STREAM), tmp_path, act)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files and len(recording.rows) == 3 and all(row.extra[PREFIX]["parts"] for row in recording.rows)
    for path in files:
        assert SECRET.encode() not in path.read_bytes().lower(), path


def test_names_that_may_be_text_are_left_out() -> None:
    tool = {"type": "function", "function": {"name": "a name of many words"}}
    (_, part) = parts_of("chat", {"model": "m", "tools": [tool]})
    assert (part.kind, part.name) == (PartKind.TOOL, None)


def test_a_huge_request_is_cut_and_said_to_be() -> None:
    messages = [{"role": "user", "content": str(number)} for number in range(MOST_PARTS + 10)]
    described = PromptHistory().describe("r-0", "chat", {"messages": messages})
    assert described["is_cut"] and len(described["order"]) == MOST_PARTS
    assert not PromptHistory().describe("r-0", "chat", {"messages": messages[:MOST_PARTS]})["is_cut"]


def test_sessions_are_told_apart_and_forgotten_after_so_many_requests() -> None:
    history = PromptHistory()
    reminder = {"type": "text", "text": "the reminder that every session begins with"}

    def chat(name: str, *texts: str) -> dict[str, Any]:
        first = {"role": "user", "content": [reminder, {"type": "text", "text": name}]}
        return {"messages": [first, *({"role": "user", "content": text} for text in texts)]}

    bodies = [chat("a"), chat("b"), chat("a", "x"), chat("b", "y"), chat("a", "x", "z")]
    ids = [history.describe(str(number), "chat", body)["session"] for number, body in enumerate(bodies)]
    assert ids == ["0", "1", "0", "1", "0"]
    for number in range(MOST_REQUESTS):
        history.describe(f"new-{number}", "chat", chat(f"other {number}"))
    assert history.describe("late", "chat", chat("a", "x", "z", "w"))["session"] == "late"


def test_bodies_that_are_refused_have_no_prompt(tmp_path: Path) -> None:
    async def act(recording: Any) -> None:
        for body in (b"[1]", b"no json", json.dumps({"messages": [[[]]] * 100}).encode()):
            await post(recording, body)

    _, recording = during(sends(*STREAM), tmp_path, act, body_values=100)
    assert [PREFIX in row.extra for row in recording.rows] == [False] * 3
