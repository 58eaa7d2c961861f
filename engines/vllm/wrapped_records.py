"""Periodic lines and messages about memory that a terminal wrapped at its width."""

from __future__ import annotations

import re

from engines.vllm.stats import read_speculation, read_stats
from engines.wrapped_records import WrappedForm

_HEAD = re.compile(r"(?:Engine \d{1,6}: )?Avg prompt|SpecDecoding metrics: ")
_MEMORY_HEAD = re.compile(r"(?:\w+Error: )?(?:To serve at least one request with|Free memory on device)\b")
_MEMORY_END = re.compile(r"(?:the engine|details|other processes)\.$")
_MEMORY_TEXTS = (
    "To serve at least one request with the model's models's max seq len GiB KV cache is needed, which is larger than "
    "the available KV cache memory GiB). Based on the available memory, the estimated maximum model length is Try "
    "increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine. Free memory on "
    "device on startup is less than desired GPU memory utilization Decrease GPU memory utilization or reduce GPU "
    "memory used by other processes."
)
_MEMORY_WORDS = frozenset(_MEMORY_TEXTS.split())
_NUMBER = re.compile(r"\(\d+\),?|\(?\d+\.\d+,?|\d+\.")


def _is_whole_word(word: str) -> bool:
    return word in _MEMORY_WORDS or _NUMBER.fullmatch(word) is not None


def _wholeness(text: str) -> int | None:
    """Return None unless a record is cut short; else the number of its fields or, of a message, of its known words."""
    if _MEMORY_HEAD.match(text):
        return None if _MEMORY_END.search(text) else sum(map(_is_whole_word, text.split()))
    if not _HEAD.match(text) or text.rstrip(" .").endswith("%"):
        return None
    return len(read_stats(text) or read_speculation(text) or {})


FORM = WrappedForm(
    _wholeness,
    re.compile(
        r"\breqs\b|tokens/s|usage: |hit rate: |cceptance (?:rate|length): |tokens, |"
        r"is needed|larger than|KV cache|GiB\)|odel length|_utilization|ax_model_len|the engine|GPU memory|other proc"
    ),
    re.compile(r"Engine \d|Avg |SpecDecoding |\w+ metrics: "),
)
REST = FORM.rest.pattern.encode()
