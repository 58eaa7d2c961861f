"""Requests of a coding agent, turn by turn, with prefixes that break for a known cause."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

Body = dict[str, Any]
WORDS = ["branch", "commit", "parser", "socket", "buffer", "thread", "kernel", "cursor", "widget", "schema", "module"]


class Agent:
    """One agent's chat; every agent has words of its own."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.system = self.text(150)
        self.tools = [self.tool(name) for name in ("bash", "browser", "edit", "grep")]
        self.messages: list[Body] = [{"role": "user", "content": self.text(60)}]

    def text(self, words: int) -> str:
        return " ".join(f"{self._random.choice(WORDS)}{self._random.randrange(1000)}" for _ in range(words))

    def tool(self, name: str) -> Body:
        parameters = {"type": "object", "properties": {"path": {"type": "string", "description": self.text(3)}}}
        return {"type": "function", "function": {"name": name, "description": self.text(20), "parameters": parameters}}

    def body(self, **changes: Any) -> Body:
        messages = [{"role": "system", "content": self.system}, *self.messages]
        fields = {"model": "demo", "tools": list(self.tools), "messages": messages, "max_tokens": 2}
        return fields | {"stream": True, "stream_options": {"include_usage": True}} | changes

    def answer(self, words: int = 20, thinking: str | None = None) -> None:
        """The model's answer, as the agent sends it back, and the next message of the person."""
        reply: Body = {"role": "assistant", "content": self.text(words)}
        self.messages.append(reply | ({"reasoning_content": thinking} if thinking else {}))
        self.messages.append({"role": "user", "content": self.text(40)})

    def call(self, result_words: int = 80, thinking: str | None = None) -> None:
        """A tool call of the model, as the agent sends it back, and its result."""
        name = f"call{len(self.messages)}"
        function = {"name": "bash", "arguments": '{"path": "/' + self.text(1) + '"}'}
        reply: Body = {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": name, "type": "function", "function": function}],
        }
        self.messages.append(reply | ({"reasoning_content": thinking} if thinking else {}))
        self.messages.append({"role": "tool", "tool_call_id": name, "content": self.text(result_words)})

    def turns(self, count: int) -> list[Body]:
        """So many requests, each continuing the one before it with a tool's result."""
        bodies = [self.body()]
        for _ in range(count - 1):
            self.call()
            bodies.append(self.body())
        self.call()
        return bodies


def without(items: Sequence[Body], place: int) -> list[Body]:
    return [*items[:place], *items[place + 1 :]]
