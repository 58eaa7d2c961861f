"""Drift over a long load: a known slowdown is found, an even load has none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from analysis.loads.endurance import Endurance, endurance_of, is_drifting
from benchmarks.simulations.drift_simulation import claimed_shares, memory_claims
from load_records import RequestRecord

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)


def turns(
    rng: np.random.Generator, sessions: int = 24, slowdown: float = 0.0, left_out: tuple[int, ...] = ()
) -> list[RequestRecord]:
    """Turns of sessions whose speed falls evenly by `slowdown` from the first session to the last."""
    records = []
    for session in range(sessions):
        pace = 50 * (1 - slowdown * session / (sessions - 1)) * float(np.exp(rng.normal(0, 0.01)))
        for turn in range(4):
            request = RequestRecord(
                "r", f"{session}-{turn}", "endurance", "measure", f"turn {turn}", 0, 1,
                NOW + timedelta(minutes=session, seconds=turn), ttft_ms=100.0 * (turn + 1),
                decode_ms=1000 * 99 / (pace / (1 + turn / 10)), completion_tokens=100, chunks=100,
                error_kind="http" if (session, turn) == (left_out or (None,))[0] else None,
                extra={"session": session, "turn": turn, "first_chunk_tokens": 1},
            )  # fmt: skip
            records.append(request)
    return records


def measured(records: list[RequestRecord]) -> Endurance:
    drift = endurance_of(records)
    assert drift
    return drift


def test_known_slowdown_is_found() -> None:
    drift = measured(turns(np.random.default_rng(1), slowdown=0.3))
    assert drift.decode and drift.decode.interval
    assert drift.decode.ratio == pytest.approx((1 - 0.3 * 19.5 / 23) / (1 - 0.3 * 3.5 / 23), rel=0.01)
    assert is_drifting(drift.decode)
    assert drift.ttft and drift.ttft.ratio == pytest.approx(1.0)


def test_even_loads_rarely_drift() -> None:
    rng = np.random.default_rng(2)
    claims = [is_drifting(measured(turns(rng)).decode) for _ in range(200)]
    assert claims.count(True) == 0 and claims.count(None) <= 10


@pytest.mark.parametrize("correlation", [0.5, 0.8, 0.95])
def test_speed_that_wanders_is_no_drift(correlation: float) -> None:
    """Neighbouring sessions are alike: without allowing for it, a fifth of such loads would be called drifting."""
    rng = np.random.default_rng(5)
    claimed, _ = claimed_shares(rng, 300, sessions=24, correlation=correlation, sd=0.03)
    assert claimed <= 0.05


@pytest.mark.parametrize("kind", ["0", "0.8", "0.99", "walk", "steps"])
def test_memory_that_wanders_or_jumps_does_not_grow(kind: str) -> None:
    assert memory_claims(np.random.default_rng(6), 300, kind) <= 0.06


@pytest.mark.parametrize(("kind", "least"), [("0", 0.99), ("0.5", 0.6)])
def test_memory_that_grows_is_found(kind: str, least: float) -> None:
    assert memory_claims(np.random.default_rng(7), 200, kind, growth=0.02) >= least


def test_too_few_sessions_say_nothing_of_speed() -> None:
    drift = measured(turns(np.random.default_rng(3), sessions=11))
    assert (drift.sessions, drift.turns, drift.decode, drift.ttft) == (11, 44, None, None)
    assert is_drifting(drift.decode) is None


def test_session_with_a_failed_turn_is_left_out() -> None:
    drift = measured(turns(np.random.default_rng(4), sessions=14, left_out=((2, 1),)))
    assert (drift.sessions, drift.turns, drift.failed) == (13, 55, 1)


def test_other_loads_have_no_sessions() -> None:
    assert endurance_of([]) is None
