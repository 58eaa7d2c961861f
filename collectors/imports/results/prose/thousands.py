"""Tells the points of thousands from those of decimals in German texts: '32.641 ms' are 32 seconds."""

from __future__ import annotations

import re

_GERMAN = re.compile(r"\b(?:und|nicht|der|die|das|mit|bei|ist|sind|für|wird|auf|eine?)\b", re.IGNORECASE)
_LEAST_GERMAN_WORDS = 4
_LEAST_NUMBERS = 2
_POINT_IN_NUMBER = re.compile(r"(?<![\w.,/-])\d{1,9}\.\d{1,9}(?:\.\d{1,9})*(?![.,]?\d)")
_THOUSANDS = re.compile(r"\d{1,3}(?:\.\d{3})+")
MAX_TEXT_CHARS = 400_000


def without_thousands_points(text: str) -> str:
    """Return a text whose language parts thousands by points without them, if none of its points is one of decimals."""
    if len(text) > MAX_TEXT_CHARS or len(_GERMAN.findall(text)) < _LEAST_GERMAN_WORDS:
        return text
    numbers = _POINT_IN_NUMBER.findall(text)
    if len(numbers) < _LEAST_NUMBERS or not all(map(_THOUSANDS.fullmatch, numbers)):
        return text
    return _POINT_IN_NUMBER.sub(lambda match: match[0].replace(".", ""), text)
