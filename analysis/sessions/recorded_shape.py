"""Shape of recorded agent sessions, from the hashes and sizes of their prompts' parts and the server's token counts.

A recording has the tokens of whole prompts and the bytes of their parts. What a prompt adds to the one that it
continues has exactly the difference of both counts; within it tokens are divided by bytes. Where a part changed, the
cached tokens that the server reported say how far the prompts are alike, else the equal pieces of the part.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby, pairwise, takewhile
from statistics import median
from typing import NamedTuple

from analysis.sessions.agent_shape import ANSWER, AgentShape, ShapeHeader, ShapeRequest, ShapeSpan, SharedPrefix
from analysis.sessions.prompt_part import PIECE_BYTES, PartKind, PromptPart
from analysis.sessions.request_order import RequestOrder
from analysis.sessions.turns import Turn

TAIL_TOKENS = 32  # that a template writes behind a prompt, and that the next prompt may lack
BLOCK_TOKENS = 16  # counts of cached tokens by servers that cache blocks are multiples of it
ESTIMATE_SHARE = 0.25  # of a number of tokens that is estimated from bytes
IMAGE_BYTES = 4096  # an image counts as so many bytes of text: the size of its file says little of its tokens
MOST_SOURCE_CHARS = 200
LARGEST_BLOCK_TOKENS = 128  # of vLLM's cache on a CPU
FEWEST_TAILS, TAIL_SHARE = 3, 0.8  # turns that show what a template writes behind the messages, and their share


@dataclass(slots=True)
class PromptNode:
    """Node of the tree of all prompts: a part after certain others.

    request: the first that has it. ends: the requests whose prompts end with it.
    """

    request: int
    ends: list[int] = field(default_factory=list)
    children: dict[str, tuple[PromptPart, PromptNode]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LikePrompt:
    """The earlier prompt that is alike for longest: for so many whole parts, and bytes of the next one.

    is_whole: it is the beginning of this prompt.
    """

    request: int
    parts: int
    equal_bytes: int = 0
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class SizedPrompt:
    """A turn with its prompt's rendered parts; `bounds`: the tokens before each, then those of the whole prompt."""

    turn: Turn
    parts: tuple[PromptPart, ...]
    bounds: tuple[int, ...]

    @property
    def tokens(self) -> int:
        return self.bounds[-1]


class NewPart(NamedTuple):
    """A part that a prompt adds, with its tokens."""

    id: str
    kind: str
    tokens: int


def shape_of(turns: Sequence[Turn], source: str = "") -> AgentShape:
    """Return the shape of these turns; those that failed or whose prompt is not known are left out and counted."""
    usable = sorted(filter(_is_usable, turns), key=lambda turn: turn.request.sent_at)
    builder = _ShapeBuilder(usable)
    requests = tuple(builder.add(turn) for turn in usable)
    left_out = len(turns) - len(usable)
    return AgentShape(requests, ShapeHeader(source=source[:MOST_SOURCE_CHARS], left_out_requests=left_out))


def _is_usable(turn: Turn) -> bool:
    return turn.parts is not None and bool(turn.prompt_tokens) and not turn.request.error_kind


