"""Reads a request of any protocol as a chat: the form in which a prompt's text is kept, and sent again by any protocol.

The reverse of `bodies.py`. Bodies come from clients: what does not follow the API is left out. Marks for a cache, which
move with every turn, and the signatures of thinking are left out too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from domain import JsonValue
from workloads.requests.protocols import Endpoint

Fields = Mapping[str, Any]
ChatEntry = dict[str, JsonValue]
TEXT_TYPES = ("text", "input_text", "output_text")
CALL_TYPES = {"function_call": "arguments", "custom_tool_call": "input"}
OUTPUT_TYPES = ("function_call_output", "custom_tool_call_output")


@dataclass(frozen=True, slots=True)
class ChatForm:
    """Messages and tools of a request as /v1/chat/completions has them; no messages if it has no text of its own."""

    messages: tuple[ChatEntry, ...] = ()
    tools: tuple[ChatEntry, ...] = ()


def chat_form(endpoint: Endpoint, body: Fields) -> ChatForm:
    """Return a request as a chat; a plain prompt is one message, unless it consists of token ids."""
    if endpoint == "messages":
        return ChatForm(tuple(_messages_chat(body)), tuple(_messages_tools(body)))
    if endpoint == "responses":
        return ChatForm(tuple(_responses_chat(body)), tuple(_responses_tools(body)))
    if endpoint == "completions":
        prompt = body.get("prompt")
        return ChatForm(({"role": "user", "content": prompt},) if isinstance(prompt, str) and prompt else ())
    return ChatForm(tuple(_objects(body.get("messages"))), tuple(_objects(body.get("tools"))))


def _messages_chat(body: Fields) -> Iterator[ChatEntry]:
    """Yield the messages of /v1/messages; the blocks of its system prompt are one text, as servers render them."""
    system = body.get("system")
    text = system if isinstance(system, str) else "".join(_text(block) for block in _objects(system))
    if text:
        yield {"role": "system", "content": text}
    for message in _objects(body.get("messages")):
        yield from _split_blocks(str(message.get("role") or "user"), message.get("content"))


def _split_blocks(role: str, content: JsonValue) -> Iterator[ChatEntry]:
    """Yield a message of /v1/messages: the results of tools first, as messages of their own, then its other blocks."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else _objects(content)
    for block in blocks:
        if block.get("type") == "tool_result":
            yield {
                "role": "tool",
                "tool_call_id": str(block.get("tool_use_id") or ""),
                "content": _content(block.get("content")),
            }
    calls = [
        _call(block.get("id"), block.get("name"), json.dumps(block.get("input") or {}))
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    thinking = "".join(str(block.get("thinking") or "") for block in blocks if block.get("type") == "thinking")
    parts = [part for block in blocks if (part := _part(block))]
    if parts or calls or thinking or not blocks:
        yield _message(role, parts, calls, thinking)


def _responses_chat(body: Fields) -> Iterator[ChatEntry]:
    """Yield the messages of /v1/responses; none if it continues an answer that only the server has."""
    if body.get("previous_response_id") is not None:
        return
    if isinstance(instructions := body.get("instructions"), str) and instructions:
        yield {"role": "system", "content": instructions}
    content = body.get("input")
    items = [{"role": "user", "content": content}] if isinstance(content, str) else _objects(content)
    answer = _AnswerItems()
    for item in items:
        if answer.take(item):
            continue
        yield from answer.flush()
        if item.get("type") in OUTPUT_TYPES:
            output = _content(item.get("output"))
            yield {"role": "tool", "tool_call_id": str(item.get("call_id") or ""), "content": output}
        elif role := item.get("role"):
            yield {"role": str(role), "content": _content(item.get("content"))}
    yield from answer.flush()


class _AnswerItems:
    """Items of /v1/responses that are one answer of a chat: reasoning, text, calls."""

    def __init__(self) -> None:
        self._parts: list[ChatEntry] = []
        self._calls: list[JsonValue] = []
        self._thinking = ""

    def take(self, item: Fields) -> bool:
        """Add an item; returns whether it belongs to an answer. Text behind calls belongs to it as well."""
        kind = str(item.get("type") or "")
        if kind == "reasoning":
            self._thinking += "".join(
                _text(part) for name in ("summary", "content") for part in _objects(item.get(name))
            )
        elif kind in CALL_TYPES:
            arguments = str(item.get(CALL_TYPES[kind]) or "")
            is_plain = kind == "custom_tool_call"
            arguments = json.dumps({"input": arguments}) if is_plain else arguments
            self._calls.append(_call(item.get("call_id"), item.get("name"), arguments))
        elif item.get("role") == "assistant":
            content = _content(item.get("content"))
            self._parts += _objects(content) if isinstance(content, list) else [{"type": "text", "text": content}]
        else:
            return False
        return True

    def flush(self) -> Iterator[ChatEntry]:
        """Yield the answer, if there is one, and begin the next."""
        if self._parts or self._calls or self._thinking:
            yield _message("assistant", self._parts, self._calls, self._thinking)
        self._parts, self._calls, self._thinking = [], [], ""


def _message(role: str, parts: list[ChatEntry], calls: list[JsonValue], thinking: str) -> ChatEntry:
    message: ChatEntry = {"role": role, "content": _joined(parts)}
    message |= {"reasoning_content": thinking} if thinking else {}
    return message | ({"tool_calls": calls} if calls else {})


def _call(call_id: JsonValue, name: JsonValue, arguments: str) -> JsonValue:
    return {
        "id": str(call_id or ""),
        "type": "function",
        "function": {"name": str(name or ""), "arguments": arguments},
    }


def _content(content: JsonValue) -> JsonValue:
    """Return a content as a chat has it."""
    if isinstance(content, str):
        return content
    return _joined([part for block in _objects(content) if (part := _part(block))])


def _joined(parts: list[ChatEntry]) -> JsonValue:
    """Return one text as such, and several parts as a list."""
    if not parts:
        return ""
    return parts[0]["text"] if len(parts) == 1 and parts[0]["type"] == "text" else list(parts)


def _part(block: Fields) -> ChatEntry | None:
    """Return a text or an image; None for any other block."""
    if block.get("type") in TEXT_TYPES:
        return {"type": "text", "text": _text(block)}
    url = _image_url(block)
    return {"type": "image_url", "image_url": {"url": url}} if url else None


def _image_url(block: Fields) -> str | None:
    source, url = block.get("source"), block.get("image_url")
    if block.get("type") == "input_image" and isinstance(url, str):
        return url
    if block.get("type") != "image" or not isinstance(source, dict):
        return None
    if source.get("type") == "url":
        return str(source.get("url") or "")
    return f"data:{source.get('media_type')};base64,{source.get('data')}"


def _text(block: Fields) -> str:
    text = block.get("text")
    return text if isinstance(text, str) else ""


def _messages_tools(body: Fields) -> Iterator[ChatEntry]:
    """Yield the tools that have a schema; a vendor runs the others itself."""
    for tool in _objects(body.get("tools")):
        if isinstance(schema := tool.get("input_schema"), dict):
            yield _tool(tool, schema)


def _responses_tools(body: Fields) -> Iterator[ChatEntry]:
    """Yield the functions, and the tools that take plain text, with one argument."""
    for tool in _objects(body.get("tools")):
        if tool.get("type") == "function":
            yield _tool(tool, tool.get("parameters") or {})
        elif tool.get("type") == "custom":
            yield _tool(tool, {"type": "object", "properties": {"input": {"type": "string"}}})


def _tool(tool: Fields, schema: JsonValue) -> ChatEntry:
    function = {"name": str(tool.get("name") or ""), "description": str(tool.get("description") or "")}
    strict = {"strict": tool["strict"]} if isinstance(tool.get("strict"), bool) else {}
    return {"type": "function", "function": {**function, "parameters": schema, **strict}}


def _objects(value: JsonValue) -> list[dict[str, JsonValue]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
