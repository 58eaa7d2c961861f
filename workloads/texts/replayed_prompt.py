"""Prompts of replayed agent sessions: segments of given lengths in tokens, which prompts that begin alike share."""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

import orjson

from analysis.sessions.agent_shape import ShapeRequest, cached_answer_tokens, has_answer
from workloads.texts.prompt_file import PlanError

Answers = Literal["generated", "the server's own"]
DIGEST_BYTES = 8
MOST_SEGMENTS = 5_000_000  # of all prompts together: 40 MB of references


class PromptSegment(NamedTuple):
    """A part of a prompt: equal seeds and lengths give equal texts. No other prompt begins to differ within it.

    answers: the request whose answer it stands for, by its index in the shape.
    """

    seed: str
    kind: str
    tokens: int
    answers: int | None = None

    @property
    def digest(self) -> str:
        """Hash that names it in what is stored of a prompt."""
        return _digest(self.seed, self.tokens)


@dataclass(frozen=True, slots=True)
class ReplayedPrompt:
    """A prompt by its segments; `digest` is equal for prompts with equal texts.

    index: of its request in the shape. is_answer_needed: the server's answer becomes part of later prompts.
    """

    index: int
    digest: str
    segments: tuple[PromptSegment, ...]
    answers: Answers = "generated"
    is_answer_needed: bool = False

    @property
    def tokens(self) -> int:
        return sum(segment.tokens for segment in self.segments)


@lru_cache(maxsize=1 << 17)  # many prompts share a segment
def _digest(seed: str, tokens: int) -> str:
    return hashlib.blake2b(f"{seed}\0{tokens}".encode(), digest_size=DIGEST_BYTES).hexdigest()


def replayed_prompts(requests: Sequence[ShapeRequest], seed: int, answers: Answers) -> list[ReplayedPrompt]:
    """Return the prompts of a shape's requests; raises PlanError if they have too many segments to be held."""
    cuts = _cuts_of(requests)
    count = 0
    needed: set[int | None] = set()
    prompts: list[ReplayedPrompt] = []
    for index, request in enumerate(requests):
        own_segments = _own_segments(request, _answered(requests, request), sorted(cuts[index]), seed)
        head: tuple[PromptSegment, ...] = ()
        digest = hashlib.sha256(orjson.dumps([seed, list(map(list, request.spans))]))
        if request.shares:
            shared_prompt = prompts[request.shares.request]
            head = _leading(shared_prompt.segments, request.shares.tokens)
            digest.update(f"{shared_prompt.digest} {request.shares.tokens}".encode())
        count += len(head) + len(own_segments)
        if count > MOST_SEGMENTS:
            raise PlanError(f"The prompts have more than {MOST_SEGMENTS:,} segments: send fewer requests.")
        needed |= {segment.answers for segment in own_segments}
        prompts.append(ReplayedPrompt(index, digest.hexdigest()[:16], (*head, *own_segments), answers))
    if answers == "generated":
        return prompts
    return [
        ReplayedPrompt(prompt.index, prompt.digest, prompt.segments, answers, prompt.index in needed)
        for prompt in prompts
    ]


def _cuts_of(requests: Sequence[ShapeRequest]) -> list[set[int]]:
    """Return the places, in tokens, at which other prompts leave each request's own part."""
    cuts: list[set[int]] = [set() for _ in requests]
    for request in requests:
        if request.shares is None:
            continue
        owner, place = request.shares
        while (shares := requests[owner].shares) and place <= shares.tokens:
            owner = shares.request
        cuts[owner].add(place)
    return cuts


def _answered(requests: Sequence[ShapeRequest], request: ShapeRequest) -> int | None:
    """Return the request whose answer continues the prompt, unless the recorded server did not have it in its cache.

    An answer that was rendered otherwise than it was generated had to be computed.
    """
    was_cached = request.cached_tokens is None or cached_answer_tokens(requests, request) > 0
    return request.follows if has_answer(request) and was_cached else None


def _own_segments(request: ShapeRequest, answered: int | None, cuts: Sequence[int], seed: int) -> list[PromptSegment]:
    """Return the segments behind the shared ones, cut where other prompts leave this one."""
    start = request.shares.tokens if request.shares else 0
    segments: list[PromptSegment] = []
    for number, span in enumerate(request.spans):
        inner = cuts[bisect_right(cuts, start) : bisect_left(cuts, start + span.tokens)]
        edges = [start, *inner, start + span.tokens]
        answers = answered if number == 0 and not inner else None
        segments += [
            PromptSegment(f"{seed} {span.id} {first - start}", span.kind, last - first, answers)
            for first, last in pairwise(edges)
        ]
        start += span.tokens
    return segments


def _leading(segments: Sequence[PromptSegment], tokens: int) -> tuple[PromptSegment, ...]:
    """Return the segments of so many leading tokens, which end where one of them does."""
    ends = list(accumulate(segment.tokens for segment in segments))
    count = bisect_left(ends, tokens) + 1
    assert ends[count - 1] == tokens, "every shared prefix ends with a segment"
    return tuple(segments[:count])
