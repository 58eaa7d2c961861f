"""Requests of one or more greedy tokens after given token ids, and their answers with log-probabilities.

Every engine with such an API has a `next_token.py` that fulfils `NextTokenApi`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from domain import JsonValue
from errors import PitwallError

LEAST_LOGPROB = -1000.0  # engines write some finite number for a probability of 0


class BadTokenAnswerError(PitwallError):
    """The answer of a next-token request lacks what was requested; the message is one sentence."""


class LikelyToken(NamedTuple):
    """A token that may come next."""

    token_id: int
    logprob: float  # natural logarithm of its probability before sampling


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """Generated tokens, and the most likely tokens at the first of them. None: not reported."""

    token_ids: tuple[int, ...]
    first_step: tuple[LikelyToken, ...]  # the most likely first; empty if not requested
    prompt_tokens: int | None = None
    cached_tokens: int | None = None  # prompt tokens that were not computed anew


class NextTokenApi(Protocol):
    """engines/<name>/next_token.py, a module as implementation."""

    PATH: str  # receives the requests
    CONTEXT_PATH: str  # tells the context length

    def request_body(self, model: str, token_ids: Sequence[int], max_tokens: int, top: int) -> dict[str, JsonValue]:
        """Return the request of exactly `max_tokens` greedy tokens; top: number of likely tokens, 0 for none."""
        ...

    def parse_answer(self, data: bytes) -> TokenAnswer:
        """Parse the answer; raises BadTokenAnswerError."""
        ...

    def parse_context(self, data: bytes) -> int | None:
        """Return the tokens that prompt and answer of one request may have together; None if not reported."""
        ...


def most_likely(tokens: Iterable[LikelyToken]) -> tuple[LikelyToken, ...]:
    """Return each token once, the most likely first, without those of probability 0; equal ones by id."""
    possible = {token for token in tokens if math.isfinite(token.logprob) and token.logprob > LEAST_LOGPROB}
    return tuple(sorted(possible, key=lambda token: (-token.logprob, token.token_id)))
