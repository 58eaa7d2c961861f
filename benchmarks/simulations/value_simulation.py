"""Simulated studies of the number of draft tokens with a known truth: how often the best one is excluded by prediction.

`python -m benchmarks.simulations.value_simulation [TRIALS]`. Texts are generated token by token, drafted and verified
with each k; a start counts its accepted tokens over `TOKENS` tokens, and its steps take the cell's time times noise.
The product's code chooses and judges the starts.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import NamedTuple

from analysis.study import MeasuredK, RaceEnd, choose_k, race, sd_of_starts

ROUNDS = 10
MARGIN = 0.02
SEED = 20261122
TOKENS = 3000  # of one start's answers
SERVERS = 60  # of each text and k, whose counts are drawn again and again; their mean is the truth
MANY, FEW = (1, 2, 3, 4, 6, 8), (0, 2, 4, 6)


class Text(NamedTuple):
    """Acceptance of drafts in easy and in hard parts of a text, which alternate at random tokens."""

    easy: float  # acceptance of a draft token, where those before it were accepted
    hard: float
    stretch: float = 2.0  # mean length in tokens, 2 at least
    deeper: float = 1.0  # each position is accepted so many times as often as the one before


TEXTS = {
    "0.6 by chance": Text(0.6, 0.6),
    "0.85 by chance": Text(0.85, 0.85),
    "0.9, falling by position": Text(0.9, 0.9, deeper=0.85),
    "stretches of 0.95 and 0.1": Text(0.95, 0.1, 40.0),
    "stretches of 1 and 0 (look-up)": Text(1.0, 0.0, 25.0),
    "falling, in stretches": Text(0.95, 0.4, 30.0, 0.9),
}
COSTS: Mapping[str, Callable[[int], float]] = {  # time of a step over that without drafts
    "free": lambda k: 1.0,
    "2 % a draft": lambda k: 1 + 0.02 * k,
    "8 % a draft": lambda k: 1 + 0.08 * k,
    "25 % a draft": lambda k: 1 + 0.25 * k,
    "free up to 3, then 20 %": lambda k: max(1.0, 1 + 0.2 * (k - 3)),
    "free up to 7, then 2 %": lambda k: 1.02 if k > 7 else 1.0,
    "12 % every 4": lambda k: 1 + 0.12 * math.ceil(k / 4),
}


class DraftCounts(NamedTuple):
    """Counts of a server with this k over some tokens."""

    tokens_per_step: float
    shares: tuple[float, ...]


class Cell(NamedTuple):
    """One known truth: a text, the time of a step at each k, the tried values, and the spread of starts."""

    title: str
    text: Text
    cost: Callable[[int], float]
    ks: Sequence[int]
    sd: float


@dataclass(frozen=True, slots=True)
class Tally:
    """Shares of trials, and mean server starts and arms that never started."""

    pruned_best: float
    wrong: float
    decided: float
    starts: float
    starts_of_race: float  # without predictions
    away: float


def count(text: Text, k: int, tokens: int, rng: random.Random) -> DraftCounts:
    """Verify drafts of k tokens through a text."""
    reached, steps, token_count = [0] * k, 0, 0
    is_easy = rng.random() < 0.5
    while token_count < tokens:
        steps += 1
        accepted, is_easy = _step(text, k, is_easy, rng)
        for position in range(accepted):
            reached[position] += 1
        token_count += accepted + 1
    return DraftCounts(token_count / steps, tuple(reach / steps for reach in reached))


def _step(text: Text, k: int, is_easy: bool, rng: random.Random) -> tuple[int, bool]:
    accepted = 0
    while accepted < k:
        chance = (text.easy if is_easy else text.hard) * text.deeper**accepted
        if rng.random() >= chance:
            break
        accepted += 1
        is_easy = _after(text, is_easy, rng)
    return accepted, _after(text, is_easy, rng)


def _after(text: Text, is_easy: bool, rng: random.Random) -> bool:
    return is_easy != (rng.random() < 1 / max(2.0, text.stretch))


@cache
def draft_counts(text: Text, k: int) -> tuple[DraftCounts, ...]:
    """Return the counts of this many servers."""
    rng = random.Random(f"{SEED} {text} {k}")
    return tuple(count(text, k, TOKENS, rng) for _ in range(SERVERS))


def true_log_speed(cell: Cell, k: int) -> float:
    return fmean(math.log(server.tokens_per_step / cell.cost(k)) for server in draft_counts(cell.text, k))


def start(cell: Cell, k: int, rng: random.Random) -> MeasuredK:
    """Simulate one server start."""
    server = rng.choice(draft_counts(cell.text, k))
    speed = math.log(server.tokens_per_step / cell.cost(k)) + rng.gauss(0.0, cell.sd)
    return MeasuredK(str(k), k, speed, (server.shares,))


def study(
    cell: Cell, rng: random.Random, predicts: bool = True
) -> tuple[RaceEnd | None, str | None, int, tuple[str, ...]]:
    """Return a study's end, its leader, its starts, and the arms excluded by prediction."""
    starts_by_k: dict[str, list[MeasuredK]] = {str(k): [] for k in cell.ks}
    end, leader, away = None, None, tuple[str, ...]()
    while end is None and max(map(len, starts_by_k.values())) < ROUNDS:
        values = {name: [server_start.log_speed for server_start in starts] for name, starts in starts_by_k.items()}
        measured = {name: _mean(starts) for name, starts in starts_by_k.items() if starts}
        choice = choose_k({str(k): k for k in cell.ks}, measured, (), sd_of_starts(values)) if predicts else None
        away = choice.excluded if choice else ()
        race_now = race(values, MARGIN, excluded=away)
        end, leader = race_now.end, race_now.leader
        for name in [choice.probe] if choice and choice.probe else race_now.next_arms:
            starts_by_k[name].append(start(cell, int(name), rng))
    return end, leader, sum(map(len, starts_by_k.values())), away


