"""The formulas of checks by the name that their rows give them; those about memory are in memory.py."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

from analysis.claims import memory
from analysis.claims.check import Formula, Given, Outcome, as_stated, each

ITEMS = {"gpqa_diamond": 198, "mmlu_pro": 12032}  # questions of a benchmark
TWO_SDS = 2.0


def delta_pct(given: Given) -> Outcome:
    """How many per cent the first is more than the second."""
    return as_stated(given, each(given, lambda v: (v[0] / v[1] - 1.0) * 100.0))


def delta_pp(given: Given) -> Outcome:
    """The first less the second, in points."""
    return as_stated(given, each(given, lambda v: v[0] - v[1]))


def quotient(given: Given) -> Outcome:
    """The first over the second."""
    return as_stated(given, each(given, lambda v: v[0] / v[1]))


def speedup(given: Given) -> Outcome:
    """The better over the worse of two: of times the first is the longer one, of rates the faster."""
    return quotient(given)


def sum_over_last(given: Given) -> Outcome:
    """All but the last, summed, over the last."""
    return as_stated(given, each(given, lambda v: sum(v[:-1]) / v[-1]))


def streams_over_latency(given: Given) -> Outcome:
    """Tokens of an answer over its latency, times the streams at once; the tolerance is one of per cent."""
    recomputed = tuple(tokens.value * (time.concurrency or 1) / time.value for tokens, time in given.groups)
    apart = [abs(one / stated - 1.0) * 100.0 for one, stated in zip(recomputed, given.stated, strict=True)]
    return Outcome(recomputed, max(apart) <= given.tolerance)


def per_request(given: Given) -> Outcome:
    """Tokens per second over the tokens of an answer."""
    return as_stated(given, tuple(cell.value / (cell.output_tokens or 1) for (cell,) in given.groups))


def whole_answers(given: Given) -> Outcome:
    """Right answers of a benchmark's questions: a share that was printed must be that of a whole number."""
    scores = [(cell, ITEMS[cell.metric]) for (cell,) in given.groups]
    recomputed = tuple(cell.value / 100.0 * items for cell, items in scores)
    nearest = [round(count) / items * 100.0 for count, (_, items) in zip(recomputed, scores, strict=True)]
    fits = [f"{near:.2f}" == f"{cell.value:.2f}" for near, (cell, _) in zip(nearest, scores, strict=True)]
    return Outcome(recomputed, all(fits))


def significance(given: Given) -> Outcome:
    """z of two shares that were measured apart; agrees where the differences are as stated, whatever they mean."""
    differences = each(given, lambda v: v[0] - v[1])
    return Outcome(tuple(_z(given, i) for i in range(len(given.groups))), as_stated(given, differences).agrees)


def _z(given: Given, index: int) -> float:
    first, second = given.groups[index]
    items = ITEMS[first.metric]
    shares = first.value / 100.0, second.value / 100.0
    error = sqrt(sum(share * (1.0 - share) / items for share in shares))
    return (shares[0] - shares[1]) / error


def rate_of_length(given: Given) -> Outcome:
    """Accepted of the drafted tokens, in per cent, by the acceptance length and the draft tokens of a step."""
    return as_stated(given, each(given, lambda v: (v[0] - 1.0) / v[1] * 100.0))


def rate_definitions(given: Given) -> Outcome:
    """Which definition of the rate fits both ends of a range: drafts alone, or with the step's own token."""
    (low, high, most) = (cell.value for cell in given.groups[0])
    strict = tuple((length - 1.0) / (most - 1.0) * 100.0 for length in (low, high))
    loose = tuple(length / most * 100.0 for length in (low, high))
    near = [
        [abs(one - stated) <= given.tolerance for one, stated in zip(computed, given.stated, strict=True)]
        for computed in (strict, loose)
    ]
    if sum(all(fits) for fits in near) == 1:
        return Outcome(strict if all(near[0]) else loose, True)
    is_each_end_met = all(any(fits[end] for fits in near) for end in (0, 1))
    return Outcome((*strict, *loose), None if is_each_end_met else False)


def alike(given: Given) -> Outcome:
    """The first over the second of each group, all within so many per cent of their mean."""
    recomputed = each(given, lambda v: v[0] / v[1])
    mean = sum(recomputed) / len(recomputed)
    return Outcome(recomputed, all(abs(one / mean - 1.0) * 100.0 <= given.tolerance for one in recomputed))


def sum_or_total(given: Given) -> Outcome:
    """The sum of the first group and the quotient of the second: one of them is the stated total."""
    rates, (tokens, seconds) = given.groups
    recomputed = (sum(cell.value for cell in rates), tokens.value / seconds.value)
    return Outcome(recomputed, any(abs(one - given.stated[0]) <= given.tolerance for one in recomputed))


def step_cost(given: Given) -> Outcome:
    """How many plain steps one with drafts lasts at least: rate in per cent, draft tokens, plain and drafted tok/s."""
    recomputed = each(given, lambda v: (1.0 + v[0] / 100.0 * v[1]) * v[2] / v[3])
    return Outcome(recomputed, all(one >= given.tolerance for one in recomputed))


def repeats_agree(given: Given) -> Outcome:
    """Numbers printed for one test: each within two standard deviations of the first, and of what rounding hides."""
    first, *others = given.groups[0]
    apart = [abs(one.value - first.value) for one in others]
    allowed = [TWO_SDS * ((first.sd or 0.0) + (one.sd or 0.0)) + rounding(first.text) for one in others]
    agrees = all(one <= most for one, most in zip(apart, allowed, strict=True))
    return Outcome(tuple(cell.value for cell in given.groups[0]), agrees)


def rounding(text: str) -> float:
    """Half of the last digit that was printed."""
    _, _, decimals = text.partition(".")
    return 0.5 / 10.0 ** len(decimals)


def numbers_repeated(given: Given) -> Outcome:
    """Every number of the other parts of a document stands in its first part."""
    first, *others = given.parts.values()
    return Outcome((), all(part <= first for part in others))


FORMULAS: Mapping[str, Formula] = {
    **{one.__name__: one for one in (delta_pct, delta_pp, quotient, speedup, sum_over_last, streams_over_latency)},
    **{one.__name__: one for one in (per_request, whole_answers, significance, rate_of_length, rate_definitions)},
    **{one.__name__: one for one in (alike, sum_or_total, step_cost, repeats_agree, numbers_repeated)},
    **{one.__name__: one for one in (memory.kv_gib_left, memory.prints_exactly, memory.same_bytes)},
    **{one.__name__: one for one in (memory.equal_although, memory.fits_once)},
    "ratio": quotient,
}
