"""Sums over windows: medians by length, factors by sums, and the reason where they say nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analysis.runs.speed_summary import Extremes, WindowFactors, speed_factors, summarize, weighted_median
from reasons import Code, Reason
from tests.analysis.runs.test_windows import maximum, window


def median_of(values: list[float], weights: list[float]) -> float:
    return weighted_median(np.array(values), np.array(weights))


def test_the_median_is_weighed_by_length() -> None:
    assert median_of([3.0, 1.0, 2.0], [1.0, 1.0, 1.0]) == 2.0
    assert median_of([1.0, 2.0, 3.0], [1.0, 1.0, 9.0]) == 3.0
    assert median_of([5.0, 1.0], [1.0, 9.0]) == 1.0
    assert median_of([1.0, 2.0, 3.0, 4.0], [3.0, 1.0, 1.0, 1.0]) == 1.0
    assert median_of([1.0, 2.0, 3.0], [2.0, 2.0, 1.0]) == 2.0
    windows = [window(10.0, dt_s=1.0), window(20.0, dt_s=1.0), window(30.0, dt_s=5.0)]
    assert summarize(windows).alone.typical_tps == 30.0


def test_the_spread_of_single_windows() -> None:
    windows = [window(float(n), requests_running=float(n % 4)) for n in range(101)]
    summary = summarize([*windows, window(900.0, activity="mixed"), window(1.0, decode_tps=None)])
    assert (
        summary.alone.floor_tps,
        summary.alone.typical_low_tps,
        summary.alone.typical_tps,
        summary.alone.typical_high_tps,
    ) == (
        10.0,
        25.0,
        50.0,
        75.0,
    )
    assert (summary.active_windows, summary.excluded_windows) == (101, 2)
    assert summary.alone.peak == Extremes(99.0, 100.0, 101)
    assert summary.definition == "vllm.counter" and summary.reason is None
    assert summary.concurrency == pytest.approx(sum(n % 4 for n in range(101)) / 101)
    assert summarize([window(1.0, requests_running=None)] * 3).concurrency is None
    assert (
        summary.factors == speed_factors(windows)
        and summary.acceptance_peak is None
        and summary.acceptance_length is None
    )


def test_the_definition_is_that_of_the_first() -> None:
    windows = [window(1.0, definition="a"), *[window(1.0, definition="b")] * 3]
    assert summarize(windows).definition == "a" and summarize([]).definition is None


def test_under_three_active_windows_has_a_reason() -> None:
    windows = [window(5.0), window(6.0), window(7.0, activity="prefill")]
    assert summarize(windows).reason == Reason(Code.TOO_FEW_WINDOWS, values={"active": 2, "windows": 3, "fewest": 3})
    assert summarize([]).reason == Reason(Code.NO_WINDOW)
    assert summarize(windows).alone.typical_tps is None and summarize([*windows, window(7.0)]).alone.typical_tps == 6.0


def test_speed_is_total_tokens_over_seconds() -> None:
    """100 tokens in 1 s and 100 in 9 s: 20 tok/s, in 50 steps."""
    windows = [window(100.0, tokens=100.0, steps=30.0, dt_s=1.0), window(11.1, tokens=100.0, steps=20.0, dt_s=9.0)]
    assert speed_factors(windows) == WindowFactors(20.0, 5.0, 4.0)
    outside = [window(9.0, activity="idle"), window(9.0, decode_tps=None), window(9.0, tokens=None)]
    empty = window(9.0, dt_s=0.0)
    assert speed_factors([*windows, *outside, empty]) == WindowFactors(20.0, 5.0, 4.0)
    assert speed_factors([*outside, empty]) is None and speed_factors([]) is None
    silent = window(0.0, tokens=0.0, steps=0.0, dt_s=10.0)
    assert speed_factors([*windows, silent]) == WindowFactors(10.0, 2.5, 4.0)


def test_partly_counted_steps_are_unknown() -> None:
    windows = [window(10.0, tokens=20.0, steps=None, tokens_per_step=ratio) for ratio in (2.0, 4.0)]
    assert speed_factors(windows) == WindowFactors(10.0, None, 40 / 15, Reason(Code.NO_STEP_COUNTER))
    part = [*windows, window(10.0, tokens=20.0, steps=20.0)]
    missing = Reason(Code.STEPS_MISSING, values={"missing": 2, "active": 3})
    assert speed_factors(part) == WindowFactors(10.0, None, 60 / 35, missing)
    untold = [windows[0], window(10.0, steps=None, tokens_per_step=None)]
    assert speed_factors(untold) == WindowFactors(10.0, None, None, Reason(Code.NO_STEP_COUNTER))
    silent = [window(0.0, tokens=0.0, steps=None, tokens_per_step=2.0)]
    assert speed_factors(silent) == WindowFactors(0.0, None, None, Reason(Code.NO_STEP_COUNTER))
    few = [window(0.25, tokens=0.5, steps=None, tokens_per_step=1.0)]
    assert speed_factors(few) == WindowFactors(0.25, None, 1.0, Reason(Code.NO_STEP_COUNTER))


def test_no_step_in_all_of_them_tells_no_factor() -> None:
    assert speed_factors([window(10.0, steps=0.0)] * 2) == WindowFactors(10.0, None, None, Reason(Code.NO_STEP_COUNTED))
    assert speed_factors([window(0.25, tokens=0.5, steps=0.5)]) == WindowFactors(0.25, 0.25, 1.0)


def test_acceptance_uses_windows_with_drafts() -> None:
    def drafting(**fields: Any) -> Any:
        return window(10.0, **({"drafts": 10.0, "accepted": 15.0} | fields))

    def length(*windows: Any) -> float | None:
        return summarize([*windows, *[window(10.0)] * 3]).acceptance_length

    assert length(drafting()) == 2.5
    assert length(drafting(), drafting(accepted=0.0)) == 1.75
    outside = [drafting(drafts=None), drafting(accepted=None), drafting(drafts=0.0), drafting(tokens=None)]
    outside += [drafting(dt_s=0.0, accepted=90.0), drafting(activity="mixed", accepted=90.0)]
    assert length(drafting(), *outside) == 2.5
    assert length(*outside) is None
    assert length(drafting(dt_s=0.5)) == 2.5


def test_four_of_five_windows_make_a_length_usual() -> None:
    def lengths(usual: int, odd: int) -> float | None:
        windows = [window(50.0, window_s=2.0)] * usual + [window(90.0, window_s=4.0 + n) for n in range(odd)]
        return summarize(windows).window_s

    assert lengths(8, 2) == 2.0 and lengths(7, 3) is None
    assert lengths(0, 10) is None
    near, far = ([*[window(50.0, window_s=10.0)] * 9, window(90.0, window_s=length)] for length in (11.0, 11.1))
    assert (maximum(near), maximum(far)) == (90.0, 50.0)


def test_extremes_are_99th_percentile_and_maximum() -> None:
    alone = summarize([window(float(n)) for n in range(201)]).alone
    assert alone.peak == Extremes(198.0, 200.0, 201) and alone.acceptance_peak is None
