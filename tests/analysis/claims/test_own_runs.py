"""Wrong claims about one's own runs are named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.claims.own_runs import (
    ClaimStatus,
    PoolTwin,
    UnknownClaimError,
    claim_status,
    is_context_beyond_pool,
    parse_claim,
    pool_twins,
)
from analysis.compare_arms import compare_arms
from analysis.comparison.arms import Arm, arm_key
from analysis.comparison.facts import RunFacts
from analysis.evidence.objectives import parse_objective
from analysis.verdict import judge
from tests.analysis.comparison.ideal_engine import SERVED
from web.compare.answer.report_notes import pool_notes
from web.compare.sources.claim_words import claim_text


def arm(name: str, tokens: int | None = None, requests: float | None = None, **settings: Any) -> Arm:
    served = replace(SERVED, settings={**SERVED.settings, **settings})
    run = RunFacts(name, name, replace(served, kv_cache_tokens=tokens), full_length_requests=requests)
    return Arm(arm_key(run), (run,))


def test_equal_pools_of_unlike_configs_suspicious() -> None:
    a, b = arm("A", 876_006, 3.34, quantization="modelopt"), arm("B", 876_006, 3.34, quantization="fp8")
    assert pool_twins([a, b]) == [PoolTwin("A", "B", 876_006, ("quantization",))]
    assert pool_notes([a, b]) == [
        "B has exactly the 876,006 KV tokens of A although they differ in quantization: "
        "one of the two is probably capped or copied."
    ]
    assert pool_twins([a, arm("B", 876_006, quantization="modelopt")]) == []
    assert pool_twins([a, arm("B", 876_007, quantization="fp8")]) == []
    assert pool_twins([arm("A"), arm("B", quantization="fp8")]) == [] == pool_twins([])


def test_a_context_longer_than_the_pool_is_said() -> None:
    short = arm("D", 139_515, max_model_len=262_144)
    assert pool_notes([short]) == [
        "D: the context is longer than the KV pool, so no full-length request fits."
    ]  # fmt: skip
    old = arm("A", 98_704, 3.34, max_model_len=262_144)
    assert not is_context_beyond_pool(old.runs[0]), "older tokens count another thing; the stated concurrency holds"
    assert is_context_beyond_pool(arm("A", 98_704, 0.4).runs[0])
    assert not is_context_beyond_pool(arm("A", None, max_model_len=262_144).runs[0])


@pytest.mark.parametrize(
    ("claimed", "other", "standing"),
    [
        (2.0, [1.63, 1.64, 1.65], ClaimStatus.OVERSTATED),
        (1.64, [1.63, 1.64, 1.65], ClaimStatus.CARRIED),
        (1.3, [1.63, 1.64, 1.65], ClaimStatus.UNDERSTATED),
        (0.5, [0.79, 0.80, 0.81], ClaimStatus.OVERSTATED),
        (0.95, [0.79, 0.80, 0.81], ClaimStatus.UNDERSTATED),
        (2.0, [0.72, 0.73, 0.74], ClaimStatus.OPPOSITE),
        (0.5, [1.63, 1.64, 1.65], ClaimStatus.OPPOSITE),
        (1.0, [1.63, 1.64, 1.65], ClaimStatus.UNDERSTATED),
        (1.2, [0.9, 1.02, 1.15], ClaimStatus.IN_NOISE),
        (2.0, [1.64], ClaimStatus.SEEN_ONCE),
    ],
)
def test_a_claim_stands_by_the_interval(claimed: float, other: list[float], standing: ClaimStatus) -> None:
    baseline = [1.0] if len(other) == 1 else [0.995, 1.0, 1.005]
    assert claim_status(claimed, judge(baseline, other), 0.02) is standing


def test_a_claim_in_words() -> None:
    def starts(name: str, *startups_s: float) -> Arm:
        runs = tuple(RunFacts(f"{name}{n}", name, SERVED, startup_s=s) for n, s in enumerate(startups_s))
        return Arm(arm_key(runs[0]), runs)

    (answer,) = compare_arms(
        [starts("A", 9.95, 10.0, 10.05), starts("B", 16.3, 16.4, 16.5)], parse_objective("startup_s")
    )
    assert claim_text(2.0, answer).startswith("The claimed 2x of A for B is more than measured: 1.64x (1.6")
    assert claim_text(0.5, answer).startswith("The claimed 0.5x of A for B is the opposite of the measurement: 1.64x")


@pytest.mark.parametrize(("text", "ratio"), [("2x", 2.0), ("1.64×", 1.64), (" 0.9 ", 0.9)])
def test_a_claim_is_read(text: str, ratio: float) -> None:
    assert parse_claim(text) == ratio


@pytest.mark.parametrize("text", ["", "twice", "0x", "-2", "2x faster", "1e9"])
def test_what_is_no_ratio_is_refused(text: str) -> None:
    with pytest.raises(UnknownClaimError, match="is not a valid ratio"):
        parse_claim(text)
