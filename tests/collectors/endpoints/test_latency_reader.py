"""Latency histograms of real servers' /metrics: when they are looked at, and what is given out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from collectors.endpoints.exposition import read_points
from collectors.endpoints.latency_reader import LatencyReader
from engines import BY_NAME
from engines.base import CounterMap, Scrape
from samples import LatencySample

FIXTURES = Path(__file__).parents[2] / "fixtures" / "metrics"
NOW = datetime(2026, 11, 22, tzinfo=UTC)
BODY = """\
vllm:time_to_first_token_seconds_sum{{engine="0",model_name="m"}} {sum_s}
vllm:time_to_first_token_seconds_bucket{{engine="0",le="0.1",model_name="m"}} {low}
vllm:time_to_first_token_seconds_bucket{{engine="0",le="+Inf",model_name="m"}} {all}
"""


def counters_of(engine: str) -> CounterMap:
    counters = BY_NAME[engine].counters
    assert counters is not None
    return counters


def at(second: float) -> Scrape:
    return Scrape("r", NOW + timedelta(seconds=second), second)


def body(low: int, all_: int) -> bytes:
    return BODY.format(sum_s=all_ * 0.05, low=low, all=all_).encode()


def read(engine: str, text: bytes) -> list[LatencySample]:
    counters = counters_of(engine)
    return counters.latency_samples(Scrape("r", NOW, 0.0, read_points(text, counters.HISTOGRAM_NAMES)))


def test_the_first_look_and_then_one_every_ten_seconds_where_something_changed() -> None:
    look, vllm = LatencyReader(), counters_of("vllm")
    seen_counts = [
        [sample.counts for sample in look.read(at(second), body(*counts), vllm, is_last=False)]
        for second, counts in ((0, (0, 0)), (1, (1, 1)), (10, (2, 3)), (20, (2, 3)), (25, (3, 4)), (31, (3, 4)))
    ]
    assert seen_counts == [[[0.0, 0.0]], [], [[2.0, 3.0]], [], [], [[3.0, 4.0]]]


def test_the_last_look_waits_for_nothing() -> None:
    look, vllm = LatencyReader(), counters_of("vllm")
    look.read(at(0), body(0, 0), vllm, is_last=False)
    (sample,) = look.read(at(1), body(1, 2), vllm, is_last=True)
    assert (sample.counts, sample.upper_ms, sample.sum_ms) == ([1.0, 2.0], [100.0], pytest.approx(100.0))


def test_one_that_comes_with_the_first_request_was_empty_before() -> None:
    look, vllm = LatencyReader(), counters_of("vllm")
    assert look.read(at(0), b"# TYPE vllm:x counter\n", vllm, is_last=False) == []
    before, now = look.read(at(10), body(1, 2), vllm, is_last=False)
    assert (before.mono_s, before.counts, before.sum_ms) == (0.0, [0.0, 0.0], 0.0)
    assert (now.mono_s, now.counts) == (10.0, [1.0, 2.0])


def test_llamacpp_has_none() -> None:
    assert LatencyReader().read(at(0), b"llamacpp:n_decode_total 5\n", counters_of("llamacpp"), is_last=True) == []


def test_histograms_split_by_a_label_are_added_and_broken_ones_are_not_told() -> None:
    split = body(1, 2) + body(3, 4).replace(b'model_name="m"', b'model_name="n"')
    (sample,) = read("vllm", split)
    assert sample.counts == [4.0, 6.0] and sample.sum_ms == pytest.approx(300.0)
    assert read("vllm", body(5, 4)) == [], "more up to 100 ms than at all"
    assert read("vllm", body(5, 6).replace(b'le="+Inf"', b'le="many"')) == []
    assert read("vllm", body(5, 6).replace(b"} 6", b"} NaN")) == []


@pytest.mark.parametrize("sum_s", ["NaN", "+Inf"])
def test_a_sum_that_is_no_number_is_not_known(sum_s: str) -> None:
    (sample,) = read("vllm", body(1, 2).replace(b"} 0.1\n", f"}} {sum_s}\n".encode(), 1))
    assert (sample.counts, sample.sum_ms) == ([1.0, 2.0], None)


def test_real_histograms_are_read_whole() -> None:
    vllm = {
        latency_sample.metric: latency_sample
        for latency_sample in read("vllm", (FIXTURES / "vllm-0.32-latency.txt").read_bytes())
    }
    assert set(vllm) == {"ttft_ms", "itl_ms"} and vllm["ttft_ms"].definition == "vllm.histogram"
    ttft = dict(zip(vllm["ttft_ms"].upper_ms or (), vllm["ttft_ms"].counts or (), strict=False))
    assert (ttft[40.0], ttft[60.0], (vllm["ttft_ms"].counts or [0])[-1]) == (368.0, 478.0, 806.0)
    assert (vllm["itl_ms"].counts or [0])[-1] == 85106.0
    sglang = {
        latency_sample.metric: latency_sample
        for latency_sample in read("sglang", (FIXTURES / "sglang-0.5.23-latency.txt").read_bytes())
    }
    assert (sglang["ttft_ms"].counts or [0])[-1] == 12.0, "streaming and not are one"
    assert sglang["ttft_ms"].sum_ms == pytest.approx(13695.17, abs=0.01)
    assert (sglang["itl_ms"].counts or [0])[-1] == 1107.0
