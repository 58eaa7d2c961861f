"""Keeps recorded chats as sessions that the workload 'session' replays, one JSON line each."""

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
from workloads.texts.prompt_file import MOST_LINES, ChatMessage

MOST_THINK_S = 3600.0  # that a replay takes


@dataclass(slots=True)
class Session:
    """A chat as its newest request has it, and that request's answer."""

    messages: list[ChatMessage]
    tools: list[ChatMessage]
    think_s: list[float]
    ended_s: float
    digest: str  # of the newest request's messages
    size_bytes: int


@dataclass
class KeptText:
    """Chats by what they begin with: a request that begins with an earlier one's messages is its next turn."""

    path: Path
    most_bytes: int
    left_out: int = 0
    _sessions: dict[int, Session] = field(default_factory=dict)  # all of them, by their identity
    _open: dict[str, Session] = field(default_factory=dict)  # that may go on, by their digest
    _bytes: int = 0
    _is_saved: bool = True
    _lock: threading.Lock = field(default_factory=threading.Lock)  # chats come in one thread, and are saved in another

    def add(
        self,
        messages: Sequence[ChatMessage],
        tools: Sequence[ChatMessage],
        reading: StreamReading,
        sent_s: float,
        ended_s: float,
    ) -> None:
        """Take one chat that was answered; times are of one monotonic clock."""
        said = [*messages, spoken(reading)]
        digests = list(_digests(messages))
        earlier = next((self._open[one] for one in reversed(digests[:-1]) if one in self._open), None)
        size_bytes = len(orjson.dumps([said, list(tools)]))
        answers = sum(message.get("role") == "assistant" for message in said[1:])
        grown = size_bytes - (earlier.size_bytes if earlier else 0)
        if self._bytes + grown > self.most_bytes or (earlier is None and len(self._sessions) >= MOST_LINES):
            self.left_out += 1
            return
        session = Session(said, list(tools), _think_s(earlier, answers, sent_s), ended_s, digests[-1], size_bytes)
        with self._lock:
            self._put(session, earlier)
            self._bytes += grown

    def _put(self, session: Session, earlier: Session | None) -> None:
        """In place of what it goes on with; a second request that begins so is another session."""
        if earlier:
            del self._open[earlier.digest]
            del self._sessions[id(earlier)]
        self._sessions[id(session)] = session
        self._open[session.digest] = session
        self._is_saved = False

    def save(self) -> None:
        """Write the file anew where something has come; raises OSError."""
        with self._lock:
            if self._is_saved:
                return
            sessions, self._is_saved = list(self._sessions.values()), True
        write_private(self.path, b"".join(map(_line, sessions)))


def _line(session: Session) -> bytes:
    turn = {"messages": session.messages, "tools": session.tools, "think_s": session.think_s}
    return orjson.dumps(turn, option=orjson.OPT_APPEND_NEWLINE)


def _think_s(earlier: Session | None, answers: int, sent_s: float) -> list[float]:
    """Before each answer, as far as it was seen."""
    if earlier is None:
        return [0.0] * answers
    thought_s = round(min(max(0.0, sent_s - earlier.ended_s), MOST_THINK_S), 3)
    return [*(earlier.think_s + [0.0] * answers)[: answers - 1], thought_s]


def spoken(reading: StreamReading) -> ChatMessage:
    """The answer as a message of the history."""
    calls: list[JsonValue] = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in reading.tools.ordered
    ]
    message: ChatMessage = {"role": "assistant", "content": "".join(reading.content)}
    return message | ({"tool_calls": calls} if calls else {})


def _digests(messages: Sequence[ChatMessage]) -> Iterator[str]:
    """The digest of the first message, of the first two, and so on."""
    digest = hashlib.sha256()
    for message in messages:
        digest.update(orjson.dumps(message, option=orjson.OPT_SORT_KEYS))
        yield digest.hexdigest()
