"""Coverage and error rates of the verdict: simulated repeats with a known truth, judged by analysis/verdict.

    python -m benchmarks.simulations.verdict_simulation [trials a cell, 10,000 if not given]

A replicate is the mean of lognormal windows that follow an AR(1) process on the log scale, times the run's own factor.
Thousands of trials are judged at once by an array version of the product's rules, with the product's quantiles;
tests/analysis/verdict/test_simulation.py checks that it and `judge` give the same intervals and answers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Self

import numpy as np
import numpy.typing as npt

from analysis.verdict.student_t import quantile
from benchmarks.simulations.planned_repeats import half_width, repeats_for_same

Array = npt.NDArray[np.float64]
TRIALS = 10_000
MOST_REPEATS = 5
TABLE = 2000  # degrees of freedom for which a quantile is taken from the product; between them it is interpolated
EQUAL = ((2, 2), (3, 3), (4, 4), (5, 5))
UNEQUAL = ((2, 3), (3, 2), (2, 5), (5, 2), (3, 5), (5, 3), (4, 5), (5, 4))
NOISIER = 3.0  # the noisier side's sd over the other's


@dataclass(frozen=True)
class Noise:
    """Sources of variation between replicates of one configuration."""

    cv: float  # of one window
    lag1: float  # correlation of neighbouring windows' logs
    windows: int
    between: float  # sd of the log of the run's own factor

    def times(self, factor: float) -> Self:
        return replace(self, cv=self.cv * factor, between=self.between * factor)

    @property
    def window_share(self) -> float:
        """The variance that the windows leave in a replicate."""
        lags = sum((1 - k / self.windows) * self.lag1**k for k in range(1, self.windows))
        return self.cv**2 / self.windows * (1 + 2 * lags)


NOISES = [Noise(*parameters) for parameters in product((0.03, 0.1, 0.5), (0.3, 0.8), (6, 40, 200), (0.0, 0.01, 0.03))]


def noise_of(total_sd: float, lag1: float, windows: int) -> Noise:
    """Half of the variance from windows, half between runs."""
    unit = Noise(1.0, lag1, windows, 0.0).window_share
    return Noise(total_sd * math.sqrt(0.5 / unit), lag1, windows, total_sd * math.sqrt(0.5))


def log_replicates(rng: np.random.Generator, noise: Noise, shape: tuple[int, ...]) -> Array:
    """Logs of replicates of one configuration whose windows have the mean 1."""
    sd = math.sqrt(math.log1p(noise.cv**2))
    step = sd * math.sqrt(1 - noise.lag1**2)
    state = sd * rng.standard_normal(shape)
    total = np.exp(state)
    for _ in range(noise.windows - 1):
        state = noise.lag1 * state + step * rng.standard_normal(shape)
        total += np.exp(state)
    return np.log(total / noise.windows) - sd**2 / 2 + noise.between * rng.standard_normal(shape)


@cache
def expected_log(noise: Noise) -> float:
    """The mean of the log of a replicate: the log of the configuration's true geometric mean."""
    return float(log_replicates(np.random.default_rng(77), noise, (100_000,)).mean())


def two_sides(seed: int, noise: Noise, sd_ratio: float, trials: int) -> tuple[Array, Array]:
    """Return logs of MOST_REPEATS replicates per side, with a true ratio of 1; one side has the cell's noise."""
    rng = np.random.default_rng(seed)
    quiet = noise.times(1 / sd_ratio)
    a, b = (log_replicates(rng, side, (trials, MOST_REPEATS)) for side in (quiet, noise))
    return (a, b) if sd_ratio == 1 else (a - expected_log(quiet), b - expected_log(noise))


@dataclass(frozen=True)
class TrialIntervals:
    """Intervals of many trials, on the log scale."""

    log_ratio: Array
    half: Array  # of the 95 % interval
    half_same: Array  # of the 90 % interval

    @classmethod
    def of(cls, a: Array, b: Array, comparisons: int = 1) -> Self:
        levels = (1 - 0.05 / comparisons, 1 - 0.10 / comparisons)
        return cls(b.mean(-1) - a.mean(-1), half_interval(a, b, levels[0]), half_interval(a, b, levels[1]))

    def covered(self, truth: float = 0.0) -> Array:
        return np.abs(self.log_ratio - truth) <= self.half

    def beyond(self, truth: float, margin: float = 0.02) -> Array:
        """Where 'better' or 'worse' is claimed, if the true ratio were `truth`."""
        return np.abs(self.log_ratio + math.log(truth)) - self.half > math.log1p(margin)

    def better(self, truth: float, margin: float = 0.02) -> Array:
        return self.log_ratio + math.log(truth) - self.half > math.log1p(margin)

    def same(self, truth: float, margin: float = 0.02) -> Array:
        return np.abs(self.log_ratio + math.log(truth)) + self.half_same < math.log1p(margin)


