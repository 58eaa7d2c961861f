"""Metrics of imported results under Pitwall's names, with their units; docs/imports.md defines them."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

from reasons import Code, Reason

STATED = "stated"  # statistic of a number whose author names none; metric of a number without a Pitwall name

UNITS: Mapping[str, str] = {
    "output_tps": "tok/s",  # output tokens of all requests over the duration of the load
    "peak_output_tps": "tok/s",
    "decode_tps": "tok/s",  # of one stream after its first token
    "peak_decode_tps": "tok/s",
    "batch_decode_tps": "tok/s",  # of all sequences of a batch that decode together
    "e2e_tps": "tok/s",  # output tokens of one request over its end-to-end time
    "prompt_tps": "tok/s",  # prompt tokens of all requests
    "prompt_tps_per_request": "tok/s",
    "total_tps": "tok/s",  # prompt and output tokens
    "output_tps_per_gpu": "tok/s",
    "prompt_tps_per_gpu": "tok/s",
    "total_tps_per_gpu": "tok/s",
    "request_tps": "requests/s",
    "goodput_rps": "requests/s",  # requests within their limits
    "ttft_ms": "ms",  # to the first token of the answer
    "ttfr_ms": "ms",  # to the first response event of any kind
    "prompt_ms": "ms",  # prefill time, measured or estimated by the tool
    "decode_ms": "ms",
    "tpot_ms": "ms",  # per output token of a request after its first
    "e2e_per_token_ms": "ms",  # a request's end-to-end time over its output tokens
    "itl_ms": "ms",  # between two pieces of an answer
    "e2e_ms": "ms",
    "duration_s": "s",
    "requests": "requests",
    "failed_requests": "requests",
    "incomplete_requests": "requests",
    "mean_concurrency": "requests",
    "peak_concurrency": "requests",
    "prompt_tokens": "tokens",
    "completion_tokens": "tokens",
    "acceptance_length": "tokens",
    "acceptance_rate": "ratio",
    "position_acceptance_rate": "ratio",  # share of drafts whose token at this position was accepted
    "kv_cache_tokens": "tokens",
    "swa_tokens": "tokens",
    "kv_cache_gib": "GiB",
    "model_load_gib": "GiB",
    "model_load_s": "s",
    "weights_load_s": "s",
    "compile_s": "s",
    "engine_init_s": "s",
    "time_to_ready_s": "s",
    "full_context_concurrency": "requests",
    "tokens_per_piece": "tokens",  # output tokens per piece of the answer: for one stream about the acceptance length
}


def sample_sd(population_sd: float | None, n: int | None) -> tuple[float | None, Reason | None]:
    """Convert a standard deviation with ddof 0 to ddof 1, or return the reason why that is impossible."""
    if population_sd is None:
        return None, None
    if n is None:
        return None, Reason(Code.SD_COUNT_NOT_TOLD)
    if n < 2:
        return None, Reason(Code.SD_OF_ONE_VALUE)
    return population_sd * sqrt(n / (n - 1)), None


def percentile_name(percent: str) -> str:
    """Return Pitwall's name of a percentile; the 50th is the median."""
    return "median" if percent == "50" else f"p{percent}"
