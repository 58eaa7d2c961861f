"""Peaks, typical speed and floor: of one number of streams each, peaks of complete windows of one length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from analysis.runs.speed_summary import Extremes, speed_factors, summarize
from analysis.runs.windows import Window
from reasons import Code, Reason


def window(tps: float, at_s: float = 2.0, **more: Any) -> Window:
    """2 s of decoding at this speed, one token a step."""
    base = Window(at_s, 2.0, 2.0, 2 * tps, 2 * tps, tps, 1.0, tps, None, "active", "vllm.counter", 1.0, streams=1.0)
    return base._replace(**more)


def maximum(windows: Sequence[Window]) -> float | None:
    """The fastest complete window of one request alone."""
    peak = summarize(windows).alone.peak
    return peak.maximum if peak else None


STEADY = [window(50.0, 2.0 * n) for n in range(1, 21)]


def test_partly_known_window_is_no_peak() -> None:
    part = window(98.5, 42.0, dt_s=0.4, tokens=39.4, steps=39.4, is_whole=False)
    summary = summarize([*STEADY, part])
    assert summary.alone.peak == Extremes(50.0, 50.0, 20)
    assert (summary.active_windows, summary.excluded_windows) == (21, 0)
    factors = speed_factors([*STEADY, part])
    assert factors and factors.decode_tps > 50.0, "its tokens count in the sums"


def test_longer_window_is_no_peak() -> None:
    summary = summarize([*STEADY, window(98.5, 42.0, window_s=4.5, dt_s=4.5)])
    assert summary.window_s == 2.0 and summary.alone.peak == Extremes(50.0, 50.0, 20)


def test_without_a_whole_window_there_is_no_peak() -> None:
    summary = summarize([one._replace(is_whole=False) for one in STEADY])
    assert summary.alone.peak is None
    assert summary.alone.typical_tps == 50.0


def test_jittered_looks_have_one_length() -> None:
    summary = summarize([window(50.0, window_s=5.0 + 0.01 * n, dt_s=5.0) for n in range(10)])
    assert (summary.window_s, summary.active_windows) == (5.0, 10)


def test_lines_of_varied_length_are_all_taken() -> None:
    summary = summarize([window(50.0 + n, window_s=None if n else 3.0) for n in range(10)])
    assert (summary.window_s, summary.active_windows) == (None, 10)
    assert summary.alone.peak and summary.alone.peak.maximum == 59.0


def test_peak_of_four_streams_differs_from_one() -> None:
    windows = [window(50.0 + n % 2, streams=1.0, acceptance_length=3.0 + n % 2) for n in range(10)]
    four = [window(160.0, streams=4.0)] * 5
    summary = summarize([*windows, *four, window(500.0, streams=None)])
    alone, together = summary.speeds
    assert summary.alone is alone and (alone.streams, together.streams) == (1, 4)
    assert (alone.peak, alone.acceptance_peak) == (Extremes(51.0, 51.0, 10), Extremes(4.0, 4.0, 10))
    assert (together.peak, together.acceptance_peak) == (Extremes(160.0, 160.0, 5), None)
    assert summary.acceptance_peak == Extremes(4.0, 4.0, 10)
    assert summarize(four).alone.peak is None


def test_typical_and_floor_mix_no_streams() -> None:
    """One request at 50 tok/s and four at 160 together: no number of one is above or below the other's."""
    summary = summarize([*STEADY, *[window(160.0, streams=4.0)] * 40])
    alone, together = summary.speeds
    assert (alone.typical_tps, alone.floor_tps) == (50.0, 50.0)
    assert (together.typical_tps, together.floor_tps, together.windows) == (160.0, 160.0, 40)
    assert summary.no_typical is None


@pytest.mark.parametrize(
    ("windows", "code"),
    [
        ([window(160.0, streams=4.0)] * 5, Code.SELDOM_ALONE),
        ([*STEADY[:2], *[window(160.0, streams=4.0)] * 5], Code.SELDOM_ALONE),
        ([window(50.0, streams=None)] * 5, Code.CONCURRENCY_UNKNOWN),
        (STEADY[:2], Code.TOO_FEW_WINDOWS),
    ],
)
def test_typical_without_one_alone_has_a_reason(windows: list[Window], code: Code) -> None:
    summary = summarize(windows)
    assert summary.alone.typical_tps is None and summary.no_typical and summary.no_typical.code is code


def test_maximum_and_99th_percentile_are_distinct() -> None:
    summary = summarize([*STEADY, window(100.0)])
    assert summary.alone.peak and summary.alone.peak.p99 == pytest.approx(90.0) and summary.alone.peak.maximum == 100.0


def test_acceptance_matches_tokens_per_step() -> None:
    """A draft model: every step drafts. What was accepted outside the active windows is in neither."""
    windows = [window(60.0, tokens=120.0, steps=40.0, drafts=40.0, accepted=80.0)] * 3
    windows += [window(30.0, tokens=60.0, steps=40.0, drafts=40.0, accepted=20.0)]
    windows += [window(0.0, activity="mixed", drafts=10.0, accepted=0.0)]
    summary = summarize(windows)
    assert summary.factors
    assert summary.acceptance_length == pytest.approx(summary.factors.tokens_per_step) == pytest.approx(2.625)


def test_fewer_than_three_complete_windows_have_no_peak() -> None:
    """The peak of one window may be slower than the mean of its requests, since others were cut by their ends."""
    summary = summarize(STEADY[:2])
    assert summary.reason and summary.reason.code is Code.TOO_FEW_WINDOWS
    assert summary.no_acceptance_peak == summary.no_typical == summary.reason
    assert (summary.alone.typical_tps, summary.alone.peak) == (None, None)
    few = summarize([*STEADY[:2], *(one._replace(is_whole=False) for one in STEADY[2:])])
    assert (few.alone.typical_tps, few.alone.peak) == (50.0, None)
    assert few.alone.no_peak == Reason(Code.FEW_WHOLE_WINDOWS, values={"windows": 2, "fewest": 3})
    assert few.no_acceptance_peak == Reason(Code.NO_WHOLE_WINDOW)
    assert summarize(STEADY[:3]).alone.peak == Extremes(50.0, 50.0, 3)
