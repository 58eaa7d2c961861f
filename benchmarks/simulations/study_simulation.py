"""Simulated studies with a known truth: wrong winners, ties, and server starts compared with a fixed design.

`python -m benchmarks.simulations.study_simulation [TRIALS]`. Values are drawn and judged by the product's race after
every round. The fixed design gives every arm the fewest starts with which a single test of the same claim (slower at
5 %, and beyond the margin at the race's level, Bonferroni over the arms) names the best as often as the race does.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.study import RaceEnd, race
from analysis.study.race import BEYOND_LEVEL
from analysis.verdict.student_t import quantile

ROUNDS = 10
MARGIN = 0.02
SEED = 20261122
CELLS: Mapping[str, tuple[Sequence[float], Sequence[float]]] = {  # true shares apart; sd between starts of each arm
    "2 equal, 0.5 %": ((0, 0), (0.005,)),
    "2 equal, 1 %": ((0, 0), (0.01,)),
    "2 equal, 2 %": ((0, 0), (0.02,)),
    "2 equal, 3 %": ((0, 0), (0.03,)),
    "2 equal, one noisier": ((0, 0), (0.03, 0.01)),
    "2 equal, one 10 times as noisy": ((0, 0), (0.01, 0.1)),
    "2 equal, one 10 times as noisy, 3 %": ((0, 0), (0.003, 0.03)),
    "2, 1 % apart, 0.5 %": ((0, -0.01), (0.005,)),
    "2, 3 % apart, 1 %": ((0, -0.03), (0.01,)),
    "4 equal, 1 %": ((0, 0, 0, 0), (0.01,)),
    "4 equal, 3 %": ((0, 0, 0, 0), (0.03,)),
    "4, two best equal, 2 %": ((0, 0, -0.1, -0.1), (0.02,)),
    "4, two best equal, one noisier": ((0, 0, -0.1, -0.1), (0.03, 0.01, 0.01, 0.01)),
    "4 at 0/-5/-10/-20, 1 %": ((0, -0.05, -0.10, -0.20), (0.01,)),
    "4 at 0/-5/-10/-20, 2 %": ((0, -0.05, -0.10, -0.20), (0.02,)),
    "4 at 0/-3/-6/-9, 1 %": ((0, -0.03, -0.06, -0.09), (0.01,)),
    "6 at 0/-4/-8/-10/-15/-20, 1 %": ((0, -0.04, -0.08, -0.10, -0.15, -0.20), (0.01,)),
    "6 at 0/-4/-8/-10/-15/-20, 2 %": ((0, -0.04, -0.08, -0.10, -0.15, -0.20), (0.02,)),
    "8 at 0/-3/-5/-5/-8/-10/-20/-30, 1 %": ((0, -0.03, -0.05, -0.05, -0.08, -0.10, -0.20, -0.30), (0.01,)),
    "8 at 0 and seven at -5, 2 %": ((0, *[-0.05] * 7), (0.02,)),
    "8 equal, 2 %": ((0,) * 8, (0.02,)),
}


@dataclass(frozen=True, slots=True)
class Tally:
    """Shares of trials, and mean server starts."""

    wrong: float
    winner: float
    same: float
    starts: float
    most_starts: int


def simulate(truth: Sequence[float], sds: Sequence[float], trials: int, rng: random.Random) -> Tally:
    """Simulate the races of one cell."""
    outcomes = [one_race(truth, sds, rng) for _ in range(trials)]
    best = max(truth)
    has_best = sum(value == best for value in truth) == 1
    wrong = sum(end is RaceEnd.WINNER and not (has_best and truth[leader] == best) for end, leader, _ in outcomes)
    return Tally(
        wrong / trials,
        sum(end is RaceEnd.WINNER for end, _, _ in outcomes) / trials,
        sum(end is RaceEnd.SAME for end, _, _ in outcomes) / trials,
        sum(starts for _, _, starts in outcomes) / trials,
        max(starts for _, _, starts in outcomes),
    )


def one_race(truth: Sequence[float], sds: Sequence[float], rng: random.Random) -> tuple[RaceEnd | None, int, int]:
    """Return the end of one race, its leader, and its starts."""
    means = [math.log1p(share) for share in truth]
    spread = [sds[index % len(sds)] for index in range(len(truth))]
    values: dict[str, list[float]] = {str(index): [] for index in range(len(truth))}
    racing = list(values)
    race_now = None
    for _ in range(ROUNDS):
        for name in racing:
            values[name].append(rng.gauss(means[int(name)], spread[int(name)]))
        race_now = race(values, MARGIN)
        if race_now.end is not None:
            break
        racing = list(race_now.next_arms)
    assert race_now is not None
    return race_now.end, int(race_now.leader or 0), sum(map(len, values.values()))


def fixed_design(truth: Sequence[float], sd: float, power: float, trials: int, rng: random.Random) -> int:
    """Return the starts of all arms together with which a single test names the best with this power."""
    means, best = [math.log1p(share) for share in truth], max(range(len(truth)), key=lambda index: truth[index])
    for count in range(2, 61):
        bounds = [
            quantile(1 - level / (len(truth) - 1), len(truth) * (count - 1)) for level in (0.05 / 2, BEYOND_LEVEL)
        ]
        hits = sum(_one_look(means, sd, count, bounds, rng) == best for _ in range(trials))
        if hits >= power * trials:
            return count * len(truth)
    return 61 * len(truth)


def _one_look(means: Sequence[float], sd: float, count: int, bounds: Sequence[float], rng: random.Random) -> int | None:
    """Return the arm that a single test names, with mean and variance drawn from their distributions."""
    observed = [rng.gauss(mean, sd / math.sqrt(count)) for mean in means]
    df = len(means) * (count - 1)
    spread = sd * math.sqrt(rng.gammavariate(df / 2, 2) / df)
    first, second = sorted(observed, reverse=True)[:2]
    slower, beyond = (bound * spread * math.sqrt(2 / count) for bound in bounds)
    is_best = first - second > max(slower, beyond + math.log1p(MARGIN))
    return observed.index(first) if is_best else None


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print("| arms | wrong winner | winner | same | starts, mean | most | fixed design | share of it |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (truth, sds) in CELLS.items():
        outcome = simulate(truth, sds, trials, random.Random(SEED))
        is_decided = len(truth) >= 4 and outcome.winner >= 0.5 and len(sds) == 1
        fixed = (
            fixed_design(truth, sds[0], outcome.winner, min(trials, 2000), random.Random(SEED)) if is_decided else None
        )
        share = f"{fixed} | {outcome.starts / fixed:.2f}" if fixed else "- | -"
        print(
            f"| {name} | {outcome.wrong:.1%} | {outcome.winner:.1%} | {outcome.same:.1%} | {outcome.starts:.1f} "
            f"| {outcome.most_starts} | {share} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
