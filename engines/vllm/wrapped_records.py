"""Periodic lines that a terminal wrapped at its width."""

from __future__ import annotations

import re

from engines.vllm.stats import read_speculation, read_stats
from engines.wrapped_records import WrappedForm

_HEAD = re.compile(r"(?:Engine \d{1,6}: )?Avg prompt|SpecDecoding metrics: ")


def _wholeness(text: str) -> int | None:
    """Return None unless a periodic line is cut short, which ends with a percentage; else the number of its fields."""
    if not _HEAD.match(text) or text.rstrip(" .").endswith("%"):
        return None
    return len(read_stats(text) or read_speculation(text) or {})


FORM = WrappedForm(
    _wholeness,
    re.compile(r"\breqs\b|tokens/s|usage: |hit rate: |cceptance (?:rate|length): |tokens, "),
    re.compile(r"Engine \d|Avg |SpecDecoding |\w+ metrics: "),
)
REST = FORM.rest.pattern.encode()
