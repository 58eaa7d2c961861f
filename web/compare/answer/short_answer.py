"""The answer of a comparison in a few words, for a link that leads to it: 'n-gram 1.73× none'."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from analysis.comparison.compare import Comparison
from analysis.verdict import Answer, Judgement, margin_words

LOOK = "compare them"  # where a few words would not say it


def short_answer(answers: Sequence[Comparison]) -> str:
    """Of several arms the one that is better by most; the rest of them, and every doubt, stand on Compare."""
    if better := [one for one in answers if _is_claimed(one, Answer.BETTER)]:
        return _of_one(max(better, key=_distance))
    if len(answers) > 1 and all(_is_claimed(one, Answer.WORSE) for one in answers):
        return f"none is better than {answers[0].pair.baseline.name}"
    return _of_one(answers[0]) if len(answers) == 1 else LOOK


def _is_claimed(one: Comparison, answer: Answer) -> bool:
    return not one.refused and one.judgement is not None and one.judgement.answer is answer


def _distance(one: Comparison) -> float:
    """How far the ratio is from 1, either way: a time is better below it."""
    return abs(math.log(one.judgement.ratio)) if one.judgement else 0.0


def _of_one(one: Comparison) -> str:
    a, b = one.pair.baseline.name, one.pair.other.name
    if one.refused:
        return f"{b} is not ranked against {a}"
    return WORDS[one.judgement.answer](one, one.judgement, a, b) if one.judgement else LOOK


def _ratio(one: Comparison, judged: Judgement, a: str, b: str) -> str:
    terms = one.pair.objective.terms
    return f"{b} {judged.ratio:.2f}× {a}" + ("" if terms.unit == "tok/s" else f" in {one.pair.objective.title}")


WORDS: Mapping[Answer, Callable[[Comparison, Judgement, str, str], str]] = {
    Answer.BETTER: _ratio,
    Answer.WORSE: _ratio,
    Answer.SAME: lambda one, _, a, b: f"{b} and {a} are the same within {margin_words(one.margin)}",
    Answer.DIFFERENT: lambda one, judged, a, b: f"{b} and {a} differ, by how much is not clear",
    Answer.UNKNOWN: lambda one, judged, a, b: f"not known yet whether {b} and {a} differ",
    Answer.SEEN_ONCE: lambda one, judged, a, b: f"{_ratio(one, judged, a, b)}, too few starts to claim it",
}
