"""Compares a claimed ratio with the measured one, in a sentence."""

from __future__ import annotations

from analysis.claims.own_runs import ClaimStatus, claim_status
from analysis.compare_arms import ArmComparison

STANDING_TEXTS = {
    ClaimStatus.CARRIED: "matches the measurement",
    ClaimStatus.OVERSTATED: "is more than measured",
    ClaimStatus.UNDERSTATED: "is less than measured",
    ClaimStatus.OPPOSITE: "is the opposite of the measurement",
    ClaimStatus.IN_NOISE: "is not confirmed: the difference is within the noise",
    ClaimStatus.SEEN_ONCE: "is not confirmed: one start each proves nothing",
}


def claim_text(claimed: float, answer: ArmComparison) -> str:
    """'The claimed 2x of A for B is more than measured: 1.64x (1.60x to 1.68x).'"""
    head = f"The claimed {claimed:g}x of {answer.pair.baseline.name} for {answer.pair.contender.name}"
    judgement = answer.judgement if answer.is_ranked else None
    if judgement is None:
        return f"{head} is not confirmed: the two are not ranked."
    interval = f" ({judgement.interval[0]:.2f}x to {judgement.interval[1]:.2f}x)" if judgement.interval else ""
    standing = STANDING_TEXTS[claim_status(claimed, judgement, answer.margin)]
    return f"{head} {standing}: {judgement.ratio:.2f}x{interval}."
