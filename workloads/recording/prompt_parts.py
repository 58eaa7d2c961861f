"""Reads the parts of a prompt from a request of any protocol, as keyed hashes; the text is not stored.

The key exists only in the memory of the recorder, so that nobody can test a guessed text against the hashes later.
Parts are hashed as they were sent, key order included, since a server writes them into its prompt in that order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from secrets import token_bytes
from typing import Any

import orjson

from analysis.sessions.prompt_part import MOST_PARTS, PIECE_BYTES, PIECE_HEX, PartKind, PromptPart
from domain import JsonValue
from workloads.requests.protocols import Endpoint

MOST_PIECES = 1024  # of one part; the rest of a longer one has only the hash of the whole part
DIGEST_BYTES, KEY_BYTES = 8, 32
NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,64}")  # of tools and settings; anything else may be text
SETTINGS = (  # fields that servers take into the prompt, or that decide which cache they look into
    "model", "cache_prompt", "cache_salt", "chat_template", "chat_template_kwargs", "id_slot", "lora",
    "previous_response_id", "reasoning", "reasoning_effort", "response_format", "thinking", "tool_choice",
)  # fmt: skip
UNRENDERED = ("cache_control",)  # marks for a cache that move with every turn, and that no local server renders
SYSTEM_ROLES = ("system", "developer")
KINDS = {
    "thinking": PartKind.THINKING,
    "redacted_thinking": PartKind.THINKING,
    "reasoning": PartKind.THINKING,
    "image": PartKind.IMAGE,
    "image_url": PartKind.IMAGE,
    "input_image": PartKind.IMAGE,
    "tool_use": PartKind.TOOL_CALL,
    "function_call": PartKind.TOOL_CALL,
    "custom_tool_call": PartKind.TOOL_CALL,
    "tool_result": PartKind.TOOL_RESULT,
    "function_call_output": PartKind.TOOL_RESULT,
    "custom_tool_call_output": PartKind.TOOL_RESULT,
}
TEXT_TYPES = ("text", "input_text", "output_text", "")
RawPart = tuple[PartKind, str | None, JsonValue]


@dataclass(slots=True)
class PromptHasher:
    """Hashes parts with a key of its own."""

    _key: bytes = field(default_factory=lambda: token_bytes(KEY_BYTES), repr=False)

    def parts(
        self, endpoint: Endpoint, body: Mapping[str, Any], earlier_parts: Mapping[str, PromptPart]
    ) -> list[PromptPart]:
        """Return the parts of a request in prompt order, at most one more than MOST_PARTS.

        earlier_parts: parts by digest, whose pieces are not hashed again.
        """
        return [self._part(raw_part, earlier_parts) for raw_part in islice(raw_parts(endpoint, body), MOST_PARTS + 1)]

    def _part(self, raw_part: RawPart, earlier_parts: Mapping[str, PromptPart]) -> PromptPart:
        kind, name, value = raw_part
        data = _bytes_of(value)
        head = f"{kind.value}\0{name or ''}\0".encode(errors="replace")
        digest = blake2b(head + data, digest_size=DIGEST_BYTES, key=self._key).hexdigest()
        if digest in earlier_parts:
            return earlier_parts[digest]
        starts = range(0, min(len(data), MOST_PIECES * PIECE_BYTES), PIECE_BYTES)
        pieces = tuple(self._piece(data[start : start + PIECE_BYTES]) for start in starts)
        return PromptPart(digest, kind, name if name and NAME.fullmatch(name) else None, len(data), pieces)

    def _piece(self, data: bytes) -> str:
        return blake2b(data, digest_size=PIECE_HEX // 2, key=self._key).hexdigest()


def raw_parts(endpoint: Endpoint, body: Mapping[str, Any]) -> Iterator[RawPart]:
    """Yield kind, name and content of each part: settings, tools, system blocks, then the blocks of the messages."""
    for setting in SETTINGS:
        if body.get(setting) is not None:
            yield PartKind.SETTING, setting, body[setting]
    for tool in _list(body.get("tools")):
        yield PartKind.TOOL, _tool_name(tool), _rendered(tool)
    for system in (body.get("system"), body.get("instructions")):
        for _, _, value in _blocks(system, "system"):
            yield PartKind.SYSTEM, None, value
    if endpoint == "completions":
        yield PartKind.TEXT, "prompt", body.get("prompt")
        return
    is_leading = True
    content = body.get("input") if endpoint == "responses" else body.get("messages")
    for message in _list(content) if not isinstance(content, str) else [{"role": "user", "content": content}]:
        if not isinstance(message, dict):
            continue
        is_leading = is_leading and message.get("role") in SYSTEM_ROLES
        for kind, name, value in _message_parts(message):
            yield (PartKind.SYSTEM, None, value) if is_leading else (kind, name, value)


def _message_parts(message: Mapping[str, Any]) -> Iterator[RawPart]:
    """Yield the parts of a message; an item of /v1/responses without a role is a part of its own."""
    role = str(message.get("role") or "")
    if not role:
        yield _block(message, "assistant")
        return
    if thinking := message.get("reasoning_content"):
        yield PartKind.THINKING, None, thinking
    if role == "tool":
        yield PartKind.TOOL_RESULT, None, message.get("content")
        return
    yield from _blocks(message.get("content"), role)
    for call in _list(message.get("tool_calls")):
        yield PartKind.TOOL_CALL, _tool_name(call), call


def _blocks(content: JsonValue, role: str) -> Iterator[RawPart]:
    """Yield the blocks of a content; a plain text is one block."""
    if isinstance(content, str):
        if content:
            yield PartKind.TEXT, role, content
        return
    for block in _list(content):
        yield _block(block, role)


def _block(block: JsonValue, role: str) -> RawPart:
    if not isinstance(block, dict):
        return PartKind.TEXT, role, block
    block_type = str(block.get("type") or "")
    if block_type in TEXT_TYPES and isinstance(block.get("text"), str):
        return PartKind.TEXT, role, block["text"]
    kind = KINDS.get(block_type, PartKind.TEXT)
    return kind, _tool_name(block) if kind is PartKind.TOOL_CALL else None, _rendered(block)


def _rendered(value: JsonValue) -> JsonValue:
    """Return a block or tool without what servers do not render."""
    return {name: item for name, item in value.items() if name not in UNRENDERED} if isinstance(value, dict) else value


def _tool_name(tool: JsonValue) -> str | None:
    if not isinstance(tool, dict):
        return None
    function = tool.get("function")
    name = function.get("name") if isinstance(function, dict) else tool.get("name")
    return name if isinstance(name, str) else None


def _list(value: JsonValue) -> list[Any]:
    return value if isinstance(value, list) else []


def _bytes_of(value: JsonValue) -> bytes:
    return value.encode(errors="replace") if isinstance(value, str) else orjson.dumps(value)
