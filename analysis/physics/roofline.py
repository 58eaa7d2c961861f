"""Decode speed compared with the limit of memory bandwidth (roofline).

Formula: a step reads the weights once, the keys and values of each request, and the draft model k times; at B requests
and L tokens per step the limit is `B * L * bandwidth / (weights + B * KV(context) + k * draft)` (Williams et al. 2009
for the roofline; decoding of few requests is bound by bandwidth, not by arithmetic).
Caveats: a server's weight memory over-counts what is read (embeddings, an image encoder), so a share may be too high;
several GPUs read in parallel, and their communication is left out; of a mixture of experts a step reads only those that
its tokens are routed to, so more with every request.
"""

from __future__ import annotations


def step_bytes(
    weights_bytes: float,
    requests: float = 1.0,
    request_kv_bytes: float = 0.0,
    draft_bytes: float = 0.0,
    draft_tokens: int = 0,
) -> float:
    """Return the bytes that one decode step reads, over all ranks."""
    return weights_bytes + requests * request_kv_bytes + draft_tokens * draft_bytes


def limit_tps(
    step_bytes: float, bandwidth_bytes_s: float, requests: float = 1.0, tokens_per_step: float = 1.0
) -> float:
    """Return the decode tok/s of all requests that this bandwidth (of all GPUs together) allows."""
    return requests * tokens_per_step * bandwidth_bytes_s / step_bytes


def share_of_limit(decode_tps: float, limit_tps: float) -> float:
    """Return measured speed over the bandwidth limit; above 1 the bytes or the bandwidth are wrong."""
    return decode_tps / limit_tps