def _mean(starts: Sequence[MeasuredK]) -> MeasuredK:
    first = starts[0]
    shares = tuple(share for start in starts for share in start.shares)
    return MeasuredK(first.name, first.k, fmean(start.log_speed for start in starts), shares)


def simulate(cell: Cell, trials: int, seed: int = SEED) -> Tally:
    """Simulate the studies of one cell."""
    rng = random.Random(seed)
    truth = {str(k): true_log_speed(cell, k) for k in cell.ks}
    best = max(truth, key=truth.__getitem__)
    outcomes = [study(cell, rng) for _ in range(trials)]
    plain = [study(cell, rng, predicts=False) for _ in range(max(1, trials // 10))]
    return Tally(
        sum(best in away for *_, away in outcomes) / trials,
        sum(end is RaceEnd.WINNER and leader != best for end, leader, *_ in outcomes) / trials,
        sum(end in (RaceEnd.WINNER, RaceEnd.SAME) for end, *_ in outcomes) / trials,
        fmean(starts for _, _, starts, _ in outcomes),
        fmean(starts for _, _, starts, _ in plain),
        fmean(len(away) for *_, away in outcomes),
    )


def cells() -> Iterator[Cell]:
    for title, text in TEXTS.items():
        for cost_words, cost in COSTS.items():
            for ks, sd in ((MANY, 0.01), (MANY, 0.03), (FEW, 0.02)):
                yield Cell(f"{title}; {cost_words}; k {', '.join(map(str, ks))}; {sd:.0%}", text, cost, ks, sd)


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(
        "| text; time of a step; values; sd of a start | best predicted away | wrong winner | decided | starts "
        "| without predictions | arms never started |"
    )
    print("|---|---|---|---|---|---|---|")
    for cell in cells():
        outcome = simulate(cell, trials)
        shares = " | ".join(f"{value:.1%}" for value in (outcome.pruned_best, outcome.wrong, outcome.decided))
        print(
            f"| {cell.title} | {shares} | {outcome.starts:.1f} | {outcome.starts_of_race:.1f} | {outcome.away:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
