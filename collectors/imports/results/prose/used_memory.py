"""Tells memory in use from that of a card: 'weights use 19.5 GB', not 'an A100 80GB'."""

from __future__ import annotations

import re

from collectors.imports.results.prose.number_text import MEMORY, StatedNumber

_MEMORY_OF_CARD = re.compile(
    r"\b(?:[ABHLV]\d{1,3}S?|GB\d{2,3}|MI\d{2,3}X?|[2-9]0[5-9]0(?: Ti| Super)?|Max|PRO \d{4}|Spark|Mac\w*)[\s(-]{0,3}$",
    re.IGNORECASE,
)
_CARD_BEHIND = re.compile(
    r"\s*(?:cards?|GPUs?|boxe?s?|machines?|devices?|laptops?|boards?|systems?|using(?=\s*$))\b", re.IGNORECASE
)
_MODEL_BEHIND = re.compile(  # 'a separate 1.37 GB draft model' has a size
    r"\s*(?:[\w.-]{1,20} ){0,2}(?:models?|experts|GGUFs?|files?|checkpoints?|downloads?)\b(?! (?:weights|memory|load))",
    re.IGNORECASE,
)
_USED_MEMORY = re.compile(
    r"\b(?:weights|resident|us(?:e[sd]?|ing|age)|consum(?:es?|ed|ing|ption)|tak(?:es?|ing)|took|peak\w*|footprint|occup\w+|allocat\w+"
    r"|(?<!total )vram(?= ?[:=]))\b",
    re.IGNORECASE,
)
_NOT_USED = re.compile(r"\b(?:cannot|not|never|can['\u2019]?t)\b.{0,20}\b(?:resident|use|allocat)", re.IGNORECASE)


def is_used_memory(value: StatedNumber, before: str, after: str) -> bool:
    """Return whether a number is memory in use; '≥20 GB VRAM' is what a card needs, 'A100 80GB' has."""
    is_of_card = value.bound is not None or _MEMORY_OF_CARD.search(before) is not None
    is_of_card |= _CARD_BEHIND.match(after) is not None or _MODEL_BEHIND.match(after) is not None
    words = f"{before} {after}"
    is_used = _USED_MEMORY.search(words) is not None and not _NOT_USED.search(words)
    return value.unit in MEMORY and not is_of_card and is_used


def may_be_in_use(value: StatedNumber, near_words: str) -> bool:
    """Return whether a number is no memory, or the words near it say that it is in use."""
    return value.unit not in MEMORY or _USED_MEMORY.search(near_words) is not None
