"""Maps SGLang's /metrics (0.4 to 0.5.23, with --enable-metrics) to samples per DP rank, from its first TP worker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from engines.base import MetricPoint, Scrape
from engines.histograms import histogram_names, histogram_samples
from engines.points import ScrapePoints, small_number
from samples import CounterSample, LatencySample, SlotSample

METRIC_PREFIXES: tuple[str, ...] = ("sglang:",)
REALTIME = "sglang:realtime_tokens_total"
ACCEPT_LENGTH = "sglang:spec_accept_length"
ACCEPT_RATE = "sglang:spec_accept_rate"
THROUGHPUT = "sglang:gen_throughput"
# Exported from 0.5.12 on; up to 0.5.10 the rate counted the bonus token on both sides and was not strict.
STRICT_RATE_SIGN = "sglang:context_len"
SUMS: dict[str, tuple[str, ...]] = {
    "generation_tokens_total": ("sglang:generation_tokens_total",),
    "first_tokens_total": ("sglang:time_to_first_token_seconds_count",),
    "preemptions_total": ("sglang:num_retracted_requests_total", "sglang:total_retracted_reqs"),
    "requests_running": ("sglang:num_running_reqs",),
    "requests_waiting": ("sglang:num_queue_reqs",),
}
KV_POOLS = ("sglang:full_token_usage", "sglang:swa_token_usage")
KV = "sglang:token_usage"
PROMPT = "sglang:prompt_tokens_total"
CACHED = "sglang:cached_tokens_total"
METRIC_NAMES = frozenset(
    {name for names in SUMS.values() for name in names}
    | {REALTIME, ACCEPT_LENGTH, ACCEPT_RATE, THROUGHPUT, STRICT_RATE_SIGN, *KV_POOLS, KV, PROMPT, CACHED}
)


HISTOGRAMS = {
    "ttft_ms": ("sglang:time_to_first_token_seconds",),
    "itl_ms": ("sglang:inter_token_latency_seconds",),
    "tpot_ms": ("sglang:request_time_per_output_token_seconds", "sglang:time_per_output_token_seconds"),
    "e2e_ms": ("sglang:e2e_request_latency_seconds",),
}
HISTOGRAM_NAMES = histogram_names(HISTOGRAMS)


def counter_samples(scrape: Scrape) -> list[CounterSample]:
    """Return one sample per DP rank; front-end counters (first tokens, finished tokens) belong to rank 0."""
    ranks: dict[int, list[MetricPoint]] = {}
    for point in scrape.points:
        ranks.setdefault(small_number(point.labels.get("dp_rank", "")) or 0, []).append(point)
    return [_sample(scrape, rank, ScrapePoints(_first_worker(points))) for rank, points in sorted(ranks.items())]


def latency_samples(scrape: Scrape) -> list[LatencySample]:
    """Return one sample per histogram, and per DP rank if split; the lowest worker represents all."""
    first_workers = replace(scrape, points=_first_worker(list(scrape.points)))
    return histogram_samples(first_workers, "sglang.histogram", HISTOGRAMS, "dp_rank")


def slot_samples(scrape: Scrape) -> list[SlotSample]:
    """Return an empty list: SGLang has no slots."""
    return []


def _first_worker(points: list[MetricPoint]) -> list[MetricPoint]:
    """Return the points of the lowest TP and PP worker of a DP rank, since all its workers count the same tokens.

    Under DP attention a rank's lowest TP worker is not 0. Points split by request priority repeat their total.
    """
    unsplit = [p for p in points if not p.labels.get("priority")]
    lowest = min((_worker(p) for p in unsplit if "tp_rank" in p.labels), default=None)
    return [p for p in unsplit if "tp_rank" not in p.labels or _worker(p) == lowest]


def _worker(point: MetricPoint) -> tuple[int, int]:
    return small_number(point.labels.get("pp_rank", "")) or 0, small_number(point.labels["tp_rank"]) or 0


def _sample(scrape: Scrape, rank: int, points: ScrapePoints) -> CounterSample:
    sums: dict[str, Any] = {field: points.total(*names) for field, names in SUMS.items()}
    busy = bool(sums["requests_running"])
    length = (points.total(ACCEPT_LENGTH) or None) if busy else None
    return CounterSample(
        run_id=scrape.run_id,
        ts=scrape.ts,
        mono_s=scrape.mono_s,
        definition="sglang.counter",
        engine_index=rank,
        decode_tokens_total=points.total(REALTIME, mode="decode"),
        prompt_tokens_total=_first_known(points.total(REALTIME, mode="prefill_compute"), points.total(PROMPT)),
        prompt_tokens_cached_total=_first_known(points.total(REALTIME, mode="prefill_cache"), points.total(CACHED)),
        kv_usage_ratio=_kv_usage(points),
        # These gauges keep their last value while nothing runs, and 0 is 'no verify step yet'.
        accept_length_gauge=length,
        accept_rate_gauge=points.total(ACCEPT_RATE) if length and STRICT_RATE_SIGN in points else None,
        generation_tps_gauge=points.total(THROUGHPUT) if busy else None,
        **sums,
    )


def _first_known(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _kv_usage(points: ScrapePoints) -> float | None:
    """Return the usage of the fuller pool (full or sliding-window); older versions state only a rounded total."""
    pools = [value for value in map(points.total, KV_POOLS) if value is not None]
    return max(pools) if pools else points.total(KV)
