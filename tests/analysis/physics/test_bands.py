"""One band or two, in simulation and by the published log lines."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.physics.bands import bands_of, cause_of, fit_two
from analysis.runs.windows import Window
from reasons import Code

PUBLISHED = [(95.9, 4.28), (95.3, 4.18), (109.8, 4.97), (107.6, 4.98)]  # tok/s and acceptance length


def window(length: float | None, steps: float | None = 22.0, activity: str = "active") -> Window:
    tps = (length or 1.0) * (steps or 22.0)
    return Window(0.0, 2.0, 2.0, 2 * tps, steps and 2 * steps, tps, length, steps, length, activity, "a definition")


def test_two_published_bands_are_found_and_cut() -> None:
    rng = np.random.default_rng(3)
    lengths = [*rng.normal(4.23, 0.08, 20), *rng.normal(4.95, 0.04, 10)]
    bands = bands_of([window(length) for length in lengths])
    lower, upper = bands.bands
    assert (lower.windows, upper.windows) == (20, 10) and upper.share == pytest.approx(1 / 3)
    assert lower.acceptance_length == pytest.approx(4.23, abs=0.06)
    assert upper.decode_tps == pytest.approx(22 * upper.acceptance_length)
    assert bands.cause == "acceptance"


def test_published_lines_share_steps_per_second() -> None:
    steps = [tps / length for tps, length in PUBLISHED]
    assert [round(step, 2) for step in steps] == [22.41, 22.8, 22.09, 21.61]
    assert cause_of([float(np.median(steps[:2])), float(np.median(steps[2:]))]) == "acceptance"
    assert cause_of([22.4, 18.0]) == "steps" and cause_of([22.4, None]) == "unknown"


def test_bands_that_differ_in_steps_say_so() -> None:
    rng = np.random.default_rng(4)
    slow = [window(length, 18.0) for length in rng.normal(3.0, 0.05, 15)]
    fast = [window(length, 24.0) for length in rng.normal(4.5, 0.05, 15)]
    assert bands_of(slow + fast).cause == "steps"
    unknown = [window(length, None) for length in rng.normal(3.0, 0.05, 15)]
    assert bands_of(unknown + fast).cause == "unknown"


@pytest.mark.wide
@pytest.mark.parametrize("n", [12, 30])
def test_one_band_is_rarely_taken_for_two(n: int) -> None:
    """At most 1 % false alarms; the 200 draws are always the same."""
    rng = np.random.default_rng(n)
    alarms = sum(bool((m := fit_two(rng.normal(4.0, 0.2, n))) and m.is_two) for _ in range(200))
    assert alarms <= 2


def test_two_bands_are_nearly_always_found() -> None:
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(100):
        values = np.concatenate([rng.normal(4.23, 0.07, 20), rng.normal(4.97, 0.03, 10)])
        found += bool((m := fit_two(values)) and m.is_two)
    assert found >= 98


def test_few_windows_and_none_have_reasons() -> None:
    few = bands_of([window(4.0)] * 11)
    assert few.reason and few.reason.code is Code.TOO_FEW_FOR_BANDS and few.reason.values["windows"] == 11
    none = bands_of([window(None)] * 20 + [window(4.0, activity="mixed")] * 20)
    assert none.reason and none.reason.code is Code.NO_SPECULATION


def test_windows_that_are_all_alike_are_one_band() -> None:
    bands = bands_of([window(5.0)] * 12)
    assert [(band.windows, band.share, band.acceptance_length) for band in bands.bands] == [(12, 1.0, 5.0)]
    assert bands.cause is None