def half_interval(a: Array, b: Array, level: float) -> Array:
    """The product's rule for arrays of trials: Welch, and Cochran and Cox where the repeats differ."""
    p, n_a, n_b = (1 + level) / 2, a.shape[-1], b.shape[-1]
    if n_a == n_b:
        return welch_half(a, b, level)
    va, vb = a.var(-1, ddof=1) / n_a, b.var(-1, ddof=1) / n_b
    return (va * quantile(p, n_a - 1) + vb * quantile(p, n_b - 1)) / np.sqrt(va + vb)


def welch_half(a: Array, b: Array, level: float) -> Array:
    n_a, n_b = a.shape[-1], b.shape[-1]
    va, vb = a.var(-1, ddof=1) / n_a, b.var(-1, ddof=1) / n_b
    inverse, values = quantile_table((1 + level) / 2, min(n_a, n_b) - 1, n_a + n_b - 2)
    inverse_df = (va**2 / (n_a - 1) + vb**2 / (n_b - 1)) / (va + vb) ** 2
    return np.interp(inverse_df, inverse, values) * np.sqrt(va + vb)


@cache
def quantile_table(p: float, least: int, most: int) -> tuple[Array, Array]:
    """Quantiles by the inverse of the degrees of freedom, rising."""
    inverse = np.linspace(1 / most, 1 / least, TABLE)
    return inverse, np.array([quantile(p, 1 / inverse_df) for inverse_df in inverse])


def coverage_cells(
    trials: int, noises: Sequence[Noise] = NOISES, repeats: Sequence[tuple[int, int]] = EQUAL + UNEQUAL
) -> Iterator[tuple[Noise, float, tuple[int, int], TrialIntervals]]:
    """Every noise, with like and unlike sides, at every number of repeats; the true ratio is 1."""
    for seed, (noise, sd_ratio) in enumerate(product(noises, (1.0, NOISIER))):
        a, b = two_sides(seed, noise, sd_ratio, trials)
        for n_a, n_b in repeats:
            yield noise, sd_ratio, (n_a, n_b), TrialIntervals.of(a[:, :n_a], b[:, :n_b])


def arms(seed: int, count: int, repeats: int, noisy: int | None, trials: int) -> Array:
    """Normal logs of all arms (trials, arms, repeats), sd 2 %; one arm may be NOISIER times as noisy."""
    logs = 0.02 * np.random.default_rng(seed).standard_normal((trials, count, repeats))
    if noisy is not None:
        logs[:, noisy] *= NOISIER
    return logs


def joint_coverage(logs: Array) -> float:
    """Return how often all of the arms' intervals cover, by the product's rule."""
    count = logs.shape[1]
    judged = [TrialIntervals.of(logs[:, 0], logs[:, arm], comparisons=count - 1) for arm in range(1, count)]
    return float(np.mean(np.all([intervals.covered() for intervals in judged], axis=0)))


def pooled_coverage(logs: Array, earlier_df: int = 0, seed: int = 0) -> float:
    """How often the 95 % interval of arm 1 covers with one sd for all arms, and earlier repeats of sd 2 % if asked."""
    trials, count, repeats = logs.shape
    own_variance = logs.var(2, ddof=1).mean(1) * count * (repeats - 1) if repeats > 1 else np.zeros(trials)
    earlier = 0.02**2 * np.random.default_rng(seed).chisquare(earlier_df, trials) if earlier_df else np.zeros(trials)
    df = count * (repeats - 1) + earlier_df
    half = quantile(0.975, df) * np.sqrt((own_variance + earlier) / df * 2 / repeats)
    return float(np.mean(np.abs(logs[:, 1].mean(1) - logs[:, 0].mean(1)) <= half))


def power_cells(trials: int, total_sd: float = 0.02) -> Iterator[tuple[str, int, Noise, float]]:
    """Claim, repeats, noise, and how often the claim is made, where `total_sd` is all the noise of a replicate."""
    for seed, (lag1, windows) in enumerate(product((0.3, 0.8), (6, 40, 200))):
        noise = noise_of(total_sd, lag1, windows)
        for ratio, repeats in ((1.10, 3), (1.3, 3), (1.5, 2), (1.10, 5)):
            a, b = (side[:, :repeats] for side in two_sides(seed, noise, 1.0, trials))
            yield f"better at {ratio}", repeats, noise, float(TrialIntervals.of(a, b).better(ratio).mean())


def same_power(repeats: int, trials: int, total_sd: float = 0.02) -> float:
    """Return how often 'same' is claimed for two equal arms."""
    a, b = total_sd * np.random.default_rng(5).standard_normal((2, trials, repeats))
    return float(TrialIntervals.of(a, b).same(1.0).mean())


def typical_half_width(repeats: int, trials: int, total_sd: float = 0.02) -> float:
    a, b = total_sd * np.random.default_rng(6).standard_normal((2, trials, repeats))
    return float(np.expm1(np.median(TrialIntervals.of(a, b).half)))


