"""Finds text that repeats itself: throughput and acceptance stay high while a model loops, so only the text shows it.

Works on words (a tokenizer is not needed). The thresholds are engineering choices: a tail of at least 3 copies and
48 words that repeats exactly, or too few distinct 4-grams in the last 256 words, twice in a row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from domain import JsonValue

CHECK_EVERY = 16
TAIL_WORDS = 512
MAX_PERIOD = 128
MIN_COPIES = 3
MIN_REPEATED_WORDS = 48
GRAM = 4
GRAM_WORDS = 256
WARN_RATIO = 0.30
ALARM_RATIO = 0.15

# Runs of letters or of signs, at most 16 long so that a loop without spaces is seen too; wide scripts sign by sign.
WORD = re.compile(r"[\u2e80-\uffff]|[^\W\u2e80-\uffff]{1,16}|[^\w\s]{1,16}")
FENCE = "```"
TABLE_OR_JSON = ("|", "[", "]", "{", "}", '"')

Verdict = Literal["none", "transient", "collapsed"]


@dataclass(frozen=True, slots=True)
class Collapse:
    """What was found. Positions are in words of the text; `period_words` is None for near copies (rule 2)."""

    verdict: Verdict
    words: int
    onset_word: int | None = None
    period_words: int | None = None
    looped_words: int = 0
    sample: str | None = None
    has_low_variety: bool = False  # rule 2's warning: fewer than 30 % distinct 4-grams somewhere

    @property
    def looped_ratio(self) -> float:
        """Share of the words that lie in loops, 0..1; useful tok/s is tok/s times (1 - this)."""
        return self.looped_words / self.words if self.words else 0.0

    def as_json(self, completion_tokens: int | None) -> dict[str, JsonValue]:
        """For RequestRecord.extra; `onset_token` scales the onset to the tokens of the answer where they are known."""
        is_scaled = self.onset_word is not None and completion_tokens is not None
        onset_token = round((self.onset_word or 0) / self.words * (completion_tokens or 0)) if is_scaled else None
        return asdict(self) | {"looped_ratio": round(self.looped_ratio, 4), "onset_token": onset_token}


@dataclass(slots=True)
class Loop:
    """Words [start, end) that repeat, exactly with this period or (None) nearly."""

    start: int
    end: int
    period: int | None


def find_collapse(text: str) -> Collapse:
    """Judge a whole text as if it had been watched while it came, one look every 16 words."""
    words, prose = split_words(text)
    lowest, near = near_loops(words, prose)
    exact = exact_loops(words)
    loops = exact + near
    has_low_variety = lowest < WARN_RATIO
    if not loops:
        return Collapse("none", len(words), has_low_variety=has_low_variety)
    first = min(loops, key=lambda loop: loop.start)
    inside = [loop for loop in exact if loop.start < first.end]
    first = inside[0] if inside else first  # rule 2 only knows a window, rule 1 the very word
    sample = words[first.start : first.start + (first.period or GRAM_WORDS // 8)]
    return Collapse(
        verdict="collapsed" if any(loop.end == len(words) for loop in loops) else "transient",
        words=len(words),
        onset_word=first.start,
        period_words=first.period,
        looped_words=len({at for loop in loops for at in range(loop.start, loop.end)}),
        sample=" ".join(sample)[:200],
        has_low_variety=has_low_variety,
    )


def split_words(text: str) -> tuple[list[str], list[int]]:
    """All words, and the positions of those outside code fences, tables and JSON (they alone are under rule 2)."""
    words: list[str] = []
    prose: list[int] = []
    is_fenced = False
    for line in text.splitlines():
        found, start = WORD.findall(line), line.lstrip()
        if start.startswith(FENCE):
            is_fenced = not is_fenced
        elif not is_fenced and not start.startswith(TABLE_OR_JSON):
            prose += range(len(words), len(words) + len(found))
        words += found
    return words, prose


def looks(count: int, first: int) -> list[int]:
    """After how many words to look: from `first` on every 16, and at the end."""
    return [*range(first, count, CHECK_EVERY), count] if count >= first else []


def exact_loops(words: Sequence[str]) -> list[Loop]:
    """Rule 1: stretches whose tail, at some look, was at least 3 copies and 48 words of one period."""
    loops: list[Loop] = []
    for end in looks(len(words), MIN_REPEATED_WORDS):
        period = tail_period(words[max(0, end - TAIL_WORDS) : end])
        if period is None:
            continue
        last = loops[-1] if loops else None
        if last and last.period == period and repeats(words, max(last.end, period), end, period):
            last.end = end
        else:
            loops.append(Loop(start_of_loop(words, end, period), end, period))
    return loops


def repeats(words: Sequence[str], start: int, end: int, period: int) -> bool:
    """Whether every word of [start, end) is the one a period before it."""
    return all(words[at] == words[at - period] for at in range(start, end))


def start_of_loop(words: Sequence[str], end: int, period: int) -> int:
    """Where the repetition that ends at `end` began: the first word of its first copy."""
    start = end - period
    while start > 0 and words[start - 1] == words[start - 1 + period]:
        start -= 1
    return start


def tail_period(tail: Sequence[str]) -> int | None:
    """The smallest period p <= 128 of the last max(3p, 48) words, or None.

    By the failure function of Knuth, Morris and Pratt over the reversed tail: the prefix of length n
    has the smallest period n - failure[n].
    """
    backwards = tail[::-1]
    failure = [0] * (len(tail) + 1)
    matched = 0
    for at in range(1, len(backwards)):
        while matched and backwards[at] != backwards[matched]:
            matched = failure[matched]
        matched += backwards[at] == backwards[matched]
        failure[at + 1] = matched
    for period in range(1, MAX_PERIOD + 1):
        length = max(MIN_COPIES * period, MIN_REPEATED_WORDS)
        if length <= len(tail) and length - failure[length] == period:
            return period
    return None


def near_loops(words: Sequence[str], prose: Sequence[int]) -> tuple[float, list[Loop]]:
    """Rule 2: the lowest share of distinct 4-grams seen, and the stretches where it was under 15 % at two looks."""
    lowest, loops = 1.0, list[Loop]()
    was_low = False
    for count in looks(len(prose), GRAM_WORDS):
        window = prose[count - GRAM_WORDS : count]
        said = [words[at] for at in window]
        grams = list(zip(*(said[shift:] for shift in range(GRAM)), strict=False))
        ratio = len(set(grams)) / len(grams)
        lowest = min(lowest, ratio)
        if ratio < ALARM_RATIO and was_low:
            if loops and loops[-1].end > window[0]:
                loops[-1].end = window[-1] + 1
            else:
                loops.append(Loop(window[0], window[-1] + 1, None))
        was_low = ratio < ALARM_RATIO
    return lowest, loops
