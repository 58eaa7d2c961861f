"""Peaks: only of windows that are whole and of one length, and told for each number of streams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.runs.windows import Extremes, Peak, Window, speed_factors, summarize
from reasons import Code


def window(tps: float, at_s: float = 2.0, **more: Any) -> Window:
    """2 s of decoding at this speed, one token a step."""
    base = Window(at_s, 2.0, 2.0, 2 * tps, 2 * tps, tps, 1.0, tps, None, "active", "vllm.counter", 1.0, streams=1.0)
    return replace(base, **more)


STEADY = [window(50.0, 2.0 * n) for n in range(1, 21)]


def test_a_window_of_which_a_part_is_known_is_no_peak() -> None:
    part = window(98.5, 42.0, dt_s=0.4, tokens=39.4, steps=39.4, is_whole=False)
    said = summarize([*STEADY, part])
    assert said.peak_tps == said.maximum_tps == 50.0
    assert (said.active_windows, said.excluded_windows) == (21, 0)
    factors = speed_factors([*STEADY, part])
    assert factors and factors.decode_tps > 50.0, "its tokens count in the sums"


def test_a_longer_window_is_no_peak_beside_the_usual_ones() -> None:
    said = summarize([*STEADY, window(98.5, 42.0, window_s=4.5, dt_s=4.5)])
    assert (said.window_s, said.maximum_tps) == (2.0, 50.0)


def test_without_a_whole_window_there_is_no_peak() -> None:
    said = summarize([replace(one, is_whole=False) for one in STEADY])
    assert (said.peak_tps, said.maximum_tps, said.single_stream_peak) == (None, None, None)
    assert said.typical_tps == 50.0


def test_looks_a_little_early_and_late_have_one_length() -> None:
    said = summarize([window(50.0, window_s=5.0 + 0.01 * n, dt_s=5.0) for n in range(10)])
    assert (said.window_s, said.active_windows) == (5.0, 10)


def test_lines_that_each_have_their_own_length_are_all_taken() -> None:
    said = summarize([window(50.0 + n, window_s=None if n else 3.0) for n in range(10)])
    assert (said.window_s, said.active_windows, said.maximum_tps) == (None, 10, 59.0)


def test_a_peak_of_four_streams_is_not_that_of_one() -> None:
    one = [window(50.0 + n % 2, streams=1.0, acceptance_length=3.0 + n % 2) for n in range(10)]
    four = [window(160.0, streams=4.0)] * 5
    said = summarize([*one, *four, window(500.0, streams=None)])
    assert (said.peak_tps, said.maximum_tps) == (51.0, 51.0)
    assert said.peaks == (
        Peak(1, Extremes(51.0, 51.0, 10), Extremes(4.0, 4.0, 10)),
        Peak(4, Extremes(160.0, 160.0, 5), None),
    )
    assert said.single_stream_peak == said.peaks[0]
    assert said.acceptance_peak == Extremes(4.0, 4.0, 10)
    assert summarize(four).single_stream_peak is None


def test_the_maximum_and_the_99th_percentile_are_told_apart() -> None:
    said = summarize([*STEADY, window(100.0)])
    peak = said.single_stream_peak
    assert peak and peak.decode_tps.p99 == pytest.approx(90.0) and peak.decode_tps.maximum == 100.0
    assert said.peak_tps == pytest.approx(90.0)


def test_acceptance_over_the_windows_of_the_factors_is_their_tokens_per_step() -> None:
    """A draft model: every step drafts. What was accepted outside the active windows is in neither."""
    its = [window(60.0, tokens=120.0, steps=40.0, drafts=40.0, accepted=80.0)] * 3
    its += [window(30.0, tokens=60.0, steps=40.0, drafts=40.0, accepted=20.0)]
    its += [window(0.0, activity="mixed", drafts=10.0, accepted=0.0)]
    said = summarize(its)
    assert said.factors
    assert said.acceptance_length == pytest.approx(said.factors.tokens_per_step) == pytest.approx(2.625)


def test_peaks_are_told_where_windows_are_too_few_for_percentiles() -> None:
    said = summarize(STEADY[:2])
    assert said.reason and said.reason.code is Code.TOO_FEW_WINDOWS
    assert said.peak_tps is None
    assert said.single_stream_peak and said.single_stream_peak.decode_tps.windows == 2
