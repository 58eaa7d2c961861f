"""A claimed ratio against the measured one, in a sentence."""

from __future__ import annotations

from analysis.claims.own_runs import ClaimStanding, claim_standing
from analysis.comparison.compare import Comparison

STANDINGS = {
    ClaimStanding.CARRIED: "is what was measured",
    ClaimStanding.OVERSTATED: "is more than was measured",
    ClaimStanding.UNDERSTATED: "is less than was measured",
    ClaimStanding.IN_NOISE: "is not shown: the difference is inside the noise",
    ClaimStanding.SEEN_ONCE: "is not shown: a ratio of one start each claims nothing",
}


def claim_words(claimed: float, answer: Comparison) -> str:
    """'The claimed 2x of A for B is more than was measured: 1.64x (1.60x to 1.68x).'"""
    head = f"The claimed {claimed:g}x of {answer.pair.baseline.name} for {answer.pair.other.name}"
    judged = answer.judgement if answer.is_ranked else None
    if judged is None:
        return f"{head} is not shown: the two are not ranked."
    between = f" ({judged.interval[0]:.2f}x to {judged.interval[1]:.2f}x)" if judged.interval else ""
    standing = STANDINGS[claim_standing(claimed, judged, answer.margin)]
    return f"{head} {standing}: {judged.ratio:.2f}x{between}."
