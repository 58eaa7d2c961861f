"""Simulated long loads whose speed or memory wanders without a trend, or changes: how often a drift is claimed.

`python -m benchmarks.simulations.drift_simulation [TRIALS]`. The log speed of a session is a first-order autoregressive
series; the product's code claims.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

import numpy as np

from analysis.loads.endurance import MEMORY_PARTS, MemoryGrowth, endurance_of, is_drifting
from load_records import SESSION, TURN, RequestRecord

SEED = 20261128
NOW = datetime(2026, 11, 28, tzinfo=UTC)
TOKENS, MEAN_TPS = 101, 50.0
MEMORY_BYTES, MEMORY_SD = 30 * 2**30, 0.005  # the deviation of a part, as a share of the memory


def claimed_shares(
    rng: np.random.Generator, trials: int, sessions: int, correlation: float, sd: float, loss: float = 0.0
) -> tuple[float, float]:
    """Return the shares of loads with a claimed drift, and of those without an interval.

    sd: of the log speed of a session. loss: share of the speed that is lost evenly from the first session to the last.
    """
    claims = [_claim(_speeds(rng, sessions, correlation, sd, loss)) for _ in range(trials)]
    return claims.count(True) / trials, claims.count(None) / trials


def _speeds(rng: np.random.Generator, sessions: int, correlation: float, sd: float, loss: float) -> list[float]:
    log, logs = float(rng.normal(0, sd)), []
    for _ in range(sessions):
        logs.append(log)
        log = correlation * log + float(rng.normal(0, sd * (1 - correlation**2) ** 0.5))
    return [MEAN_TPS * float(np.exp(value)) * (1 - loss * place / (sessions - 1)) for place, value in enumerate(logs)]


def _claim(speeds: list[float]) -> bool | None:
    drift = endurance_of(
        [
            RequestRecord(
                "r", str(session), "endurance", "measure", "turn", 0, 1, NOW + timedelta(minutes=session),
                ttft_ms=100.0, decode_ms=1000 * (TOKENS - 1) / tps, completion_tokens=TOKENS, chunks=TOKENS,
                extra={SESSION: session, TURN: 1, "first_chunk_tokens": 1},
            )
            for session, tps in enumerate(speeds)
        ]
    )  # fmt: skip
    assert drift
    return is_drifting(drift.decode)


def memory_claims(rng: np.random.Generator, trials: int, kind: str, growth: float = 0.0) -> float:
    """Return the share of loads whose memory is said to grow or to fall.

    kind: 'walk', 'steps' (three at random times), or the correlation of neighbouring parts. growth: over the load, as a
    share of the memory.
    """
    claims = 0
    for _ in range(trials):
        interval = MemoryGrowth(0, True, _memory(rng, kind, growth), 1.0).interval_per_hour
        assert interval
        claims += interval[0] > 0 or interval[1] < 0
    return claims / trials


def _memory(rng: np.random.Generator, kind: str, growth: float) -> list[float]:
    parts = np.arange(MEMORY_PARTS)
    if kind == "walk":
        wander = np.cumsum(rng.normal(0, MEMORY_SD, MEMORY_PARTS))
    elif kind == "steps":
        places, signs = rng.integers(1, MEMORY_PARTS, 3), rng.choice([-1, 1], 3)
        wander = sum(10 * MEMORY_SD * sign * (parts >= place) for place, sign in zip(places, signs, strict=True))
        wander = wander + rng.normal(0, MEMORY_SD / 1000, MEMORY_PARTS)
    else:
        log, correlation, wander = rng.normal(0, MEMORY_SD), float(kind), np.zeros(MEMORY_PARTS)
        for part in parts:
            wander[part] = log
            log = correlation * log + rng.normal(0, MEMORY_SD * (1 - correlation**2) ** 0.5)
    return [float(value) for value in MEMORY_BYTES * (1 + wander + growth * parts / (MEMORY_PARTS - 1))]


def main(trials: int) -> None:
    """Print a table of wandering, of a loss, and of the claims; likewise of memory."""
    rng = np.random.default_rng(SEED)
    print("| sessions | correlation of neighbours | sd of a session | lost in the load | drift claimed | no interval |")
    print("|---|---|---|---|---|---|")
    for sessions in (12, 24, 60):
        for correlation, sd, loss in ((0.0, 0.03, 0.0), (0.5, 0.03, 0.0), (0.8, 0.03, 0.0), (0.95, 0.03, 0.0),
                                      (0.95, 0.1, 0.0), (0.0, 0.01, 0.1), (0.5, 0.01, 0.1)):  # fmt: skip
            shares = claimed_shares(rng, trials, sessions, correlation, sd, loss)
            claimed, unknown = (f"{100 * share:.1f} %" for share in shares)
            print(f"| {sessions} | {correlation:g} | {sd:.0%} | {loss:.0%} | {claimed} | {unknown} |")
    print("\n| memory of neighbouring parts | grows over the load | said to grow or fall |\n|---|---|---|")
    for growth in (0.0, 0.02):
        for kind in ("0", "0.5", "0.8", "0.95", "0.99", "walk", "steps"):
            print(f"| {kind} | {growth:.0%} | {100 * memory_claims(rng, trials, kind, growth):.1f} % |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
