"""Shape of agent sessions: the lengths of their prompts and answers, the prefixes that they share, and their times.

A request shares leading tokens with an earlier one and adds spans of its own, so that two prompts begin alike for as
many tokens as they did when they were recorded. No text is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from analysis.sessions.prompt_part import MOST_PARTS

FORMAT: Literal["pitwall agent shape"] = "pitwall agent shape"
VERSION: Literal[1] = 1
ANSWER = "answer"  # kind of a span: the answer to the request that is followed; other kinds are those of parts
MOST_TOKENS = 10_000_000  # of one prompt
MOST_SECONDS = 30 * 86_400.0
Seconds = Annotated[float, Field(ge=0.0, le=MOST_SECONDS)]
Index = Annotated[int, Field(ge=0)]


class ShapeSpan(NamedTuple):
    """Tokens of a prompt that belong together: equal ids stand for equal text."""

    id: Annotated[str, Field(min_length=1, max_length=64)]
    kind: Annotated[str, Field(max_length=20)]
    tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS)]


class SharedPrefix(NamedTuple):
    """The leading tokens that a prompt has in common with that of an earlier request."""

    request: Index
    tokens: Annotated[int, Field(ge=1, le=MOST_TOKENS)]


class ShapeRequest(BaseModel):
    """A request of an agent; other requests are named by their index in the shape.

    follows: the request that it continues. waits_for: the requests after whose ends it is sent, `pause_s` later.
    arrives_s: the time since the start before which it is not sent. cached_tokens: of its prompt, as recorded.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    session: int = Field(ge=0)
    branch: int = Field(default=0, ge=0)
    turn: int = Field(ge=1)  # on its way from the session's beginning
    follows: Index | None = None
    shares: SharedPrefix | None = None
    spans: tuple[ShapeSpan, ...] = Field(default=(), max_length=MOST_PARTS)
    output_tokens: int = Field(ge=1, le=MOST_TOKENS)
    waits_for: tuple[Index, ...] = Field(default=(), max_length=MOST_PARTS)
    pause_s: Seconds = 0.0
    arrives_s: Seconds | None = None
    cached_tokens: int | None = Field(default=None, ge=0)
    images: int = Field(default=0, ge=0)  # parts of its prompt that were images

    @property
    def prompt_tokens(self) -> int:
        return (self.shares.tokens if self.shares else 0) + sum(span.tokens for span in self.spans)

    @property
    def earlier_requests(self) -> tuple[int, ...]:
        """Indexes of all requests that it names."""
        followed = () if self.follows is None else (self.follows,)
        return (*followed, *([self.shares.request] if self.shares else []), *self.waits_for)

    @model_validator(mode="after")
    def check_prompt(self) -> Self:
        """Reject a request without a prompt; raises ValueError for pydantic."""
        if not 0 < self.prompt_tokens <= MOST_TOKENS:
            raise ValueError(f"its prompt has {self.prompt_tokens:,} tokens")
        return self


class ShapeHeader(BaseModel):
    """First line of a shape's file."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    format: Literal["pitwall agent shape"] = FORMAT
    version: Literal[1] = VERSION
    source: str = Field(default="", max_length=200)
    left_out_requests: int = Field(default=0, ge=0)  # recorded ones that failed, or whose prompt is not known


@dataclass(frozen=True, slots=True)
class AgentShape:
    """The requests of a shape in the order in which they were sent."""

    requests: tuple[ShapeRequest, ...]
    header: ShapeHeader = field(default_factory=ShapeHeader)

    @property
    def computed_tokens(self) -> int | None:
        """Prompt tokens that the recorded server computed; None if a request has no count of cached ones."""
        cached = [request.cached_tokens for request in self.requests]
        if not cached or any(count is None for count in cached):
            return None
        return sum(request.prompt_tokens for request in self.requests) - sum(count or 0 for count in cached)

    @property
    def cached_answer_tokens(self) -> int:
        """Prompt tokens that the recorded server had in its cache because it had generated them."""
        return sum(cached_answer_tokens(self.requests, request) for request in self.requests)

    @property
    def images(self) -> int:
        return sum(request.images for request in self.requests)


def cached_answer_tokens(requests: Sequence[ShapeRequest], request: ShapeRequest) -> int:
    """Return the tokens of the followed request's answer that came from the cache, as recorded."""
    if request.follows is None or request.cached_tokens is None or not has_answer(request):
        return 0
    return max(0, min(request.cached_tokens - requests[request.follows].prompt_tokens, request.spans[0].tokens))


def has_answer(request: ShapeRequest) -> bool:
    """Whether its prompt continues that of the followed request with the answer to it."""
    is_continued = request.shares is not None and request.shares.request == request.follows
    return is_continued and bool(request.spans) and request.spans[0].kind == ANSWER


def fault_in(request: ShapeRequest, earlier: Sequence[ShapeRequest]) -> str | None:
    """Return why a request does not fit those before it; None if it does."""
    if any(index >= len(earlier) for index in request.earlier_requests):
        return "it names a request that is not before it"
    if request.shares and request.shares.tokens > earlier[request.shares.request].prompt_tokens:
        return "it shares more tokens than the other prompt has"
    return None
