"""Readings of Anthropic's `/v1/messages` and OpenAI's `/v1/responses`, and the paths of all protocols.

Formats: Anthropic's "Streaming messages", OpenAI's "Streaming events" of the Responses API. Stop reasons become those
of a chat: stop, length, tool_calls.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, Field

from domain import JsonValue
from workloads.requests.answer_stream import BadStreamError, CachedTokens, StreamReading, parse_answer, parse_event

Endpoint = Literal["chat", "completions", "messages", "responses"]
PATHS: dict[Endpoint, str] = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
}
HEADERS: dict[Endpoint, dict[str, str]] = {"messages": {"anthropic-version": "2023-06-01"}}
STOP_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "tool_use": "tool_calls",
    "max_output_tokens": "length",
}


class MessagesUsage(BaseModel):
    """`usage` of /v1/messages: the prompt's tokens are in three parts, of which the cached ones are one."""

    input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def prompt_tokens(self) -> int | None:
        if self.input_tokens is None:
            return None
        return self.input_tokens + (self.cache_read_input_tokens or 0) + (self.cache_creation_input_tokens or 0)


class MessagesBlock(BaseModel):
    """A block of an answer, or an addition to it; every field belongs to some kinds of blocks."""

    type: str = ""
    id: str | None = None
    name: str | None = None
    text: str | None = None
    thinking: str | None = None
    partial_json: str | None = None
    input: JsonValue = None
    stop_reason: str | None = None


class MessagesAnswer(BaseModel):
    """A whole answer of /v1/messages."""

    type: str = ""
    content: list[MessagesBlock] = Field(default_factory=list)
    stop_reason: str | None = None
    usage: MessagesUsage | None = None
    error: JsonValue = None


class MessagesEvent(BaseModel):
    """An event of a stream of /v1/messages."""

    type: str = ""
    index: int = 0
    message: MessagesAnswer | None = None
    content_block: MessagesBlock | None = None
    delta: MessagesBlock | None = None
    usage: MessagesUsage | None = None
    error: JsonValue = None


