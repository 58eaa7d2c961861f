"""Finds the numbers of a sentence and the words that speak of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from math import isclose
from typing import NamedTuple

from collectors.imports.results.prose.compared_numbers import (
    SENTENCE_NUMBER,
    NumberGroup,
    compared_numbers,
    dimension,
)
from collectors.imports.results.prose.metric_names import metric_of
from collectors.imports.results.prose.number_text import StatedNumber
from collectors.imports.results.prose.used_memory import may_be_in_use

MAX_LABEL_CHARS = 120
ROUNDING = 0.02  # '72k tok/min (1.2k tok/s)'
_BOUNDARY = re.compile(
    r",(?!(?<=\d,)\d\d\d)|[;•·→。，；|]|[-=]>|\.\s"
    r"|(?<![\w-])(?:and|with|while|but|whereas|vs|versus|because|since|although|though|which|when"
    r"|compared (?:to|with))(?![\w-])",
    re.IGNORECASE,
)
_BRACKET = re.compile(r"\s{0,3}\([^()]{1,80}\)")  # '45 tok/s (chat, 8 concurrent)'
_BRACKETED = re.compile(r"\([^()]{1,80}\)")
_FROM = re.compile(r"\bfrom\s*$", re.IGNORECASE)
_TO = re.compile(r"(?P<of_former>\s[^,;.]{0,20}?\w.{0,60}?)\sto\s*", re.IGNORECASE)  # '45 tok/s on one to 60 on two'
_LISTED = re.compile(r",(?!\d)|\band\b|/", re.IGNORECASE)
_SLASHED = re.compile(r"(?P<names>[A-Za-z][\w.]{0,20}(?: ?/ ?[A-Za-z][\w.]{0,20})+)\W{0,4}$")
_TOKENS_IN_TIME = (["tokens", "s", "tok/s"], ["tokens", "ms", "tok/s"])
_IN = re.compile(r"\s*(?:in|over|took|→|->|=>|=)\s*", re.IGNORECASE)
_NUMBERED_NAME = re.compile(r"\W{0,6}#\d{1,7}\b[^:\d]{0,40}:")  # '- #221: 106.4 ms' names a pull request
_LEAD = re.compile(r"[\s*>-]{0,8}(?P<label>[A-Za-z][\w /()-]{1,40}):")  # 'Generation: 128 tokens, 55.3 tok/s'


class Place(NamedTuple):
    """A number of a sentence, the words before it that speak of it, and those after it."""

    value: StatedNumber
    before: str
    after: str
    rank: int | None = None  # among compared numbers
    is_restated: bool = False  # '292.1 seconds (4.9 minutes)'
    is_only: bool = False  # figure of its sentence
    subject: str = ""  # of a listed number
    clause_end: int = 0  # where the words after it end in the sentence
    start: int = 0  # of the number in its sentence
    end: int = 0  # of the numbers that it is compared with
    former_end: int = 0  # of the number before it
    is_of_tokens: bool = False  # the time that '256 tokens in 3.1 s = 82 tok/s' took
    is_former: bool = False  # of two in '45 versus 60 tok/s with a draft'


class _Gap(NamedTuple):
    """The words between two numbers: where those of the former end, and those of the following begin."""

    end: int
    start: int
    is_moved: bool  # 'from 45 tok/s on one to 60': both have the words before the first


def places_of(sentence: str) -> Iterator[Place]:
    """Yield the numbers of a sentence; the words between two belong to the one on their side of a comma.

    Compared numbers ('45 → 60 tok/s') share their unit and the words around them.
    """
    has_words = any(map(str.isalpha, SENTENCE_NUMBER.sub("", sentence))) or _NUMBERED_NAME.match(sentence) is not None
    groups = [group for group in compared_numbers(sentence) if _may_be_stated(sentence, group)] if has_words else []
    lead = match["label"] if (match := _LEAD.match(sentence)) else ""
    before, own = sentence[: groups[0].start] if groups else "", ""
    for index, (group, following_group) in enumerate(zip_longest(groups, groups[1:])):
        following = sentence[group.end : following_group.start if following_group else None]
        gap = _gap_of(sentence[: group.start], following, following_group is not None)
        after = following[: gap.end]
        last_boundary = max((cut.end() for cut in _BOUNDARY.finditer(_without_brackets(before))), default=0)
        is_of_former = index > 0 and sentence[groups[index - 1].end : group.start].strip() == "/"
        own = own if is_of_former else before[last_boundary:]  # '42 ms / 380 tok/s' are of one thing
        own = own if own.strip() or after.strip() else lead
        yield from _places_of_group(sentence, groups, index, own, after)
        takes_all = gap.end == len(following) and _takes_all(own, group, following, following_group)
        before = "" if takes_all else following[gap.start :] if gap.end < len(following) else following
        before = _FROM.sub("", own) if gap.is_moved else before


def _without_brackets(words: str) -> str:
    """Return words of the same length in which no comma stands within brackets."""
    return _BRACKETED.sub(lambda match: "_" * len(match[0]), words) if "(" in words else words


def _gap_of(words_before: str, following: str, has_next: bool) -> _Gap:
    """Return how the words behind a number, up to the next one, are shared."""
    own_bracket = _BRACKET.match(following)
    boundary = _BOUNDARY.search(_without_brackets(following), own_bracket.end() if own_bracket else 0)
    bracket = own_bracket.end() if own_bracket else following.find("(") if has_next else -1
    end = min((at for at in (boundary.start() if boundary else -1, bracket) if at >= 0), default=len(following))
    moved = _TO.fullmatch(following) if has_next and _FROM.search(words_before) else None
    end = moved.end("of_former") if moved else end
    start = boundary.end() if boundary and boundary.start() == end else end + (own_bracket is None)
    return _Gap(end, start, moved is not None)


def _places_of_group(sentence: str, groups: Sequence[NumberGroup], index: int, own: str, after: str) -> Iterator[Place]:
    """Yield the compared numbers of a group, each with its words: those of all, or its own in a list."""
    group = groups[index]
    former_end = groups[index - 1].end if index else 0
    words_before = sentence[former_end : group.start]
    subjects = (
        [*group.names] or _subjects(words_before, len(group.values)) if group.is_listed
        else _slashed_names(own, sentence, group)
    )  # fmt: skip
    lead = "" if own.strip() else _last_clause(words_before)
    for number, (rank, value) in enumerate(group.ranked_values):
        subject = subjects[number] if subjects else _words_around_bracket(words_before) if index else lead
        yield Place(
            value,
            before=_words_of(subject, subjects, value.unit) if subjects else own,
            after=after,
            rank=None if subjects else rank,
            is_restated=index > 0 and _restates(sentence, groups[index - 1], group),
            is_only=sum(len(other.values) for other in groups) == 1,
            subject=subject,
            clause_end=group.end + len(after),
            start=group.start,
            end=group.end,
            former_end=former_end,
            is_of_tokens=index > 0 and _is_time_of_tokens(sentence, groups[index - 1 : index + 2]),
            is_former=group.is_versus and rank == 1,
        )


def _may_be_stated(sentence: str, group: NumberGroup) -> bool:
    """Return whether numbers may be results: memory that nothing near says to be in use is a card's."""
    if group.values[0].unit == "1":
        return False  # '5x faster'
    near_words = sentence[max(0, group.start - MAX_LABEL_CHARS) : group.end + MAX_LABEL_CHARS]
    return may_be_in_use(group.values[0], near_words)


