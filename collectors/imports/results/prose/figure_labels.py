"""Names a figure of a sentence by the words that belong to it, or by what the sentence speaks of."""

from __future__ import annotations

import re

from collectors.imports.results.prose.changes import BEFORE, arms_of_change, without_verb
from collectors.imports.results.prose.sentence_places import MAX_LABEL_CHARS, Place

MAX_SENTENCE_CHARS = 160  # as a label
_CLAUSE = re.compile(r";|\b(?:while|whereas)\b", re.IGNORECASE)
_OPEN_BRACKET = re.compile(r"\s{0,9}\([^()]*$")
_CONDITION = re.compile(r"(?:at|in|with|from|of)\b", re.IGNORECASE)
_WITH = re.compile(
    r"(?:^|[,;:.•·→。]\s)(?P<words>[^,;:.•·→。]{3,90}\bwith\s?)$", re.IGNORECASE
)  # 'Before it I ran with'
_MARKS = " -•*=→:.,/#("
_EMPTY_BRACKETS = re.compile(r"\( {0,9}\)")  # of a number alone
_WORDS_OF_METRIC = (
    r"(?:\W*\b(?:an?|the|of|at|in|to|is|was|about|and|with|for|from|by|i|drops?|then|overall|peaks?|peaked|tokens?|second|first"
    r"|(?:single|multi)[- ]?stream|inter[- ]token|time[- ]to[- ]first[- ]token"
    r"|speeds?|rates?|times?|throughput|latency|prefill\w*|prompt|decod(?:e|ing)|generation"
    r"|gen|output|input|eval|acceptance|ttft|tpot|itl|e2e|pp|tg|tps|mean|median|average|avg|p\d\d)\b)"
)
_METRIC_ALONE = re.compile(rf"{_WORDS_OF_METRIC}+\W*", re.IGNORECASE)  # 'a median TTFT of'
_METRIC_AT_END = re.compile(rf"{_WORDS_OF_METRIC}+\W*$", re.IGNORECASE)  # 'the old build: decode'


def label_and_subject(place: Place, sentence: str, subject: str) -> tuple[str, str]:
    """Return the words that name a figure, and what the sentence speaks of from there on.

    subject: what it speaks of up to there, which a figure bears whose own words name only its metric.
    """
    words_between = sentence[place.former_end : place.start]
    arms = arms_of_change(sentence, place.start, place.end) if place.rank in (1, 2) else None
    if arms and arms[0] == BEFORE:
        name = without_verb(place.before).strip(_MARKS) or subject
        arm = arms[(place.rank or 1) - 1]
        return (f"{name}: {arm}" if name else arm), subject_of(place.before) or subject
    own_words = place.subject or _since_clause(words_between) or f"{_words_before_with(sentence, place)}{place.before}"
    after = "" if place.is_former and any(map(str.isalpha, own_words)) else place.after
    label = " ".join(_EMPTY_BRACKETS.sub(" ", f"{own_words} {after}").split()).strip(" -•*=→:.,/#")
    label = label.rstrip(" (") if "(" in label else label.rstrip(" )")  # 'at c=1 TPOT )' of '(TPOT 81 ms)'
    if label == "" or place.is_only:
        label = _words_about(sentence, place.start)
        subject = subject or label
    elif _METRIC_ALONE.fullmatch(label):  # behind an arrow it is of another subject, which has no words
        is_of_other = "→" in words_between or (not subject and _CONDITION.match(label) is not None)
        label = _words_about(sentence, place.start) if is_of_other else f"{subject}: {label}"
        label = label.removeprefix(": ")
    elif place.rank is None and ")" not in label:
        subject = subject_of(own_words) or subject
    arm = arms[(place.rank or 1) - 1] if arms else f"value {place.rank}"
    return label + (f": {arm}" if place.rank else ""), subject


def _words_before_with(sentence: str, place: Place) -> str:
    """Return the words up to a 'with' before those of the first figure: they tell of what it is; else nothing."""
    end = sentence.rfind(place.before, 0, place.start) if not place.former_end and place.before.strip() else 0
    match = _WITH.search(sentence[max(0, end - MAX_LABEL_CHARS) : end]) if end > 0 else None
    return match["words"] if match else ""


def _since_clause(words: str) -> str:
    """Return the words behind a semicolon or the like, which begins another subject; nothing without one."""
    clauses = _CLAUSE.split(words)
    return clauses[-1] if len(clauses) > 1 and len(clauses[-1]) <= MAX_LABEL_CHARS else ""


def subject_of(words: str) -> str:
    """Return what the words before a figure speak of, without its metric and what a bracket adds."""
    return _OPEN_BRACKET.sub("", _METRIC_AT_END.sub("", words)).strip(" -•*>:,#")[-MAX_LABEL_CHARS:]


def _words_about(sentence: str, position: int) -> str:
    """Return a sentence, of a long one what stands about a figure."""
    start = max(0, min(position - MAX_SENTENCE_CHARS // 2, len(sentence) - MAX_SENTENCE_CHARS))
    start = sentence.find(" ", start) if start else 0
    return " ".join(sentence[start : start + MAX_SENTENCE_CHARS].split()).lstrip("# ")
