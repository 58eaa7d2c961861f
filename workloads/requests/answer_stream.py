"""Reads one answer of an OpenAI-compatible server: when its tokens arrived, and how many the server reports."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise

from pydantic import BaseModel, ValidationError

from domain import JsonValue
from errors import PitwallError
from workloads.requests.tool_calls import ToolCalls


class BadStreamError(PitwallError):
    """The stream reported an error, or is not what the API says; `kind` is a RequestRecord.error_kind."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Delta(BaseModel):
    """What an event adds to an answer, or a whole answer's message; servers name thinking in two ways."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: JsonValue = None

    @property
    def thinks(self) -> bool:
        """Whether it is thinking and nothing else."""
        return bool(self.reasoning_content or self.reasoning) and not self.content

    def pieces(self) -> list[str]:
        """What the model wrote, whatever the server takes it for."""
        texts = [text for text in (self.reasoning_content, self.reasoning, self.content) if text]
        return [*texts, json.dumps(self.tool_calls)] if self.tool_calls else texts


class Choice(BaseModel):
    """One entry of an answer's `choices`, of chat and of plain completions."""

    delta: Delta = Delta()  # of a stream of /v1/chat/completions
    message: Delta | None = None  # of a whole answer of it
    text: str | None = None  # /v1/completions
    finish_reason: str | None = None


class CachedTokens(BaseModel):
    """`prompt_tokens_details`: prompt tokens that came from the prefix cache."""

    cached_tokens: int | None = None


class CompletionDetails(BaseModel):
    """`completion_tokens_details`: tokens of thinking among those of the answer."""

    reasoning_tokens: int | None = None


class Usage(BaseModel):
    """`usage` as OpenAI's API has it: the server's own count of tokens."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: CachedTokens | None = None
    completion_tokens_details: CompletionDetails | None = None


class Timings(BaseModel):
    """llama.cpp's own counts, in every event when `timings_per_token` is asked for."""

    predicted_n: int | None = None
    draft_n: int | None = None
    draft_n_accepted: int | None = None


class SpeculationCounts(BaseModel):
    """Draft tokens of one request, as vLLM counts them."""

    num_draft_tokens: int | None = None
    num_accepted_draft_tokens: int | None = None


class RequestMetrics(BaseModel):
    """vLLM's of the whole request, in its last event; from 0.32 on, with --per-request-spec-decode-metrics."""

    speculative_decoding: SpeculationCounts | None = None


class StreamEvent(BaseModel):
    """One `data:` event; what we do not use is ignored, what we use must have its type."""

    choices: list[Choice] | None = None
    usage: Usage | None = None
    timings: Timings | None = None
    metrics: RequestMetrics | None = None
    error: JsonValue = None


