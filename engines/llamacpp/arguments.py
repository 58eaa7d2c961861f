"""How llama.cpp was started, as far as its log lets it be read: it prints no arguments, only what they led to."""

from __future__ import annotations

import re
from collections.abc import Sequence

NEEDLES = re.compile(rb"loading (?:draft )?model '|n_slots = |llama_context: n_ctx |llama_kv_cache: size =")
_FACTS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"loading model '([^']+)'"), ("--model",)),
    (re.compile(r"loading draft model '([^']+)'"), ("--spec-draft-model",)),
    (re.compile(r"\bn_slots = (\d{1,9})\b"), ("--parallel",)),
    (re.compile(r"llama_context: n_ctx +=\s*(\d{1,9})\b"), ("--ctx-size",)),
    (re.compile(r"\bK \((\w+)\): .*\bV \((\w+)\): "), ("--cache-type-k", "--cache-type-v")),
)


def read_arguments(texts: Sequence[str]) -> list[str]:
    """The words that would lead to what the lines say; of each fact the first, which is the target model's."""
    words: dict[str, str] = {}
    for text in texts:
        for pattern, flags in _FACTS:
            found = pattern.search(text)
            for flag, value in zip(flags, found.groups(), strict=True) if found else ():
                words.setdefault(flag, value)
    return [word for pair in words.items() for word in pair]
