"""The answer of a comparison in one sentence, and below it the values and how sure the ratio is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from analysis.comparison.compare import Comparison
from analysis.comparison.replicates import OF_THE_RUN, Ratio
from analysis.evidence.factors import geometric_mean
from analysis.evidence.objectives import Objective
from analysis.guard import Row, RowCode, Standing
from analysis.verdict import Answer, Judgement, margin_words
from web.compare.answer.guard_words import TITLES, percent, row_words
from web.theme import three_digits
from web.words import Names, in_a_sentence, why

FACTOR_TITLES = {"tokens_per_step": "tokens per step", "steps_per_s": "steps/s", "running": "requests in flight"}


def sentence(answer: Comparison, names: Names) -> str:
    """What to say of the other arm against the baseline: the ratio with its cause, or what is not known and why."""
    a, b = answer.pair.baseline.name, answer.pair.other.name
    if answer.refused:
        said = "; ".join(refusal_words(row, names) for row in answer.refused)
        return f"{b} is not ranked against {a}: {said}."
    if answer.judgement is None:
        return f"{b} cannot be held against {a}: {why(answer.no_value) or 'a value is not known'}."
    claim = CLAIMS[answer.judgement.answer](answer, answer.judgement, a, b)
    return " ".join([claim, *remarks(answer, names)])


def refusal_words(row: Row, names: Names) -> str:
    """A row that bars the ranking, as a part of a sentence: 'model (Qwen3-32B and Llama-3.2-1B)'."""
    title = TITLES[row.code]
    return f"{in_a_sentence(title)} ({row_words(row, names)})"


def remarks(answer: Comparison, names: Names) -> list[str]:
    """What belongs to the answer and would be missed: loops of both, what a person declared as compared."""
    said = [
        f"{TITLES[row.code]}: {row_words(row, names)}, which is what is compared."
        for row in answer.rows
        if row.code in answer.pair.declared and row.standing is Standing.COMPARED
    ]
    loops = next((row for row in answer.rows if row.code is RowCode.LOOPS), None)
    if loops and loops.standing is Standing.TOLD:
        said.append(f"Both are given with what repeats itself: {row_words(loops, names)}{_useful(answer, loops)}.")
    return said


def _useful(answer: Comparison, loops: Row) -> str:
    """What is left of tok/s without the text in loops; of text past an answer's end nothing was asked to be of use."""
    terms = answer.pair.objective.terms
    values = [[one.value for one in side if one.value is not None] for side in answer.replicates]
    if terms.unit != "tok/s" or not all(values) or loops.values["past_the_end"]:
        return ""
    left = [geometric_mean(side) * (1 - share) for side, share in zip(values, loops.values["looped"], strict=True)]
    first, second = (three_digits(one) for one in left)
    return f"; useful {first} and {second} tok/s"


def _better_or_worse(answer: Comparison, judged: Judgement, a: str, b: str) -> str:
    return f"{_is_as(answer.pair.objective, judged.ratio, a, b)}{_because(judged.ratio, answer)}."


def _same(answer: Comparison, judged: Judgement, a: str, b: str) -> str:
    low, high = judged.equivalence or (judged.ratio, judged.ratio)
    limit = margin_words(answer.margin)
    return f"{b} and {a} are the same in {answer.pair.objective.title} within {limit}: {low:.3f}× to {high:.3f}×."


def _different(answer: Comparison, judged: Judgement, a: str, b: str) -> str:
    faster = "better" if (judged.ratio > 1) == answer.pair.objective.terms.higher_is_better else "worse"
    said = f"{b} is {faster} than {a} in {answer.pair.objective.title}, by how much is not clear: "
    return said + f"{_between(judged)}{_more(judged)}."


def _unknown(answer: Comparison, judged: Judgement, a: str, b: str) -> str:
    seen, limit = f"{judged.ratio:.2f}× seen", margin_words(answer.margin)
    return f"Not known yet whether {b} differs from {a} by {limit} or more: {seen}, {_between(judged)}{_more(judged)}."


def _seen_once(answer: Comparison, judged: Judgement, a: str, b: str) -> str:
    first, second = judged.replicates
    starts = "one start each" if first == second == 1 else f"{_starts(second)} against {_starts(first)}"
    return f"{_is_as(answer.pair.objective, judged.ratio, a, b, 'was seen at')}, {starts}: too few to claim it."


CLAIMS: Mapping[Answer, Callable[[Comparison, Judgement, str, str], str]] = {
    Answer.BETTER: _better_or_worse,
    Answer.WORSE: _better_or_worse,
    Answer.SAME: _same,
    Answer.DIFFERENT: _different,
    Answer.UNKNOWN: _unknown,
    Answer.SEEN_ONCE: _seen_once,
}