class _ShapeBuilder:
    """Adds turns in the order in which they were sent."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._order = RequestOrder(turns)
        self._sessions: dict[str, int] = {}
        self._root = PromptNode(-1)
        self._prompts: list[SizedPrompt] = []
        self._has_tail = _has_tail(turns)

    def add(self, turn: Turn) -> ShapeRequest:
        """Return the request of the next turn."""
        index, follows = len(self._prompts), self._order.followed(turn)
        parts = tuple(part for part in turn.parts or () if part.kind is not PartKind.SETTING)
        like = self._like_prompt(parts, follows)
        shared_tokens = self._shared_tokens(turn, parts, like, follows)
        if (turn.cached_tokens or 0) > shared_tokens + TAIL_TOKENS and not (like and like.is_whole):
            like = self._namesake(turn, parts) or like
            shared_tokens = min(turn.cached_tokens or 0, turn.prompt_tokens or 0)
        new = self._new_parts(turn, parts, like, shared_tokens, follows)
        self._prompts.append(SizedPrompt(turn, parts, self._bounds(like, shared_tokens, new)))
        self._remember(parts, index)
        start = self._order.start_of(turn, follows)
        return ShapeRequest(
            session=self._sessions.setdefault(turn.session, len(self._sessions)),
            branch=turn.branch,
            turn=turn.depth + 1,
            follows=follows,
            shares=SharedPrefix(like.request, shared_tokens) if like and shared_tokens else None,
            spans=tuple(_spans(new)),
            output_tokens=max(1, turn.request.completion_tokens or 0),
            waits_for=start.waits_for,
            pause_s=start.pause_s,
            arrives_s=start.arrives_s,
            cached_tokens=None if turn.cached_tokens is None else min(turn.cached_tokens, turn.prompt_tokens or 0),
            images=sum(part.kind is PartKind.IMAGE for part in parts),
        )

    def _like_prompt(self, parts: Sequence[PromptPart], follows: int | None) -> LikePrompt | None:
        """Return the earlier prompt that begins like these parts for longest; of equal ones the followed one."""
        node, depth = self._root, 0
        while depth < len(parts) and parts[depth].digest in node.children:
            _, node = node.children[parts[depth].digest]
            depth += 1
        if depth < len(parts):
            equal_bytes_of_children = [
                (_equal_bytes(part, parts[depth]), child) for part, child in node.children.values()
            ]
            equal_bytes, child = max(equal_bytes_of_children, key=lambda pair: pair[0], default=(0, node))
            if equal_bytes:
                return LikePrompt(child.request, depth, equal_bytes)
        if node is self._root:
            return None
        if node.ends:
            return LikePrompt(follows if follows in node.ends else node.ends[-1], depth, is_whole=True)
        return LikePrompt(node.request, depth)

    def _namesake(self, turn: Turn, parts: Sequence[PromptPart]) -> LikePrompt | None:
        """Return the earlier prompt with which a turn shares its cached tokens, although their parts differ.

        Two protocols write the same tools differently, and a template renders them alike. It is the prompt whose parts
        have the same kinds and names for longest, and of such the newest.
        """
        names = [(part.kind, part.name) for part in parts]
        cached, best_rank, best = turn.cached_tokens or 0, 0, None
        for index, prompt in enumerate(self._prompts):
            if prompt.tokens < cached:
                continue
            pairs = zip(names, ((part.kind, part.name) for part in prompt.parts), strict=False)
            rank = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            if rank >= best_rank:
                best_rank, best = rank, index
        if best is None:
            return None
        bounds = self._prompts[best].bounds
        return LikePrompt(best, min(bisect_left(bounds, cached), len(parts) - 1, len(bounds) - 1))

    def _remember(self, parts: Sequence[PromptPart], index: int) -> None:
        node = self._root
        for part in parts:
            _, node = node.children.setdefault(part.digest, (part, PromptNode(index)))
        node.ends.append(index)

    def _shared_tokens(
        self, turn: Turn, parts: Sequence[PromptPart], like: LikePrompt | None, follows: int | None
    ) -> int:
        """Return the leading tokens that a turn's prompt has in common with the most similar one."""
        if like is None:
            return 0
        other, cached = self._prompts[like.request], turn.cached_tokens
        if cached is None:
            shared_tokens = _estimate(other, like)
        elif like.is_whole:
            is_cached_share = self._has_tail or _drops_thinking(parts, like.parts)
            shared_tokens = _whole_share(other, cached, is_cached_share)
        else:
            estimate = _estimate(other, like)
            is_counted = cached > 0 and (follows is not None or self._has_tail or _is_near(cached, estimate))
            shared_tokens = cached if is_counted else max(estimate, cached)
        return min(shared_tokens, other.tokens, turn.prompt_tokens or 0)

    def _new_parts(
        self,
        turn: Turn,
        parts: Sequence[PromptPart],
        like: LikePrompt | None,
        shared_tokens: int,
        follows: int | None,
    ) -> list[NewPart]:
        """Return the parts behind the shared ones with their tokens, which are divided by bytes.

        The answer to the followed request has the tokens of that answer.
        """
        new_parts = list(parts[like.parts if like else 0 :])
        remaining_tokens = (turn.prompt_tokens or 0) - shared_tokens
        if not new_parts:
            return (
                [NewPart(f"end of {len(self._prompts)}", PartKind.TEXT.value, remaining_tokens)]
                if remaining_tokens
                else []
            )
        is_continued = like is not None and like.is_whole and like.request == follows
        answer = list(takewhile(_is_of_answer, new_parts)) if is_continued else []
        added_parts = new_parts[len(answer) :]
        answer_tokens = remaining_tokens if not added_parts else 0
        if answer and added_parts:
            assert follows is not None
            answer_tokens = min(
                self._prompts[follows].turn.request.completion_tokens or 0, max(0, remaining_tokens - 1)
            )
            answer_tokens = answer_tokens or _divided(remaining_tokens, list(map(_weight, new_parts)))[0]
        weights = [_weight(part) for part in added_parts]
        if added_parts and like:
            weights[0] = max(1, weights[0] - like.equal_bytes)
        return [
            *_new(answer, _divided(answer_tokens, list(map(_weight, answer))), ANSWER),
            *_new(added_parts, _divided(remaining_tokens - answer_tokens, weights)),
        ]

    def _bounds(self, like: LikePrompt | None, shared_tokens: int, new: Sequence[NewPart]) -> tuple[int, ...]:
        """Return the tokens before each part, and those of the prompt."""
        shared = self._prompts[like.request].bounds[: like.parts] if like else ()
        return (
            *(min(bound, shared_tokens) for bound in shared),
            *accumulate((part.tokens for part in new), initial=shared_tokens),
        )


