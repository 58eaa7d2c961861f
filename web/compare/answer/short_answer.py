"""The answer of a comparison in a few words, for a link to it: 'n-gram 1.73× none'."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from analysis.compare_arms import ArmComparison
from analysis.verdict import Judgement, VerdictAnswer, format_margin

FALLBACK = "compare them"  # if a few words are not enough


def short_answer(answers: Sequence[ArmComparison]) -> str:
    """Return the best of several arms in a few words; Compare shows the others and every doubt."""
    if better := [answer for answer in answers if _is_claimed(answer, VerdictAnswer.BETTER)]:
        return _pair_text(max(better, key=_distance))
    if len(answers) > 1 and all(_is_claimed(answer, VerdictAnswer.WORSE) for answer in answers):
        return f"no arm is better than {answers[0].pair.baseline.name}"
    return _pair_text(answers[0]) if len(answers) == 1 else FALLBACK


def _is_claimed(comparison: ArmComparison, answer: VerdictAnswer) -> bool:
    return not comparison.refused and comparison.judgement is not None and comparison.judgement.answer is answer


def _distance(answer: ArmComparison) -> float:
    """How far the ratio is from 1 in either direction, since lower is better for times."""
    return abs(math.log(answer.judgement.ratio)) if answer.judgement else 0.0


def _pair_text(answer: ArmComparison) -> str:
    a, b = answer.pair.baseline.name, answer.pair.contender.name
    if answer.refused:
        return f"{b} is not ranked against {a}"
    return TEXTS[answer.judgement.answer](answer, answer.judgement, a, b) if answer.judgement else FALLBACK


def _ratio(answer: ArmComparison, judgement: Judgement, a: str, b: str) -> str:
    return f"{b} {judgement.ratio:.2f}× {a}" + (
        "" if answer.pair.objective.is_output_speed else f" in {answer.pair.objective.title}"
    )


TEXTS: Mapping[VerdictAnswer, Callable[[ArmComparison, Judgement, str, str], str]] = {
    VerdictAnswer.BETTER: _ratio,
    VerdictAnswer.WORSE: _ratio,
    VerdictAnswer.SAME: lambda answer, _, a, b: f"{b} and {a} are the same within {format_margin(answer.margin)}",
    VerdictAnswer.DIFFERENT: lambda answer, judgement, a, b: (
        f"{b} and {a} differ; the size of the difference is uncertain"
    ),
    VerdictAnswer.UNKNOWN: lambda answer, judgement, a, b: f"it is not yet known whether {b} and {a} differ",
    VerdictAnswer.SEEN_ONCE: lambda answer, judgement, a, b: (
        f"{_ratio(answer, judgement, a, b)}, too few starts to claim it"
    ),
}
