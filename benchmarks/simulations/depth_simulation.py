"""Simulated suites at several depths with a known loss: how often 'holds' and 'breaks' are claimed wrongly.

`python -m benchmarks.simulations.depth_simulation [TRIALS]`. Twelve cases pass with probabilities of their own; at the
last depth each loses the same share of them. Cases and repeats are drawn anew in each trial; the product's code claims.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from analysis.loads.depth_holds import depth_holds
from load_records import SuiteCheck

CASES = 12
DEPTHS = (0, 8000, 32000, 64000, 100000)
SEED = 20261128
NOW = datetime(2026, 11, 28, tzinfo=UTC)


class ClaimShares(NamedTuple):
    """Shares of trials: the last depth is said to hold, or to break; any depth before it is said to break."""

    holds: float
    breaks: float
    breaks_before: float


def simulate(rng: np.random.Generator, trials: int, repeats: int, loss: float, base: float = 0.97) -> ClaimShares:
    """Return the claims about a suite whose pass share falls by `loss` (0..1) at the last depth alone.

    base: mean share of passed cases before; the cases' own shares spread around it.
    """
    claims = [_trial(rng, repeats, loss, base) for _ in range(trials)]
    return ClaimShares(*(float(np.mean(column)) for column in zip(*claims, strict=True)))


def simulate_histories(rng: np.random.Generator, trials: int, repeats: int, loss: float, correlation: float) -> float:
    """Return how often the last depth is said to hold if each history loses a share of its own, `loss` on average.

    correlation: of the cases of one history, 0..1; the shares follow the beta distribution that gives it.
    """
    spread = 1 / correlation - 1
    held = 0
    for _ in range(trials):
        losses = rng.beta(loss * spread, (1 - loss) * spread, repeats)
        (claims,) = depth_holds(
            [
                SuiteCheck("r", "l", NOW, "s", str(case), "whole", bool(rng.random() < share), None, {}, depth, repeat)
                for depth in DEPTHS
                for repeat in range(repeats)
                for share in [0.99 * (1 - losses[repeat]) if depth == DEPTHS[-1] else 0.99]
                for case in range(CASES)
            ]
        )
        held += claims.holds_until == DEPTHS[-1]
    return held / trials


class ElsewhereShares(NamedTuple):
    """Shares of loads: the last depth is said to hold in the conversations tried, and in others too."""

    tried: float
    elsewhere: float


def simulate_elsewhere(
    rng: np.random.Generator, trials: int, conversations: int, loss: float, correlation: float, base: float = 0.99
) -> ElsewhereShares:
    """Return the claims about two depths if each conversation loses a share of its own at the second.

    correlation: of the cases of one conversation, 0..1; 1: a conversation fails as a whole or not at all.
    """
    claims = []
    for _ in range(trials):
        checks = _two_depths(rng, base, _losses(rng, conversations, loss, correlation))
        (claim,) = depth_holds(checks)
        claims.append((claim.holds_until == DEPTHS[1], claim.holds_elsewhere_until == DEPTHS[1]))
    return ElsewhereShares(*(float(np.mean(column)) for column in zip(*claims, strict=True)))


def _losses(rng: np.random.Generator, conversations: int, loss: float, correlation: float) -> list[float]:
    if loss == 0:
        return [0.0] * conversations
    if correlation == 1:
        return [float(rng.random() < loss) for _ in range(conversations)]
    spread = 1 / correlation - 1
    return [float(share) for share in rng.beta(loss * spread, (1 - loss) * spread, conversations)]


def _two_depths(rng: np.random.Generator, base: float, losses: list[float]) -> list[SuiteCheck]:
    return [
        SuiteCheck("r", "l", NOW, "s", str(case), "whole", bool(rng.random() < share), None, {}, depth, repeat)
        for repeat, loss in enumerate(losses)
        for depth, share in ((DEPTHS[0], base), (DEPTHS[1], base * (1 - loss)))
        for case in range(CASES)
    ]


def _trial(rng: np.random.Generator, repeats: int, loss: float, base: float) -> tuple[bool, bool, bool]:
    shares = rng.beta(20 * base, 20 * (1 - base), CASES)
    checks = [
        SuiteCheck("r", "l", NOW, "s", str(case), "whole", bool(rng.random() < share), None, {}, depth, repeat)
        for depth in DEPTHS
        for case, share in enumerate(np.clip(shares - loss, 0, 1) if depth == DEPTHS[-1] else shares)
        for repeat in range(repeats)
    ]
    (claims,) = depth_holds(checks)
    is_before = claims.breaks_at is not None and claims.breaks_at < DEPTHS[-1]
    return claims.holds_until == DEPTHS[-1], claims.breaks_at == DEPTHS[-1], is_before


def main(trials: int) -> None:
    """Print a table of losses, repeats and claims."""
    rng = np.random.default_rng(SEED)
    print("| passed before | repeats of 12 cases | lost at the last depth | 'holds' | 'breaks' | breaks before it |")
    print("|---|---|---|---|---|---|")
    for base in (0.99, 0.97, 0.8):
        for repeats in (4, 6, 10):
            for loss in (0.0, 0.05, 0.10, 0.2, 0.5):
                shares = simulate(rng, trials, repeats, loss, base)
                figures = " | ".join(f"{100 * share:.1f} %" for share in shares)
                print(f"| {base:.0%} | {repeats} | {loss:.0%} | {figures} |")
    print("\n| repeats | correlation within a history | 'holds', 10% lost over all histories |\n|---|---|---|")
    for repeats in (6, 10, 30):
        for correlation in (0.01, 0.1, 0.3):
            share = simulate_histories(rng, trials, repeats, 0.10, correlation)
            print(f"| {repeats} | {correlation:g} | {100 * share:.1f} % |")
    print("\n| conversations | passed before | lost | correlation | 'holds' where tried | 'holds' elsewhere |")
    print("|---|---|---|---|---|---|")
    for conversations in (6, 40, 50):
        for base, loss, correlation in ((0.99, 0.0, 0.1), (0.99, 0.02, 0.3), (0.97, 0.0, 0.1), (0.99, 0.10, 0.01),
                                        (0.99, 0.10, 0.1), (0.99, 0.10, 0.3), (0.99, 0.10, 1.0)):  # fmt: skip
            tried, elsewhere = simulate_elsewhere(rng, trials, conversations, loss, correlation, base)
            shares = f"{100 * tried:.1f} % | {100 * elsewhere:.1f} %"
            print(f"| {conversations} | {base:.0%} | {loss:.0%} | {correlation:g} | {shares} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
