"""Words whose token counts are known, and texts of exactly so many tokens made of them.

Tokenizers split a text before the space of a word, so that the tokens of a text are those of its words. Each distinct
word of the generated sentences is therefore counted once, and texts of any length need no further request.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from workloads.natural_text import CHARS_PER_TOKEN, GRAMMAR, all_words, sentences

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@cache
def first_words() -> tuple[str, ...]:
    """Return the words with which a text may begin; two texts rarely have the same one."""
    return tuple(sorted({word for word in all_words() if word.isalpha() and word.islower()}))


@dataclass(frozen=True)
class WordCounts:
    """Tokens of each word with the space before it; fillers: strings of one token each, which may be repeated."""

    tokens_of: Mapping[str, float]
    fillers: Sequence[str]

    def text_of(self, seed: str, tokens: int) -> str:
        """Return a text of exactly so many tokens, equal for equal seeds; every word follows a space."""
        rng = random.Random(f"{GRAMMAR} {seed}")
        words, count = [rng.choice(first_words())], 0.0
        count = self.tokens_of[words[0]]
        if count > tokens:
            return self._filling(rng, tokens)
        for sentence in sentences(rng):
            for word in sentence.split(" "):
                word_tokens = self.tokens_of[word]
                if count + word_tokens > tokens:
                    return f" {' '.join(words)}{self._filling(rng, int(tokens - count))}"
                words.append(word)
                count += word_tokens
        raise AssertionError("unreachable")

    def _filling(self, rng: random.Random, tokens: int) -> str:
        return "".join(rng.choice(self.fillers) for _ in range(tokens)) if self.fillers else ""


def estimated_counts() -> WordCounts:
    """Return counts by length, for a server whose tokenizer cannot be used."""
    return WordCounts({word: (len(word) + 1) / CHARS_PER_TOKEN for word in all_words()}, ())
