"""Student's t in plain Python against scipy's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from analysis.verdict.student_t import quantile, tail_beyond
from benchmarks.simulations.planned_repeats import cdf

DFS = [*np.linspace(1, 10, 19), *np.geomspace(10.7, 1000, 15)]
TS = [0.0, *np.geomspace(0.01, 60, 15)]
PS = [0.001, 0.025, 0.3, 0.5, 0.6, 0.8, 0.95, 0.975, 0.9975, 0.999999]


@pytest.mark.parametrize("df", DFS)
def test_the_distribution_agrees_with_scipy(df: float) -> None:
    signed = [*TS, *(-t for t in TS)]
    assert [cdf(t, df) for t in signed] == pytest.approx(scipy.stats.t.cdf(signed, df), abs=1e-11, rel=1e-10)


@pytest.mark.parametrize("df", DFS)
def test_small_tail_agrees_with_scipy(df: float) -> None:
    ours, theirs = [tail_beyond(t, df) for t in TS], scipy.stats.t.sf(TS, df)
    assert ours == pytest.approx(theirs, rel=1e-10, abs=0)


@pytest.mark.parametrize("df", DFS)
def test_the_quantile_agrees_with_scipy(df: float) -> None:
    assert [quantile(p, df) for p in PS] == pytest.approx(scipy.stats.t.ppf(PS, df), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("df", [1.0, 1.5, 7.3, 240.0, 1e6])
@pytest.mark.parametrize("p", [0.5, 0.9, 0.975, 1 - 1e-6])
def test_the_quantile_undoes_the_distribution(p: float, df: float) -> None:
    assert tail_beyond(quantile(p, df), df) == pytest.approx(1 - p, rel=1e-9)
    assert quantile(1 - p, df) == pytest.approx(-quantile(p, df), rel=1e-9)


def test_one_degree_of_freedom_is_cauchy() -> None:
    assert quantile(0.75, 1) == pytest.approx(1.0, rel=1e-14)
    assert tail_beyond(1e-8, 1) == 0.5 - math.atan(1e-8) / math.pi


def test_many_degrees_of_freedom_are_near_normal() -> None:
    assert quantile(0.975, 1e7) == pytest.approx(1.959964, abs=1e-6)


@pytest.mark.parametrize(("p", "df"), [(0.0, 3.0), (1.0, 3.0), (-0.1, 3.0), (0.9, 0.0), (0.9, -1.0), (math.nan, 3.0)])
def test_what_has_no_quantile_is_refused(p: float, df: float) -> None:
    with pytest.raises(ValueError, match=r"^Student's t needs 0 < p < 1 and df > 0, not p = .* and df = .*\.$"):
        quantile(p, df)
