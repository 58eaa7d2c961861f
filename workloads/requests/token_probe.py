"""Requests of the next tokens after given token ids, in the engine's own API, and the records of their answers."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from domain import JsonValue
from engines.next_token import BadTokenAnswerError, NextTokenApi, TokenAnswer
from load_records import GREEDY, NEXT_TOKEN, FidelityPosition
from workloads.reference_text import ReferenceText
from workloads.requests.answer_stream import BadStreamError, StreamReading

TOP_TOKENS = 20
HASH_DIGITS = 16
MAX_STORED_IDS = 1024  # of one position, whatever the server returns
WARM = "warm"  # part that only fills the cache and is not recorded


@dataclass(frozen=True, slots=True)
class TokenPrefix:
    """Token ids before a position. The context is shared by many prefixes, and is not copied."""

    context_ids: Sequence[int]
    text_ids: Sequence[int]
    text_tokens: int  # of the text before the position

    def __len__(self) -> int:
        return len(self.context_ids) + self.text_tokens

    @property
    def token_ids(self) -> list[int]:
        """All ids in order."""
        return [*self.context_ids, *self.text_ids[: self.text_tokens]]

    @property
    def next_id(self) -> int | None:
        """The text's own next token; None at its end."""
        return self.text_ids[self.text_tokens] if self.text_tokens < len(self.text_ids) else None

    @property
    def digest(self) -> str:
        """A hash that is equal for equal ids."""
        return hashlib.sha256(array("q", self.token_ids).tobytes()).hexdigest()[:HASH_DIGITS]


@dataclass(frozen=True, slots=True)
class TokenProbe:
    """A position of a text at a depth. `prefix` is None until the server's tokenizer has cut the text."""

    part: str  # WARM | NEXT_TOKEN | GREEDY
    text: ReferenceText
    depth_tokens: int
    text_share: float  # of the text that is before the position
    context_seed: str  # of the words before the text
    max_tokens: int = 1
    prefix: TokenPrefix | None = None

    def hash_content(self) -> list[JsonValue]:
        """Return everything that distinguishes this probe from others."""
        return [self.part, self.text.digest, self.depth_tokens, self.text_share, self.context_seed, self.max_tokens]

    def request_body(self, api: NextTokenApi, model: str) -> dict[str, JsonValue]:
        """Return the request for an engine."""
        assert self.prefix is not None
        top = 0 if self.part == GREEDY else TOP_TOKENS
        return api.request_body(model, self.prefix.token_ids, self.max_tokens, top)

    def position_of(
        self, answer: TokenAnswer, run_id: str, load_id: str, answered_at: datetime
    ) -> FidelityPosition | None:
        """Return the record of an answer; None for a request that only fills the cache."""
        if self.part == WARM or self.prefix is None:
            return None
        likely = answer.first_step[:TOP_TOKENS] if self.part == NEXT_TOKEN else ()
        next_id = self.prefix.next_id
        return FidelityPosition(
            run_id=run_id,
            load_id=load_id,
            ts=answered_at,
            part=self.part,
            text_kind=self.text.kind,
            text_name=self.text.name,
            depth_tokens=self.depth_tokens,
            prefix_tokens=len(self.prefix),
            prefix_hash=self.prefix.digest,
            token_ids=[token.token_id for token in likely] or list(answer.token_ids[:MAX_STORED_IDS]),
            logprobs=[token.logprob for token in likely],
            cached_tokens=answer.cached_tokens,
            text_token_id=next_id,
            text_logprob=next((token.logprob for token in likely if token.token_id == next_id), None),
        )


@dataclass(slots=True)
class TokenReading(StreamReading):
    """Reads the answer to a probe."""

    api: NextTokenApi = field(kw_only=True)
    part: str = field(kw_only=True)
    answer: TokenAnswer | None = None

    @property
    def is_empty(self) -> bool:
        """No: the answer is token ids, not text."""
        return False

    def take_whole(self, data: bytes) -> None:
        """Parse the answer; raises BadStreamError if it lacks what was requested."""
        try:
            self.answer = self.api.parse_answer(data)
        except BadTokenAnswerError as error:
            raise BadStreamError("malformed", str(error)) from error
        if self.part == NEXT_TOKEN and not self.answer.first_step:
            raise BadStreamError("malformed", "the answer has no log-probabilities of likely tokens")
        self.prompt_tokens, self.cached_prompt_tokens = self.answer.prompt_tokens, self.answer.cached_tokens
        self.completion_tokens, self.token_source = len(self.answer.token_ids), "usage"
        self.finish_reason, self.is_done = "length", True