def _is_as(objective: Objective, ratio: float, a: str, b: str, verb: str = "is") -> str:
    """'B is 1.30x as fast as A'; 'The time to first token of B (one at a time) is 0.80x that of A, which is better'."""
    unit = objective.terms.unit
    if unit == "tok/s":
        return f"{b} {verb} {ratio:.2f}× {'as fast as' if verb == 'is' else 'the speed of'} {a}"
    load = f" ({objective.load_words})" if objective.load_words else ""
    is_good = (ratio > 1) == objective.terms.higher_is_better
    verdict = "" if verb != "is" else ", which is better" if is_good else ", which is worse"
    return f"The {objective.terms.title} of {b}{load} {verb} {ratio:.2f}× that of {a}{verdict}"


def detail(answer: Comparison) -> str | None:
    """The values and the interval; None where there is no value."""
    judged = answer.judgement
    if judged is None or answer.refused:
        return None
    unit = answer.pair.objective.terms.unit
    a, b = (_mean(side) for side in values_of(answer))
    said = [f"{three_digits(b)} against {three_digits(a)} {unit}", f"{_starts(judged.replicates[1])} against "]
    said[1] += _starts(judged.replicates[0])
    if judged.interval:
        said.append(f"95 %: {_between(judged)}")
    if steady := _steady_words(answer):
        said.append(steady)
    if judged.sd_source == "earlier":
        said.append("the spread between starts is that of earlier repeats")
    return " · ".join(said)


def _steady_words(answer: Comparison) -> str | None:
    """'steady for 12 s of each phase's requests, 6 % of it prefill': ramps and pauses are out."""
    steady = [one for side in answer.replicates for replicate in side for one in replicate.measured if one.steady_s]
    if not steady:
        return None
    seconds = sum(one.steady_s or 0.0 for one in steady) / len(steady)
    share = sum(one.prefill_share or 0.0 for one in steady) / len(steady)
    return f"over the {three_digits(seconds)} s under full load ({percent(share)} prefill)"


def values_of(answer: Comparison) -> tuple[list[float], list[float]]:
    """The value of each start of both arms, those without one left out."""
    first, second = ([one.value for one in side if one.value is not None] for side in answer.replicates)
    return first, second


def left_out_words(answer: Comparison) -> str | None:
    """'Requests that do not count: 12 of the warm-up, 1 that failed.'; None where requests are no evidence."""
    if answer.pair.objective.kind in OF_THE_RUN:
        return None
    words = {"warmup": "of the warm-up", "failed": "that failed", "unmatched": "that not all runs report"}
    counts = [f"{answer.left_out[name]} {words[name]}" for name in words if name in answer.left_out]
    said = [f"Requests that do not count: {', '.join(counts)}."] if counts else []
    if silent := answer.left_out.get("starts"):
        said.append(f"{_starts(silent)} gave no value.")
    return " ".join(said) or None


def factor_words(factor: Ratio, margin: float) -> str:
    """'steps/s fell to 0.80×'; one nearer to 1 than the smallest difference that matters stayed the same."""
    title = FACTOR_TITLES[factor.name]
    if is_small(factor.ratio, margin):
        return f"{title} stayed the same ({factor.ratio:.2f}×)"
    return f"{title} {'rose' if factor.ratio > 1 else 'fell'} to {factor.ratio:.2f}×"


def _because(ratio: float, answer: Comparison) -> str:
    """The factors that went the way of the ratio, the larger first; then what went the other way or nowhere."""
    if not answer.factors:
        reason = why(answer.no_factors)
        return f"; the cause is not known{f' ({reason})' if reason else ''}" if _has_factors(answer) else ""
    by_size = sorted(answer.factors, key=lambda one: -abs(math.log(one.ratio)))
    large = [one for one in by_size if not is_small(one.ratio, answer.margin)]
    causes = [one for one in large if (one.ratio > 1) == (ratio > 1)] or by_size[:1]
    others = [one for one in by_size if one not in causes]
    cause = ", because " + " and ".join(factor_words(one, answer.margin) for one in causes)
    said = [f", {'although' if one in large else 'while'} {factor_words(one, answer.margin)}" for one in others]
    return cause + "".join(said)


def _has_factors(answer: Comparison) -> bool:
    return answer.pair.objective.terms.unit == "tok/s"


def is_small(ratio: float, margin: float) -> bool:
    """Whether it is nearer to 1 than the smallest difference that matters."""
    return ratio > 0 and abs(math.log(ratio)) <= math.log1p(margin)


def _between(judged: Judgement) -> str:
    if judged.interval is None:
        return "no interval can be given"
    return f"{judged.interval[0]:.2f}× to {judged.interval[1]:.2f}×"


def _more(judged: Judgement) -> str:
    if judged.more_repeats is None:
        return ""
    return f"; about {judged.more_repeats} more start{'s' if judged.more_repeats > 1 else ''} each would settle it"


def _starts(count: int) -> str:
    return "1 start" if count == 1 else f"{count} starts"


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))
