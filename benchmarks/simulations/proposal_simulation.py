"""Simulated studies of several settings with a known truth: distance to the best combination by number of starts.

`python -m benchmarks.simulations.proposal_simulation 200`. Speeds are made up (a labelled stand-in: no server runs):
each setting has a best value and loses a share for each step away from it, two of them together more, and starts differ
by 2 %. The results are compared with a grid in its order and with random combinations.
"""

from __future__ import annotations

import itertools
import math
import random
import sys
from statistics import median

from analysis.study.proposal import Setting, Trial, ValueIndexes, propose_combination

SETTINGS = (Setting(5, True), Setting(4, True), Setting(4, True), Setting(3, False))  # 240 combinations
NOISE = 0.02  # sd of the logarithm of one start
NEAR = 0.05  # of the best speed: the region that is looked for
MOST = 60


class Truth:
    """The logarithm of the speed of every combination."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self._best = tuple(rng.randrange(setting.values) for setting in SETTINGS)
        self._loss = tuple(rng.uniform(0.04, 0.15) for _ in SETTINGS)
        self._noise = random.Random(seed + 1)
        self.top = max(map(self.log_speed, combinations()))

    def log_speed(self, choice: ValueIndexes) -> float:
        away = [
            abs(at - best) if setting.is_ordered else float(at != best)
            for at, best, setting in zip(choice, self._best, SETTINGS, strict=True)
        ]
        alone = sum(loss * steps for loss, steps in zip(self._loss, away, strict=True))
        return math.log(1000.0) - alone - 0.03 * away[0] * away[1]

    def start(self, choice: ValueIndexes) -> float:
        return self.log_speed(choice) + self._noise.gauss(0.0, NOISE)

    def is_near(self, choice: ValueIndexes) -> bool:
        return self.log_speed(choice) >= self.top + math.log(1 - NEAR)


def combinations() -> list[ValueIndexes]:
    return list(itertools.product(*(range(setting.values) for setting in SETTINGS)))


def starts_by_proposal(seed: int, most: int = MOST) -> int | None:
    """Return the starts until one is within `NEAR` of the best; None if `most` were not enough."""
    truth, trials = Truth(seed), [Trial((0,) * len(SETTINGS), 0.0)]
    trials[0] = Trial(trials[0].choice, truth.start(trials[0].choice))
    for count in range(1, most + 1):
        if truth.is_near(trials[-1].choice):
            return count
        choice = propose_combination(SETTINGS, trials, seed)
        assert choice
        trials.append(Trial(choice, truth.start(choice)))
    return None


def starts_by_order(seed: int, is_drawn: bool) -> int:
    """Return the same for a grid in its order, or for combinations drawn without repeats."""
    truth, order = Truth(seed), combinations()
    if is_drawn:
        random.Random(seed + 2).shuffle(order)
    return next(count for count, choice in enumerate(order, start=1) if truth.is_near(choice))


def main(studies: int) -> None:
    seeds = range(studies)
    proposed = [starts_by_proposal(seed) or MOST + 1 for seed in seeds]
    for name, counts in (
        ("proposed", proposed),
        ("drawn", [starts_by_order(seed, True) for seed in seeds]),
        ("grid", [starts_by_order(seed, False) for seed in seeds]),
    ):
        ordered = sorted(counts)
        p90 = ordered[math.ceil(0.9 * len(ordered)) - 1]
        print(f"{name:<10} median {median(counts):g}, p90 {p90}, mean {sum(counts) / len(counts):.1f} starts")
    print(f"not within {MOST}: {sum(count > MOST for count in proposed)} of {studies}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
