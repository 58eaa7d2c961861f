"""Reads one answer of a chat or of plain completions: arrival times of its pieces, and the server's token counts.

protocols.py has the readings of the other protocols, which differ in their events alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from domain import JsonValue
from errors import PitwallError
from workloads.requests.tool_calls import ToolCalls

Parsed = TypeVar("Parsed", bound=BaseModel)


class BadStreamError(PitwallError):
    """The stream reported an error or violates the API; `kind` is a RequestRecord.error_kind."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Delta(BaseModel):
    """Addition of an event to an answer, or a complete answer's message; servers have two names for thinking."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: JsonValue = None

    @property
    def is_thinking(self) -> bool:
        """Whether it contains only thinking."""
        return bool(self.reasoning_content or self.reasoning) and not self.content

    def pieces(self) -> list[str]:
        """Return everything that the model wrote: thinking, content and tool calls."""
        texts = [text for text in (self.reasoning_content, self.reasoning, self.content) if text]
        return [*texts, json.dumps(self.tool_calls)] if self.tool_calls else texts


class Choice(BaseModel):
    """Entry of an answer's `choices`, of chat and plain completions."""

    delta: Delta = Delta()  # of a stream of /v1/chat/completions
    message: Delta | None = None  # of a complete answer of it
    text: str | None = None  # /v1/completions
    finish_reason: str | None = None


class CachedTokens(BaseModel):
    """`prompt_tokens_details`: prompt tokens from the prefix cache."""

    cached_tokens: int | None = None


class CompletionDetails(BaseModel):
    """`completion_tokens_details`: thinking tokens included in the completion tokens."""

    reasoning_tokens: int | None = None


class Usage(BaseModel):
    """`usage` of OpenAI's API: the server's token counts."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: CachedTokens | None = None
    completion_tokens_details: CompletionDetails | None = None


class Timings(BaseModel):
    """llama.cpp's own counts, in every event if `timings_per_token` is requested."""

    predicted_n: int | None = None
    draft_n: int | None = None
    draft_n_accepted: int | None = None


class SpeculationCounts(BaseModel):
    """vLLM's count of draft tokens of one request."""

    num_draft_tokens: int | None = None
    num_accepted_draft_tokens: int | None = None


class RequestMetrics(BaseModel):
    """vLLM's metrics of a request, in its last event; since 0.32 with --per-request-spec-decode-metrics."""

    speculative_decoding: SpeculationCounts | None = None


class StreamEvent(BaseModel):
    """A `data:` event; unused fields are ignored, used fields must have the right type."""

    choices: list[Choice] | None = None
    usage: Usage | None = None
    timings: Timings | None = None
    metrics: RequestMetrics | None = None
    error: JsonValue = None


def parse_event(kind: type[Parsed], value: str) -> Parsed:
    """Return the JSON of an event as an object of this kind; raises BadStreamError."""
    try:
        return kind.model_validate_json(value)
    except ValidationError as error:
        raise BadStreamError("malformed", f"not an event of the API: {value[:200]!r}") from error


def parse_answer(kind: type[Parsed], data: bytes) -> Parsed:
    """Return a whole answer as an object of this kind; raises BadStreamError."""
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        raise BadStreamError("malformed", f"not an answer of the API: {data[:200]!r}") from error


