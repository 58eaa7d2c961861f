"""Exceptions that explain nothing: without a message, or a KeyError with nothing but a key."""

from __future__ import annotations

import re

_BARE = re.compile(r"(?:\w+\.)*(?:KeyError: (?:'[^' ]*'|\"[^\" ]*\"|\d+)|\w*(?:Error|Exception):?)\s*$")


def is_bare_exception(text: str) -> bool:
    """Whether another exception of the same failure explains it better; a missing weight is explained by its key."""
    return _BARE.match(text) is not None and "weight" not in text
