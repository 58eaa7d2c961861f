"""Result of one request: its body, its answer and its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from domain import JsonValue
from workloads.requests.answer_stream import StreamReading


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer, timed by the target's clocks; both error fields are None after a regular end."""

    body: Mapping[str, JsonValue]  # as sent
    reading: StreamReading
    sent_at: datetime
    sent_s: float
    ended_s: float
    error_kind: str | None
    error_text: str | None
