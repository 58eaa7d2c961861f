"""Formulas of checks by the names that reference rows use; those about memory are in memory.py."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

from analysis.claims import memory
from analysis.claims.check import CheckOutcome, Formula, FormulaInput, compare_stated, per_group

ITEMS = {"gpqa_diamond": 198, "mmlu_pro": 12032}  # questions of a benchmark
TWO_SDS = 2.0


def delta_pct(inputs: FormulaInput) -> CheckOutcome:
    """Return by how many per cent the first exceeds the second."""
    return compare_stated(inputs, per_group(inputs, lambda v: (v[0] / v[1] - 1.0) * 100.0))


def delta_pp(inputs: FormulaInput) -> CheckOutcome:
    """Return the first minus the second, in percentage points."""
    return compare_stated(inputs, per_group(inputs, lambda v: v[0] - v[1]))


def quotient(inputs: FormulaInput) -> CheckOutcome:
    """Return the first over the second."""
    return compare_stated(inputs, per_group(inputs, lambda v: v[0] / v[1]))


def speedup(inputs: FormulaInput) -> CheckOutcome:
    """Return the better over the worse of two: the first is the longer time or the higher rate."""
    return quotient(inputs)


def sum_over_last(inputs: FormulaInput) -> CheckOutcome:
    """Return the sum of all but the last over the last."""
    return compare_stated(inputs, per_group(inputs, lambda v: sum(v[:-1]) / v[-1]))


def streams_over_latency(inputs: FormulaInput) -> CheckOutcome:
    """Return tokens of an answer over its latency, times the concurrent streams; the tolerance is in per cent."""
    recomputed = tuple(tokens.value * (time.concurrency or 1) / time.value for tokens, time in inputs.groups)
    errors_pct = [
        abs(value / stated_value - 1.0) * 100.0
        for value, stated_value in zip(recomputed, inputs.stated_values, strict=True)
    ]
    return CheckOutcome(recomputed, max(errors_pct) <= inputs.tolerance)


def per_request(inputs: FormulaInput) -> CheckOutcome:
    """Return tokens per second over the tokens of an answer."""
    return compare_stated(inputs, tuple(cell.value / (cell.output_tokens or 1) for (cell,) in inputs.groups))


def whole_answers(inputs: FormulaInput) -> CheckOutcome:
    """Return the correct answers of a benchmark: a printed share must correspond to a whole number of answers."""
    scores = [(cell, ITEMS[cell.metric]) for (cell,) in inputs.groups]
    recomputed = tuple(cell.value / 100.0 * items for cell, items in scores)
    nearest = [round(count) / items * 100.0 for count, (_, items) in zip(recomputed, scores, strict=True)]
    fits = [f"{near:.2f}" == f"{cell.value:.2f}" for near, (cell, _) in zip(nearest, scores, strict=True)]
    return CheckOutcome(recomputed, all(fits))


def significance(inputs: FormulaInput) -> CheckOutcome:
    """Return z of two independently measured shares; agrees if the differences are as stated, significant or not."""
    differences = per_group(inputs, lambda v: v[0] - v[1])
    return CheckOutcome(
        tuple(_z(inputs, i) for i in range(len(inputs.groups))), compare_stated(inputs, differences).agrees
    )


def _z(inputs: FormulaInput, index: int) -> float:
    first, second = inputs.groups[index]
    items = ITEMS[first.metric]
    shares = first.value / 100.0, second.value / 100.0
    error = sqrt(sum(share * (1.0 - share) / items for share in shares))
    return (shares[0] - shares[1]) / error


def rate_of_length(inputs: FormulaInput) -> CheckOutcome:
    """Return the acceptance rate in per cent from the acceptance length and the draft tokens per step."""
    return compare_stated(inputs, per_group(inputs, lambda v: (v[0] - 1.0) / v[1] * 100.0))


def rate_definitions(inputs: FormulaInput) -> CheckOutcome:
    """Find the rate definition that fits both ends of a range: drafts only, or with the step's own token."""
    (low, high, max_tokens) = (cell.value for cell in inputs.groups[0])
    strict = tuple((length - 1.0) / (max_tokens - 1.0) * 100.0 for length in (low, high))
    loose = tuple(length / max_tokens * 100.0 for length in (low, high))
    fits_by_definition = [
        [
            abs(rate - stated_rate) <= inputs.tolerance
            for rate, stated_rate in zip(computed, inputs.stated_values, strict=True)
        ]
        for computed in (strict, loose)
    ]
    if sum(all(fits) for fits in fits_by_definition) == 1:
        return CheckOutcome(strict if all(fits_by_definition[0]) else loose, True)
    is_each_end_met = all(any(fits[end] for fits in fits_by_definition) for end in (0, 1))
    return CheckOutcome((*strict, *loose), None if is_each_end_met else False)


