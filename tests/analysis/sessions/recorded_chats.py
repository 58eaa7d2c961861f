"""Recordings made by hand: real hashes of real prompts, with tokens and times that a server could have reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from analysis.sessions.prompt_part import PREFIX
from load_records import RequestRecord
from workloads.recording.prompt_history import PromptHistory

BEGUN = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
Body = dict[str, Any]


@dataclass
class HandMadeRecording:
    """A recording whose requests last 2 s and begin 10 s apart; TTFT is 1 s."""

    run_id: str = "r"
    rows: list[RequestRecord] = field(default_factory=list)
    _history: PromptHistory = field(default_factory=PromptHistory)

    def add(self, body: Body, prompt_tokens: int, cached: int | None, at_s: float | None = None, **more: Any) -> None:
        number = len(self.rows)
        request_id = f"load-{number:04d}"
        extra = {"cached_prompt_tokens": cached, PREFIX: self._history.describe(request_id, "chat", body)}
        fields = {"ttft_ms": 1000.0, "decode_ms": 1000.0, "total_ms": 2000.0, "completion_tokens": 10} | more
        self.rows.append(
            RequestRecord(
                self.run_id, request_id, "recorded", "measure", "Recorded", 0, 0,
                BEGUN + timedelta(seconds=10 * number if at_s is None else at_s), prompt_tokens=prompt_tokens,
                extra=extra, load_id="load", sequence=number, **fields,
            )
        )  # fmt: skip


def chat(*texts: str, system: str = "s" * 400, tools: Sequence[str] = ()) -> Body:
    """A chat of the person and the model in turn; each text is worth 400 bytes."""
    messages = [
        {"role": "user" if place % 2 == 0 else "assistant", "content": f"{text} ".ljust(400, "x")}
        for place, text in enumerate(texts)
    ]
    listed = [{"type": "function", "function": {"name": name, "description": "d" * 300}} for name in tools]
    return {"model": "m", "tools": listed, "messages": [{"role": "system", "content": system}, *messages]}
