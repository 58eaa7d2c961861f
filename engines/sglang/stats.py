"""Reads SGLang's batch lines (`Decode batch`, `Prefill batch`) as label and value pairs, in any release's wording."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_HEADER = re.compile(
    r"(?:^|(?<=\] )|(?<=: ))(?:(?:Decode|Prefill) batch(?: \[\d+\])?[.,:]? |new fill batch\. |(?=#running[-_]req: ))"
)
_GRAPH_LABELS = ("cuda graph", "cpu graph", "npu graph", "musa graph")


def _count(value: str) -> int:
    return int(value.replace(",", ""))


def _number(value: str) -> float | None:
    number = float(value)
    return number if number == number and abs(number) != float("inf") else None


def _fraction_as_percent(value: str) -> float | None:
    number = _number(value)
    return None if number is None else round(number * 100, 6)


def _flag(value: str) -> bool:
    return {"True": True, "False": False}[value]


_LABELS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "#running-req": ("running", _count),
    "#running_req": ("running", _count),
    "#queue-req": ("waiting", _count),
    "#remaining_req": ("remaining_req", _count),
    "#token": ("tokens", _count),
    "token usage": ("kv_cache_usage_pct", _fraction_as_percent),
    "#full token": ("full_tokens", _count),
    "full token usage": ("full_usage_pct", _fraction_as_percent),
    "#swa token": ("swa_tokens", _count),
    "swa token usage": ("swa_usage_pct", _fraction_as_percent),
    "mamba num": ("mamba_num", _count),
    "mamba usage": ("mamba_usage_pct", _fraction_as_percent),
    "#gpu token": ("gpu_tokens", _count),
    "#gpu-token": ("gpu_tokens", _count),
    "gpu token usage": ("gpu_usage_pct", _fraction_as_percent),
    "#cpu token": ("cpu_tokens", _count),
    "#cpu-token": ("cpu_tokens", _count),
    "cpu token usage": ("cpu_kv_cache_usage_pct", _fraction_as_percent),
    "accept len": ("accept_length", _number),
    "accept rate": ("accept_rate", _number),
    "cap len": ("cap_length", _number),
    "block accept len": ("block_accept_length", _number),
    "pre-allocated usage": ("preallocated_usage_pct", _fraction_as_percent),
    "#prealloc-req": ("prealloc_req", _count),
    "#transfer-req": ("transfer_req", _count),
    "#host-receive-req": ("host_receive_req", _count),
    "#retracted-req": ("retracted_req", _count),
    "#bootstrap-req": ("bootstrap_req", _count),
    "#inflight-req": ("inflight_req", _count),
    "#optimistic-req": ("optimistic_req", _count),
    "#pending-token": ("pending_tokens", _count),
    "gen throughput (token/s)": ("generation_tps", _number),
    "input throughput (token/s)": ("prompt_tps", _number),
    "#new-seq": ("new_seq", _count),
    "#seq": ("new_seq", _count),
    "#new-token": ("new_tokens", _count),
    "#new_token": ("new_tokens", _count),
    "#cached-token": ("cached_tokens", _count),
    "#cached_token": ("cached_tokens", _count),
    "cache hit rate": ("prefix_cache_hit_pct", _number),
    "tree_cache_hit_rate": ("prefix_cache_hit_pct", _number),
    **dict.fromkeys(_GRAPH_LABELS, ("graph", _flag)),
}


def read_stats(text: str) -> dict[str, Any] | None:
    """Return the fields of a batch line in the parser's key names; None for any other text.

    Usages become per cent; unknown labels and values that are not numbers are left out. `kv_cache_usage_pct` of a model
    with two pools is that of the fuller one, as in SGLang's scheduler.
    """
    header = _HEADER.search(text)
    if header is None:
        return None
    body = text[header.end() :]
    if " batch" in body and (glued := _HEADER.search(body, 1)):
        body = body[: glued.start()]
    fields = _read_pairs(body.replace(". #", ", #").replace(". tree", ", tree") if "fill batch" in header[0] else body)
    if "running" not in fields and "new_seq" not in fields:
        return None
    usages = [fields[k] for k in ("full_usage_pct", "swa_usage_pct", "gpu_usage_pct") if fields.get(k) is not None]
    if usages:
        fields.setdefault("kv_cache_usage_pct", max(usages))
    return {"type": "prefill" if "new_seq" in fields else "decode"} | fields


def _read_pairs(body: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for pair in body.split(", "):
        label, _, value = pair.partition(": ")
        key, convert = _LABELS.get(label.strip(), (None, None))
        words = value.split()
        if key is None or convert is None or not words or key in fields:
            continue
        try:
            number = convert(words[0].strip("%,.`'\""))
        except (ValueError, KeyError):
            continue
        if number is not None:
            fields[key] = number
    return fields


def is_cut_short(fields: Mapping[str, Any]) -> bool:
    """Whether a terminal split the line before its last field: #queue-req, or the graph after #pending-token."""
    if "pending_tokens" in fields:
        return "graph" not in fields
    return "waiting" not in fields and ("new_seq" not in fields or "remaining_req" not in fields)
