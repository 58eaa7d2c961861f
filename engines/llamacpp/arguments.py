"""Start arguments of llama.cpp, inferred from its log: it prints no arguments, only their effects."""

from __future__ import annotations

import re
from collections.abc import Sequence

NEEDLES = re.compile(
    rb"loading (?:draft )?model '|n_slots = |n_slots=|loaded meta data with|"
    rb"(?:llama_context|_with_model|_from_model): n_ctx |llama_kv_cache\w*: size =|KV self size "
)
_FACTS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"loading model '([^']+)'"), ("--model",)),
    (re.compile(r"llama_model_loader: loaded meta data with .{1,80} from (\S.{0,400}?) \(version "), ("--model",)),
    (re.compile(r"loading draft model '([^']+)'"), ("--spec-draft-model",)),
    (re.compile(r"\bn_slots ?= ?(\d{1,9})\b"), ("--parallel",)),
    (re.compile(r"llama_(?:context|new_context_with_model|init_from_model): n_ctx +=\s*(\d{1,9})\b"), ("--ctx-size",)),
    (re.compile(r"\bK \((\w+)\): .*\bV \((\w+)\): "), ("--cache-type-k", "--cache-type-v")),
)


def read_arguments(texts: Sequence[str]) -> list[str]:
    """Return the words that would cause these lines; the first of each fact, which is the target model's."""
    words: dict[str, str] = {}
    for text in texts:
        for pattern, flags in _FACTS:
            match = pattern.search(text)
            for flag, value in zip(flags, match.groups(), strict=True) if match else ():
                words.setdefault(flag, value)
    return [word for pair in words.items() for word in pair]
