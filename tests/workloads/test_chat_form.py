"""Requests of every protocol as a chat, which is kept and sent again: as agents send them, and on a real llama.cpp."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.demo_engine import DemoServer
from tests.workloads.recording.recorders import STREAM, Recording, during, post, recorder_of
from tests.workloads.servers import sends
from tests.workloads.test_client import target_at
from tests.workloads.test_protocols import CHAT, TOOL, body
from workloads import REGISTRY
from workloads.requests.chat_form import ChatForm, chat_form
from workloads.requests.client import exchange
from workloads.requests.protocols import PATHS, Endpoint
from workloads.requests.sending import open_session
from workloads.texts.prompt_file import PlanError, RecordedSession, read_sessions

CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"path": "/a"}'}}
# The shape of Claude Code 2.1: a system message behind the first question, and a mark for the cache that moves on.
SYSTEM_BLOCKS = [
    {"type": "text", "text": "x-header: a "},
    {"type": "text", "text": "Work carefully.", "cache_control": {"type": "ephemeral"}},
]
QUESTION = [{"type": "text", "text": "A reminder."}, {"type": "text", "text": "Read a."}]
SECOND_SYSTEM = {"type": "text", "text": "The folder is /.", "cache_control": {"type": "ephemeral"}}
BASH = {"name": "bash", "description": "runs", "input_schema": {"type": "object"}}
CLAUDE_TURNS: list[dict[str, Any]] = [
    {
        "model": "demo", "max_tokens": 4, "system": SYSTEM_BLOCKS, "tools": [BASH, {"type": "web_search", "name": "w"}],
        "messages": [{"role": "user", "content": QUESTION}, {"role": "system", "content": [SECOND_SYSTEM]}],
    },
    {
        "model": "demo", "max_tokens": 4, "system": SYSTEM_BLOCKS, "tools": [BASH, {"type": "web_search", "name": "w"}],
        "messages": [
            {"role": "user", "content": QUESTION},
            {"role": "system", "content": "The folder is /."},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "I look.", "signature": "EqQB"},
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "c1", "name": "bash", "input": {"path": "/a"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "is_error": False, "content": [
                    {"type": "text", "text": "found it"}]},
                {"type": "text", "text": "And b?", "cache_control": {"type": "ephemeral"}}]},
        ],
    },
]  # fmt: skip
CHAT_OF_CLAUDE = [
    {"role": "system", "content": "x-header: a Work carefully."},
    {"role": "user", "content": QUESTION},
    {"role": "system", "content": "The folder is /."},
    {"role": "assistant", "content": "Let me see.", "reasoning_content": "I look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "found it"},
    {"role": "user", "content": "And b?"},
]
# The shape of Codex 0.171: developer messages, items with ids, a tool that takes plain text, tools of the vendor.
CODEX_ITEMS: list[dict[str, Any]] = [
    {"type": "message", "id": "m1", "role": "developer", "content": [{"type": "input_text", "text": "Rules."}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Read a."}]},
    {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "I look."}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me see."}]},
    {"type": "function_call", "call_id": "c1", "name": "bash", "arguments": '{"path": "/a"}'},
    {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "*** Begin"},
    {"type": "function_call_output", "call_id": "c1", "output": "found it"},
    {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "done"}]},
]
CODEX: dict[str, Any] = {
    "model": "demo", "input": CODEX_ITEMS,
    "tools": [{"type": "function", "name": "bash", "description": "runs", "strict": False, "parameters": {}},
              {"type": "custom", "name": "patch", "description": "edits", "format": {"type": "grammar"}},
              {"type": "namespace", "name": "agents", "tools": []}, {"type": "web_search"}],
}  # fmt: skip


@pytest.mark.parametrize("endpoint", ["messages", "responses"])
def test_body_becomes_the_chat_it_was_made_of(endpoint: Endpoint) -> None:
    assert chat_form(endpoint, body(endpoint)) == ChatForm(CHAT, (TOOL,))


def test_agents_shapes_are_read() -> None:
    first, second = (chat_form("messages", turn) for turn in CLAUDE_TURNS)
    assert list(second.messages) == CHAT_OF_CLAUDE
    assert first.messages == second.messages[:3], "the mark for the cache has moved on"
    assert [tool["function"]["name"] for tool in second.tools] == ["bash"]
    codex = chat_form("responses", CODEX)
    patch = {"name": "patch", "arguments": '{"input": "*** Begin"}'}
    assert list(codex.messages) == [
        {"role": "developer", "content": "Rules."},
        {"role": "user", "content": "Read a."},
        {"role": "assistant", "content": "Let me see.", "reasoning_content": "I look.",
         "tool_calls": [CALL, {"id": "c2", "type": "function", "function": patch}]},
        {"role": "tool", "tool_call_id": "c1", "content": "found it"},
        {"role": "tool", "tool_call_id": "c2", "content": "done"},
    ]  # fmt: skip
    assert [tool["function"]["name"] for tool in codex.tools] == ["bash", "patch"]
    assert codex.tools[0]["function"]["strict"] is False


def test_request_that_continues_an_answer_of_the_server_has_no_text_of_its_own() -> None:
    assert chat_form("responses", {"input": "more", "previous_response_id": "resp_1"}).messages == ()


ODD_VALUES: list[Any] = [
    None, 5, "text", [], [None, 5, "x"], [{}], [{"role": 5, "content": 5}], [[[]]],
    [{"type": "tool_use"}], [{"type": "tool_result"}], [{"type": "reasoning"}],
    [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": 5}]}],
    [{"type": "function_call", "arguments": {"a": 1}}, {"type": "input_image"}],
]  # fmt: skip


@pytest.mark.parametrize("endpoint", list(PATHS))
@pytest.mark.parametrize("value", ODD_VALUES)
def test_no_body_is_too_odd(endpoint: Endpoint, value: Any) -> None:
    names = ("messages", "input", "system", "instructions", "tools", "prompt")
    json.dumps(list(chat_form(endpoint, dict.fromkeys(names, value)).messages))


def test_agents_session_is_kept_as_one_chat_with_its_system_text(tmp_path: Path) -> None:
    async def act(recording: Recording) -> None:
        for path, asked in [("/v1/messages", turn) for turn in CLAUDE_TURNS] + [("/v1/responses", CODEX)]:
            await post(recording, {**asked, "stream": True}, path)
            await recording.recorder.finished.join()

    _, recording = during(sends(*STREAM), tmp_path, act, keeps_text=True)
    recorded_text = recording.recorder.recorded_text
    assert recorded_text is not None
    claude, codex = read_sessions(str(recorded_text.path))
    assert claude.messages[:-1] == CHAT_OF_CLAUDE and len(claude.think_s) == 2
    assert [message["role"] for message in codex.messages] == [
        "developer",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    assert "Work carefully" not in recording.recorder.out.read_text()


def test_plain_prompt_is_kept_and_sent_again_as_one(tmp_path: Path) -> None:
    file = tmp_path / "sessions.jsonl"
    answered = {"role": "assistant", "content": "b"}
    file.write_text(RecordedSession(messages=[{"role": "user", "content": "Once"}, answered]).model_dump_json())
    (phase,) = REGISTRY["session"].plan({"file": str(file), "endpoint": "completions"})
    assert [(request.text, request.messages) for request in phase.requests] == [("Once", ())]
    with pytest.raises(PlanError, match="cannot be sent to /v1/completions"):
        REGISTRY["session"].plan({"endpoint": "completions"})


@pytest.mark.engine
@pytest.mark.parametrize("endpoint", ["messages", "responses"])
def test_kept_text_has_the_same_tokens_on_a_real_server_whichever_protocol_sends_it(
    demo_server: DemoServer, endpoint: Endpoint, tmp_path: Path
) -> None:
    """The prompt's tokens of each turn, as its agent sent it, and as every protocol sends the kept text again."""

    async def record() -> list[int | None]:
        claude_turns = CLAUDE_TURNS if endpoint == "messages" else codex_turns()
        async with recorder_of(demo_server.base_url, tmp_path, keeps_text=True) as recording:
            for turn in claude_turns:
                status, (data, _) = await post(recording, {**turn, "stream": False}, PATHS[endpoint])
                assert status == 200, data
                await recording.recorder.finished.join()
        return [row.prompt_tokens for row in recording.rows]

    async def replay(protocol: Endpoint) -> list[int | None]:
        params = {"file": str(tmp_path / "recorded.jsonl"), "endpoint": protocol, "output_tokens": 4}
        (phase,) = REGISTRY["session"].plan(params)
        target = target_at(demo_server.base_url, engine="llamacpp", endpoint=protocol)
        async with open_session() as session:
            answers = [await exchange(session, target, request) for request in phase.requests]
        assert [answer.error_text for answer in answers] == [None] * len(answers)
        return [answer.reading.prompt_tokens for answer in answers]

    recorded = asyncio.run(record())
    protocols: tuple[Endpoint, ...] = ("chat", "messages", "responses")
    assert {protocol: asyncio.run(replay(protocol)) for protocol in protocols} == dict.fromkeys(protocols, recorded)


def codex_turns() -> list[dict[str, Any]]:
    fields = {**CODEX, "tools": CODEX["tools"][:1], "max_output_tokens": 4, "store": False}
    items = [item for item in CODEX_ITEMS if not item["type"].startswith("custom")]
    return [fields | {"input": items[:2]}, fields | {"input": [*items, CODEX_ITEMS[1]]}]
