"""Reads a server's counters on demand, as a load does between its phases."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import httpx

from collectors.base import Clock
from collectors.endpoints.exposition import read_points
from engines import BY_NAME
from engines.base import CounterMap, Scrape
from machine.bounded_http import BadAnswerError, BoundedHttp, NoAnswerError, ReadLimits
from samples import CounterSample

LIMITS = ReadLimits(body_bytes=16 << 20, total_s=5.0)  # as the endpoint collector's


def counter_reader(
    run_id: str, engine_name: str, base_url: str, api_key: str | None, clock: Clock | None = None
) -> Callable[[], Sequence[CounterSample]]:
    """Return a function that reads the counters now, one sample per engine rank; none on failure."""
    engine = BY_NAME.get(engine_name)
    if engine is None or engine.counters is None or engine.metrics_path is None:
        return lambda: ()
    counters, path = engine.counters, engine.metrics_path
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    http, now = BoundedHttp(base_url.rstrip("/"), headers), clock or Clock()
    return lambda: _read(http, path, counters, run_id, now)


def _read(http: BoundedHttp, path: str, counters: CounterMap, run_id: str, clock: Clock) -> Sequence[CounterSample]:
    try:
        answer = http.get(path, LIMITS)
        points = read_points(answer.content, counters.METRIC_NAMES) if answer.is_ok else []
    except (NoAnswerError, BadAnswerError, httpx.InvalidURL, ValueError):
        return ()
    return counters.counter_samples(Scrape(run_id, clock.utc(), clock.mono_s(), points))
