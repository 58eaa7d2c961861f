"""Public traces as agent shapes: Mooncake's JSON lines, and AIPerf's with sessions.

Formats: Mooncake's traces of FAST'25 (`timestamp` in ms, `input_length`, `output_length`, `hash_ids` of blocks of 512
tokens), and the Mooncake trace of AIPerf 0.14.0's documentation, which adds `session_id` and `delay` in ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from analysis.sessions.agent_shape import (
    ANSWER,
    MOST_TOKENS,
    AgentShape,
    ShapeHeader,
    ShapeRequest,
    ShapeSpan,
    SharedPrefix,
)
from analysis.sessions.prompt_part import MOST_PARTS, PartKind
from workloads.texts.prompt_file import PlanError, parse_json_line

BLOCK_TOKENS = 512
MS_PER_S = 1000.0
TEXT = PartKind.TEXT.value
Milliseconds = Annotated[float, Field(ge=0.0, le=30 * 86_400_000.0)]


class TraceLine(BaseModel):
    """A request of a trace; in a session it has the tokens that are new, or those of the whole prompt."""

    model_config = ConfigDict(extra="ignore")
    input_length: int = Field(ge=1, le=MOST_TOKENS)
    output_length: int = Field(default=1, ge=0, le=MOST_TOKENS)
    hash_ids: list[int] = Field(default_factory=list, max_length=MOST_PARTS)
    timestamp: Milliseconds | None = None
    session_id: str | None = Field(default=None, max_length=200)
    delay: Milliseconds | None = None


@dataclass(slots=True)
class BlockNode:
    """Node of the tree of blocks; `request`: the first whose prompt has it."""

    request: int
    children: dict[int, BlockNode] = field(default_factory=dict)


@dataclass(slots=True)
class TraceSession:
    """A session of a trace so far: its number, its last request, and the blocks of that line."""

    number: int
    turns: int = 0
    last: int | None = None
    hash_ids: Sequence[int] = ()


def shape_of_trace(path: str, lines: Sequence[tuple[int, bytes]]) -> AgentShape:
    """Return the shape of a trace; raises PlanError with the number of a wrong line."""
    builder = _TraceBuilder()
    for number, line in lines:
        if b'"text_input"' in line:
            raise PlanError(
                f"{Path(path).name}, line {number}: it has a text; 'Own prompts' sends the texts of a file."
            )
        trace_line = parse_json_line(path, number, TraceLine, line)
        if builder.prompt_tokens(trace_line) > MOST_TOKENS:
            raise PlanError(f"{Path(path).name}, line {number}: its prompt has more than {MOST_TOKENS:,} tokens.")
        builder.add(trace_line)
    return AgentShape(tuple(builder.requests), ShapeHeader(source=f"trace {Path(path).name}"[:200]))


class _TraceBuilder:
    """Adds the lines of a trace in their order."""

    def __init__(self) -> None:
        self.requests: list[ShapeRequest] = []
        self._sessions: dict[str, TraceSession] = {}
        self._root = BlockNode(-1)
        self._first_ms: float | None = None

    def prompt_tokens(self, line: TraceLine) -> int:
        """Return the tokens of a line's whole prompt."""
        session = self._sessions.get(line.session_id or "")
        return line.input_length + (self._history_tokens(session, line) if session else 0)

    def add(self, line: TraceLine) -> None:
        """Add the request of a line."""
        index = len(self.requests)
        session = self._session_of(line)
        previous = session.last
        spans = list(_blocks(line, f"line {index}"))
        if previous is not None and self._history_tokens(session, line):
            before = self.requests[previous]
            answer = ShapeSpan(f"answer {previous}", ANSWER, before.output_tokens)
            shares: SharedPrefix | None = SharedPrefix(previous, before.prompt_tokens)
            spans = [answer, *spans]
        else:
            shares, spans = self._shared_blocks(line, spans, index)
        self.requests.append(
            ShapeRequest(
                session=session.number,
                turn=session.turns + 1,
                follows=previous,
                shares=shares,
                spans=tuple(spans),
                output_tokens=max(1, line.output_length),
                waits_for=() if previous is None else (previous,),
                pause_s=(line.delay or 0.0) / MS_PER_S,
                arrives_s=self._arrival_s(line),
            )
        )
        session.turns, session.last, session.hash_ids = session.turns + 1, index, line.hash_ids

    def _session_of(self, line: TraceLine) -> TraceSession:
        """Return the line's session; a line without one is a session of its own."""
        name = line.session_id or f"line {len(self.requests)}"
        return self._sessions.setdefault(name, TraceSession(len(self._sessions)))

    def _history_tokens(self, session: TraceSession, line: TraceLine) -> int:
        """Return the tokens before those of the line: of earlier prompts and answers, unless the line has them too."""
        count = len(session.hash_ids)
        has_history = count > 0 and list(session.hash_ids) == line.hash_ids[:count]
        if session.last is None or has_history:
            return 0
        before = self.requests[session.last]
        return before.prompt_tokens + before.output_tokens

    def _shared_blocks(
        self, line: TraceLine, spans: list[ShapeSpan], index: int
    ) -> tuple[SharedPrefix | None, list[ShapeSpan]]:
        """Return the earlier prompt with which a line shares most blocks, and the spans behind them."""
        node, depth = self._root, 0
        ids = line.hash_ids[: len(spans)]
        while depth < len(ids) and ids[depth] in node.children:
            node, depth = node.children[ids[depth]], depth + 1
        shared = node
        for block_id in ids[depth:]:
            node = node.children.setdefault(block_id, BlockNode(index))
        if shared is self._root:
            return None, spans
        tokens = min(sum(span.tokens for span in spans[:depth]), self.requests[shared.request].prompt_tokens)
        cut = sum(span.tokens for span in spans[:depth]) - tokens  # the other prompt ended within its last block
        rest_spans = [ShapeSpan(f"line {index} rest", TEXT, cut)] if cut else []
        return SharedPrefix(shared.request, tokens), [*rest_spans, *spans[depth:]]

    def _arrival_s(self, line: TraceLine) -> float | None:
        """Return the time of a line since the first one."""
        if line.timestamp is None:
            return None
        self._first_ms = line.timestamp if self._first_ms is None else self._first_ms
        return max(0.0, line.timestamp - self._first_ms) / MS_PER_S


def _blocks(line: TraceLine, name: str) -> Iterator[ShapeSpan]:
    """Yield the blocks of a line, of which the last is as long as what remains; then what has no block."""
    remaining_tokens = line.input_length
    for block_id in line.hash_ids:
        if remaining_tokens <= 0:
            return
        yield ShapeSpan(f"block {block_id}", TEXT, min(remaining_tokens, BLOCK_TOKENS))
        remaining_tokens -= BLOCK_TOKENS
    if remaining_tokens > 0:
        yield ShapeSpan(name, TEXT, remaining_tokens)
