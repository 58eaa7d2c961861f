"""Reads vLLM's periodic lines as numbers: throughput (V0, V1, aggregated), speculation, diffusion."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from domain import JsonValue

Fields = dict[str, JsonValue]

_ENGINE = re.compile(r"(?:Engine (?P<engine>\d{1,9})|(?P<engines>\d{1,9}) Engines Aggregated): (?=Avg prompt)")
_NUMBER = re.compile(r"-?\d(?:,?\d){0,17}+(?:\.\d{1,17})?+(?=[ %,])")
_LAST_COUNT = re.compile(r"(\d{1,18})\.$")
_LAST_NUMBER = re.compile(r"(\d{1,17}\.\d\d)$")
_RATE = re.compile(r"\d+(?:\.\d+)?")
_DEVICE_KV = re.compile(r"(?P<device>[\w+ ]{1,40}?) KV cache usage")
_PREFIX_RATES = re.compile(r"Prefix cache hit rate: GPU: (?P<gpu>\d+\.\d+)%, CPU: (?P<cpu>\d+\.\d+)%")
_PER_POSITION = re.compile(r"Per-position acceptance rate: (?P<rates>[\d.nan, \[\]]+?)(?=, [A-Z]|\s*$)")
_KV_FETCH = re.compile(r"(\d{1,18}) waiting to start, (\d{1,18}) in progress, (\d{1,18}) completed waiting")


def _number(text: str) -> float | None:
    """Parse a number with its usual following character, so that half a number of a truncated line is not read."""
    match = _NUMBER.match(text)
    return float(match[0].replace(",", "")) if match else None


def _last_count(text: str) -> int | None:
    match = _LAST_COUNT.match(text)
    return int(match[1]) if match else None


def _last_number(text: str) -> float | None:
    match = _LAST_NUMBER.match(text)
    return float(match[1]) if match else None


def _count(text: str) -> int | None:
    number = _number(text)
    return None if number is None else int(number)


_STATS: Mapping[str, tuple[str, Callable[[str], float | None]]] = {
    "Avg prompt throughput": ("prompt_tps", _number),
    "Avg generation throughput": ("generation_tps", _number),
    "Running": ("running", _count),
    "Waiting": ("waiting", _count),
    "Pending": ("waiting", _count),
    "Swapped": ("swapped", _count),
    "Deferred": ("deferred", _count),
    "Preemptions": ("preemptions", _count),
    "Corrupted": ("corrupted", _count),
    "GPU KV cache usage": ("kv_cache_usage_pct", _number),
    "CPU KV cache usage": ("cpu_kv_cache_usage_pct", _number),
    "Prefix cache hit rate": ("prefix_cache_hit_pct", _number),
    "External prefix cache hit rate": ("external_prefix_cache_hit_pct", _number),
    "MM cache hit rate": ("mm_cache_hit_pct", _number),
}
_SPECULATION: Mapping[str, tuple[str, Callable[[str], float | None]]] = {
    "Mean acceptance length": ("accept_length", _number),
    "Current speculative depth": ("spec_depth", _count),
    "Accepted throughput": ("accepted_tps", _number),
    "Drafted throughput": ("drafted_tps", _number),
    "Accepted": ("accepted_tokens", _count),
    "Drafted": ("drafted_tokens", _count),
    "Number of accepted tokens": ("accepted_tokens", _count),
    "Number of draft tokens": ("drafted_tokens", _count),
    "Number of emitted tokens": ("emitted_tokens", _last_count),
    "Number of speculative tokens": ("num_spec_tokens", _count),
    "System efficiency": ("system_efficiency", _number),
    "Avg Draft acceptance rate": ("draft_accept_rate_pct", _number),
}
_DIFFUSION: Mapping[str, tuple[str, Callable[[str], float | None]]] = {
    "Committed token throughput": ("committed_tps", _number),
    "Mean denoising steps per canvas": ("denoising_steps_per_canvas", _last_number),
}


_USUAL = re.compile(
    r"Engine (\d{1,9}): Avg prompt throughput: (\d+\.\d+) tokens/s, "
    r"Avg generation throughput: (\d+\.\d+) tokens/s, "
    r"Running: (\d{1,18}) reqs, Waiting: (\d{1,18}) reqs, "
    r"GPU KV cache usage: (\d+\.\d+)%, Prefix cache hit rate: (\d+\.\d+)%",
    re.ASCII,
)


def read_stats(text: str) -> Fields | None:
    """Read the periodic throughput line; None for any other text or if its two rates cannot be read."""
    usual = _USUAL.fullmatch(text)
    if usual:
        engine, prompt, generation, running, waiting, kv, hit = usual.groups()
        return {
            "engine": int(engine),
            "prompt_tps": float(prompt),
            "generation_tps": float(generation),
            "running": int(running),
            "waiting": int(waiting),
            "kv_cache_usage_pct": float(kv),
            "prefix_cache_hit_pct": float(hit),
        }
    return _read_any_stats(text)


def _read_any_stats(text: str) -> Fields | None:
    fields: Fields = {}
    if not text.startswith("Avg prompt throughput: "):
        head = _ENGINE.match(text)
        if head is None:
            return None
        if head["engine"]:
            fields["engine"] = int(head["engine"])
        else:
            fields["aggregated_engines"] = int(head["engines"])
        text = text[head.end() :]
    _read_pairs(text, _STATS, fields)
    if "generation_tps" not in fields or "prompt_tps" not in fields:
        return None
    if "swapped" not in fields and "kv_cache_usage_pct" not in fields:
        _read_other_device(text, fields)
    return fields


def _read_other_device(text: str, fields: Fields) -> None:
    """Read the KV usage of other devices, which V1 names ('XPU KV cache usage'); on a CPU it is the main KV cache."""
    if "cpu_kv_cache_usage_pct" in fields:
        fields["kv_cache_usage_pct"] = fields.pop("cpu_kv_cache_usage_pct")
    for label, value in _pairs(text):
        if _DEVICE_KV.fullmatch(label) and (number := _number(value)) is not None:
            fields["kv_cache_usage_pct"] = number


def read_prefix_rates(text: str) -> Fields | None:
    """Read V0's separate line `Prefix cache hit rate: GPU: 59.26%, CPU: 0.00%`."""
    match = _PREFIX_RATES.match(text)
    if match is None:
        return None
    return {"gpu_prefix_cache_hit_pct": float(match["gpu"]), "cpu_prefix_cache_hit_pct": float(match["cpu"])}