def _spans(new: Sequence[NewPart]) -> Iterator[ShapeSpan]:
    """Yield the spans of these parts; those of an answer are one."""
    for kind, group in groupby((part for part in new if part.tokens), key=lambda part: part.kind):
        parts = list(group)
        if kind == ANSWER:
            yield ShapeSpan(parts[0].id, ANSWER, sum(part.tokens for part in parts))
        else:
            yield from (ShapeSpan(*part) for part in parts)


def _new(parts: Sequence[PromptPart], tokens: Sequence[int], kind: str | None = None) -> Iterator[NewPart]:
    for part, count in zip(parts, tokens, strict=True):
        yield NewPart(part.digest, kind or part.kind.value, count)


def _divided(tokens: int, weights: Sequence[int]) -> list[int]:
    """Return the tokens in shares proportional to the weights, whose sum is exact."""
    total = sum(weights)
    ends = [0, *(round(tokens * weight / total) for weight in accumulate(weights))] if total else [0]
    return [after - before for before, after in pairwise(ends)]


def _weight(part: PromptPart) -> int:
    return max(1, IMAGE_BYTES if part.kind is PartKind.IMAGE else part.size_bytes)


def _is_of_answer(part: PromptPart) -> bool:
    """Whether the model wrote this part."""
    return part.kind in (PartKind.THINKING, PartKind.TOOL_CALL) or (
        part.kind is PartKind.TEXT and part.name == "assistant"
    )


def _equal_bytes(first: PromptPart, second: PromptPart) -> int:
    """Return the bytes of the leading pieces that both parts have."""
    if first.kind is not second.kind or first.kind is PartKind.IMAGE:
        return 0
    pairs = zip(first.pieces, second.pieces, strict=False)
    return PIECE_BYTES * sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _estimate(other: SizedPrompt, like: LikePrompt) -> int:
    """Return the tokens of the other prompt before its first difference; its bytes say where that is within a part."""
    if like.is_whole:
        return other.tokens
    start, end = other.bounds[like.parts], other.bounds[min(like.parts + 1, len(other.bounds) - 1)]
    if not like.equal_bytes:
        return start
    part_bytes = max(1, other.parts[like.parts].size_bytes)
    return start + round((end - start) * min(1.0, like.equal_bytes / part_bytes))


def _whole_share(other: SizedPrompt, cached: int, is_cached_share: bool) -> int:
    """Return the shared tokens of a prompt that continues another one.

    That is the whole other prompt; fewer if its template wrote an end that the next prompt lacks, or if the cached
    tokens are known to say how far both are alike. A server that lost its cache shows nothing about the prompts.
    """
    missing = other.tokens - cached
    is_end = 0 < missing <= TAIL_TOKENS and cached % BLOCK_TOKENS != 0
    return cached if is_end or (is_cached_share and 0 < cached < other.tokens) else other.tokens


def _has_tail(turns: Sequence[Turn]) -> bool:
    """Whether a template writes much behind the messages, such as tools, which each next prompt moves.

    Most turns that continue a whole prompt then miss as many tokens of it, within a block of the cache.
    """
    missing = [
        (turn.follows.prompt_tokens or 0) - turn.cached_tokens
        for turn in turns
        if turn.follows and turn.cached_tokens and turn.parts and _continues(turn.follows.parts or (), turn.parts)
    ]
    if len(missing) < FEWEST_TAILS or (middle := median(missing)) <= TAIL_TOKENS + LARGEST_BLOCK_TOKENS:
        return False
    return sum(abs(tokens - middle) <= LARGEST_BLOCK_TOKENS for tokens in missing) >= TAIL_SHARE * len(missing)


def _continues(before: Sequence[PromptPart], after: Sequence[PromptPart]) -> bool:
    return [part.digest for part in before] == [part.digest for part in after[: len(before)]]


def _drops_thinking(parts: Sequence[PromptPart], shared_parts: int) -> bool:
    """Whether a person's new message follows earlier thinking, which most templates then leave out."""
    has_thinking = any(part.kind is PartKind.THINKING for part in parts[:shared_parts])
    return has_thinking and any(part.kind is PartKind.TEXT and part.name == "user" for part in parts[shared_parts:])


def _is_near(cached: int, estimate: int) -> bool:
    return abs(cached - estimate) <= ESTIMATE_SHARE * estimate + TAIL_TOKENS
