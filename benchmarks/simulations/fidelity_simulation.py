"""Simulated fidelity loads with a known loss of agreement: coverage, false alarms and detections.

`python -m benchmarks.simulations.fidelity_simulation [TRIALS]`. The positions of a text are correlated: each text has
its own rate of disagreement, from a beta distribution. Disagreements with the reference's second start and with the
arm share these rates, as near ties do; the arm's loss has rates of its own. The product's code judges every trial.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from analysis.loads.clustered_share import CountsByText, TextCount, difference_of_shares, share_of
from analysis.loads.fidelity import MARGIN

SEED = 20261127


class Truth(NamedTuple):
    """One simulated pair of arms. Shares are of positions."""

    texts: int
    positions: int  # per text
    floor: float  # disagreement of the reference with itself
    loss: float  # further disagreement of the arm
    correlation: float  # of two positions of a text


@dataclass(frozen=True, slots=True)
class Outcome:
    """Shares of the trials."""

    covered: float  # the interval of the loss contains the truth
    agreement_covered: float  # likewise of the agreement
    worse: float  # called different
    better: float  # the whole interval is below 0
    same: float  # called the same


TRUTHS = tuple(
    Truth(40, positions, floor, loss, correlation)
    for positions in (32, 8)
    for correlation in (0.01, 0.05, 0.1)
    for floor, loss in ((0.001, 0.0), (0.004, 0.0), (0.02, 0.0), (0.004, 0.02), (0.02, 0.05))
)


def rates(chance: random.Random, truth: Truth, mean: float) -> Iterator[float]:
    """Yield each text's rate."""
    if mean == 0:
        yield from [0.0] * truth.texts
        return
    a, b = (share * (1 - truth.correlation) / truth.correlation for share in (mean, 1 - mean))
    yield from (chance.betavariate(a, b) for _ in range(truth.texts))


def count(chance: random.Random, positions: int, rate: float) -> int:
    """Return the number of disagreements among a text's positions."""
    return sum(chance.random() < rate for _ in range(positions))


def draw(chance: random.Random, truth: Truth) -> tuple[CountsByText, CountsByText]:
    """Return the agreements of one trial: of the arm, and of the reference's second start."""
    arm, floor = {}, {}
    near_ties, losses = rates(chance, truth, truth.floor), rates(chance, truth, truth.loss)
    for number, (near_tie, loss) in enumerate(zip(near_ties, losses, strict=True)):
        own = count(chance, truth.positions, near_tie)
        changed = count(chance, truth.positions, near_tie + loss)
        floor[str(number)] = TextCount(truth.positions - own, truth.positions)
        arm[str(number)] = TextCount(truth.positions - changed, truth.positions)
    return arm, floor


def simulate(truth: Truth, trials: int, seed: int = SEED) -> Outcome:
    """Judge this many trials."""
    chance = random.Random(f"{seed} {truth}")
    covered = agreement_covered = worse = better = same = 0
    for _ in range(trials):
        arm, floor = draw(chance, truth)
        loss, agreement = difference_of_shares(arm, floor), share_of(arm)
        assert loss and loss.low is not None and loss.high is not None
        assert agreement and agreement.low is not None and agreement.high is not None
        covered += loss.low <= truth.loss <= loss.high
        agreement_covered += agreement.low <= 1 - truth.floor - truth.loss <= agreement.high
        worse += loss.low > 0
        better += loss.high < 0
        same += loss.low <= 0 and loss.high < MARGIN
    return Outcome(*(total / trials for total in (covered, agreement_covered, worse, better, same)))


def main() -> None:
    """Print one line per truth."""
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("texts  positions  correlation  floor  loss  covered  agreement covered  worse  better  same")
    for truth in TRUTHS:
        outcome = simulate(truth, trials)
        print(
            f"{truth.texts:5} {truth.positions:10} {truth.correlation:12.2f} {truth.floor:6.1%} {truth.loss:5.1%} "
            f"{outcome.covered:8.1%} {outcome.agreement_covered:18.1%} {outcome.worse:6.1%} {outcome.better:7.1%} "
            f"{outcome.same:5.0%}"
        )


if __name__ == "__main__":
    main()