@dataclass(slots=True)
class MessagesReading(StreamReading):
    """State of an answer of /v1/messages."""

    def _take_event(self, value: str, now_s: float) -> None:
        event = parse_event(MessagesEvent, value)
        if event.error or event.type == "error":
            raise BadStreamError("http", f"error in the stream: {json.dumps(event.error)}"[:500])
        if event.message and event.message.usage:
            self._take_usage(event.message.usage)
        if event.usage:
            self._take_usage(event.usage)
        has_text = False
        if event.content_block and event.content_block.type == "tool_use":
            self._add_call(event.index, event.content_block.id, event.content_block.name)
            has_text = True
        if event.delta:
            has_text |= self._add_texts(event.delta)
            if event.delta.partial_json:
                self._add_call(event.index, arguments=event.delta.partial_json)
                has_text = True
            self._take_stop(event.delta.stop_reason)
        self.is_done |= event.type == "message_stop"
        self._note_arrival(has_text, bool(event.delta and event.delta.stop_reason), now_s)

    def take_whole(self, data: bytes) -> None:
        answer = parse_answer(MessagesAnswer, data)
        if answer.error or answer.type == "error":
            raise BadStreamError("http", f"error in the answer: {json.dumps(answer.error)}"[:500])
        if answer.stop_reason is None:
            raise BadStreamError("malformed", f"an answer without a stop reason: {data[:200]!r}")
        for index, block in enumerate(answer.content):
            self._add_texts(block)
            if block.type == "tool_use":
                self._add_call(index, block.id, block.name, json.dumps(block.input))
        if answer.usage:
            self._take_usage(answer.usage)
        self._take_stop(answer.stop_reason)
        self.is_done = True

    def _add_texts(self, block: MessagesBlock) -> bool:
        """Add the text and the thinking of a block; returns whether it has any."""
        self.text += [text for text in (block.thinking, block.text) if text]
        self.thinking += [block.thinking] if block.thinking else []
        self.content += [block.text] if block.text else []
        return bool(block.thinking or block.text)

    def _add_call(self, index: int, call_id: str | None = None, name: str | None = None, arguments: str = "") -> None:
        self.text += [text for text in (name, arguments) if text]
        self.tools.take([{"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}])

    def _take_stop(self, reason: str | None) -> None:
        if reason:
            self.finish_reason = STOP_REASONS.get(reason, reason)

    def _take_usage(self, usage: MessagesUsage) -> None:
        """Set the counts that an event states; the last event may repeat only those of the output."""
        if usage.prompt_tokens is not None:
            self.prompt_tokens, self.cached_prompt_tokens = usage.prompt_tokens, usage.cache_read_input_tokens
        if usage.output_tokens:
            self.completion_tokens, self.token_source = usage.output_tokens, "usage"


class OutputDetails(BaseModel):
    """`output_tokens_details` of /v1/responses."""

    reasoning_tokens: int | None = None


class ResponsesUsage(BaseModel):
    """`usage` of /v1/responses."""

    input_tokens: int | None = None
    input_tokens_details: CachedTokens | None = None
    output_tokens: int | None = None
    output_tokens_details: OutputDetails | None = None


class ResponsesContent(BaseModel):
    """A part of an item's content or summary."""

    text: str | None = None


class ResponsesItem(BaseModel):
    """An item of an answer's output: a message, reasoning or a function call."""

    type: str = ""
    content: list[ResponsesContent] | None = None
    summary: list[ResponsesContent] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class IncompleteDetails(BaseModel):
    """Why an answer is incomplete."""

    reason: str | None = None


class ResponsesAnswer(BaseModel):
    """A whole answer of /v1/responses, also in the last event of a stream."""

    status: str | None = None
    output: list[ResponsesItem] = Field(default_factory=list)
    usage: ResponsesUsage | None = None
    incomplete_details: IncompleteDetails | None = None
    error: JsonValue = None


class ResponsesEvent(BaseModel):
    """An event of a stream of /v1/responses."""

    type: str = ""
    output_index: int | None = None
    item: ResponsesItem | None = None
    delta: JsonValue = None
    response: ResponsesAnswer | None = None
    error: JsonValue = None
    message: str | None = None


END_EVENTS = ("response.completed", "response.incomplete", "response.failed")


@dataclass(slots=True)
class ResponsesReading(StreamReading):
    """State of an answer of /v1/responses."""

    def _take_event(self, value: str, now_s: float) -> None:
        event = parse_event(ResponsesEvent, value)
        error = event.error or (event.response and event.response.error)
        if error or event.type in ("error", "response.failed"):
            raise BadStreamError("http", f"error in the stream: {json.dumps(error or event.message)}"[:500])
        delta = event.delta if isinstance(event.delta, str) else ""
        has_text = bool(delta)
        if event.type in ("response.output_text.delta", "response.refusal.delta"):
            self._add_text(delta)
        elif event.type.startswith("response.reasoning") and event.type.endswith(".delta"):
            self._add_thinking(delta)
        elif event.type == "response.function_call_arguments.delta":
            self._add_call(event.output_index, ResponsesItem(arguments=delta))
        elif event.type == "response.output_item.added" and event.item and event.item.type == "function_call":
            self._add_call(event.output_index, event.item.model_copy(update={"arguments": None}), is_new=True)
            has_text = True
        else:
            has_text = False
        is_end = event.type in END_EVENTS
        if is_end and event.response:
            self._take_end(event.response)
        self._note_arrival(has_text, is_end, now_s)

    def take_whole(self, data: bytes) -> None:
        answer = parse_answer(ResponsesAnswer, data)
        if answer.error or answer.status == "failed":
            raise BadStreamError("http", f"error in the answer: {json.dumps(answer.error)}"[:500])
        if answer.status is None:
            raise BadStreamError("malformed", f"an answer without a status: {data[:200]!r}")
        for index, item in enumerate(answer.output):
            add = self._add_thinking if item.type == "reasoning" else self._add_text
            for part in [*(item.summary or []), *(item.content or [])]:
                add(part.text or "")
            if item.type == "function_call":
                self._add_call(index, item, is_new=True)
        self._take_end(answer)

    def _add_text(self, text: str) -> None:
        self.text.append(text)
        self.content.append(text)

    def _add_thinking(self, text: str) -> None:
        self.text.append(text)
        self.thinking.append(text)

    def _add_call(self, index: int | None, item: ResponsesItem, is_new: bool = False) -> None:
        """Add a function call or the next part of its arguments; without an index to the last call."""
        if index is None:
            index = max(self.tools.calls, default=-1) + is_new
        self.text += [text for text in (item.name, item.arguments) if text]
        function: dict[str, JsonValue] = {"name": item.name, "arguments": item.arguments}
        self.tools.take([{"index": max(0, index), "id": item.call_id, "function": function}])

    def _take_end(self, answer: ResponsesAnswer) -> None:
        reason = answer.incomplete_details.reason if answer.incomplete_details else None
        ended = "tool_calls" if self.tools.calls else "stop"
        self.finish_reason = STOP_REASONS.get(reason, reason) if reason else ended
        self.is_done = True
        if (usage := answer.usage) is None:
            return
        if usage.output_tokens is not None:
            self.completion_tokens, self.token_source = usage.output_tokens, "usage"
        self.prompt_tokens = usage.input_tokens
        if usage.input_tokens_details:
            self.cached_prompt_tokens = usage.input_tokens_details.cached_tokens
        if usage.output_tokens_details and usage.output_tokens_details.reasoning_tokens is not None:
            self.thinking_tokens = usage.output_tokens_details.reasoning_tokens


READINGS: dict[Endpoint, type[StreamReading]] = {"messages": MessagesReading, "responses": ResponsesReading}


def reading_of(endpoint: Endpoint) -> StreamReading:
    """Return a new reading of an answer of this protocol."""
    return READINGS.get(endpoint, StreamReading)()
