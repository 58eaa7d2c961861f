"""One request with its answer: what was sent, what was read, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from domain import JsonValue
from workloads.requests.answer_stream import StreamReading


@dataclass(frozen=True, slots=True)
class Exchange:
    """On the target's clocks; both error fields are None when the answer ended properly."""

    body: Mapping[str, JsonValue]  # as it was sent
    reading: StreamReading
    sent_at: datetime
    sent_s: float
    ended_s: float
    error_kind: str | None
    error_text: str | None
