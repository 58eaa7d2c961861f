"""The answer of a comparison in one sentence, and below it the speeds and how sure the ratio is."""

from __future__ import annotations

import math
from collections.abc import Mapping

from analysis.compare import FEWEST_SURE, Verdict
from web.words import Names, why, why_not_ranked

SAME_FACTOR = 0.02  # a factor within 2 % of 1 is told as unchanged
FEW = f"fewer than {FEWEST_SURE} active windows a side: no interval can be told"


def sentence(answer: Verdict, names: Names) -> str:
    """What to say of B against A: the ratio with its cause, no difference, or why they are not ranked."""
    if answer.ratio is None:
        return f"not ranked: {why_not_ranked(answer.reasons[0], names)}"
    said = _ranked(answer, answer.ratio, names[answer.baseline], names[answer.other])
    if answer.other_machine:
        said += " They ran on different machines, so the hardware is part of the cause."
    return said


def detail(answer: Verdict) -> str | None:
    """The speeds and the interval; None for a pair that is not ranked."""
    if answer.speeds_tps is None:
        return None
    a_tps, b_tps = answer.speeds_tps
    speeds = f"{_three_digits(b_tps)} against {_three_digits(a_tps)} tok/s"
    low_high = answer.interval
    sure = f"95 % of resampled windows: {low_high[0]:.2f}× to {low_high[1]:.2f}×" if low_high else FEW
    return f"{speeds} · {sure}"


def _ranked(answer: Verdict, ratio: float, a: str, b: str) -> str:
    factors = {"tokens per step": answer.tokens_ratio, "steps/s": answer.steps_ratio}
    known = {name: one for name, one in factors.items() if one is not None}
    moved = " and ".join(_moved(*one) for one in known.items())
    if not answer.is_difference_shown:
        return f"No difference shown between {b} and {a}{f': {moved}' if known else ''}."
    faster = f"{b} is {ratio:.2f}× as fast as {a}"
    if len(known) == 2:
        return f"{faster}, {_because(ratio, known)}."
    missing = why(answer.no_factor) or "a factor is missing"
    rest = f"{moved}, the rest is not known: {missing}." if known else ""
    return f"{faster}; {rest}" if known else f"{faster}, cause not known: {missing}."


def _because(ratio: float, factors: Mapping[str, float]) -> str:
    """The factors that went the way of the ratio, the larger first; then what went the other way or nowhere."""
    by_size = sorted(factors.items(), key=lambda one: -abs(math.log(one[1])))
    causes = [one for one in by_size if (one[1] > 1) == (ratio > 1) and not _is_same(one[1])] or by_size
    others = [one for one in by_size if one not in causes]
    told = "because " + " and ".join(_moved(*one) for one in causes)
    return told + "".join(f", {'while' if _is_same(one[1]) else 'although'} {_moved(*one)}" for one in others)


def _moved(what: str, ratio: float) -> str:
    if _is_same(ratio):
        return f"{what} stayed the same ({ratio:.2f}×)"
    return f"{what} {'rose' if ratio > 1 else 'fell'} to {ratio:.2f}×"


def _is_same(ratio: float) -> bool:
    return abs(ratio - 1.0) <= SAME_FACTOR


def _three_digits(tps: float) -> str:
    return f"{tps:,.0f}" if tps >= 100 else f"{tps:#.3g}"
