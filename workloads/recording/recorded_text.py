"""Stores recorded chats as sessions that the workload 'session' replays, one JSON line each."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from domain import JsonValue
from machine.private_files import write_private
from workloads.requests.answer_stream import StreamReading
from workloads.requests.chat_form import ChatForm
from workloads.texts.prompt_file import MAX_LINES, ChatMessage

MAX_THINK_S = 3600.0  # accepted by a replay


@dataclass(slots=True)
class RecordedChat:
    """A chat: the messages of its newest request, and the answer to it."""

    messages: list[ChatMessage]
    tools: list[ChatMessage]
    think_s: list[float]
    began_s: float
    ended_s: float
    digest: str  # of the newest request's messages
    size_bytes: int


@dataclass
class RecordedText:
    """Recorded chats; a request that begins with the messages of an earlier one is its next turn."""

    path: Path
    max_bytes: int
    left_out: int = 0
    _sessions: dict[int, RecordedChat] = field(default_factory=dict)  # all chats, by `id`
    _continuable: dict[str, RecordedChat] = field(default_factory=dict)  # chats that may continue, by digest
    _bytes: int = 0
    _is_saved: bool = True
    _lock: threading.Lock = field(default_factory=threading.Lock)  # chats are added in one thread and saved in another

    def add(self, prompt: ChatForm, reading: StreamReading, sent_s: float, ended_s: float) -> None:
        """Add an answered chat; times are by one monotonic clock."""
        chat, tools = [*prompt.messages, answer_message(reading)], list(prompt.tools)
        digests = list(_digests(prompt.messages))
        earlier = next(
            (self._continuable[digest] for digest in reversed(digests[:-1]) if digest in self._continuable), None
        )
        size_bytes = len(orjson.dumps([chat, tools]))
        answers = sum(message.get("role") == "assistant" for message in chat[1:])
        added_bytes = size_bytes - (earlier.size_bytes if earlier else 0)
        if self._bytes + added_bytes > self.max_bytes or (earlier is None and len(self._sessions) >= MAX_LINES):
            self.left_out += 1
            return
        think_s, began_s = _think_s(earlier, answers, sent_s), earlier.began_s if earlier else sent_s
        session = RecordedChat(chat, tools, think_s, began_s, ended_s, digests[-1], size_bytes)
        with self._lock:
            self._replace(session, earlier)
            self._bytes += added_bytes

    def _replace(self, session: RecordedChat, earlier: RecordedChat | None) -> None:
        """Store a chat, replacing the one that it continues; a second continuation becomes a separate chat."""
        if earlier:
            del self._continuable[earlier.digest]
            del self._sessions[id(earlier)]
        self._sessions[id(session)] = session
        self._continuable[session.digest] = session
        self._is_saved = False

    def save(self) -> None:
        """Rewrite the file if there is anything new; raises OSError."""
        with self._lock:
            if self._is_saved:
                return
            sessions, self._is_saved = list(self._sessions.values()), True
        first_s = min((session.began_s for session in sessions), default=0.0)
        write_private(self.path, b"".join(_line(session, first_s) for session in sessions))


def _line(session: RecordedChat, first_s: float) -> bytes:
    """Return a chat as JSON; `first_s`: the beginning of the first chat."""
    times = {"starts_s": round(session.began_s - first_s, 3), "ends_s": round(session.ended_s - first_s, 3)}
    line = {"messages": session.messages, "tools": session.tools, "think_s": session.think_s, **times}
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)


def _think_s(earlier: RecordedChat | None, answers: int, sent_s: float) -> list[float]:
    """Return the pause before each answer, 0 where it was not observed."""
    if earlier is None:
        return [0.0] * answers
    pause_s = round(min(max(0.0, sent_s - earlier.ended_s), MAX_THINK_S), 3)
    return [*(earlier.think_s + [0.0] * answers)[: answers - 1], pause_s]


def answer_message(reading: StreamReading) -> ChatMessage:
    """Return the answer as a message of the chat history."""
    calls: list[JsonValue] = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in reading.tools.ordered
    ]
    message: ChatMessage = {"role": "assistant", "content": "".join(reading.content)}
    return message | ({"tool_calls": calls} if calls else {})


def _digests(messages: Sequence[ChatMessage]) -> Iterator[str]:
    """Yield the digest of the first message, of the first two, and so on."""
    digest = hashlib.sha256()
    for message in messages:
        digest.update(orjson.dumps(message, option=orjson.OPT_SORT_KEYS))
        yield digest.hexdigest()