@dataclass(slots=True)
class StreamReading:
    """State of an answer read so far. Times are in seconds of the caller's monotonic clock.

    Tokens are counted by the server, in `usage` or in llama.cpp's `timings`; chunks are never counted as tokens,
    because with speculation a chunk may contain several.
    """

    text: list[str] = field(default_factory=list)  # everything that the model wrote
    content: list[str] = field(default_factory=list)  # the answer without thinking
    thinking: list[str] = field(default_factory=list)  # if the server separates it
    chunks: int = 0
    first_at_s: float | None = None
    last_at_s: float | None = None
    first_chunk_tokens: int | None = None
    pieces: list[tuple[float, int | None]] = field(default_factory=list)  # (time, cumulative tokens) of each piece
    prompt_tokens: int | None = None
    cached_prompt_tokens: int | None = None
    completion_tokens: int | None = None
    thinking_tokens: int | None = None  # from the server, else the tokens of pieces that contain only thinking
    token_source: str | None = None
    tools: ToolCalls = field(default_factory=ToolCalls)
    draft_tokens: int | None = None
    accepted_tokens: int | None = None
    finish_reason: str | None = None
    http_status: int | None = None
    is_done: bool = False
    cpu_wait_s: float | None = None  # of this thread until the newest line
    longest_cpu_wait_s: float | None = None  # between two lines: the maximum delay in reading one

    def note_cpu_wait(self, cpu_wait_s: float | None) -> None:
        """Record how long this thread has waited for a CPU so far."""
        if cpu_wait_s is not None and self.cpu_wait_s is not None:
            self.longest_cpu_wait_s = max(self.longest_cpu_wait_s or 0.0, cpu_wait_s - self.cpu_wait_s)
        self.cpu_wait_s = cpu_wait_s

    @property
    def is_empty(self) -> bool:
        """Whether a complete answer has neither text, apart from its thinking, nor a tool call."""
        is_complete = self.is_done or self.finish_reason is not None
        return is_complete and not "".join(self.content).strip() and not self.tools.calls

    @property
    def client_wait_ms(self) -> float | None:
        return None if self.longest_cpu_wait_s is None else round(self.longest_cpu_wait_s * 1000, 3)

    def take_line(self, line: str, now_s: float) -> bool:
        """Process one line of the event stream, without its end; returns whether it had data. Raises BadStreamError."""
        name, _, value = line.partition(":")
        value = value.strip()
        if name == "error":  # llama.cpp's form of an error within a stream
            raise BadStreamError("http", f"error in the stream: {value}"[:500])
        if name != "data":
            return False
        if value == "[DONE]":
            self.is_done = True
            return True
        self._take_event(value, now_s)
        return True

    def _take_event(self, value: str, now_s: float) -> None:
        """Process the JSON of an event; raises BadStreamError."""
        event = parse_event(StreamEvent, value)
        if event.error:
            raise BadStreamError("http", f"error in the stream: {json.dumps(event.error)}"[:500])
        self._take_counts(event)
        for choice in event.choices or []:
            self._take_choice(choice, now_s)

    def take_whole(self, data: bytes) -> None:
        """Process an answer that is not a stream and thus has no times; raises BadStreamError."""
        answer = parse_answer(StreamEvent, data)
        if answer.error:
            raise BadStreamError("http", f"error in the answer: {json.dumps(answer.error)}"[:500])
        if not answer.choices or answer.choices[0].finish_reason is None:
            raise BadStreamError("malformed", f"an answer without a finish reason: {data[:200]!r}")
        self._take_counts(answer)
        for choice in answer.choices:
            message = choice.message or Delta()
            self.tools.take_whole(message.tool_calls)
            self._take_text(choice, message)
        self.is_done = True

    def _take_text(self, choice: Choice, delta: Delta) -> list[str]:
        """Add and return the pieces of text of a choice; those of a chat are in `delta`."""
        self.finish_reason = choice.finish_reason or self.finish_reason
        pieces = delta.pieces() + ([choice.text] if choice.text else [])
        self.text += pieces
        self.content += [text for text in (delta.content, choice.text) if text]
        self.thinking += [text for text in (delta.reasoning_content, delta.reasoning) if text]
        return pieces

    def _take_choice(self, choice: Choice, now_s: float) -> None:
        """Record a piece; the last one may have no text, because tool and reasoning parsers hold tokens back."""
        pieces = self._take_text(choice, choice.delta)
        if choice.delta.tool_calls:
            self.tools.take(choice.delta.tool_calls)
        if choice.delta.is_thinking and self.completion_tokens is not None:
            previous_tokens = self.pieces[-1][1] if self.pieces else 0
            self.thinking_tokens = (self.thinking_tokens or 0) + self.completion_tokens - (previous_tokens or 0)
        self._note_arrival(bool(pieces), choice.finish_reason is not None, now_s)

    def _note_arrival(self, has_text: bool, is_end: bool, now_s: float) -> None:
        """Record the time of a piece of the answer, or of its end."""
        if has_text:
            self.chunks += 1
            if self.first_at_s is None:
                self.first_at_s = now_s
                self.first_chunk_tokens = self.completion_tokens
        if self.first_at_s is not None and (has_text or is_end):
            self.last_at_s = now_s
            self.pieces.append((now_s, self.completion_tokens))

    def chunk_us(self, sent_s: float) -> list[int]:
        """Return the microseconds between pieces, the first since sending."""
        times = [sent_s, *(at_s for at_s, _ in self.pieces)]
        return [round((later - earlier) * 1e6) for earlier, later in pairwise(times)]

    def chunk_tokens(self) -> list[int] | None:
        """Return the tokens of each piece; None if the server did not report counts per piece."""
        counts = [tokens for _, tokens in self.pieces]
        if not counts or any(tokens is None for tokens in counts):
            return None
        return [later - earlier for earlier, later in pairwise([0, *(tokens or 0 for tokens in counts)])]

    def _take_counts(self, event: StreamEvent) -> None:
        """Set the server's cumulative counts; `usage` takes precedence over `timings`."""
        timings, usage = event.timings, event.usage
        if timings and timings.predicted_n is not None:
            self.completion_tokens, self.token_source = timings.predicted_n, "timings"
            self.draft_tokens, self.accepted_tokens = timings.draft_n, timings.draft_n_accepted
        if event.metrics and (speculation := event.metrics.speculative_decoding):
            self.draft_tokens, self.accepted_tokens = (
                speculation.num_draft_tokens,
                speculation.num_accepted_draft_tokens,
            )
        if usage and usage.completion_tokens is not None:
            self.completion_tokens, self.token_source = usage.completion_tokens, "usage"
            self.prompt_tokens = usage.prompt_tokens
            if usage.completion_tokens_details and usage.completion_tokens_details.reasoning_tokens is not None:
                self.thinking_tokens = usage.completion_tokens_details.reasoning_tokens
            if usage.prompt_tokens_details:
                self.cached_prompt_tokens = usage.prompt_tokens_details.cached_tokens
