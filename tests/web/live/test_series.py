"""A series over time, thinned and in the form of the protocol."""

from __future__ import annotations

import numpy as np
import pytest

from web.live.series import TimeSeries


def test_thinning_keeps_peaks_dips_gaps_and_times() -> None:
    v = np.full(10_000, 10.0)
    v[1234], v[5678], v[9000] = 99.0, 1.0, np.nan
    short = TimeSeries(np.arange(10_000.0), v, np.zeros(10_000, dtype=np.bool_)).thinned(600).to_protocol()
    assert len(short["t"]) <= 603
    times = dict(zip(short["t"], short["v"], strict=True))
    assert (times[1234.0], times[5678.0], times[9000.0]) == (99.0, 1.0, None)
    assert short["t"] == sorted(short["t"])
    assert (short["t"][0], short["t"][-1]) == (0.0, 9999.0)
    assert len(short["excluded"]) == len(short["t"])


def test_what_is_thinned_again_keeps_them_too() -> None:
    v = np.full(10_000, 10.0)
    v[1234], v[5678], v[9000] = 99.0, 1.0, np.nan
    short = TimeSeries(np.arange(10_000.0), v).thinned(1000).thinned(600)
    times = dict(zip(short.to_protocol()["t"], short.to_protocol()["v"], strict=True))
    assert (times[1234.0], times[5678.0], times[9000.0]) == (99.0, 1.0, None)


@pytest.mark.parametrize("count", [1_000_000, 100_000, 10_000, 2_000])
def test_every_column_of_a_million_points_keeps_its_extremes_at_each_zoom_level(count: int) -> None:
    generator, columns = np.random.default_rng(7), 500
    t, v = np.arange(1_000_000.0), generator.normal(100.0, 1.0, 1_000_000)
    v[generator.integers(0, len(v), 2_000)] = generator.normal(100.0, 60.0, 2_000)  # peaks and dips of one sample
    middle = slice(500_000 - count // 2, 500_000 + count // 2)
    short = TimeSeries(t[middle], v[middle]).thinned(2 * columns)
    assert len(short.t) <= 2 * columns + 2
    edges = t[middle][:: count // columns]
    for extreme in (np.minimum, np.maximum):
        reduceat = extreme.reduceat(short.v, np.searchsorted(short.t, edges))
        assert reduceat.tolist() == extreme.reduceat(v[middle], np.arange(0, count, count // columns)).tolist()


def test_a_short_course_stays_as_it_is() -> None:
    time_series = TimeSeries(np.array([1.0, 2.0]), np.array([np.nan, 3.0]))
    assert time_series.thinned(600) is time_series
    assert time_series.to_protocol() == {"t": [1.0, 2.0], "v": [None, 3.0]}


def test_exclusion_below_a_bucket_is_brief() -> None:
    excluded = np.zeros(10_000, dtype=np.bool_)
    excluded[3000:3020], excluded[6000:6100] = True, True
    time_series = TimeSeries(np.arange(10_000.0), np.where(excluded, 0.0, 10.0), excluded)
    series = time_series.thinned(600).to_protocol()
    codes = dict(zip(series["t"], series["excluded"], strict=True))
    assert {codes[at] for at in codes if 3000 <= at < 3020} == {2}
    assert {codes[at] for at in codes if 6000 <= at < 6100} == {1}
    assert sum(codes.values()) == sum(2 if at < 4000 else 1 for at in codes if excluded[int(at)])
    assert time_series.to_protocol()["excluded"] == excluded.astype(int).tolist()


def test_brief_exclusion_stays_after_thinning() -> None:
    excluded = np.zeros(10_000, dtype=np.bool_)
    excluded[3000:3010] = True
    time_series = TimeSeries(np.arange(10_000.0), np.where(excluded, 0.0, 10.0), excluded)
    assert 2 in time_series.thinned(1000).thinned(600).to_protocol()["excluded"]


def test_thinned_means_cover_all_samples() -> None:
    """Two of skewed values in a bucket, its minimum and maximum, have another mean."""
    skewed = np.random.default_rng(1).exponential(5.0, 86_400) + 100.0
    skewed[40_000:40_100] = np.nan
    excluded = np.zeros(len(skewed), dtype=np.bool_)
    excluded[10_000:11_003] = True
    time_series = TimeSeries(np.arange(float(len(skewed))), skewed, excluded)
    for short in (time_series.thinned(1000), time_series.thinned(1000).thinned(600)):
        bucket_stats = short.bucket_stats
        assert bucket_stats is not None and short.excluded is not None
        known = ~np.isnan(short.v)
        assert abs(float(short.v[known].mean()) - 105.0) > 5.0, "its points are no mean"
        for kept, mine in ((short.excluded, excluded), (~short.excluded, ~excluded)):
            mine = mine & ~np.isnan(skewed)
            assert bucket_stats.count[kept & known].sum() == mine.sum()
            mean = float(np.average(bucket_stats.mean[kept & known], weights=bucket_stats.count[kept & known]))
            assert mean == pytest.approx(float(skewed[mine].mean()))
        assert np.isnan(bucket_stats.mean[~known]).all() and not bucket_stats.count[~known].any()
        series = short.to_protocol()
        assert len(series["mean"]) == len(series["count"]) == len(series["t"])
        assert series["mean"][int(np.flatnonzero(~known)[0])] is None
