"""Start arguments of llama.cpp from its log: those of the server that a router started, else inferred from effects."""

from __future__ import annotations

import re
from collections.abc import Sequence

NEEDLES = re.compile(
    rb"loading (?:draft )?model '|llama\.cpp: loading model from |n_slots = |n_slots=|loaded meta data with|"
    rb"failed to (?:load|create context with) model|unable to load model|"
    rb"srv +load: (?:spawning server instance|  )|"
    rb"(?:llama_context|_with_model|_from_model): n_ctx |llama_kv_cache\w*: size =|KV self size "
)
_FACTS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"loading model '([^']+)'"), ("--model",)),
    (re.compile(r"llama\.cpp: loading model from (\S.{0,400}?)\s*$"), ("--model",)),  # until August 2023
    (re.compile(r"llama_model_loader: loaded meta data with .{1,80} from (\S.{0,400}?) \(version "), ("--model",)),
    (re.compile(r"failed to (?:load|create context with) model,? '([^']+)'"), ("--model",)),
    (re.compile(r"unable to load model .{0,200}\bmodel=\"([^\"]+)\""), ("--model",)),
    (re.compile(r"loading draft model '([^']+)'"), ("--spec-draft-model",)),
    (re.compile(r"\bn_slots ?= ?(\d{1,9})\b"), ("--parallel",)),
    (re.compile(r"llama_(?:context|new_context_with_model|init_from_model): n_ctx +=\s*(\d{1,9})\b"), ("--ctx-size",)),
    (re.compile(r"\bK \((\w+)\): .*\bV \((\w+)\): "), ("--cache-type-k", "--cache-type-v")),
)


_SPAWNED = re.compile(r"^srv +load: (?:(?P<start>spawning server instance with args:)|  (?P<word>\S.*))$")


def read_arguments(texts: Sequence[str]) -> list[str]:
    """Return the words with which a router started its last server, or that would cause these lines.

    Of several lines with the same effect the first counts, which is the target model's.
    """
    if spawned := _read_spawned(texts):
        return spawned
    words: dict[str, str] = {}
    for text in texts:
        for pattern, flags in _FACTS:
            match = pattern.search(text)
            for flag, value in zip(flags, match.groups(), strict=True) if match else ():
                words.setdefault(flag, value)
    return [word for pair in words.items() for word in pair]


def _read_spawned(texts: Sequence[str]) -> list[str]:
    """Return the words of the last server that a router started, one a line, without its program."""
    words: list[str] = []
    for text in texts:
        match = _SPAWNED.match(text.rstrip())
        if match and match["start"]:
            words = []
        elif match:
            words.append(match["word"])
    first_flag = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    return words[first_flag:]
