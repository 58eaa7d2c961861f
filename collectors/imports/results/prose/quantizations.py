"""Reads the quantization of the weights that a text names, where it names only one: 'AWQ', 'Q4_K_M', 'FP8'."""

from __future__ import annotations

import re

CHARS_AROUND = 32
_BITS = r"(?:INT[48]|W\dA\d{1,2})"
_QUANTIZATION = re.compile(
    r"(?<![A-Za-z\d])(?P<name>(?:UD-)?I?Q\d_(?:K(?:_(?:XXS|XS|XL|S|M|L))?|NL|XXS|XS|[SM\d])|(?:MX|NV)?FP4|FP8|BF16|FP16"
    rf"|(?:AWQ|GPTQ)(?:[- ]{_BITS})?|{_BITS}(?:[- ](?:AWQ|GPTQ))?|EXL[23])(?![A-Za-z\d]|_\w)",
    re.IGNORECASE,
)
_OF_CACHE_BEFORE = re.compile(
    r"(?:\bkv\S{0,20}|\bct[kv]|cache\S{0,16})(?: (?:cache|dtype|type|in|at|is)){0,2}[ =:\"'`]{1,3}$", re.I
)
_OF_CACHE_BEHIND = re.compile(r"[ -](?:quantized )?(?:kv|k/v|cache|attention)\b", re.IGNORECASE)


def quantization_of(text: str) -> str | None:
    """Return the only quantization that a text names for the weights; None for several, which are compared."""
    names = {match["name"].upper() for match in _QUANTIZATION.finditer(text) if not _is_of_cache(text, match)}
    longest = max(names, key=len, default="")
    return longest if names and all(name in longest for name in names) else None


def _is_of_cache(text: str, match: re.Match[str]) -> bool:
    """Return whether a name is the type of the KV cache: '--kv-cache-dtype fp8', '-ctk q8_0', 'FP8 KV cache'."""
    before = text[max(0, match.start() - CHARS_AROUND) : match.start()]
    return _OF_CACHE_BEFORE.search(before) is not None or _OF_CACHE_BEHIND.match(text, match.end()) is not None
