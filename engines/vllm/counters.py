"""Maps vLLM's /metrics, V0 and V1 from 0.8 to 0.33, to raw cumulative samples."""

from __future__ import annotations

from typing import Any

from engines.base import Scrape
from engines.histograms import histogram_names, histogram_samples
from engines.points import ScrapePoints, small_number
from samples import CounterSample, LatencySample, SlotSample

METRIC_PREFIXES: tuple[str, ...] = ("vllm:",)
# Field of CounterSample -> exposed names, newest first. Counters are declared with and without '_total'.
TOTALS: dict[str, tuple[str, ...]] = {
    "generation_tokens_total": ("vllm:generation_tokens_total", "vllm:generation_tokens"),
    "first_tokens_total": ("vllm:time_to_first_token_seconds_count",),
    "inter_token_count_total": (
        "vllm:inter_token_latency_seconds_count",
        "vllm:time_per_output_token_seconds_count",
    ),
    "prompt_tokens_cached_total": ("vllm:prompt_tokens_cached_total", "vllm:prompt_tokens_cached"),
    "drafts_total": ("vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_drafts"),
    "draft_tokens_total": ("vllm:spec_decode_num_draft_tokens_total", "vllm:spec_decode_num_draft_tokens"),
    "accepted_tokens_total": ("vllm:spec_decode_num_accepted_tokens_total", "vllm:spec_decode_num_accepted_tokens"),
    "preemptions_total": ("vllm:num_preemptions_total", "vllm:num_preemptions"),
    "requests_running": ("vllm:num_requests_running",),
    "requests_waiting": ("vllm:num_requests_waiting",),
    "kv_usage_ratio": ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
    "accept_rate_gauge": ("vllm:spec_decode_draft_acceptance_rate",),
    "generation_tps_gauge": ("vllm:avg_generation_throughput_toks_per_s",),
}
PER_POSITION = (
    "vllm:spec_decode_num_accepted_tokens_per_pos_total",
    "vllm:spec_decode_num_accepted_tokens_per_pos",
)
PROMPT_BY_SOURCE = ("vllm:prompt_tokens_by_source_total", "vllm:prompt_tokens_by_source")
PROMPT = ("vllm:prompt_tokens_total", "vllm:prompt_tokens")
# V1 labels every point with its engine from 0.8.3 on; before, its prefix cache counters distinguish it from V0.
V1_ONLY = (
    "vllm:prefix_cache_queries_total",
    "vllm:prefix_cache_queries",
    "vllm:gpu_prefix_cache_queries_total",
    "vllm:gpu_prefix_cache_queries",
)
PROCESS_START = "process_start_time_seconds"  # of the API server, which starts and ends with its engines
METRIC_NAMES = frozenset({PROCESS_START}) | frozenset(
    name for names in (*TOTALS.values(), PER_POSITION, PROMPT_BY_SOURCE, PROMPT, V1_ONLY) for name in names
)


HISTOGRAMS = {
    "ttft_ms": ("vllm:time_to_first_token_seconds",),
    "itl_ms": ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"),
    "tpot_ms": ("vllm:request_time_per_output_token_seconds",),
    "e2e_ms": ("vllm:e2e_request_latency_seconds",),
}
HISTOGRAM_NAMES = histogram_names(HISTOGRAMS)


def counter_samples(scrape: Scrape) -> list[CounterSample]:
    """Return one sample per `engine` label (a DP rank); a server without that label is engine 0."""
    points = ScrapePoints(point for point in scrape.points if point.name != PROCESS_START)
    process_start_s = ScrapePoints(scrape.points).total(PROCESS_START)
    engines = points.label_values("engine")
    definition = "vllm.counter" if engines or any(name in points for name in V1_ONLY) else "vllm.v0.counter"
    if not engines:
        return [_sample(scrape, definition, points, 0, process_start_s)] if points else []
    return [
        _sample(scrape, definition, points, index, process_start_s, engine=name)
        for index, name in _numbered_engines(engines)
    ]


def latency_samples(scrape: Scrape) -> list[LatencySample]:
    """Return one sample per histogram and `engine` label; itl_ms has one observation per request and step."""
    return histogram_samples(scrape, "vllm.histogram", HISTOGRAMS, "engine")


def slot_samples(scrape: Scrape) -> list[SlotSample]:
    """Return an empty list: vLLM has no slots."""
    return []


def _numbered_engines(engines: list[str]) -> list[tuple[int, str]]:
    numbers = ((small_number(name), index, name) for index, name in enumerate(engines))
    return [(index if number is None else number, name) for number, index, name in numbers]


def _sample(
    scrape: Scrape, definition: str, points: ScrapePoints, index: int, process_start_s: float | None, **labels: str
) -> CounterSample:
    totals: dict[str, Any] = {field: points.total(*names, **labels) for field, names in TOTALS.items()}
    return CounterSample(
        run_id=scrape.run_id,
        ts=scrape.ts,
        mono_s=scrape.mono_s,
        definition=definition,
        engine_index=index,
        prompt_tokens_total=_computed_prompt_tokens(points, labels),
        accepted_per_pos_total=points.by_position(*PER_POSITION, **labels),
        process_start_s=process_start_s,
        **totals,
    )


def _computed_prompt_tokens(points: ScrapePoints, labels: dict[str, str]) -> float | None:
    """Return the prompt tokens computed by the GPU; before 0.17 cached ones are included, as no counter splits them."""
    computed = points.total(*PROMPT_BY_SOURCE, source="local_compute", **labels)
    return computed if computed is not None else points.total(*PROMPT, **labels)