def alike(inputs: FormulaInput) -> CheckOutcome:
    """Return the first over the second of each group; all must be within the tolerance in per cent of their mean."""
    recomputed = per_group(inputs, lambda v: v[0] / v[1])
    mean = sum(recomputed) / len(recomputed)
    return CheckOutcome(recomputed, all(abs(ratio / mean - 1.0) * 100.0 <= inputs.tolerance for ratio in recomputed))


def sum_or_total(inputs: FormulaInput) -> CheckOutcome:
    """Return the sum of the first group and the quotient of the second: one of them must be the stated total."""
    rates, (tokens, seconds) = inputs.groups
    recomputed = (sum(cell.value for cell in rates), tokens.value / seconds.value)
    return CheckOutcome(
        recomputed, any(abs(total - inputs.stated_values[0]) <= inputs.tolerance for total in recomputed)
    )


def step_cost(inputs: FormulaInput) -> CheckOutcome:
    """Return the minimum cost of a drafting step in plain steps.

    Inputs: rate in per cent, draft tokens, plain and drafted tok/s.
    """
    recomputed = per_group(inputs, lambda v: (1.0 + v[0] / 100.0 * v[1]) * v[2] / v[3])
    return CheckOutcome(recomputed, all(cost >= inputs.tolerance for cost in recomputed))


def repeats_agree(inputs: FormulaInput) -> CheckOutcome:
    """Compare numbers printed for one test: each within two standard deviations, plus rounding, of the first."""
    first, *repeats = inputs.groups[0]
    differences = [abs(repeat.value - first.value) for repeat in repeats]
    allowed = [TWO_SDS * ((first.sd or 0.0) + (repeat.sd or 0.0)) + rounding(first.text) for repeat in repeats]
    agrees = all(difference <= limit for difference, limit in zip(differences, allowed, strict=True))
    return CheckOutcome(tuple(cell.value for cell in inputs.groups[0]), agrees)


def rounding(text: str) -> float:
    """Return half of the last printed digit."""
    _, _, decimals = text.partition(".")
    return 0.5 / 10.0 ** len(decimals)


def numbers_repeated(inputs: FormulaInput) -> CheckOutcome:
    """Require every number of the later sections of a document in its first section."""
    first, *later_parts = inputs.parts.values()
    return CheckOutcome((), all(part <= first for part in later_parts))


FORMULAS: Mapping[str, Formula] = {
    **{
        formula.__name__: formula
        for formula in (delta_pct, delta_pp, quotient, speedup, sum_over_last, streams_over_latency)
    },
    **{
        formula.__name__: formula
        for formula in (per_request, whole_answers, significance, rate_of_length, rate_definitions)
    },
    **{formula.__name__: formula for formula in (alike, sum_or_total, step_cost, repeats_agree, numbers_repeated)},
    **{formula.__name__: formula for formula in (memory.kv_gib_left, memory.prints_exactly, memory.same_bytes)},
    **{formula.__name__: formula for formula in (memory.equal_although, memory.fits_once)},
    "ratio": quotient,
}
