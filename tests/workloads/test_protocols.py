"""`/v1/messages` and `/v1/responses`: streams as their vendors' documents show them, and a real llama.cpp."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
import pytest

from tests.demo_engine import DemoServer
from tests.workloads.recording.recorders import KEY, Recording, during, post
from tests.workloads.servers import HEAD, chunk, sends
from tests.workloads.test_client import send, target_at
from workloads import REGISTRY
from workloads.plan import PlannedRequest
from workloads.requests.answer_stream import BadStreamError, StreamReading
from workloads.requests.client import exchange, request_body
from workloads.requests.protocols import Endpoint, reading_of
from workloads.requests.sending import open_session

# As in Anthropic's "Streaming messages", with thinking, text and a tool call.
MESSAGES_EVENTS: Sequence[Mapping[str, Any]] = (
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [],
            "usage": {
                "input_tokens": 25,
                "cache_creation_input_tokens": 40,
                "cache_read_input_tokens": 1000,
                "output_tokens": 1,
            },
        },
    },
    {"type": "ping"},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "I look."}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "EqQB"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Let me check."}},
    {"type": "content_block_stop", "index": 1},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}},
    },
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ""}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"city": "O'}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": 'slo"}'}},
    {"type": "content_block_stop", "index": 2},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 89},
    },
    {"type": "message_stop"},
)
# As in OpenAI's "Streaming events", with reasoning, text and a function call.
RESPONSES_EVENTS: Sequence[Mapping[str, Any]] = (
    {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}},
    {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {"id": "rs_1", "type": "reasoning", "summary": []},
    },
    {"type": "response.reasoning_text.delta", "output_index": 0, "content_index": 0, "delta": "I look."},
    {
        "type": "response.output_item.added",
        "output_index": 1,
        "item": {"type": "message", "role": "assistant", "content": []},
    },
    {"type": "response.output_text.delta", "output_index": 1, "content_index": 0, "delta": "Let me check."},
    {"type": "response.output_text.done", "output_index": 1, "content_index": 0, "text": "Let me check."},
    {
        "type": "response.output_item.added",
        "output_index": 2,
        "item": {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": ""},
    },
    {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '{"city": "O'},
    {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": 'slo"}'},
    {
        "type": "response.completed",
        "response": {
            "status": "completed",
            "output": [],
            "usage": {
                "input_tokens": 1065,
                "input_tokens_details": {"cached_tokens": 1000},
                "output_tokens": 89,
                "output_tokens_details": {"reasoning_tokens": 12},
                "total_tokens": 1154,
            },
        },
    },
)
STREAMS: dict[Endpoint, Sequence[Mapping[str, Any]]] = {"messages": MESSAGES_EVENTS, "responses": RESPONSES_EVENTS}
WHOLE: dict[Endpoint, Mapping[str, Any]] = {
    "messages": {
        "type": "message",
        "role": "assistant",
        "stop_reason": "tool_use",
        "content": [
            {"type": "thinking", "thinking": "I look.", "signature": "x"},
            {"type": "text", "text": "Let me check."},
            {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}},
        ],
        "usage": {"input_tokens": 65, "cache_read_input_tokens": 1000, "output_tokens": 89},
    },
    "responses": {
        "status": "completed",
        "output": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I look."}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me check."}]},
            {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Oslo"}'},
        ],
        "usage": {"input_tokens": 1065, "input_tokens_details": {"cached_tokens": 1000}, "output_tokens": 89},
    },
}
BOTH = ("messages", "responses")


def read_stream(endpoint: Endpoint, events: Sequence[Mapping[str, Any]]) -> StreamReading:
    reading = reading_of(endpoint)
    for number, fields in enumerate(events):
        assert not reading.take_line(f"event: {fields['type']}", float(number))
        assert reading.take_line(f"data: {json.dumps(fields)}", float(number))
    return reading


def read_whole(endpoint: Endpoint, answer: Mapping[str, Any]) -> StreamReading:
    reading = reading_of(endpoint)
    reading.take_whole(json.dumps(answer).encode())
    return reading


@pytest.mark.parametrize("endpoint", BOTH)
def test_stream_and_whole_answer_give_the_same_columns(endpoint: Endpoint) -> None:
    streamed, whole = read_stream(endpoint, STREAMS[endpoint]), read_whole(endpoint, WHOLE[endpoint])
    for reading in (streamed, whole):
        assert ("".join(reading.content), "".join(reading.thinking)) == ("Let me check.", "I look.")
        (call,) = reading.tools.ordered
        assert (call.name, call.arguments.replace(" ", "")) == ("get_weather", '{"city":"Oslo"}')
        assert (reading.prompt_tokens, reading.cached_prompt_tokens) == (1065, 1000)
        assert (reading.completion_tokens, reading.token_source) == (89, "usage")
        assert (reading.finish_reason, reading.is_done, reading.is_empty) == ("tool_calls", True, False)
    assert streamed.first_at_s == (3.0 if endpoint == "messages" else 2.0), "thinking is the first token"
    assert streamed.chunks == 5 and streamed.last_at_s == len(STREAMS[endpoint]) - (2 if endpoint == "messages" else 1)
    assert whole.first_at_s is None


def test_responses_without_index_belong_to_the_last_call() -> None:
    """llama.cpp leaves the index out."""
    events = [{name: value for name, value in fields.items() if name != "output_index"} for fields in RESPONSES_EVENTS]
    (call,) = read_stream("responses", events).tools.ordered
    assert (call.id, call.name, call.arguments) == ("call_1", "get_weather", '{"city": "Oslo"}')


def test_answers_cut_at_their_limit_end_with_length() -> None:
    cut = {**WHOLE["messages"], "stop_reason": "max_tokens"}
    assert read_whole("messages", cut).finish_reason == "length"
    incomplete = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": []}
    assert read_whole("responses", incomplete).finish_reason == "length"


@pytest.mark.parametrize(
    ("endpoint", "fields", "kind"),
    [
        ("messages", {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "http"),
        ("responses", {"type": "error", "message": "Overloaded"}, "http"),
        ("responses", {"type": "response.failed", "response": {"error": {"message": "Overloaded"}}}, "http"),
        ("messages", {"type": "content_block_delta", "delta": "no object"}, "malformed"),
        ("responses", {"type": 5}, "malformed"),
    ],
)
def test_errors_within_a_stream_are_named(endpoint: Endpoint, fields: Mapping[str, Any], kind: str) -> None:
    with pytest.raises(BadStreamError) as raised:
        reading_of(endpoint).take_line(f"data: {json.dumps(fields)}", 0.0)
    assert raised.value.kind == kind
    assert kind != "http" or "Overloaded" in str(raised.value)


CHAT = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
                                 {"type": "text", "text": "How warm is it?"}]},
    {"role": "assistant", "content": "Let me check.", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "17"},
)  # fmt: skip
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "d", "parameters": {"type": "object"}}}


def body(endpoint: Endpoint) -> dict[str, Any]:
    sampling = {"max_tokens": 60, "temperature": 0.0, "seed": 7, "ignore_eos": True}
    request = PlannedRequest("c", "", sampling, messages=CHAT, tools=(TOOL,))
    return request_body(target_at("http://x", endpoint=endpoint, engine="llamacpp"), request)


def test_chat_becomes_messages() -> None:
    assert body("messages") == {
        "model": "m", "max_tokens": 60, "temperature": 0.0, "stream": True, "system": "Be brief.",
        "tools": [{"name": "get_weather", "description": "d", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
                {"type": "text", "text": "How warm is it?"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Let me check."},
                {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Oslo"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "17"}]},
        ],
    }  # fmt: skip


def test_chat_becomes_responses_input() -> None:
    assert body("responses") == {
        "model": "m", "max_output_tokens": 60, "temperature": 0.0, "stream": True, "store": False,
        "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "get_weather", "description": "d", "parameters": {"type": "object"}}],
        "input": [
            {"type": "message", "role": "user", "content": [
                {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
                {"type": "input_text", "text": "How warm is it?"}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me check."}]},
            {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": "{\"city\": \"Oslo\"}"},
            {"type": "function_call_output", "call_id": "c1", "output": "17"},
        ],
    }  # fmt: skip


@pytest.mark.engine
@pytest.mark.parametrize("endpoint", BOTH)
def test_counts_equal_the_servers_own_counters(demo_server: DemoServer, endpoint: Endpoint) -> None:
    before = demo_server.counters()
    record = asyncio.run(send(target_at(demo_server.base_url, engine="llamacpp", endpoint=endpoint)))
    grown = {name: value - before[name] for name, value in demo_server.counters().items()}
    assert record.error_kind is None and record.token_source == "usage"
    assert record.completion_tokens == grown["tokens_predicted_total"]
    assert record.prompt_tokens == grown["prompt_tokens_total"] + grown["prompt_tokens_cached_total"]
    assert record.extra["cached_prompt_tokens"] == grown["prompt_tokens_cached_total"]
    assert 0 < record.ttft_ms <= record.total_ms and record.chunks > 1


@pytest.mark.engine
@pytest.mark.parametrize("endpoint", BOTH)
def test_agent_session_is_understood_by_a_real_server(demo_server: DemoServer, endpoint: Endpoint) -> None:
    """System prompt, tools, calls and results of a growing chat: nothing is refused, and the prefix stays cached."""
    (phase,) = REGISTRY["session"].plan({"turns": 3, "context_tokens": 600, "output_tokens": 8, "endpoint": endpoint})
    target = target_at(demo_server.base_url, engine="llamacpp", endpoint=endpoint)

    async def run() -> list[Any]:
        async with open_session() as session:
            return [await exchange(session, target, request) for request in phase.requests]

    exchanges = asyncio.run(run())
    assert [(e.error_kind, e.error_text) for e in exchanges] == [(None, None)] * 3
    prompts = [e.reading.prompt_tokens for e in exchanges]
    assert prompts == sorted(prompts) and exchanges[2].reading.cached_prompt_tokens >= 0.5 * prompts[1]


def stream_chunks(events: Sequence[Mapping[str, Any]]) -> list[bytes]:
    return [chunk(f"event: {fields['type']}\ndata: {json.dumps(fields)}\n\n".encode()) for fields in events]


@pytest.mark.parametrize("endpoint", BOTH)
def test_recorder_passes_and_records_each_protocol(endpoint: Endpoint, tmp_path: Any) -> None:
    pieces = [HEAD, *stream_chunks(STREAMS[endpoint]), chunk(b"")]
    fields = {
        "model": "m",
        "stream": True,
        "max_tokens": 99,
        "messages": [],
        "input": "hello",
        "system": "SECRET WORDS",
    }
    (status, (data, _)), recording = during(
        sends(*pieces), tmp_path, lambda r: post(r, fields, f"/v1/{endpoint}?beta=true")
    )
    assert status == 200 and data.count(b"data: ") == len(STREAMS[endpoint])
    (row,) = recording.rows
    assert (row.prompt_tokens, row.completion_tokens, row.extra["cached_prompt_tokens"]) == (1065, 89, 1000)
    assert (row.finish_reason, row.error_kind) == ("tool_calls", None)
    assert row.extra["tool_calls"] == [{"name": "get_weather", "parses": True}]
    text = recording.recorder.out.read_text()
    assert "SECRET WORDS" not in text and "Let me check" not in text


def test_anthropic_clients_send_their_key_as_they_do(tmp_path: Any) -> None:
    """x-api-key is our token; the server gets its own key, the version and the query, and a count is not recorded."""
    heads: list[bytes] = []

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        answer = b'{"input_tokens": 12}'
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n" + answer)
        await writer.drain()

    async def act(recording: Recording) -> list[int]:
        statuses = []
        for key in (recording.token, "wrong"):
            headers = {"x-api-key": key, "anthropic-version": "2023-06-01", "anthropic-beta": "b1", "cookie": "c"}
            async with aiohttp.ClientSession() as session:
                url = f"{recording.url}/v1/messages/count_tokens?beta=true"
                async with session.post(url, json={"messages": []}, headers=headers) as answer:
                    statuses.append(answer.status)
        return statuses

    statuses, recording = during(script, tmp_path, act)
    assert statuses == [200, 401] and recording.rows == [] and len(heads) == 1
    head = heads[0].decode().lower()
    assert f"bearer {KEY}" in head and recording.token.lower() not in head and "cookie" not in head
    assert "anthropic-beta: b1" in head and "count_tokens?beta=true" in head