@dataclass(slots=True)
class StreamReading:
    """What has been read so far. Times are of the caller's monotonic clock in seconds.

    Tokens are those that the server counts, in `usage` or in llama.cpp's `timings`; chunks are never tokens,
    for under speculation one chunk may hold several.
    """

    text: list[str] = field(default_factory=list)  # all that the model wrote
    content: list[str] = field(default_factory=list)  # of it the answer
    thought: list[str] = field(default_factory=list)  # and the thinking, where the server takes it apart
    chunks: int = 0
    first_at_s: float | None = None
    last_at_s: float | None = None
    first_chunk_tokens: int | None = None
    pieces: list[tuple[float, int | None]] = field(default_factory=list)  # (when, tokens by then) of each piece
    prompt_tokens: int | None = None
    cached_prompt_tokens: int | None = None
    completion_tokens: int | None = None
    thinking_tokens: int | None = None  # of the completion: as the server says, else those of pieces that only think
    token_source: str | None = None
    tools: ToolCalls = field(default_factory=ToolCalls)
    draft_tokens: int | None = None
    accepted_tokens: int | None = None
    finish_reason: str | None = None
    http_status: int | None = None
    is_done: bool = False
    waited_s: float | None = None  # for a CPU until the newest line, by our thread since its start
    longest_wait_s: float | None = None  # for a CPU between two lines: so late may the second one have been read

    def note_wait(self, waited_s: float | None) -> None:
        """Take in how long our thread has waited for a CPU by now."""
        if waited_s is not None and self.waited_s is not None:
            self.longest_wait_s = max(self.longest_wait_s or 0.0, waited_s - self.waited_s)
        self.waited_s = waited_s

    @property
    def client_wait_ms(self) -> float | None:
        return None if self.longest_wait_s is None else round(self.longest_wait_s * 1000, 3)

    def take_line(self, line: str, now_s: float) -> bool:
        """Take one line of the event stream, without its end; True if it carried data. Raises BadStreamError."""
        name, _, value = line.partition(":")
        value = value.strip()
        if name == "error":  # how llama.cpp has named an error in mid-stream
            raise BadStreamError("http", f"error in the stream: {value}"[:500])
        if name != "data":
            return False
        if value == "[DONE]":
            self.is_done = True
            return True
        try:
            event = StreamEvent.model_validate_json(value)
        except ValidationError as error:
            raise BadStreamError("malformed", f"not an event of the API: {value[:200]!r}") from error
        if event.error:
            raise BadStreamError("http", f"error in the stream: {json.dumps(event.error)}"[:500])
        self._take_counts(event)
        for choice in event.choices or []:
            self._take_choice(choice, now_s)
        return True

    def take_whole(self, data: bytes) -> None:
        """Take an answer that did not come as a stream, so that it has no times; raises BadStreamError."""
        try:
            answer = StreamEvent.model_validate_json(data)
        except ValidationError as error:
            raise BadStreamError("malformed", f"not an answer of the API: {data[:200]!r}") from error
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

    def _take_text(self, choice: Choice, said: Delta) -> list[str]:
        """The pieces of text that a choice brings; in `said` if it is a chat's."""
        self.finish_reason = choice.finish_reason or self.finish_reason
        pieces = said.pieces() + ([choice.text] if choice.text else [])
        self.text += pieces
        self.content += [text for text in (said.content, choice.text) if text]
        self.thought += [text for text in (said.reasoning_content, said.reasoning) if text]
        return pieces

    def _take_choice(self, choice: Choice, now_s: float) -> None:
        """Note a piece; the last one may show no text, for parsers of tools and reasoning hold tokens back."""
        pieces = self._take_text(choice, choice.delta)
        if choice.delta.tool_calls:
            self.tools.take(choice.delta.tool_calls)
        if choice.delta.thinks and self.completion_tokens is not None:
            before = self.pieces[-1][1] if self.pieces else 0
            self.thinking_tokens = (self.thinking_tokens or 0) + self.completion_tokens - (before or 0)
        if pieces:
            self.chunks += 1
            if self.first_at_s is None:
                self.first_at_s = now_s
                self.first_chunk_tokens = self.completion_tokens
        if self.first_at_s is not None and (pieces or choice.finish_reason):
            self.last_at_s = now_s
            self.pieces.append((now_s, self.completion_tokens))

    def chunk_us(self, sent_s: float) -> list[int]:
        """Microseconds from one piece to the next, the first from sending."""
        times = [sent_s, *(at_s for at_s, _ in self.pieces)]
        return [round((later - earlier) * 1e6) for earlier, later in pairwise(times)]

    def chunk_tokens(self) -> list[int] | None:
        """Tokens of each piece; None where the server did not count them as they came."""
        counts = [tokens for _, tokens in self.pieces]
        if not counts or any(tokens is None for tokens in counts):
            return None
        return [later - earlier for earlier, later in pairwise([0, *(tokens or 0 for tokens in counts)])]

    def _take_counts(self, event: StreamEvent) -> None:
        """Take over the server's cumulative counts; `usage` wins over `timings` where an event has both."""
        timings, usage = event.timings, event.usage
        if timings and timings.predicted_n is not None:
            self.completion_tokens, self.token_source = timings.predicted_n, "timings"
            self.draft_tokens, self.accepted_tokens = timings.draft_n, timings.draft_n_accepted
        if event.metrics and (drafted := event.metrics.speculative_decoding):
            self.draft_tokens, self.accepted_tokens = drafted.num_draft_tokens, drafted.num_accepted_draft_tokens
        if usage and usage.completion_tokens is not None:
            self.completion_tokens, self.token_source = usage.completion_tokens, "usage"
            self.prompt_tokens = usage.prompt_tokens
            if usage.completion_tokens_details and usage.completion_tokens_details.reasoning_tokens is not None:
                self.thinking_tokens = usage.completion_tokens_details.reasoning_tokens
            if usage.prompt_tokens_details:
                self.cached_prompt_tokens = usage.prompt_tokens_details.cached_tokens
