"""Detects looping text: throughput and acceptance stay high while a model loops, so only the text shows it.

Works on words, without a tokenizer. The thresholds are engineering choices: a tail of at least 3 copies and 48 words
that repeats exactly, or too few distinct 4-grams in the last 256 words, twice in a row.
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
EARLIEST_END = 0.5  # share of a text that goes on past its end on request, before which it has not ended
COLLAPSE_RATIO = 0.02  # share of a run's answers; one loop among hundreds of answers is no collapse

# Runs of letters or of signs, at most 16 long to detect loops without spaces too; wide scripts sign by sign.
WORD = re.compile(r"[\u2e80-\uffff]|[^\W\u2e80-\uffff]{1,16}|[^\w\s]{1,16}")
FENCE = "```"
TABLE_OR_JSON = ("|", "[", "]", "{", "}", '"')

Verdict = Literal["none", "transient", "collapsed"]


@dataclass(frozen=True, slots=True)
class Collapse:
    """Result of the detection. Positions are in words of the text; `period_words` is None for near copies (rule 2)."""

    verdict: Verdict
    words: int
    onset_word: int | None = None
    period_words: int | None = None
    looped_words: int = 0
    sample: str | None = None
    has_low_variety: bool = False  # rule 2's warning: fewer than 30 % distinct 4-grams somewhere

    @property
    def looped_ratio(self) -> float:
        """Share of words in loops, 0..1; useful tok/s is tok/s times (1 - this)."""
        return self.looped_words / self.words if self.words else 0.0

    def as_json(self, completion_tokens: int | None) -> dict[str, JsonValue]:
        """Return the value for RequestRecord.extra; `onset_token` scales the onset to the answer's tokens if known."""
        is_scaled = self.onset_word is not None and completion_tokens is not None
        onset_token = round((self.onset_word or 0) / self.words * (completion_tokens or 0)) if is_scaled else None
        return asdict(self) | {"looped_ratio": round(self.looped_ratio, 4), "onset_token": onset_token}


@dataclass(slots=True)
class Loop:
    """Words [start, end) that repeat exactly with this period, or nearly (None)."""

    start: int
    end: int
    period: int | None


def find_collapse(text: str) -> Collapse:
    """Judge a complete text as if checked every 16 words while it arrived."""
    words, prose = split_words(text)
    lowest, near = near_loops(words, prose)
    exact = exact_loops(words)
    loops = exact + near
    has_low_variety = lowest < WARN_RATIO
    if not loops:
        return Collapse("none", len(words), has_low_variety=has_low_variety)
    first = min(loops, key=lambda loop: loop.start)
    inside = [loop for loop in exact if loop.start < first.end]
    first = inside[0] if inside else first  # rule 2 locates a window, rule 1 the exact word
    sample = words[first.start : first.start + (first.period or GRAM_WORDS // 8)]
    return Collapse(
        verdict="collapsed" if any(loop.end == len(words) for loop in loops) else "transient",
        words=len(words),
        onset_word=first.start,
        period_words=first.period,
        looped_words=len({index for loop in loops for index in range(loop.start, loop.end)}),
        sample=" ".join(sample)[:200],
        has_low_variety=has_low_variety,
    )


def split_words(text: str) -> tuple[list[str], list[int]]:
    """Return all words, and the positions of those outside code fences, tables and JSON (for rule 2)."""
    words: list[str] = []
    prose: list[int] = []
    is_fenced = False
    for line in text.splitlines():
        line_words, start = WORD.findall(line), line.lstrip()
        if start.startswith(FENCE):
            is_fenced = not is_fenced
        elif not is_fenced and not start.startswith(TABLE_OR_JSON):
            prose += range(len(words), len(words) + len(line_words))
        words += line_words
    return words, prose


def check_points(count: int, first: int) -> list[int]:
    """Return the word counts at which to check: every 16 from `first` on, and at the end."""
    return [*range(first, count, CHECK_EVERY), count] if count >= first else []


def exact_loops(words: Sequence[str]) -> list[Loop]:
    """Apply rule 1: find ranges whose tail, at some check, had at least 3 copies and 48 words of one period."""
    loops: list[Loop] = []
    for end in check_points(len(words), MIN_REPEATED_WORDS):
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
    """Whether every word of [start, end) equals the word one period earlier."""
    return all(words[index] == words[index - period] for index in range(start, end))


def start_of_loop(words: Sequence[str], end: int, period: int) -> int:
    """Return the first word of the first copy of the repetition that ends at `end`."""
    start = end - period
    while start > 0 and words[start - 1] == words[start - 1 + period]:
        start -= 1
    return start


def tail_period(tail: Sequence[str]) -> int | None:
    """Return the smallest period p <= 128 of the last max(3p, 48) words, or None.

    Uses the failure function of Knuth, Morris and Pratt over the reversed tail: the prefix of length n has the smallest
    period n - failure[n].
    """
    backwards = tail[::-1]
    failure = [0] * (len(tail) + 1)
    matched = 0
    for index in range(1, len(backwards)):
        while matched and backwards[index] != backwards[matched]:
            matched = failure[matched]
        matched += backwards[index] == backwards[matched]
        failure[index + 1] = matched
    for period in range(1, MAX_PERIOD + 1):
        length = max(MIN_COPIES * period, MIN_REPEATED_WORDS)
        if length <= len(tail) and length - failure[length] == period:
            return period
    return None


def near_loops(words: Sequence[str], prose: Sequence[int]) -> tuple[float, list[Loop]]:
    """Apply rule 2: return the lowest share of distinct 4-grams, and the ranges where it was under 15 % twice."""
    lowest, loops = 1.0, list[Loop]()
    was_low = False
    for count in check_points(len(prose), GRAM_WORDS):
        window = prose[count - GRAM_WORDS : count]
        window_words = [words[index] for index in window]
        grams = list(zip(*(window_words[shift:] for shift in range(GRAM)), strict=False))
        ratio = len(set(grams)) / len(grams)
        lowest = min(lowest, ratio)
        if ratio < ALARM_RATIO and was_low:
            if loops and loops[-1].end > window[0]:
                loops[-1].end = window[-1] + 1
            else:
                loops.append(Loop(window[0], window[-1] + 1, None))
        was_low = ratio < ALARM_RATIO
    return lowest, loops


def is_collapse(looping_ratio: float | None) -> bool:
    """Whether a run collapses, given the share of its answers that end in a loop; False if it is unknown."""
    return looping_ratio is not None and looping_ratio >= COLLAPSE_RATIO