def read_speculation(text: str) -> Fields | None:
    """Read `SpecDecoding metrics:` (one window, V1) or `Speculative metrics:` (V0: running totals, `cumulative`)."""
    kind, _, body = text.partition(" metrics: ")
    if kind not in ("SpecDecoding", "Speculative"):
        return None
    fields: Fields = {}
    _read_pairs(body, _SPECULATION, fields)
    _read_draft_rate(body, fields)
    match = _PER_POSITION.search(body)
    if match:
        rates = _RATE.findall(match["rates"])
        if not rates or len(rates[-1]) == len(rates[0]):  # else the line is truncated
            fields["per_position"] = [float(rate) for rate in rates]
    if "emitted_tokens" in fields:
        fields["cumulative"] = True
    return fields if "accepted_tokens" in fields and "drafted_tokens" in fields else None


def _read_draft_rate(text: str, fields: Fields) -> None:
    """Read the draft acceptance rate: `0.791` is a fraction, `79.1%` per cent."""
    for label, value in _pairs(text):
        if label == "Draft acceptance rate" and (number := _number(value)) is not None:
            fields["draft_accept_rate_pct" if "%" in value else "draft_accept_rate"] = number


def read_diffusion(text: str) -> Fields | None:
    """Read `DiffusionDecoding metrics:` of diffusion language models."""
    kind, _, body = text.partition(" metrics: ")
    fields: Fields = {}
    if kind == "DiffusionDecoding":
        _read_pairs(body, _DIFFUSION, fields)
    return fields or None


def _pairs(text: str) -> list[tuple[str, str]]:
    """Return labels and values, each but the last with the comma after it."""
    parts = text.replace(", ", ",\n").split("\n")
    return [(label.strip(" *`_\t"), value) for label, colon, value in (part.partition(": ") for part in parts) if colon]


def _read_pairs(text: str, table: Mapping[str, tuple[str, Callable[[str], float | None]]], fields: Fields) -> None:
    for label, value in _pairs(text):
        entry = table.get(label)
        if entry is not None and entry[0] not in fields:
            number = entry[1](value)
            if number is not None:
                fields[entry[0]] = number
    fetch = _KV_FETCH.search(text) if "KV fetch: " in text else None
    if fetch:
        names = ("kv_fetch_waiting", "kv_fetch_in_progress", "kv_fetch_completed")
        fields.update({name: int(count) for name, count in zip(names, fetch.groups(), strict=True)})
