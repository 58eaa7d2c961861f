"""Chat histories of a given length from a seed: a dialogue, and a document with facts hidden in it.

They are generated when a request is sent, so that a plan with hundreds of long requests stays small.
"""

from __future__ import annotations

import random
from functools import lru_cache
from itertools import count
from typing import NamedTuple

from workloads.natural_text import CHARS_PER_TOKEN, natural_text

MESSAGE_TOKENS = 400  # of a message of the dialogue, approximately
READ = "I have read all of it. What would you like to know?"
DOCUMENT_HEAD = "Read this report of a race weekend. I will ask about it afterwards."


class SeededDialogue(NamedTuple):
    """A conversation of user and assistant, of approximately `tokens` tokens; it ends with the assistant."""

    seed: str
    tokens: int

    def messages(self) -> list[dict[str, str]]:
        """Return the messages, oldest first; none if `tokens` is 0."""
        return _dialogue(self.seed, self.tokens) if self.tokens else []


class SeededDocument(NamedTuple):
    """A text of approximately `tokens` tokens with sentences hidden at equal distances, as one user message."""

    seed: str
    tokens: int
    sentences: tuple[str, ...]

    def messages(self) -> list[dict[str, str]]:
        """Return the document and a short reply to it."""
        return [{"role": "user", "content": _document(*self)}, {"role": "assistant", "content": READ}]


SeededHistory = SeededDialogue | SeededDocument


@lru_cache(maxsize=2)  # many requests in a row share a history
def _dialogue(seed: str, tokens: int) -> list[dict[str, str]]:
    characters = round(tokens * CHARS_PER_TOKEN)
    messages: list[dict[str, str]] = []
    for number in count():
        role = ("user", "assistant")[number % 2]
        text = natural_text(f"{seed} {number}", min(characters, round(MESSAGE_TOKENS * CHARS_PER_TOKEN)))
        messages.append({"role": role, "content": text})
        characters -= len(text)
        if characters <= 0 and role == "assistant":
            return messages
        characters = max(characters, 1)
    raise AssertionError("unreachable")


@lru_cache(maxsize=2)
def _document(seed: str, tokens: int, sentences: tuple[str, ...]) -> str:
    hidden_characters = len(DOCUMENT_HEAD) + sum(map(len, sentences))
    text = natural_text(seed, max(1, round(tokens * CHARS_PER_TOKEN) - hidden_characters))
    lines = text.split(". ")
    rng, step = random.Random(seed), len(lines) / max(1, len(sentences))
    for place, sentence in reversed(list(enumerate(sentences))):
        lines.insert(min(len(lines), round((place + rng.uniform(0.25, 0.75)) * step)), sentence.removesuffix("."))
    return f"{DOCUMENT_HEAD}\n\n{'. '.join(lines)}"
