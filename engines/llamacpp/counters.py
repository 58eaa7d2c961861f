"""Maps llama.cpp's /metrics (with --metrics) and /slots to raw samples.

The gauges `*_tokens_seconds` restart at every scrape and are not read.
"""

from __future__ import annotations

from typing import Any

from domain import JsonValue
from engines.base import Scrape
from engines.points import ScrapePoints
from samples import CounterSample, LatencySample, SlotSample

METRIC_PREFIXES: tuple[str, ...] = ("llamacpp:",)
DECODE_CALLS = "llamacpp:n_decode_total"
SUMS: dict[str, str] = {
    "generation_tokens_total": "llamacpp:tokens_predicted_total",
    "decode_seconds_total": "llamacpp:tokens_predicted_seconds_total",
    "decode_calls_total": DECODE_CALLS,
    "prompt_tokens_total": "llamacpp:prompt_tokens_total",
    "prompt_tokens_cached_total": "llamacpp:prompt_tokens_cached_total",
    "drafts_total": "llamacpp:spec_decode_num_drafts_total",
    "draft_tokens_total": "llamacpp:spec_decode_num_draft_tokens_total",
    "accepted_tokens_total": "llamacpp:spec_decode_num_accepted_tokens_total",
    "requests_running": "llamacpp:requests_processing",
    "requests_waiting": "llamacpp:requests_deferred",
    "kv_usage_ratio": "llamacpp:kv_cache_usage_ratio",  # until mid-2025
}
PER_POSITION = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"
METRIC_NAMES = frozenset({*SUMS.values(), PER_POSITION})


HISTOGRAM_NAMES: frozenset[str] = frozenset()


def counter_samples(scrape: Scrape) -> list[CounterSample]:
    """Return one sample; its token and speculation counters move only when a request finishes."""
    points = ScrapePoints(scrape.points)
    if not points:
        return []
    sums: dict[str, Any] = {field: points.total(name) for field, name in SUMS.items()}
    return [
        CounterSample(
            run_id=scrape.run_id,
            ts=scrape.ts,
            mono_s=scrape.mono_s,
            definition="llamacpp.counter",
            accepted_per_pos_total=points.by_position(PER_POSITION),
            **sums,
        )
    ]


def latency_samples(scrape: Scrape) -> list[LatencySample]:
    """Return an empty list: llama.cpp has no histograms."""
    return []


def slot_samples(scrape: Scrape) -> list[SlotSample]:
    """Return one sample per slot; an idle slot's n_decoded is None, because the server resets it after a request."""
    slots = scrape.slots if isinstance(scrape.slots, list) else []
    calls = ScrapePoints(scrape.points).total(DECODE_CALLS)
    return [_slot(scrape, slot, calls) for slot in slots if isinstance(slot, dict) and isinstance(slot.get("id"), int)]


def _slot(scrape: Scrape, slot: dict[str, Any], calls: float | None) -> SlotSample:
    busy = slot.get("is_processing") is True
    return SlotSample(
        run_id=scrape.run_id,
        ts=scrape.ts,
        mono_s=scrape.mono_s,
        slot=slot["id"],
        task=_task(slot.get("id_task")),
        is_processing=busy,
        n_decoded=_decoded_tokens(slot.get("next_token")) if busy else None,
        n_tokens=_integer(slot.get("n_prompt_tokens")),
        n_ctx=_integer(slot.get("n_ctx")),
        decode_calls_total=calls,
    )


def _task(value: JsonValue) -> int | None:
    """Return the task id; older servers report -1 for a slot that never had a task."""
    task = _integer(value)
    return task if task is not None and task >= 0 else None


def _decoded_tokens(next_token: JsonValue) -> int | None:
    """Return n_decoded; `next_token` is a list of one object since late 2025, before that the object itself."""
    first = next_token[0] if isinstance(next_token, list) and next_token else next_token
    return _integer(first.get("n_decoded")) if isinstance(first, dict) else None


def _integer(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
