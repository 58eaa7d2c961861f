"""Bodies of requests in each protocol, from a plan's chat messages and tools."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile

from domain import JsonValue

Message = Mapping[str, JsonValue]
SAMPLING_NAMES = {"responses": {"max_tokens": "max_output_tokens"}}
# What each protocol takes of a plan's sampling; everything else would be refused or ignored.
SAMPLING_OF = {
    "messages": ("max_tokens", "temperature", "top_p", "top_k"),
    "responses": ("max_tokens", "temperature", "top_p"),
}


def sampling_for(endpoint: str, sampling: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the sampling fields that a protocol takes, under its names; all of them for a chat or completions."""
    if endpoint not in SAMPLING_OF:
        return dict(sampling)
    names = SAMPLING_NAMES.get(endpoint, {})
    return {names.get(name, name): sampling[name] for name in SAMPLING_OF[endpoint] if name in sampling}


def messages_body(messages: Sequence[Message], tools: Sequence[Message]) -> dict[str, JsonValue]:
    """Return messages and tools in the format of /v1/messages: the system prompt and tools have fields of their own."""
    system, chat = _split_system(messages, ("system", "developer"))
    body: dict[str, JsonValue] = {"system": system} if system else {}
    body["messages"] = [_messages_entry(message) for message in chat]
    if tools:
        functions = [tool["function"] for tool in tools]
        body["tools"] = [
            {"name": f["name"], "description": f.get("description", ""), "input_schema": f["parameters"]}
            for f in functions
        ]
    return body


def _split_system(messages: Sequence[Message], roles: Sequence[str]) -> tuple[str, Sequence[Message]]:
    """Return the text of the leading messages with these roles, and the messages behind them."""
    chat = list(dropwhile(lambda message: message["role"] in roles, messages))
    system = messages[: len(messages) - len(chat)]
    return "\n\n".join(_plain_text(message.get("content")) for message in system), chat


def _plain_text(content: JsonValue) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content)
    return str(content or "")


def _messages_entry(message: Message) -> dict[str, JsonValue]:
    content = _messages_content(message.get("content"))
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content}
        return {"role": "user", "content": [result]}
    thinking, calls = message.get("reasoning_content"), message.get("tool_calls") or []
    if not thinking and not calls:
        return {"role": message["role"], "content": content}
    blocks: list[JsonValue] = [{"type": "thinking", "thinking": thinking, "signature": ""}] if thinking else []
    if content:
        blocks += content if isinstance(content, list) else [{"type": "text", "text": content}]
    blocks += [
        {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": _arguments(call)}
        for call in calls
    ]
    return {"role": message["role"], "content": blocks}


def _messages_content(content: JsonValue) -> JsonValue:
    """Return a message's content; images given as data URIs become sources of their own."""
    if not isinstance(content, list):
        return content or ""
    return [_image_source(part["image_url"]["url"]) if part["type"] == "image_url" else part for part in content]


def _image_source(uri: str) -> dict[str, JsonValue]:
    if not uri.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": uri}}
    head, _, data = uri.partition(",")
    media_type = head.removeprefix("data:").removesuffix(";base64")
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _arguments(call: Mapping[str, JsonValue]) -> JsonValue:
    """Return a call's arguments as an object; an empty one if the model wrote no JSON object."""
    try:
        arguments = json.loads(call["function"]["arguments"] or "{}")
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def responses_body(messages: Sequence[Message], tools: Sequence[Message]) -> dict[str, JsonValue]:
    """Return messages and tools in the format of /v1/responses; nothing is stored on the server."""
    instructions, chat = _split_system(messages, ("system",))
    body: dict[str, JsonValue] = {"instructions": instructions} if instructions else {}
    body["input"] = [item for message in chat for item in _input_items(message)]
    if tools:
        body["tools"] = [{"type": "function", **tool["function"]} for tool in tools]
    return body | {"store": False}


def _input_items(message: Message) -> Iterator[dict[str, JsonValue]]:
    if message["role"] == "tool":
        content = message["content"]
        output = _input_content(content, "input_text") if isinstance(content, list) else content
        yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": output}
        return
    if thinking := message.get("reasoning_content"):
        yield {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": thinking}]}
    if message.get("content") or not message.get("tool_calls"):
        kind = "output_text" if message["role"] == "assistant" else "input_text"
        yield {"type": "message", "role": message["role"], "content": _input_content(message.get("content"), kind)}
    for call in message.get("tool_calls") or []:
        function = call["function"]
        yield {
            "type": "function_call",
            "call_id": call["id"],
            "name": function["name"],
            "arguments": function["arguments"],
        }


def _input_content(content: JsonValue, kind: str) -> list[JsonValue]:
    if not isinstance(content, list):
        return [{"type": kind, "text": content or ""}]
    return [
        {"type": "input_image", "image_url": part["image_url"]["url"]}
        if part["type"] == "image_url"
        else {"type": kind, "text": part["text"]}
        for part in content
    ]
