"""Reads the level and the lengths that the name of an arm states: 'concurrency_8', 'isl1024_osl128', '8 users'."""

from __future__ import annotations

import re

from collectors.imports.results.builder import MeasurementPoint
from collectors.imports.results.prose.heads import CONCURRENCY_HEAD, OUTPUT_HEAD, PROMPT_HEAD

_NUMBER_OF_NAME = re.compile(r"(?<![\d.])[1-9]\d{0,6}(?![\d.]|k\b)")
_JOINT = re.compile(r"[_\s=:/-]+|(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])")
_BY = re.compile(r"\b(?:by|per) ")
MOST_WORDS_OF_LEVEL = 3


def point_of_name(name: str) -> MeasurementPoint:
    """Return a point with what the name of an arm states: 'concurrency_8', 'c8', '8 users', 'by_concurrency 8'."""
    plain_name = " ".join(_JOINT.split(_BY.sub("", name.replace("_", " ").lower())))
    numbers_by_head: dict[re.Pattern[str], set[int]] = {CONCURRENCY_HEAD: set(), PROMPT_HEAD: set(), OUTPUT_HEAD: set()}
    end = 0
    for match in _NUMBER_OF_NAME.finditer(plain_name):
        words_before, words_behind = plain_name[end : match.start()].split(), plain_name[match.end() :].split()
        end = match.end()
        if CONCURRENCY_HEAD.fullmatch(" ".join(words_behind)) and len(" ".join(words_behind)) > 1:
            numbers_by_head[CONCURRENCY_HEAD].add(int(match[0]))
            continue
        endings = [" ".join(words_before[-count:]) for count in range(MOST_WORDS_OF_LEVEL, 0, -1)]
        head = next((head for head in numbers_by_head if any(map(head.fullmatch, endings))), None)
        if head:
            numbers_by_head[head].add(int(match[0]))
    levels = [numbers.pop() if len(numbers) == 1 else None for numbers in numbers_by_head.values()]
    return MeasurementPoint(name, *levels)
