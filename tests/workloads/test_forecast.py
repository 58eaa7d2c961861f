"""The demand of a load is known before it starts."""

from __future__ import annotations

import pytest

from workloads.forecast import forecast


def test_plan_gives_requests_tokens_least_time() -> None:
    actual_forecast = forecast("demo-stream", {"requests": 4, "tokens": 100, "warmup_tokens": 50}, 50.0)
    assert (actual_forecast.requests, actual_forecast.warmup_requests, actual_forecast.output_tokens) == (4, 1, 450)
    assert actual_forecast.seconds == pytest.approx(9.0)


def test_streams_and_arrivals_bound_the_time() -> None:
    closed = {"requests": 40, "concurrency": 4, "output_tokens": 100, "warmup_requests": 0}
    assert forecast("traffic", closed, 50.0).seconds == pytest.approx(20.0)
    assert forecast("traffic", closed | {"duration_s": 5.0}, 50.0).seconds == 5.0
    slow = {"arrival": "constant rate", "rate_rps": 0.5, "requests": 11, "warmup_requests": 0}
    assert forecast("traffic", slow, 50.0).seconds == pytest.approx(20.0)


def test_longest_request_gives_needed_context() -> None:
    grid = {"prompt_tokens": [100, 3000], "output_tokens": [50], "depth_tokens": [0, 8000]}
    assert forecast("grid", grid, 50.0).longest_tokens == 11_050
    assert 7000 < forecast("session", {"context_tokens": 8000}, 50.0).longest_tokens < 12_000