def print_coverage(trials: int) -> None:
    print(f"Coverage of the 95 % interval, {len(NOISES)} kinds of noise a row, {trials:,} trials a cell\n")
    print("| repeats | sd ratio | lowest | mean | highest | better or worse at 1.00 | better at 1.02 | same at 1.02 |")
    print("|---|---|---|---|---|---|---|---|")
    rows: dict[tuple[tuple[int, int], float], list[TrialIntervals]] = {}
    for _, sd_ratio, repeats, judged in coverage_cells(trials):
        rows.setdefault((repeats, sd_ratio), []).append(judged)
    for (repeats, sd_ratio), cells in sorted(rows.items(), key=lambda row: (row[0][0][0] != row[0][0][1], row[0])):
        covered = [cell.covered().mean() for cell in cells]
        worst = [max(of_one) for of_one in zip(*(_false_claims(cell) for cell in cells), strict=True)]
        figures = (min(covered), float(np.mean(covered)), max(covered), *worst)
        name = f"{repeats[0]} and {repeats[1]}"
        print(f"| {name} | {sd_ratio:.0f} | " + " | ".join(f"{100 * figure:.1f} %" for figure in figures) + " |")


def _false_claims(judged: TrialIntervals) -> tuple[float, float, float]:
    claims = judged.beyond(1.0), judged.better(1.02), judged.same(1.02)
    return tuple(float(claim.mean()) for claim in claims)  # type: ignore[return-value]


def print_welch_alone(trials: int) -> None:
    print(
        "\nUnequal repeats by Welch's t alone, the side with fewer repeats the noisier one: why it is not used there\n"
    )
    print("| repeats | sd ratio | covers | by Cochran and Cox |\n|---|---|---|---|")
    for (many, few), sd_ratio in product(((3, 2), (5, 2), (5, 3), (5, 4)), (1.0, NOISIER)):
        a, b = two_sides(11, noise_of(0.02, 0.5, 40), sd_ratio, 10 * trials)
        a, b = a[:, :many], b[:, :few]
        covered = [np.mean(np.abs(b.mean(1) - a.mean(1)) <= half(a, b, 0.95)) for half in (welch_half, half_interval)]
        print(
            f"| {many} and {few} | {sd_ratio:.0f} | " + " | ".join(f"{100 * share:.1f} %" for share in covered) + " |"
        )


def print_arms(trials: int) -> None:
    print(
        "\nSeveral arms, sd 2 %, the noisier one 3 times that: all intervals cover | arm 1's covers with a pooled sd\n"
    )
    print("| arms | repeats | alike | baseline noisier | arm 1 noisier | pooled: alike | pooled: arm 1 noisier |")
    print("|---|---|---|---|---|---|---|")
    for seed, (count, repeats) in enumerate(product((2, 3, 4, 8), (2, 3, 5))):
        cases = [arms(seed, count, repeats, noisy, trials) for noisy in (None, 0, 1)]
        figures = [joint_coverage(case) for case in cases] + [pooled_coverage(cases[0]), pooled_coverage(cases[2])]
        print(f"| {count} | {repeats} | " + " | ".join(f"{100 * figure:.1f} %" for figure in figures) + " |")


def print_earlier(trials: int) -> None:
    print("\nThe sd of earlier repeats (2 %) for two arms: coverage where arm 1's own sd is as much, or 3 times that\n")
    print("| repeats | earlier df | alike | arm 1 noisier | |")
    print("|---|---|---|---|---|")
    for repeats, df in product((1, 2, 3), (6, 12, 30)):
        figures = [pooled_coverage(arms(9, 2, repeats, noisy, trials), df) for noisy in (None, 1)]
        use = "used, and told" if repeats == 1 else "not used"
        print(f"| {repeats} | {df} | " + " | ".join(f"{100 * figure:.1f} %" for figure in figures) + f" | {use} |")


def print_power(trials: int) -> None:
    print("\nHow often a true difference is told, total sd of a replicate 2 %, the worst of 6 kinds of noise\n")
    print("| claim | repeats | told |\n|---|---|---|")
    worst: dict[tuple[str, int], float] = {}
    for claim, repeats, _, power in power_cells(trials):
        worst[claim, repeats] = min(power, worst.get((claim, repeats), 1.0))
    for repeats in (5, 10, repeats_for_same(0.02) or 0):
        worst["same at 1.00", repeats] = same_power(repeats, trials)
    for (claim, repeats), power in worst.items():
        print(f"| {claim} | {repeats} | {100 * power:.1f} % |")
    print("\n| repeats | half-width said before | median in simulation |\n|---|---|---|")
    for repeats in (2, 3, 5, 10, 20):
        widths = half_width(0.02, repeats), typical_half_width(repeats, trials)
        print(f"| {repeats} | " + " | ".join(f"{100 * width:.1f} %" for width in widths) + " |")


def main() -> int:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS
    for section in (print_coverage, print_welch_alone, print_arms, print_earlier, print_power):
        section(trials)
    return 0


if __name__ == "__main__":
    sys.exit(main())
