"""Simulated long loads whose speed wanders without a trend, or falls: how often a drift is claimed.

`python -m benchmarks.simulations.drift_simulation [TRIALS]`. The log speed of a session is a first-order autoregressive
series; the product's code claims.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta

import numpy as np

from analysis.loads.endurance import endurance_of, is_drifting
from load_records import SESSION, TURN, RequestRecord

SEED = 20261128
NOW = datetime(2026, 11, 28, tzinfo=UTC)
TOKENS, MEAN_TPS = 101, 50.0


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


def main(trials: int) -> None:
    """Print a table of wandering, of a loss, and of the claims."""
    rng = np.random.default_rng(SEED)
    print("| sessions | correlation of neighbours | sd of a session | lost in the load | drift claimed | no interval |")
    print("|---|---|---|---|---|---|")
    for sessions in (12, 24, 60):
        for correlation, sd, loss in ((0.0, 0.03, 0.0), (0.5, 0.03, 0.0), (0.8, 0.03, 0.0), (0.95, 0.03, 0.0),
                                      (0.95, 0.1, 0.0), (0.0, 0.01, 0.1), (0.5, 0.01, 0.1)):  # fmt: skip
            shares = claimed_shares(rng, trials, sessions, correlation, sd, loss)
            claimed, unknown = (f"{100 * share:.1f} %" for share in shares)
            print(f"| {sessions} | {correlation:g} | {sd:.0%} | {loss:.0%} | {claimed} | {unknown} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