def _last_clause(words: str) -> str:
    """Return the clause before a number that a comma parts from it: 'four cards here, 9 tok/s'."""
    clause = words.rstrip(" ,;:")
    return clause[max((cut.end() for cut in _BOUNDARY.finditer(_without_brackets(clause))), default=0) :].strip()


def _words_around_bracket(words: str) -> str:
    """Return the words between two figures if the second stands in brackets behind them: '(TTFT 81 ms)'; else nothing.

    They tell what the bracket speaks of: '45 tok/s at c=1 (TTFT 81 ms), 90 tok/s at c=2 (TTFT 95 ms)'.
    """
    before, _, inside = words.partition("(")
    return f"{before.strip()} {inside.strip()}" if before.strip() and inside.strip() and ")" not in inside else ""


def _subjects(words: str, count: int) -> list[str]:
    """Return the words that belong to each of several listed numbers: 'Prefill and decode run at 900 and 45 tok/s'."""
    parts = [part for part in _LISTED.split(words) if part.strip()]
    return parts[-count:] if len(parts) >= count else []


def _slashed_names(words: str, sentence: str, group: NumberGroup) -> list[str]:
    """Return the names of numbers that stand like their names: 'wall/decode: 46.5 / 47.1 tok/s'; else nothing."""
    match = _SLASHED.search(words)
    names = match["names"].split("/") if match and "/" in sentence[group.start : group.end] else []
    lead = words[: match.start()].strip() if match else ""
    return [f"{lead} {name}".strip() for name in names] if len(names) == len(group.values) > 1 else []


def _words_of(subject: str, subjects: Sequence[str], unit: str | None) -> str:
    """Return the words that name the metric of a listed number: its own, or those of the whole list behind them."""
    return subject if metric_of(subject, unit) else f"{subject} {subjects[-1]}"


def _restates(sentence: str, former: NumberGroup, group: NumberGroup) -> bool:
    """Return whether a number in brackets is the one before them in another unit, as seconds and minutes are."""
    is_bracketed = sentence[former.end : group.start].strip() == "(" and sentence[group.end :].lstrip()[:1] == ")"
    first, second = former.values[0], group.values[0]
    is_of_time = [dimension(value.unit) for value in (first, second)] == ["time", "time"]
    is_same_rate = first.unit == second.unit and isclose(first.low, second.low, rel_tol=ROUNDING)
    return is_bracketed and (is_of_time or is_same_rate)


def _is_time_of_tokens(sentence: str, groups: Sequence[NumberGroup]) -> bool:
    """Return whether the second group is the time of the first one's tokens, and the third their rate."""
    if len(groups) < 3 or [group.values[0].unit for group in groups] not in _TOKENS_IN_TIME:
        return False
    return _IN.fullmatch(sentence[groups[0].end : groups[1].start]) is not None


def _takes_all(own: str, group: NumberGroup, words: str, following_group: NumberGroup | None) -> bool:
    """Return whether the words between two numbers all belong to the first.

    They do if no words before it name its metric, and the second number does not need them.
    """
    if following_group is None or metric_of(own, group.values[0].unit):
        return False
    unit, next_unit = group.values[0].unit, following_group.values[0].unit
    return unit == next_unit or metric_of(words, unit) is not None or metric_of(words, next_unit) is None
